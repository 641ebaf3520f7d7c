//! The line in which a rank reports where it runs: the shim writes it, `rankwright check` finds it
//! in the output of the launcher.

use std::fmt;
use std::str::FromStr;

use crate::escape;

/// The beginning of the line.
const TAG: &str = "@rankwright-report ";

/// The end of the line, so that a line cut by the launcher is recognised.
const END: &str = " @end";

/// Where one rank runs. Sets of PUs and NUMA nodes are P#.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportLine {
    /// Its rank; `None` if no rank variable is set.
    pub rank: Option<u32>,
    /// Its host name.
    pub host: String,
    /// The PUs that it may run on.
    pub pus: String,
    /// The PU that it ran on.
    pub pu: Option<u32>,
    /// The NUMA nodes of its PUs.
    pub numa: String,
    /// Its memory policy: `default`, `preferred:0`.
    pub memory: String,
    /// All PUs that its cpuset grants.
    pub cpuset: String,
    /// The variables in its line of the map.
    pub variables: Vec<Variable>,
    /// The network devices and GPUs in its line that its host does not have.
    pub missing_devices: Vec<String>,
    /// The network devices and GPUs in its line whose existence is unknown.
    pub untold_devices: Vec<String>,
}

/// A variable of a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// The value in the map.
    pub wanted: String,
    /// The value that the program gets; it differs if the variable was set before. `None`: not set.
    pub actual: Option<String>,
}

impl fmt::Display for ReportLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |number: Option<u32>| number.map_or("-".to_owned(), |n| n.to_string());
        write!(
            f,
            "{TAG}rank={} host={} pus={} pu={} numa={} memory={} cpuset={} variables={} missing={} untold={}{END}",
            number(self.rank),
            self.host,
            self.pus,
            number(self.pu),
            self.numa,
            self.memory,
            self.cpuset,
            self.variables.iter().map(written).collect::<Vec<_>>().join(","),
            names(&self.missing_devices),
            names(&self.untold_devices)
        )
    }
}

/// `NAME=WANTED=ACTUAL` or `NAME=WANTED`, with `%3D` for a `=` within.
fn written(variable: &Variable) -> String {
    let Variable { name, wanted, actual } = variable;
    let actual =
        actual.as_deref().map_or_else(String::new, |actual| "=".to_owned() + &escaped(actual));
    format!("{}={}{actual}", escaped(name), escaped(wanted))
}

/// Names, separated by commas.
fn names(all: &[String]) -> String {
    all.iter().map(|name| escaped(name)).collect::<Vec<_>>().join(",")
}

/// A text with the separators of the line and blanks escaped.
fn escaped(text: &str) -> String {
    escape::escaped(text.as_bytes(), b"=,@")
}

fn unescaped(text: &str) -> Option<String> {
    escape::unescaped(text).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn variable(text: &str) -> Option<Variable> {
    let words: Vec<String> = text.split('=').map(unescaped).collect::<Option<_>>()?;
    match <[String; 3]>::try_from(words) {
        Ok([name, wanted, actual]) => Some(Variable { name, wanted, actual: Some(actual) }),
        Err(words) => {
            let [name, wanted] = <[String; 2]>::try_from(words).ok()?;
            Some(Variable { name, wanted, actual: None })
        }
    }
}

/// The elements of a list, between its commas.
fn list<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, ()> {
    let parts = text.split(',').filter(|part| !part.is_empty());
    parts.map(read).collect::<Option<_>>().ok_or(())
}

impl FromStr for ReportLine {
    type Err = ();

    /// Finds a report within a line of output.
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
            variables: list(field("variables")?, variable)?,
            missing_devices: list(field("missing")?, unescaped)?,
            untold_devices: list(field("untold")?, unescaped)?,
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
            variables: [("UCX_NET_DEVICES", Some("a = 100 %")), ("OMP_NUM_THREADS", None)]
                .map(|(name, actual)| Variable {
                    name: name.to_owned(),
                    wanted: "mlx5_0:1,mlx5_1:1".to_owned(),
                    actual: actual.map(str::to_owned),
                })
                .to_vec(),
            missing_devices: ["mlx5_1", "left, front"].map(str::to_owned).to_vec(),
            untold_devices: Vec::new(),
        };
        let line = report.to_string();
        assert_eq!(format!("[1,3]<stdout>:{line} and more").parse(), Ok(report));
        assert_eq!(line[..line.len() - 1].parse::<ReportLine>(), Err(()));
        assert_eq!(line[3..].parse::<ReportLine>(), Err(()));
    }
}
