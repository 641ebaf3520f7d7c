//! Sets of P# as the kernel writes them.

use crate::ids::{LARGEST_INDEX, parse_index_list};

/// A set of numbers of PUs or NUMA nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Set {
    /// 64-bit words, the lowest first; the last one is not 0.
    words: Vec<u64>,
}

impl Set {
    /// Reads `00000000,0000ffff`: words of 32 bits, the highest first. `None` if it is none, or has a
    /// number above [`LARGEST_INDEX`].
    pub(super) fn of_mask(text: &str) -> Option<Self> {
        let words: Option<Vec<u32>> = text
            .split(',')
            .rev()
            .map(|word| u32::from_str_radix(word.trim().trim_start_matches("0x"), 16).ok())
            .collect();
        let words = words?;
        let halves = words.chunks(2).map(|pair| {
            u64::from(pair[0]) | u64::from(pair.get(1).copied().unwrap_or_default()) << 32
        });
        let set = Self { words: halves.collect() }.shortened();
        (set.words.len() <= LARGEST_INDEX as usize / 64 + 1).then_some(set)
    }

    /// Reads `0-3,8`; `None` if it is not a list.
    pub(super) fn of_list(text: &str) -> Option<Self> {
        Some(parse_index_list(text).ok()?.into_iter().collect())
    }

    pub(super) fn only(number: u32) -> Self {
        std::iter::once(number).collect()
    }

    fn shortened(mut self) -> Self {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
        self
    }

    pub(super) fn contains(&self, number: u32) -> bool {
        let word = self.words.get(number as usize / 64);
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub(super) fn len(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// The lowest member.
    pub(super) fn first(&self) -> Option<u32> {
        self.iter().next()
    }

    /// The members, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let words = self.words.iter().zip(0_u32..);
        words.flat_map(|(word, at)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| 64 * at + bit)
        })
    }

    pub(super) fn and(&self, other: &Self) -> Self {
        let words = self.words.iter().zip(&other.words);
        Self { words: words.map(|(a, b)| a & b).collect() }.shortened()
    }

    /// Adds the members of another set.
    pub(super) fn add(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        self.words.iter_mut().zip(&other.words).for_each(|(word, more)| *word |= more);
    }

    pub(super) fn intersects(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }

    /// Whether all members of the other set belong to it.
    pub(super) fn includes(&self, other: &Self) -> bool {
        let word = |at: usize| self.words.get(at).copied().unwrap_or_default();
        other.words.iter().enumerate().all(|(at, wanted)| wanted & !word(at) == 0)
    }
}

impl FromIterator<u32> for Set {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        let mut set = Self::default();
        for number in numbers {
            let at = number as usize / 64;
            if set.words.len() <= at {
                set.words.resize(at + 1, 0);
            }
            set.words[at] |= 1 << (number % 64);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_and_lists_say_the_same() {
        for (mask, list) in [
            ("3", "0-1"),
            ("0000ffff", "0-15"),
            ("00000001,00000000,80000000", "31,64"),
            ("00000000", ""),
            ("1,00000000,00000000", "64"),
        ] {
            assert_eq!(Set::of_mask(mask), Set::of_list(list), "{mask}");
        }
        assert_eq!(Set::of_mask("xyz"), None);
        assert_eq!(Set::of_mask(""), None);
        assert_eq!(Set::of_mask(&format!("1{}", ",00000000".repeat(3000))), None);
        assert_eq!(Set::of_list("0-99999999"), None);
    }

    #[test]
    fn sets_are_compared_by_their_members() {
        let set = |text: &str| Set::of_list(text).unwrap();
        let (all, some) = (set("0-3,70"), set("1,70"));
        assert!(all.includes(&some) && !some.includes(&all) && all.intersects(&some));
        assert!(!set("0").intersects(&set("64")));
        assert_eq!(all.and(&set("3-69")), set("3"));
        assert_eq!((all.len(), all.first(), set("").first()), (5, Some(0), None));
        let mut sum = some.clone();
        sum.add(&set("200"));
        assert_eq!(sum.iter().collect::<Vec<_>>(), [1, 70, 200]);
    }
}
