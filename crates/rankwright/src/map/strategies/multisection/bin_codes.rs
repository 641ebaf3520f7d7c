//! Paths in the tree as numbers: a distance is an exclusive or and a look into a table.

use crate::map::search::tree::Tree;

/// The highest bit in which two codes differ; 0 for equal codes.
#[inline(always)]
pub(super) fn highest_difference(a: BinCode, b: BinCode) -> usize {
    // As `ilog2`, which costs several calls in unoptimised test programs.
    (u32::BITS - 1 - ((a ^ b) | 1).leading_zeros()) as usize
}

/// The path of a location in the tree as bit fields, from the whole tree in the highest bits down to
/// the location's number in its bin in the lowest.
pub(super) type BinCode = u32;

/// A code for every location of every bin. The highest bit in which two codes differ gives the lowest
/// group that both lie in. Bit 0 is always 0: setting it in a difference makes the highest bit exist.
///
/// Groups have **heights**: bins are at height 0, the groups of the tree's level l at l + 1.
#[derive(Debug, Clone)]
pub(super) struct BinCodes {
    /// The code of the first location of each bin. Index: [`BinId`].
    code: Vec<BinCode>,
    /// Index: the highest bit that differs; value: the height of the lowest group in common.
    height: [u8; 32],
    /// The distance. Index: the highest bit that differs.
    distance: [u64; 32],
}

impl BinCodes {
    /// The codes of bins with up to `locations` locations. `None` if they do not fit into 32 bits,
    /// which takes a tree far more lopsided than a cluster.
    pub(super) fn new(tree: &Tree, locations: usize) -> Option<Self> {
        let mut codes =
            Self { code: vec![0; tree.bin_count()], height: [0; 32], distance: [0; 32] };
        let mut shift = codes.add_field(1, locations, 0, 0)?;
        for level in 0..=tree.level_count() {
            // The groups one step below in a group of this level; above all levels is the whole.
            let whole = 0..tree.bin_count();
            let groups = match level {
                level if level < tree.level_count() => tree.groups_within(level, whole),
                _ => vec![whole],
            };
            let mut most = 1;
            for group in groups {
                let children = match level {
                    0 => group.map(|bin| bin..bin + 1).collect(),
                    _ => tree.groups_within(level - 1, group),
                };
                most = most.max(children.len());
                for (number, child) in (0_u32..).zip(children) {
                    let field = number.checked_shl(shift).filter(|f| f >> shift == number);
                    let field = if number == 0 { 0 } else { field? };
                    codes.code[child].iter_mut().for_each(|code| *code |= field);
                }
            }
            let distance = if level < tree.level_count() { tree.level_distance(level) } else { 0 };
            shift = codes.add_field(shift, most, level as u8 + 1, distance)?;
        }
        Some(codes)
    }

    /// Reserves bits for numbers below `count`. Returns the first bit behind them.
    fn add_field(&mut self, shift: u32, count: usize, height: u8, distance: u64) -> Option<u32> {
        let end = shift + count.next_power_of_two().trailing_zeros();
        if end > u32::BITS {
            return None;
        }
        self.height[shift as usize..end as usize].fill(height);
        self.distance[shift as usize..end as usize].fill(distance);
        Some(end)
    }

    /// The code of a location, by its number in its bin.
    pub(super) fn code(&self, bin: usize, number: u32) -> BinCode {
        self.code[bin] | number << 1
    }

    /// The height of the lowest group in common. Index: the highest bit in which two codes differ.
    pub(super) fn heights(&self) -> &[u8; 32] {
        &self.height
    }

    /// The distance. Index: the highest bit in which two codes differ.
    pub(super) fn distances(&self) -> &[u64; 32] {
        &self.distance
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::map::strategies::multisection::testing::tree;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn distances_are_those_of_the_tree(tree in tree(), locations in 1_u32..5) {
            let codes = BinCodes::new(&tree, locations as usize).unwrap();
            for a in 0..tree.bin_count() {
                for b in 0..tree.bin_count() {
                    let (code, other) = (codes.code(a, 0), codes.code(b, locations - 1));
                    let distance = codes.distances()[highest_difference(code, other)];
                    prop_assert_eq!(distance, tree.distance(a, b));
                    let height = usize::from(codes.heights()[highest_difference(code, other)]);
                    let in_common = match height {
                        0 => a == b,
                        _ => tree.group(height - 1, a) == tree.group(height - 1, b),
                    };
                    prop_assert!(in_common);
                }
            }
        }
    }

    #[test]
    fn too_many_locations_are_refused() {
        assert!(BinCodes::new(&Tree::flat(4), 1 << 30).is_none());
    }
}
