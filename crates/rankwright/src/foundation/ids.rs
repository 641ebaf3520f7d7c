//! The numbers that name things. Two kinds are never mixed: **L#** (hwloc's logical index, dense,
//! in the order of the topology tree) and **P#** (the operating system's index, what `taskset`
//! understands). A core's P# is not a CPU number, so it has no type here.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The number as an index into a slice.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of the element at `index` of a slice.
            ///
            /// # Panics
            /// If `index` does not fit 32 bits; no list of things in a cluster is that long.
            #[must_use]
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("fewer than 2^32 of each thing"))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// An MPI process: its number in `MPI_COMM_WORLD` of its job.
    Rank
);
id!(
    /// An MPI process, counted over all jobs of a workload: the ranks of the first job, then those of
    /// the second.
    GlobalRank
);
id!(
    /// A slot: its position in the list of slots that ranks can take.
    SlotId
);
id!(
    /// A job of a workload: its position in the list of jobs.
    JobId
);
id!(
    /// A node of a cluster: its position in the list of nodes.
    NodeId
);
id!(
    /// A core, L#: counted within its node.
    CoreId
);
id!(
    /// A NUMA node, L#: counted within its node.
    NumaId
);
id!(
    /// A server that messages wait for: its position among those of a placement.
    ServerId
);
id!(
    /// A processing unit (hardware thread), P#: the operating system's number within its node.
    PuId
);

impl Rank {
    /// This rank counted over all jobs; `first` is rank 0 of its job.
    ///
    /// # Panics
    /// If the sum does not fit 32 bits.
    #[must_use]
    pub fn global(self, first: GlobalRank) -> GlobalRank {
        GlobalRank::from_index(first.index() + self.index())
    }
}

/// A set of PUs of one node, P#, in ascending order. Written and read as `0-3,8`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PuSet(Vec<PuId>);

impl PuSet {
    /// The PUs in ascending order.
    #[must_use]
    pub fn as_slice(&self) -> &[PuId] {
        &self.0
    }

    /// Whether the set holds no PU.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many PUs the set holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl FromIterator<PuId> for PuSet {
    fn from_iter<I: IntoIterator<Item = PuId>>(pus: I) -> Self {
        let mut pus: Vec<PuId> = pus.into_iter().collect();
        pus.sort_unstable();
        pus.dedup();
        Self(pus)
    }
}

impl fmt::Display for PuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<u32> = self.0.iter().map(|pu| pu.0).collect();
        f.write_str(&format_index_list(&numbers))
    }
}

impl FromStr for PuSet {
    type Err = IndexListError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(parse_index_list(text)?.into_iter().map(PuId).collect())
    }
}

/// The largest index that an index list may name; no node has more PUs.
pub const LARGEST_INDEX: u32 = 65_535;

/// Why a text is not a list of indices.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "found `{found}`, expected a list of numbers and ranges from 0 to {LARGEST_INDEX}, like 0-3,8"
)]
pub struct IndexListError {
    /// The part that is wrong.
    pub found: String,
}

/// Reads `0-3,8` as 0, 1, 2, 3, 8: in the order written, an empty text as no index.
///
/// # Errors
/// If a part is not a number or an ascending range, or names an index above [`LARGEST_INDEX`].
pub fn parse_index_list(text: &str) -> Result<Vec<u32>, IndexListError> {
    let mut indices = Vec::new();
    if text.trim().is_empty() {
        return Ok(indices);
    }
    for part in text.split(',').map(str::trim) {
        let wrong = || IndexListError { found: part.to_owned() };
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: u32 = first.trim().parse().map_err(|_| wrong())?;
        let last: u32 = last.trim().parse().map_err(|_| wrong())?;
        if first > last || last > LARGEST_INDEX {
            return Err(wrong());
        }
        indices.extend(first..=last);
    }
    Ok(indices)
}

/// Writes ascending indices as a list of numbers and ranges: 0, 1, 2, 3, 8 as `0-3,8`.
#[must_use]
pub fn format_index_list(indices: &[u32]) -> String {
    let mut text = String::new();
    let mut rest = indices;
    while let Some(&first) = rest.first() {
        let run = rest.iter().zip(first..).take_while(|(index, wanted)| **index == *wanted).count();
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&first.to_string());
        if run > 1 {
            text.push('-');
            text.push_str(&rest[run - 1].to_string());
        }
        rest = &rest[run..];
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_lists_read_back_as_written() {
        for text in ["", "0", "0-3", "0-3,8", "5,7,9-10"] {
            let indices = parse_index_list(text).unwrap();
            assert_eq!(format_index_list(&indices), text);
        }
    }

    #[test]
    fn index_lists_reject_what_is_no_list() {
        for text in ["a", "3-1", "1,,2", "-1", "0-99999999", "1-", "0x3"] {
            assert!(parse_index_list(text).is_err(), "{text}");
        }
    }

    #[test]
    fn pu_sets_are_ordered_and_without_repeats() {
        let set: PuSet = [PuId(8), PuId(1), PuId(0), PuId(1)].into_iter().collect();
        assert_eq!(set.to_string(), "0-1,8");
        assert_eq!("0-1,8".parse(), Ok(set));
    }
}
