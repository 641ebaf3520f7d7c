//! `--nodes`: the number of nodes, or the numbers of nodes to compare.

use std::num::NonZeroU32;
use std::str::FromStr;

/// The value of `--nodes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NodeCounts {
    /// `4`.
    One(u32),
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

impl FromStr for NodeCounts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| {
            format!("{what}, expected a number, a range like 4..16 or a list like 4,8,16")
        };
        let number = |part: &str| part.trim().parse::<NonZeroU32>().ok();
        let not_a_number = || wrong("not a number of nodes");
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
            // Zero is refused where the cluster is made.
            return text.parse().map(Self::One).map_err(|_| not_a_number());
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

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> Vec<u32> {
        match text.parse() {
            Ok(NodeCounts::Several { counts, .. }) => {
                counts.into_iter().map(NonZeroU32::get).collect()
            }
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn ranges_and_lists_are_several_and_a_number_is_one() {
        assert_eq!("4".parse(), Ok(NodeCounts::One(4)));
        assert_eq!(counts("4..6"), [4, 5, 6]);
        assert_eq!(counts("2..=2"), [2]);
        assert_eq!(counts("8,2,4,2"), [2, 4, 8]);
        for wrong in
            ["", "x", "-1", "4..", "..4", "0..3", "16..4", "1,,2", "0,1", "1..65", "1..99999999"]
        {
            assert!(wrong.parse::<NodeCounts>().is_err(), "{wrong}");
        }
    }
}
