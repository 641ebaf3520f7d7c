//! One simulation of several answers with the same clocks.

use std::borrow::Cow;

use super::Times;
use crate::estimate::FluidOutcome;
use crate::traffic::Workload;

/// The same clocks for all that are in it.
pub(super) struct Run<'a> {
    pub(super) workload: Cow<'a, Workload>,
    pub(super) messages: u64,
    pub(super) seed: u64,
    /// By how much waiting and time to the end are more in a run of all messages, for each answer.
    pub(super) factors: Vec<(f64, f64)>,
    pub(super) times: Vec<Option<Times>>,
}

impl<'a> Run<'a> {
    /// With so large a part of the messages of a workload; nobody has been simulated.
    pub(super) fn new(whole: &'a Workload, share: f64, seed: u64, contenders: usize) -> Self {
        let shorter = if share < 1.0 { whole.shortened(share).ok() } else { None };
        let workload = shorter.map_or(Cow::Borrowed(whole), Cow::Owned);
        let messages = workload.clocked_messages();
        let times = whole.clocked_messages().max(1) as f64 / messages.max(1) as f64;
        let factors = vec![(times, times); contenders];
        Self { workload, messages, seed, factors, times: vec![None; contenders] }
    }

    /// Takes from what the fluid says of all messages and of those of this run by how much more there
    /// is of waiting and of time.
    pub(super) fn extrapolate(&mut self, all: &[FluidOutcome], short: &[FluidOutcome]) {
        for (factor, (all, short)) in self.factors.iter_mut().zip(all.iter().zip(short)) {
            let times = factor.0;
            let ratio = |all: f64, short: f64| if short > 0.0 { all / short } else { times };
            let waiting = ratio(all.total_waiting.0, short.total_waiting.0);
            let finish = ratio(all.workload_finish.0, short.workload_finish.0);
            // Waiting grows in proportion to the run where servers keep up, with its square where
            // they do not.
            *factor = (waiting.clamp(times, times * times), finish.clamp(1.0, times));
        }
    }
}

/// The seed of a run: 2^63 and more (SplitMix64).
pub(super) fn seed(of_search: u64, run: u64) -> u64 {
    let mut z = of_search.wrapping_add((run + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) | 1 << 63
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn seeds_differ_and_nobody_else_has_them() {
        let seeds: BTreeSet<u64> =
            (0..100).flat_map(|search| (0..20).map(move |run| seed(search, run))).collect();
        assert_eq!(seeds.len(), 2000);
        assert!(seeds.iter().all(|seed| *seed >= 1 << 63));
    }
}
