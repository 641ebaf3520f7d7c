//! hwloc's bitmaps, sets of P# in text form: 32-bit words, the highest first, `0x0000000f,0xffffffff`.

use std::str::FromStr;

/// A set of P#.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bitmap {
    /// 32-bit words, the lowest first.
    words: Vec<u32>,
    /// Whether all numbers above the words belong to the set.
    infinite: bool,
}

impl Bitmap {
    pub(super) fn contains(&self, number: u32) -> bool {
        let word = self.words.get(number as usize / 32);
        word.map_or(self.infinite, |word| word >> (number % 32) & 1 == 1)
    }

    /// The number of members; `None` if it is infinite.
    pub(super) fn count(&self) -> Option<u32> {
        (!self.infinite).then(|| self.words.iter().map(|word| word.count_ones()).sum())
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.infinite && self.words.iter().all(|word| *word == 0)
    }
}

impl FromStr for Bitmap {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let infinite = text.starts_with("0xf...f");
        let rest = text.strip_prefix("0xf...f").unwrap_or(text);
        let rest = if infinite { rest.strip_prefix(',').unwrap_or(rest) } else { rest };
        let word = |word: &str| match word {
            "" => Ok(0),
            _ => u32::from_str_radix(word.strip_prefix("0x").ok_or(())?, 16).map_err(|_| ()),
        };
        let mut words: Vec<u32> = if rest.is_empty() {
            Vec::new()
        } else {
            rest.split(',').map(word).collect::<Result<_, _>>()?
        };
        words.reverse();
        // Canonical form, so that equal sets compare equal.
        let filling = if infinite { u32::MAX } else { 0 };
        while words.last() == Some(&filling) {
            words.pop();
        }
        Ok(Self { words, infinite })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_from_the_highest_down() {
        let bitmap: Bitmap = "0x00000001,,0x80000003".parse().unwrap();
        let members: Vec<u32> = (0..200).filter(|number| bitmap.contains(*number)).collect();
        assert_eq!(members, [0, 1, 31, 64]);
        assert_eq!(bitmap.count(), Some(4));
        let infinite: Bitmap = "0xf...f,0x0000000f".parse().unwrap();
        assert_eq!(infinite.count(), None);
        assert!(infinite.contains(3) && !infinite.contains(4) && infinite.contains(32));
        assert!("0x0".parse::<Bitmap>().is_ok_and(|bitmap| !bitmap.contains(0)));
        assert!("0xzz".parse::<Bitmap>().is_err() && "12".parse::<Bitmap>().is_err());
    }
}
