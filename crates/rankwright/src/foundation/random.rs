//! Random numbers and random orders from a seed: for searches, the `random` strategy, generated
//! traffic and the order of compared runs. A seed gives the same values in every version of
//! rankwright, on every machine. The clocks of the simulator draw from ChaCha8, for `rand_distr`.

/// Xoroshiro128++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021),
/// seeded by SplitMix64.
#[derive(Debug, Clone)]
pub struct Generator {
    state: [u64; 2],
}

impl Generator {
    /// The generator of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: [split_mix(seed, 0), split_mix(seed, 1) | 1] }
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let [a, mut b] = self.state;
        let word = a.wrapping_add(b).rotate_left(17).wrapping_add(a);
        b ^= a;
        self.state = [a.rotate_left(49) ^ b ^ (b << 21), b.rotate_left(28)];
        word
    }

    /// A number from 0 to `count` - 1; the bias is below 2^-64 times `count`.
    #[inline]
    pub fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.bits()) * count as u128) >> 64) as usize
    }

    /// A number from 0 up to but not 1.
    #[inline]
    pub fn share(&mut self) -> f64 {
        share(self.bits())
    }

    /// Brings items into random order (Fisher and Yates), with one draw for each but the first.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// Number `position`, from 0, of those that SplitMix64 (Steele, Lea and Flood 2014) makes of a seed.
pub(crate) fn split_mix(seed: u64, position: u64) -> u64 {
    let mut word = seed.wrapping_add((position + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// A number from 0 to `count` - 1 from 32 random bits; the bias is below 2^-32 times `count`.
#[inline]
pub(crate) fn below_u32(bits: u32, count: u32) -> u32 {
    ((u64::from(bits) * u64::from(count)) >> 32) as u32
}

/// A number from 0 up to but not 1 from 64 random bits.
#[inline]
pub(crate) fn share(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, correct the generator, not the numbers: users keep seeds across versions.
    #[test]
    fn a_seed_means_the_same_numbers_in_every_version() {
        let first = |seed| {
            let mut generator = Generator::new(seed);
            [generator.bits(), generator.bits(), generator.bits()]
        };
        assert_eq!(first(0), [0x6f68_e1e7_e266_6ee1, 0xbf96_fb3f_4522_94ae, 0x50f2_a255_5eae_dbf3]);
        assert_eq!(first(7), [0xa144_7cc1_411a_de07, 0x1ea8_3767_c689_0409, 0x6b68_23e2_eb27_147f]);
        let mut generator = Generator::new(1);
        let below: Vec<usize> = (0..6).map(|_| generator.below(1000)).collect();
        assert_eq!(below, [31, 365, 156, 348, 222, 872]);
        assert_eq!(Generator::new(1).share(), 0.031_830_493_152_778_305);
        assert_eq!(below_u32(0x8000_0000, 7), 3);
        assert_eq!(split_mix(0, 0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(split_mix(1_234_567, 0), 6_457_827_717_110_365_317);
    }

    #[test]
    fn a_seed_means_the_same_order_in_every_version() {
        let mut items: Vec<u32> = (0..16).collect();
        let mut generator = Generator::new(1);
        generator.shuffle(&mut items);
        assert_eq!(items, [11, 1, 15, 7, 14, 3, 10, 12, 6, 8, 9, 13, 4, 2, 5, 0]);
    }

    #[test]
    fn every_order_is_as_frequent_as_any_other() {
        let mut generator = Generator::new(3);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..24_000 {
            let mut items = [0, 1, 2, 3];
            generator.shuffle(&mut items);
            *counts.entry(items).or_insert(0_u32) += 1;
        }
        assert_eq!(counts.len(), 24);
        // Five standard deviations of a count around 1000.
        assert!(counts.values().all(|count| (845..1155).contains(count)), "{counts:?}");
    }
}
