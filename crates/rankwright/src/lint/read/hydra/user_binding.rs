//! `binding=user:` of MPICH: `0,1+3,4-5`, an entry for each local rank.

use crate::ids::{PuId, PuSet};
use crate::lint::traps::{self, Trap};
use crate::lint::{LARGEST_INDEX, Place, leading_number, pu};
use crate::units::counted;

/// The most entries that are read; no host has more ranks.
const MOST_ENTRIES: usize = 1 << 20;

/// The entries of a binding.
#[derive(Debug, Default)]
pub(in crate::lint) struct UserBinding {
    /// `None` for an entry without a number.
    entries: Vec<Option<PuSet>>,
    pub(in crate::lint) problems: Vec<(&'static Trap, String)>,
}

impl UserBinding {
    pub(in crate::lint) fn read(text: &str) -> Self {
        let mut binding = Self::default();
        for entry in text.split(',') {
            let (list, times) = entry.split_once('x').unwrap_or((entry, ""));
            let set = binding.set(entry, list);
            let times = if entry.contains('x') {
                let times = leading_number(times).0.clamp(1, MOST_ENTRIES);
                let ranks = counted(times, "rank");
                let text = format!("`{entry}` is `{list}` for {ranks}, not a hexadecimal number");
                binding.problems.push((&traps::MULTIPLIER, text));
                times
            } else {
                1
            };
            if binding.entries.len() + times > MOST_ENTRIES {
                break;
            }
            binding.entries.extend(std::iter::repeat_n(set, times));
        }
        binding
    }

    /// The binding of a local rank; `None` if its entry has no number.
    pub(in crate::lint) fn place(&self, local: usize) -> Option<Place> {
        match self.entries.get(local) {
            Some(set) => set.clone().map(Place::Pus),
            None => Some(Place::Unbound),
        }
    }

    pub(in crate::lint) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The PUs of an entry: numbers and ranges up to the first other character.
    fn set(&mut self, entry: &str, list: &str) -> Option<PuSet> {
        let mut rest = list;
        let mut pus: Vec<PuId> = Vec::new();
        let mut is_range = false;
        while rest.starts_with(|first: char| first.is_ascii_digit()) {
            let (first, length) = take_number(rest);
            rest = &rest[length..];
            let mut last = first;
            if let Some(behind) = rest.strip_prefix('-') {
                let (number, length) = take_number(behind);
                rest = &behind[length..];
                last = number.max(first);
                is_range = true;
            }
            let last = last.min(LARGEST_INDEX as usize + 1);
            // The first number beyond the valid range stands for all of them.
            let clamp = |number: usize| pu(number).unwrap_or(PuId(LARGEST_INDEX + 1));
            pus.extend((first.min(last)..=last).map(clamp));
            rest = rest.strip_prefix('+').unwrap_or(rest);
        }
        if pus.is_empty() {
            self.problems.push((&traps::BAD_ENTRY, format!("the entry `{entry}`")));
            return None;
        }
        let pus: PuSet = pus.into_iter().collect();
        if is_range {
            let text = format!("`{entry}` is one rank on P#{pus}");
            self.problems.push((&traps::RANGE, text));
        }
        Some(pus)
    }
}

/// The leading number and its number of digits.
fn take_number(text: &str) -> (usize, usize) {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    (leading_number(&text[..length]).0, length)
}
