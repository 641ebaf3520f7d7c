//! Gain buckets (Fiduccia and Mattheyses 1982): a queue of vertices by gain for searches that change
//! gains more often than they ask for the largest.

use super::VertexId;

/// No vertex.
const NONE: VertexId = VertexId::MAX;
/// Gains below twice this number have a bucket each; larger ones share buckets, to one part in this
/// number.
const FINE: u32 = 32;
/// The bucket of gain 0; there are as many on either side.
const MIDDLE: usize = (FINE * 27) as usize;
const WORDS: usize = (2 * MIDDLE).div_ceil(64);

/// The links of a vertex in the list of its bucket.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    next: VertexId,
    previous: VertexId,
    bucket: u16,
}

impl Link {
    const OUT: u16 = u16::MAX;
    /// In no bucket.
    pub(super) const FREE: Self = Self { next: NONE, previous: NONE, bucket: Self::OUT };

    pub(super) fn is_free(self) -> bool {
        self.bucket == Self::OUT
    }
}

/// A vertex record that contains the link of the vertex.
pub(super) trait Linked {
    fn link(&mut self) -> &mut Link;
}

/// Lists of vertices of nearly equal gains, last in first out (Hagen, Huang and Kahng 1997). The
/// links are in the vertex records of the caller.
#[derive(Debug)]
pub(super) struct GainBuckets {
    /// Index: bucket.
    first: Vec<VertexId>,
    /// A bit for each bucket that is not empty, and in `words` one for each word that is not 0.
    filled: [u64; WORDS],
    words: u32,
}

impl GainBuckets {
    pub(super) fn new() -> Self {
        Self { first: vec![NONE; 2 * MIDDLE], filled: [0; WORDS], words: 0 }
    }

    /// The bucket of the largest gain, and a vertex in it. Larger gains have larger buckets.
    pub(super) fn first(&self) -> Option<(usize, VertexId)> {
        let word = self.words.checked_ilog2()? as usize;
        let bucket = 64 * word + self.filled[word].ilog2() as usize;
        Some((bucket, self.first[bucket]))
    }

    /// Inserts a free vertex.
    #[inline]
    pub(super) fn push<T: Linked>(&mut self, vertices: &mut [T], vertex: VertexId, gain: i32) {
        let bucket = bucket(gain);
        let next = std::mem::replace(&mut self.first[bucket], vertex);
        *vertices[vertex as usize].link() = Link { next, previous: NONE, bucket: bucket as u16 };
        if next == NONE {
            self.filled[bucket / 64] |= 1 << (bucket % 64);
            self.words |= 1 << (bucket / 64);
        } else {
            vertices[next as usize].link().previous = vertex;
        }
    }

    /// Removes a vertex that is in a bucket.
    #[inline]
    pub(super) fn remove<T: Linked>(&mut self, vertices: &mut [T], vertex: VertexId) {
        let link = std::mem::replace(vertices[vertex as usize].link(), Link::FREE);
        if link.next != NONE {
            vertices[link.next as usize].link().previous = link.previous;
        }
        if link.previous != NONE {
            vertices[link.previous as usize].link().next = link.next;
            return;
        }
        let bucket = usize::from(link.bucket);
        self.first[bucket] = link.next;
        if link.next == NONE {
            self.filled[bucket / 64] &= !(1 << (bucket % 64));
            if self.filled[bucket / 64] == 0 {
                self.words &= !(1 << (bucket / 64));
            }
        }
    }

    /// Changes the gain of a vertex that is in a bucket.
    #[inline]
    pub(super) fn change<T: Linked>(&mut self, vertices: &mut [T], vertex: VertexId, gain: i32) {
        if usize::from(vertices[vertex as usize].link().bucket) != bucket(gain) {
            self.remove(vertices, vertex);
            self.push(vertices, vertex, gain);
        }
    }

    /// Removes all vertices.
    pub(super) fn clear<T: Linked>(&mut self, vertices: &mut [T]) {
        while let Some((bucket, vertex)) = self.first() {
            let mut next = vertex;
            while next != NONE {
                next = std::mem::replace(vertices[next as usize].link(), Link::FREE).next;
            }
            self.first[bucket] = NONE;
            self.filled[bucket / 64] &= !(1 << (bucket % 64));
            if self.filled[bucket / 64] == 0 {
                self.words &= !(1 << (bucket / 64));
            }
        }
    }
}

/// The bucket of a gain, like a floating-point number with five bits behind the first.
#[inline]
fn bucket(gain: i32) -> usize {
    let size = gain.unsigned_abs();
    let shift = (size | FINE).ilog2() - FINE.ilog2();
    let offset = ((shift * FINE) + (size >> shift)) as usize;
    if gain < 0 { MIDDLE - offset } else { MIDDLE + offset }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl Linked for Link {
        fn link(&mut self) -> &mut Link {
            self
        }
    }

    proptest! {
        #[test]
        fn the_largest_gain_comes_first(
            steps in prop::collection::vec((0_u32..20, -63_i32..64, 0..4), 0..200),
        ) {
            let mut buckets = GainBuckets::new();
            let mut links = [Link::FREE; 20];
            let mut gains = [None; 20];
            for (vertex, gain, kind) in steps {
                let gain_of = &mut gains[vertex as usize];
                match (kind, gain_of.is_some()) {
                    (0, true) => {
                        buckets.remove(&mut links, vertex);
                        *gain_of = None;
                    }
                    (_, true) => {
                        buckets.change(&mut links, vertex, gain);
                        *gain_of = Some(gain);
                    }
                    (_, false) => {
                        buckets.push(&mut links, vertex, gain);
                        *gain_of = Some(gain);
                    }
                }
                let first = buckets.first().and_then(|(_, vertex)| gains[vertex as usize]);
                prop_assert_eq!(first, gains.iter().flatten().max().copied());
            }
            buckets.clear(&mut links);
            prop_assert!(buckets.first().is_none() && links.iter().all(|link| link.is_free()));
        }

        #[test]
        fn larger_gains_have_no_smaller_buckets(gain in any::<i32>(), other in any::<i32>()) {
            let (small, large) = (gain.min(other), gain.max(other));
            prop_assert!(bucket(small) <= bucket(large));
            prop_assert!(bucket(large) < 2 * MIDDLE);
        }
    }
}
