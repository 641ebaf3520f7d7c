//! The line in which a rank reports where it is: the shim writes it, `rankwright check` finds it in
//! whatever a launcher prints around it.

use std::fmt;
use std::str::FromStr;

/// What the line begins with.
const TAG: &str = "@rankwright-report ";

/// What the line ends with, so that a line cut by the launcher is not taken for a whole one.
const END: &str = " @end";

/// Where one rank is. Sets of PUs and NUMA nodes are P#.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReportLine {
    /// Its rank; `None` if it does not know.
    pub(crate) rank: Option<u32>,
    /// Its host name.
    pub(crate) host: String,
    /// The PUs that it may run on.
    pub(crate) pus: String,
    /// The PU that it ran on.
    pub(crate) pu: Option<u32>,
    /// The NUMA nodes of its PUs.
    pub(crate) numa: String,
    /// Its memory policy: `default`, `preferred:0`.
    pub(crate) memory: String,
    /// All PUs that its cpuset grants.
    pub(crate) cpuset: String,
}

impl fmt::Display for ReportLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |number: Option<u32>| number.map_or("-".to_owned(), |n| n.to_string());
        write!(
            f,
            "{TAG}rank={} host={} pus={} pu={} numa={} memory={} cpuset={}{END}",
            number(self.rank),
            self.host,
            self.pus,
            number(self.pu),
            self.numa,
            self.memory,
            self.cpuset
        )
    }
}

impl FromStr for ReportLine {
    type Err = ();

    /// Finds a report in a line, whatever stands before and behind it.
    fn from_str(text: &str) -> Result<Self, ()> {
        let (_, text) = text.split_once(TAG).ok_or(())?;
        let (text, _) = text.split_once(END).ok_or(())?;
        let mut words = text.split(' ');
        let mut field = |name: &str| {
            let value = words.next().and_then(|word| word.strip_prefix(name));
            value.and_then(|value| value.strip_prefix('=')).ok_or(())
        };
        let number = |text: &str| match text {
            "-" => Ok(None),
            number => number.parse().map(Some).map_err(|_| ()),
        };
        Ok(Self {
            rank: number(field("rank")?)?,
            host: field("host")?.to_owned(),
            pus: field("pus")?.to_owned(),
            pu: number(field("pu")?)?,
            numa: field("numa")?.to_owned(),
            memory: field("memory")?.to_owned(),
            cpuset: field("cpuset")?.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_found_within_noise_and_not_when_cut() {
        let report = ReportLine {
            rank: Some(3),
            host: "n1".to_owned(),
            pus: "0,2-3".to_owned(),
            pu: None,
            numa: "0".to_owned(),
            memory: "preferred:0".to_owned(),
            cpuset: "0-3".to_owned(),
        };
        let line = report.to_string();
        assert_eq!(format!("[1,3]<stdout>:{line} and more").parse(), Ok(report));
        assert_eq!(line[..line.len() - 1].parse::<ReportLine>(), Err(()));
        assert_eq!(line[3..].parse::<ReportLine>(), Err(()));
    }
}
