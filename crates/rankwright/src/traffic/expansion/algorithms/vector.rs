//! Buffers in elements: libraries divide vectors between elements, never within one.

/// Longer vectors are not possible in memory with the segments that libraries use.
pub(super) const MOST_SEGMENTS: u64 = 1 << 24;

/// Elements of equal length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Vector {
    /// Number of elements.
    pub(super) count: u64,
    /// Length of an element, in bytes.
    pub(super) element: u64,
}

impl Vector {
    /// A buffer of `bytes`; of single bytes if elements do not divide it.
    pub(super) fn of(bytes: u64, element: u64) -> Self {
        let element = if bytes.is_multiple_of(element) { element.max(1) } else { 1 };
        Self { count: bytes / element, element }
    }

    pub(super) fn bytes(self, count: u64) -> u64 {
        count * self.element
    }

    pub(super) fn all(self) -> u64 {
        self.bytes(self.count)
    }

    /// As many elements in another number.
    pub(super) fn with(self, count: u64) -> Self {
        Self { count, ..self }
    }

    /// Elements per segment of about `segment` bytes; all if it is 0 or longer than the vector.
    /// Open MPI rounds to the nearest number of elements.
    pub(super) fn per_segment(self, segment: u64) -> u64 {
        if segment < self.element || segment >= self.all() {
            return self.count.max(1);
        }
        let nearest = segment.saturating_add((self.element - 1) / 2) / self.element;
        nearest.max(self.count / MOST_SEGMENTS)
    }

    /// Length of each of `parts` blocks as equal as possible, the longer ones first.
    pub(super) fn share(self, part: u64, parts: u64) -> u64 {
        self.count / parts + u64::from(part < self.count % parts)
    }

    /// Elements of the blocks `first` to `first + blocks` of length `block`, of which the last one of
    /// the vector may be shorter.
    pub(super) fn blocks(self, block: u64, first: u64, blocks: u64) -> u64 {
        self.count
            .min((first + blocks).saturating_mul(block))
            .saturating_sub(first.saturating_mul(block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_and_shares_are_whole_elements() {
        let vector = Vector::of(1000, 8);
        assert_eq!((vector.count, vector.element), (125, 8));
        assert_eq!(vector.per_segment(0), 125);
        assert_eq!(vector.per_segment(100), 12);
        assert_eq!(vector.per_segment(101), 13);
        assert_eq!((0..4).map(|part| vector.share(part, 4)).sum::<u64>(), 125);
        assert_eq!(vector.blocks(50, 2, 2), 25);
        assert_eq!(vector.blocks(50, 3, 1), 0);
    }
}
