//! The PUs of the ranks of each host by local rank, for launchers that bind all hosts by one list.

use std::fmt::Write;

use super::Request;
use crate::ids::{PuId, PuSet};

/// The sets of PUs (P#) of the ranks on one host, by local rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LocalSets(Vec<PuSet>);

/// Whether a list may have more entries than a host has ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Surplus {
    /// No: the launcher misreads a list that is too long.
    Refused,
    /// Yes: the launcher ignores the surplus.
    Ignored,
}

impl LocalSets {
    /// The sets of every host, in the order of the placement's nodes.
    pub(super) fn by_host<'a>(request: &'a Request<'_>) -> Vec<(&'a str, Self)> {
        let set = |pus: &[PuId]| pus.iter().copied().collect();
        let hosts = request.ranks_by_host().into_iter();
        hosts
            .map(|(host, ranks)| (host, Self(ranks.iter().map(|rank| set(&rank.pus)).collect())))
            .collect()
    }

    /// The one list for all hosts; the error says why none exists.
    pub(super) fn of_all(request: &Request<'_>, surplus: Surplus) -> Result<Self, String> {
        let hosts = Self::by_host(request);
        let longest = hosts.iter().max_by_key(|(_, sets)| sets.0.len());
        let Some((host, longest)) = longest else { return Err("the job has no rank".to_owned()) };
        let differs = hosts.iter().find(|(_, sets)| match surplus {
            Surplus::Refused => sets != longest,
            Surplus::Ignored => !longest.0.starts_with(&sets.0),
        });
        match differs {
            Some((other, _)) => Err(format!("the ranks of {other} and {host} have different PUs")),
            None => Ok(longest.clone()),
        }
    }

    /// Whether no rank has more than one PU.
    pub(super) fn are_single(&self) -> bool {
        self.0.iter().all(|set| set.as_slice().len() == 1)
    }

    /// The largest P#.
    pub(super) fn largest(&self) -> Option<PuId> {
        self.0.iter().filter_map(|set| set.as_slice().last()).max().copied()
    }

    /// `1,0`: the first PU of every rank.
    pub(super) fn list(&self) -> String {
        let first = |set: &PuSet| set.as_slice().first().map(ToString::to_string);
        self.0.iter().filter_map(first).collect::<Vec<_>>().join(",")
    }

    /// `0x2,0x5`: a mask per rank.
    pub(super) fn masks(&self) -> String {
        self.0.iter().map(mask).collect::<Vec<_>>().join(",")
    }

    /// `0-1;4`: lists with ranges.
    pub(super) fn ranges(&self) -> String {
        self.0.iter().map(ToString::to_string).collect::<Vec<_>>().join(";")
    }
}

/// `0x5` for P#0 and P#2, without leading zeros.
fn mask(set: &PuSet) -> String {
    let largest = set.as_slice().last().map_or(0, |pu| pu.0);
    let mut digits = vec![0_u8; largest as usize / 4 + 1];
    for pu in set.as_slice() {
        digits[pu.0 as usize / 4] |= 1 << (pu.0 % 4);
    }
    let mut text = "0x".to_owned();
    for digit in digits.iter().rev() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{digit:x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn masks_are_hexadecimal_and_as_long_as_they_must_be() {
        let mask = |text: &str| mask(&text.parse().unwrap());
        assert_eq!(mask("0"), "0x1");
        assert_eq!(mask("1,3"), "0xa");
        assert_eq!(mask("0-3,64"), "0x1000000000000000f");
    }

    proptest! {
        #[test]
        fn a_mask_read_back_is_the_set(pus in proptest::collection::btree_set(0_u32..120, 1..9)) {
            let set: PuSet = pus.iter().map(|pu| PuId(*pu)).collect();
            let text = mask(&set);
            let bits = u128::from_str_radix(text.strip_prefix("0x").unwrap(), 16).unwrap();
            let bits_set: Vec<u32> = (0..120).filter(|bit| bits >> bit & 1 == 1).collect();
            prop_assert_eq!(bits_set, pus.into_iter().collect::<Vec<_>>());
        }
    }
}
