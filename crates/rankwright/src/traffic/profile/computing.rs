//! How long ranks computed, also where others took PUs from them.

use super::{Profile, RankRecord};
use crate::units::Seconds;

/// Waiting for PUs above this share of the time outside MPI makes a run disturbed: ranks shared PUs, or
/// other programs ran beside them.
const DISTURBED: f64 = 0.03;

/// Processor time of other threads above this share of that of the main thread: they compute.
const THREADS_COMPUTE: f64 = 0.1;

/// Why the computing time of a disturbed run is only roughly known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoughComputing {
    /// Other threads compute too, and what they waited for a PU is not recorded.
    Threads,
    /// The kernel does not tell waiting for a PU from sleep.
    Sleep,
}

impl Profile {
    /// Time outside MPI without waiting for a PU, by rank; empty unless known for every rank.
    pub(super) fn compute(&self) -> Vec<Seconds> {
        if let Some(computing) = self.computing() {
            return computing;
        }
        // With shared PUs, time outside MPI includes waiting for a PU.
        if !self.has_time_outside() || self.shared_pus().is_some() {
            return Vec::new();
        }
        self.ranks.iter().map(RankRecord::outside).collect()
    }

    /// Whether the time outside MPI is known for every rank.
    fn has_time_outside(&self) -> bool {
        let timed = self.calls_were_timed() && !self.run.several_threads;
        timed && self.ranks.iter().all(RankRecord::is_complete)
    }

    /// Time outside MPI without waiting for a PU, by rank; `None` unless that wait was recorded for every
    /// rank.
    pub(super) fn computing(&self) -> Option<Vec<Seconds>> {
        let computing = |rank: &RankRecord| {
            let waited = rank.waited_for_pu?;
            Some(Seconds((rank.outside().0 - waited.0).max(0.0)))
        };
        let ranks = self.has_time_outside().then_some(&self.ranks)?;
        ranks.iter().map(computing).collect()
    }

    /// How long the program would compute without a disturbance, on the rank that computes longest; `None`
    /// if the run was not disturbed, or the waiting for PUs was not recorded.
    ///
    /// A run is disturbed if ranks had fewer PUs than there were ranks, or waited for PUs. Its wall time and
    /// its time in MPI, where ranks wait for others that wait for a PU, then say little about the program.
    #[must_use]
    pub fn undisturbed(&self) -> Option<Seconds> {
        let computing = self.computing()?;
        let disturbed = self.shared_pus().is_some() || self.much_waiting_for_pus().is_some();
        let longest = computing.into_iter().map(|time| time.0).fold(0.0, f64::max);
        (disturbed && longest > 0.0).then_some(Seconds(longest))
    }

    /// How long ranks waited for PUs, as a share of their time outside MPI, 0 to 1; `None` if that was not
    /// recorded, or is too little to matter.
    #[must_use]
    pub fn much_waiting_for_pus(&self) -> Option<f64> {
        self.computing()?;
        let sum = |time: &dyn Fn(&RankRecord) -> Seconds| -> f64 {
            self.ranks.iter().map(|rank| time(rank).0).sum()
        };
        let waited = sum(&|rank| rank.waited_for_pu.unwrap_or_default());
        let outside = sum(&RankRecord::outside);
        (waited > DISTURBED * outside).then(|| (waited / outside).min(1.0))
    }

    /// Whether ranks computed with several threads: in half of the ranks the others took at least half as much
    /// processor time as the thread that called `MPI_Init`. How many they were, that time does not tell: threads that
    /// wait for others often spin.
    pub(super) fn is_threaded(&self) -> bool {
        let known = || self.ranks.iter().filter(|rank| rank.processor.0 > 0.0);
        let threaded = known().filter(|rank| rank.other_threads.0 >= 0.5 * rank.processor.0);
        let threaded = threaded.count();
        threaded > 0 && 2 * threaded >= known().count()
    }

