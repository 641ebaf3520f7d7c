//! The result of evaluating a mapping.

use crate::units::Seconds;

/// The numbers by which mappings are ranked. Each evaluation gives some of them:
///
/// | | static | fluid | simulation |
/// |---|---|---|---|
/// | `busiest_nic`, `hop_bytes`, `nodes` | yes | | |
/// | `waiting`, `finish`, `total_finish` | | yes | yes |
/// | queue pairs in `waiting` | | 0 | yes |
///
/// An unknown number ranks behind every known one.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Score {
    /// Waiting without service, summed over all messages.
    pub waiting: Option<Waiting>,
    /// Arrival of the last message of the last job.
    pub finish: Option<Seconds>,
    /// Sum over all jobs of the arrival of their last message.
    pub total_finish: Option<Seconds>,
    /// A smooth form of `finish`, which also depends on servers that are nearly the busiest; for
    /// `SmoothObjective`.
    pub smooth_finish: Option<Seconds>,
    /// Time that the busiest network device needs for its bytes, in its busier direction.
    pub busiest_nic: Option<Seconds>,
    /// Sum over all messages of bytes times hops.
    pub hop_bytes: Option<u128>,
    /// Number of nodes with ranks.
    pub nodes: Option<usize>,
    /// Whether it is the launcher's default.
    pub launcher_default: bool,
    /// Whether it is evaluated for comparison only, so that it cannot win.
    pub reference: bool,
    /// Whether it can only win if all mappings are excluded: it violates the balance of computing
    /// times, or its simulation was stopped before the end.
    pub excluded: bool,
}

/// Waiting summed over all messages, by the servers where they wait.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Waiting {
    /// At all servers.
    pub total: Seconds,
    /// At network devices, both directions.
    pub nics: Seconds,
    /// At memories.
    pub memories: Seconds,
    /// At links between switches.
    pub links: Seconds,
    /// At queue pairs and their processing hardware.
    pub queue_pairs: Seconds,
}

impl Score {
    /// Total waiting; 0 if unknown.
    #[must_use]
    pub fn total_waiting(&self) -> Seconds {
        self.waiting.unwrap_or_default().total
    }

    /// Arrival of the last message; 0 if unknown.
    #[must_use]
    pub fn last_arrival(&self) -> Seconds {
        self.finish.unwrap_or_default()
    }

    /// Number of nodes times finish, hours.
    #[must_use]
    pub(crate) fn node_hours(&self) -> Option<f64> {
        Some(self.nodes? as f64 * self.finish?.0 / 3600.0)
    }

    /// The score of a longer run: waiting and arrivals multiplied by a factor each.
    #[must_use]
    pub(crate) fn stretched(self, waiting: f64, finish: f64) -> Self {
        let later = |time: Seconds| Seconds(time.0 * finish);
        Self {
            waiting: self.waiting.map(|parts| parts.each(|part| part * waiting)),
            finish: self.finish.map(later),
            total_finish: self.total_finish.map(later),
            ..self
        }
    }

    /// The score with waiting and arrivals of `least` where it has less of either.
    #[must_use]
    pub(crate) fn at_least(self, least: &Self) -> Self {
        let less_waiting = self.total_waiting().0 < least.total_waiting().0;
        let earlier = self.last_arrival().0 < least.last_arrival().0;
        Self {
            waiting: if less_waiting { least.waiting } else { self.waiting },
            finish: if earlier { least.finish } else { self.finish },
            total_finish: if earlier { least.total_finish } else { self.total_finish },
            ..self
        }
    }

    /// The mean of the times over several runs; 0 without runs.
    #[must_use]
    pub fn mean<'a>(runs: impl Iterator<Item = &'a Self>) -> Self {
        let (mut waiting, mut finish, mut total_finish) = (Waiting::default(), 0.0, 0.0);
        let mut count: f64 = 0.0;
        for run in runs {
            waiting = waiting.plus(run.waiting.unwrap_or_default());
            finish += run.last_arrival().0;
            total_finish += run.total_finish.unwrap_or_default().0;
            count += 1.0;
        }
        let count = count.max(1.0);
        Self {
            waiting: Some(waiting.each(|part| part / count)),
            finish: Some(Seconds(finish / count)),
            total_finish: Some(Seconds(total_finish / count)),
            ..Self::default()
        }
    }
}

impl Waiting {
    fn each(self, change: impl Fn(f64) -> f64) -> Self {
        let change = |part: Seconds| Seconds(change(part.0));
        Self {
            total: change(self.total),
            nics: change(self.nics),
            memories: change(self.memories),
            links: change(self.links),
            queue_pairs: change(self.queue_pairs),
        }
    }

    fn plus(self, other: Self) -> Self {
        let sum = |a: Seconds, b: Seconds| Seconds(a.0 + b.0);
        Self {
            total: sum(self.total, other.total),
            nics: sum(self.nics, other.nics),
            memories: sum(self.memories, other.memories),
            links: sum(self.links, other.links),
            queue_pairs: sum(self.queue_pairs, other.queue_pairs),
        }
    }
}
