//! The order of the runs.

use rankwright::random::Generator;

/// Blocks in which every way runs once. Blocks come in pairs: a random order, then its reverse, so
/// that a linear drift over time cancels.
#[derive(Debug)]
pub(super) struct Schedule {
    ways: usize,
    random: Generator,
    /// The reverse of the last block, if that comes next.
    reverse: Option<Vec<usize>>,
}

impl Schedule {
    pub(super) fn new(ways: usize, seed: u64) -> Self {
        Self { ways, random: Generator::new(seed), reverse: None }
    }

    /// The next block: each way once.
    pub(super) fn block(&mut self) -> Vec<usize> {
        if let Some(reverse) = self.reverse.take() {
            return reverse;
        }
        let mut order: Vec<usize> = (0..self.ways).collect();
        self.random.shuffle(&mut order);
        self.reverse = Some(order.iter().rev().copied().collect());
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_stands_in_the_middle_of_two_blocks() {
        for ways in 1..5 {
            let mut schedule = Schedule::new(ways, 3);
            for _ in 0..4 {
                let both = [schedule.block(), schedule.block()].concat();
                for way in 0..ways {
                    let places = both.iter().enumerate().filter(|(_, other)| **other == way);
                    let sum: usize = places.map(|(place, _)| place).sum();
                    assert_eq!(sum, 2 * ways - 1);
                }
            }
        }
        let firsts = |seed| {
            let mut schedule = Schedule::new(2, seed);
            (0..8).map(|_| schedule.block()[0]).collect::<Vec<_>>()
        };
        assert_eq!(firsts(1), firsts(1));
        assert!((1..9).any(|seed| firsts(seed)[0] == 0) && (1..9).any(|seed| firsts(seed)[0] == 1));
    }
}
