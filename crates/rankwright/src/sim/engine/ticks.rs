//! The ticks of the clocks of a zone in an open loop, block by block.

use crate::sim::clock::Clock;
use crate::sim::time::NEVER;

/// The number of ticks in a block, about.
const BLOCK: usize = 128;

/// The ticks of several clocks in the order of time; of equal times in the order of clocks.
///
/// In an open loop nothing changes the ticks, so those of a span of time are drawn clock by clock and
/// sorted. This is cheaper than to search for the next clock at each tick.
pub(super) struct Ticks {
    clocks: Vec<Clock>,
    /// The first tick of each clock behind the block, picoseconds. Index: slot.
    next: Vec<u64>,
    /// The ticks of the block, ascending: the time since `begin`, shifted left by `bits`, and the slot
    /// of the clock in the low bits.
    block: Vec<u64>,
    /// The time of the first tick of the block, picoseconds.
    begin: u64,
    /// The number of bits of a slot.
    bits: u32,
    /// The number of ticks of the block that have been taken.
    taken: usize,
    /// The time that a block spans, picoseconds.
    span: u64,
}

impl Ticks {
    /// The ticks of clocks that have not ticked yet. The index of a clock is its slot.
    pub(super) fn new(mut clocks: Vec<Clock>) -> Self {
        let next = clocks.iter_mut().map(|clock| clock.next().unwrap_or(NEVER)).collect();
        let bits = clocks.len().next_power_of_two().trailing_zeros();
        let mut ticks = Self { clocks, next, block: Vec::new(), begin: 0, bits, taken: 0, span: 1 };
        ticks.fill();
        ticks
    }

    /// The time and slot of the next tick; [`NEVER`] after the last.
    #[inline]
    pub(super) fn first(&self) -> (u64, usize) {
        let slot = (1 << self.bits) - 1;
        let tick = self.block.get(self.taken);
        tick.map_or((NEVER, 0), |tick| (self.begin + (tick >> self.bits), (tick & slot) as usize))
    }

    /// Goes on to the next tick.
    #[inline]
    pub(super) fn pop(&mut self) {
        self.taken += 1;
        if self.taken == self.block.len() {
            self.fill();
        }
    }

    /// The next block, empty if there are no more ticks.
    #[inline(never)]
    fn fill(&mut self) {
        // Adapts the span to the number of ticks in the last block.
        if self.block.len() < BLOCK / 2 {
            self.span = (2 * self.span).min(1 << (63 - self.bits));
        } else if self.block.len() > 2 * BLOCK {
            self.span = (self.span / 2).max(1);
        }
        self.block.clear();
        self.taken = 0;
        self.begin = self.next.iter().copied().min().unwrap_or(NEVER);
        // A tick at `NEVER` never happens: the end is exclusive.
        let end = self.begin.saturating_add(self.span);
        for (slot, (clock, next)) in self.clocks.iter_mut().zip(&mut self.next).enumerate() {
            while *next < end {
                self.block.push(((*next - self.begin) << self.bits) | slot as u64);
                *next = clock.next().unwrap_or(NEVER);
            }
        }
        self.block.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Rank;
    use crate::sim::clock::RandomStream;
    use crate::traffic::Source;
    use crate::units::PerSecond;

    #[test]
    fn ticks_are_those_of_all_clocks_in_order() {
        let clock = |number: usize| {
            let rate = PerSecond([1.0, 1000.0, 1000.0, 3.0][number % 4]);
            let (cv, rounds) = ([0.0, 1.0, 2.0][number % 3], 50 * number as u64);
            let source = Source { rank: Rank(0), rate, cv, in_step: None, rounds, sends: vec![] };
            // The clocks 1 and 13 tick at the same times.
            let stream = RandomStream { seed: 1, job: 0, source: number % 12, send: None };
            Clock::new(&source, stream)
        };
        let clocks: Vec<Clock> = (0..20).map(clock).collect();
        let mut expected = Vec::new();
        for (slot, clock) in clocks.iter().enumerate() {
            expected.extend(clock.clone().map(|time| (time, slot)));
        }
        expected.sort_unstable();
        let mut ticks = Ticks::new(clocks);
        for tick in expected {
            assert_eq!(ticks.first(), tick);
            ticks.pop();
        }
        assert_eq!(ticks.first(), (NEVER, 0));
        assert_eq!(Ticks::new(vec![]).first().0, NEVER);
    }
}
