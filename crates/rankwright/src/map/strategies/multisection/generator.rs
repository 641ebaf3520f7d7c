//! Random numbers for searches: a few instructions each, the same in every version.

/// Xoroshiro128++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021),
/// seeded by SplitMix64.
#[derive(Debug, Clone)]
pub(super) struct Generator {
    state: [u64; 2],
}

impl Generator {
    pub(super) fn new(seed: u64) -> Self {
        let mut mixed = seed;
        let mut next = || {
            mixed = mixed.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut word = mixed;
            word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            word ^ (word >> 31)
        };
        Self { state: [next(), next() | 1] }
    }

    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        let [a, mut b] = self.state;
        let word = a.wrapping_add(b).rotate_left(17).wrapping_add(a);
        b ^= a;
        self.state = [a.rotate_left(49) ^ b ^ (b << 21), b.rotate_left(28)];
        word
    }
}

/// A number below `count` from the upper 32 of these bits; the bias is below 2^-32 times `count`.
#[inline]
pub(super) fn below(bits: u32, count: u32) -> u32 {
    ((u64::from(bits) * u64::from(count)) >> 32) as u32
}
