//! `--nodes`: how many nodes, which, or the numbers of nodes to compare.

use std::num::NonZeroU32;
use std::str::FromStr;

use rankwright::cluster::hostlist;

use crate::output::exit_code::UsageError;

/// The value of `--nodes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Nodes {
    /// `4`: at most that many.
    AtMost(u32),
    /// `n[0-3]`: only these.
    These(Vec<String>),
    /// `4..16` or `4,8,16`.
    Several {
        /// The text of the user.
        text: String,
        /// Ascending, without duplicates.
        counts: Vec<NonZeroU32>,
    },
}

/// The most numbers of nodes that are compared, because each takes a separate search.
const MOST: usize = 64;

impl FromStr for Nodes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| {
            format!(
                "{what}, expected a number, a hostlist like n[0-3], a range like 4..16 or a list \
                 like 4,8,16"
            )
        };
        let number = |part: &str| part.trim().parse::<NonZeroU32>().ok();
        let not_a_number = || wrong("not a number of nodes");
        if text.contains(|c: char| c.is_ascii_alphabetic()) && !text.contains("..") {
            let names = hostlist::expand(text).and_then(hostlist::distinct);
            return names.map(Self::These).map_err(|error| error.to_string());
        }
        if let Some((first, last)) = text.split_once("..") {
            let last = last.strip_prefix('=').unwrap_or(last);
            let (first, last) = number(first).zip(number(last)).ok_or_else(not_a_number)?;
            if first > last {
                return Err(wrong("the range ends before it begins"));
            }
            if (last.get() - first.get()) as usize >= MOST {
                return Err(format!(
                    "more than {MOST} numbers of nodes, expected fewer: name some, like 4,8,16"
                ));
            }
            let counts = (first.get()..=last.get()).filter_map(NonZeroU32::new).collect();
            return Ok(Self::Several { text: text.to_owned(), counts });
        }
        if !text.contains(',') {
            let count: u32 = text.parse().map_err(|_| not_a_number())?;
            let most = u32::try_from(hostlist::MOST_NAMES).unwrap_or(u32::MAX);
            return match (1..=most).contains(&count) {
                true => Ok(Self::AtMost(count)),
                false => Err(format!("found {count}, expected 1 to {most}")),
            };
        }
        let counts: Option<Vec<NonZeroU32>> = text.split(',').map(number).collect();
        let mut counts = counts.ok_or_else(not_a_number)?;
        counts.sort_unstable();
        counts.dedup();
        if counts.len() > MOST {
            return Err(format!("more than {MOST} numbers of nodes, expected fewer"));
        }
        Ok(Self::Several { text: text.to_owned(), counts })
    }
}

impl Nodes {
    /// An error for several numbers of nodes, for commands that do not compare them.
    pub(crate) fn refuse_several(&self) -> Result<(), UsageError> {
        match self {
            Self::Several { text, .. } => Err(UsageError(format!(
                "--nodes {text}: expected one number or a hostlist; `place` compares several"
            ))),
            Self::AtMost(_) | Self::These(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> Vec<u32> {
        match text.parse() {
            Ok(Nodes::Several { counts, .. }) => counts.into_iter().map(NonZeroU32::get).collect(),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn ranges_and_lists_are_several_and_a_number_is_one() {
        assert_eq!("4".parse(), Ok(Nodes::AtMost(4)));
        let these = Nodes::These(vec!["n0".to_owned(), "n1".to_owned()]);
        assert_eq!("n[0-1]".parse(), Ok(these));
        assert_eq!(counts("4..6"), [4, 5, 6]);
        assert_eq!(counts("2..=2"), [2]);
        assert_eq!(counts("8,2,4,2"), [2, 4, 8]);
        for wrong in [
            "",
            "0",
            "100001",
            "n[0-",
            "n0,n0",
            "-1",
            "4..",
            "..4",
            "0..3",
            "16..4",
            "1,,2",
            "0,1",
            "1..65",
            "1..99999999",
        ] {
            assert!(wrong.parse::<Nodes>().is_err(), "{wrong}");
        }
    }
}
