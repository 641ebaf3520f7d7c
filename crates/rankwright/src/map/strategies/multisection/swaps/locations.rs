//! The locations of vertices: every bin has as many as vertices may be in it.

use super::scaled_graph::ScaledGraph;
use crate::map::search::tree::{BinId, Tree};
use crate::map::strategies::multisection::bin_codes::{BinCode, BinCodes, highest_difference};

/// A location: its number, counted over all bins, bin after bin.
pub(super) type LocationId = u32;

/// Consecutive locations: the first, and how many.
pub(super) type LocationRange = (LocationId, u32);

/// The locations of all bins.
#[derive(Debug, Clone)]
pub(super) struct Locations {
    /// Index: [`LocationId`].
    code: Vec<BinCode>,
    /// Index: [`LocationId`].
    bin: Vec<BinId>,
    /// Index: the highest bit in which two codes differ.
    height: [u8; 32],
    /// The locations of the group around each bin at each height. Index: bin × heights + height.
    groups: Vec<LocationRange>,
    /// The number of heights.
    heights: usize,
    /// The lowest height at which a group has several locations.
    lowest: u32,
    /// `None` where all vertices have the same load: then the number of locations limits each bin.
    loads: Option<Loads>,
}

/// The loads of vertices, and the load that each bin may hold.
#[derive(Debug, Clone)]
pub(super) struct Loads {
    /// Index: [`VertexId`].
    pub(super) of_vertex: Vec<u64>,
    /// Index: [`BinId`].
    pub(super) capacity: Vec<u64>,
}

impl Locations {
    /// `counts` is the number of locations of each bin.
    pub(super) fn new(
        tree: &Tree,
        codes: &BinCodes,
        counts: &[usize],
        loads: Option<Loads>,
    ) -> Self {
        let mut firsts = vec![0_u32];
        let (mut code, mut bin_of) = (Vec::new(), Vec::new());
        for (bin, count) in counts.iter().enumerate() {
            code.extend((0..*count as u32).map(|number| codes.code(bin, number)));
            bin_of.extend(std::iter::repeat_n(bin as BinId, *count));
            firsts.push(code.len() as u32);
        }
        let heights = tree.level_count() + 2;
        let mut groups = Vec::with_capacity(heights * tree.bin_count());
        for bin in 0..tree.bin_count() {
            for height in 0..heights {
                let bins = match height {
                    0 => bin..bin + 1,
                    height if height <= tree.level_count() => tree.group(height - 1, bin),
                    _ => 0..tree.bin_count(),
                };
                groups.push((firsts[bins.start], firsts[bins.end] - firsts[bins.start]));
            }
        }
        let several =
            |height: &usize| groups.iter().skip(*height).step_by(heights).any(|g| g.1 > 1);
        let lowest = (0..heights).find(several).unwrap_or(heights) as u32;
        Self { code, bin: bin_of, height: *codes.heights(), groups, heights, lowest, loads }
    }

    /// How many locations there are.
    pub(super) fn count(&self) -> usize {
        self.code.len()
    }

    pub(super) fn loads(&self) -> Option<&Loads> {
        self.loads.as_ref()
    }

    #[inline]
    pub(super) fn code(&self, location: LocationId) -> BinCode {
        self.code[location as usize]
    }

    #[inline]
    pub(super) fn bin(&self, location: LocationId) -> BinId {
        self.bin[location as usize]
    }

    /// The first location of each bin.
    pub(super) fn first_of_bins(&self) -> impl ExactSizeIterator<Item = LocationId> + '_ {
        self.groups.iter().step_by(self.heights).map(|(first, _)| *first)
    }

    /// The lowest height at which a group has several locations.
    pub(super) fn lowest_shared_height(&self) -> u32 {
        self.lowest
    }

    /// The distances from a location, the smallest first, each with the most locations that are at
    /// this distance from any one.
    pub(super) fn most_at_each_distance(&self, graph: &ScaledGraph) -> Vec<(i64, usize)> {
        let mut most = Vec::new();
        for height in 0..self.heights {
            let inner = |groups: &[LocationRange]| match height {
                0 => 1,
                _ => groups[height - 1].1,
            };
            let groups = self.groups.chunks_exact(self.heights);
            let count = groups.map(|groups| groups[height].1 - inner(groups)).max().unwrap_or(0);
            let bit = self.height.iter().rposition(|h| usize::from(*h) == height);
            if count > 0 {
                most.push((graph.distances()[bit.unwrap_or(0)], count as usize));
            }
        }
        most.sort_unstable();
        most
    }

    /// The height of the lowest group that two codes have in common.
    #[inline]
    pub(super) fn height(&self, a: BinCode, b: BinCode) -> usize {
        usize::from(self.height[highest_difference(a, b)])
    }

    /// The locations of the group of a height around a location.
    #[inline]
    pub(super) fn group(&self, height: usize, location: LocationId) -> LocationRange {
        self.groups[self.bin[location as usize] as usize * self.heights + height]
    }
}
