//! One run: several mappings simulated with the same clocks (common random numbers).

use std::borrow::Cow;

use crate::random::split_mix;
use crate::ranking::Score;
use crate::traffic::Workload;

/// A seed, a workload or a part of one, and the scores of the mappings with them.
pub(super) struct Run<'a> {
    pub(super) workload: Cow<'a, Workload>,
    /// Number of messages of the workload's clocks.
    pub(super) messages: u64,
    pub(super) seed: u64,
    /// By mapping: the factors that extrapolate waiting and finish to a run of all messages.
    pub(super) factors: Vec<(f64, f64)>,
    /// By mapping: the score, extrapolated to a run of all messages; `None` if it was not simulated.
    pub(super) scores: Vec<Option<Score>>,
}

impl<'a> Run<'a> {
    /// A run of a share of the messages of a workload, without scores.
    pub(super) fn new(whole: &'a Workload, share: f64, seed: u64, mappings: usize) -> Self {
        let shorter = if share < 1.0 { whole.shortened(share).ok() } else { None };
        let workload = shorter.map_or(Cow::Borrowed(whole), Cow::Owned);
        let messages = workload.clocked_messages();
        let times = whole.clocked_messages().max(1) as f64 / messages.max(1) as f64;
        let factors = vec![(times, times); mappings];
        Self { workload, messages, seed, factors, scores: vec![None; mappings] }
    }

    /// Sets the factors by the scores of the fluid for all messages and for those of this run.
    pub(super) fn extrapolate(&mut self, all: &[Score], short: &[Score]) {
        for (factor, (all, short)) in self.factors.iter_mut().zip(all.iter().zip(short)) {
            let times = factor.0;
            let ratio = |all: f64, short: f64| if short > 0.0 { all / short } else { times };
            let waiting = ratio(all.total_waiting().0, short.total_waiting().0);
            let finish = ratio(all.last_arrival().0, short.last_arrival().0);
            // Waiting grows in proportion to the run below saturation, and with its square above.
            *factor = (waiting.clamp(times, times * times), finish.clamp(1.0, times));
        }
    }
}

/// The seed of a run, at least 2^63, so that it differs from every seed of a user.
pub(super) fn seed(search_seed: u64, run: u64) -> u64 {
    split_mix(search_seed, run) | 1 << 63
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn seeds_of_runs_differ_and_users_cannot_name_them() {
        let seeds: BTreeSet<u64> =
            (0..100).flat_map(|search| (0..20).map(move |run| seed(search, run))).collect();
        assert_eq!(seeds.len(), 2000);
        assert!(seeds.iter().all(|seed| *seed >= 1 << 63));
    }
}