    /// Why the time that ranks waited for PUs is only roughly known; `None` if it is known.
    #[must_use]
    pub fn rough_computing(&self) -> Option<RoughComputing> {
        let compute_in_threads =
            |rank: &RankRecord| rank.other_threads.0 > THREADS_COMPUTE * rank.processor.0;
        if self.ranks.iter().any(compute_in_threads) {
            Some(RoughComputing::Threads)
        } else {
            self.ranks.iter().any(|rank| !rank.sleep_is_known).then_some(RoughComputing::Sleep)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Ended, FlowRecord, FlowTimes, TimeInMpi};
    use super::*;
    use crate::ids::{PuId, Rank};
    use crate::traffic::expansion::Expansion;
    use crate::traffic::{Flow, Job, Source};

    /// Two ranks on two PUs that ran 10 s, of which 2 s in MPI, and sent 101 messages in all that time.
    fn profile(waited: [Option<f64>; 2]) -> Profile {
        let rank = |waited: Option<f64>| RankRecord {
            host: "a".into(),
            pus: [PuId(0), PuId(1)].into_iter().collect(),
            ended: Ended::Finalized,
            wall: Seconds(10.0),
            wait: TimeInMpi { calls: 5, time: Seconds(2.0) },
            waited_for_pu: waited.map(Seconds),
            sleep_is_known: true,
            ..RankRecord::default()
        };
        let (source, destination) = (Rank(0), Rank(1));
        let flow = Flow { source, destination, messages: 101, bytes: 101, largest: 1 };
        let gap_mean = Seconds(0.1);
        let times = FlowTimes { first: Seconds(0.0), last: Seconds(10.0), gap_mean, gap_cv: 1.0 };
        Profile {
            ranks: waited.map(rank).into(),
            flows: vec![FlowRecord { times: Some(times), ..FlowRecord::of_flow(flow) }],
            ..Profile::default()
        }
    }

    fn duration(job: &Job) -> f64 {
        let duration = |source: &Source| source.rounds as f64 / source.rate.0;
        job.sources.iter().map(duration).fold(0.0, f64::max)
    }

    #[test]
    fn after_a_disturbed_run_clocks_and_computing_are_the_programs_own() {
        let disturbed = profile([Some(6.0), Some(4.0)]);
        let job = disturbed.job(Expansion::Default).unwrap();
        assert_eq!(job.compute, [Seconds(2.0), Seconds(4.0)]);
        assert_eq!(job.seen.undisturbed, Some(Seconds(4.0)));
        assert!((duration(&job) - 4.04).abs() < 0.1, "{}", duration(&job));
    }

    #[test]
    fn a_calm_run_keeps_its_clocks() {
        let job = profile([Some(0.1), Some(0.0)]).job(Expansion::Default).unwrap();
        assert_eq!(job.compute, [Seconds(7.9), Seconds(8.0)]);
        assert_eq!(job.seen.undisturbed, None);
        assert!((duration(&job) - 10.1).abs() < 0.1, "{}", duration(&job));
    }

    #[test]
    fn shared_pus_matter_where_waiting_for_them_was_not_recorded() {
        for (waited, shared, undisturbed) in
            [([Some(0.0), Some(0.0)], false, Some(Seconds(8.0))), ([Some(0.0), None], true, None)]
        {
            let mut profile = profile(waited);
            for rank in &mut profile.ranks {
                rank.pus = [PuId(0)].into_iter().collect();
            }
            let job = profile.job(Expansion::Default).unwrap();
            assert_eq!((job.seen.shared_pus, job.seen.undisturbed), (shared, undisturbed));
            assert_eq!(job.compute.is_empty(), shared);
        }
    }

    #[test]
    fn computing_is_rough_if_other_threads_compute() {
        let mut profile = profile([Some(6.0), Some(4.0)]);
        assert_eq!(profile.rough_computing(), None);
        profile.ranks[1].sleep_is_known = false;
        assert_eq!(profile.rough_computing(), Some(RoughComputing::Sleep));
        profile.ranks[0].processor = Seconds(2.0);
        profile.ranks[0].other_threads = Seconds(1.0);
        assert_eq!(profile.rough_computing(), Some(RoughComputing::Threads));
    }

    #[test]
    fn threads_are_known_by_their_processor_time() {
        let is_threaded = |times: [(f64, f64); 2]| {
            let mut profile = profile([None, None]);
            for (rank, (main, others)) in profile.ranks.iter_mut().zip(times) {
                (rank.processor, rank.other_threads) = (Seconds(main), Seconds(others));
            }
            profile.is_threaded()
        };
        assert!(!is_threaded([(0.0, 0.0), (0.0, 0.0)]));
        assert!(!is_threaded([(9.0, 0.1), (9.0, 0.3)]));
        assert!(is_threaded([(9.0, 24.0), (8.0, 23.0)]));
    }
}
