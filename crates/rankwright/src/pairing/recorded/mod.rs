//! Jobs that were recorded alone: what each loses beside each other one, how exactly that is known, and what to
//! note of it.

mod deciding;
mod known_use;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

pub use deciding::deciding_resources;
pub use known_use::{GivenTraffic, KnownUse, MemoryRow, MemoryUseError, TrafficSource};

use super::{Answer, Objective, Pairing, PredictError, PredictOptions, Prediction, predict};
use crate::cluster::Cluster;
use crate::placement::JobShape;
use crate::sim::Progress;
use crate::sim::replay::{ByClocks, ReplayError, Replayer};
use crate::traffic::Job;

/// Jobs with what they lose beside each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// By job: its name.
    pub names: Vec<String>,
    /// What each loses.
    pub prediction: Prediction,
    /// What is known of their use of memories.
    pub memory: Vec<MemoryRow>,
    /// The jobs that were replayed by their clocks, because their calls were not recorded or are one-sided.
    pub by_clocks: Vec<ByClocks>,
    /// What weakens the prediction, a sentence each.
    pub notes: Vec<String>,
}

impl Recorded {
    /// Replays jobs alone and beside each other, half of the cores of each node each, and adds what they lose on
    /// memories that they share. The observer is that of [`predict`].
    ///
    /// # Errors
    /// If a job has neither calls nor message timing, jobs do not fit, a run cannot be replayed, or the observer
    /// ends it.
    pub fn replay(
        cluster: &Cluster,
        (jobs, names): (&[Job], Vec<String>),
        mut known: KnownUse,
        options: &PredictOptions,
        observer: &mut dyn FnMut(usize, &Progress) -> ControlFlow<()>,
    ) -> Result<Self, PredictError> {
        let (replayer, by_clocks) = Replayer::of_jobs(jobs, &names).map_err(ReplayError::from)?;
        let prediction = predict(cluster, &replayer, &names, options, observer)?;
        let mut notes = noted_clocks(&by_clocks, &names);
        notes.extend(not_replayed(&prediction, &names));
        notes.extend(assumed_rates(cluster));
        notes.extend(known_use::notes(&known, &names));
        if known.rows.is_empty() {
            return Ok(Self { names, prediction, memory: Vec::new(), by_clocks, notes });
        }
        let shape =
            |(name, job): (&String, &Job)| JobShape { name: name.clone(), ranks: job.ranks };
        let shapes: Vec<JobShape> = names.iter().zip(jobs).map(shape).collect();
        let by_uses =
            |known: &KnownUse| prediction.clone().with_memory_use(cluster, &shapes, &known.uses);
        let mut with_memory = by_uses(&known)?;
        let limited = known_use::limited(&mut known, cluster, (&names, jobs), &with_memory);
        if !limited.is_empty() {
            with_memory = by_uses(&known)?;
        }
        notes.extend(limited);
        notes.extend(known_use::above_bandwidth(&known, cluster, &names, &with_memory));
        Ok(Self { names, prediction: with_memory, memory: known.rows, by_clocks, notes })
    }
}

/// Notes on jobs that were replayed by their clocks, one for each reason.
fn noted_clocks(by_clocks: &[ByClocks], names: &[String]) -> Vec<String> {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for ByClocks { job, why } in by_clocks {
        by_reason.entry(why).or_default().push(&names[*job]);
    }
    let note = |(why, names): (&str, Vec<&str>)| {
        format!("replayed by clocks, because {why}: {}", names.join(", "))
    };
    by_reason.into_iter().map(note).collect()
}

/// A note on pairs that were not replayed together.
fn not_replayed(prediction: &Prediction, names: &[String]) -> Option<String> {
    let pair = |(background, measured): &(usize, usize)| {
        format!("{} beside {}", names[*measured], names[*background])
    };
    let pairs: Vec<String> = prediction.not_replayed.iter().map(pair).collect();
    (!pairs.is_empty()).then(|| {
        format!(
            "first order only, because the job in the background is so short that a replay would repeat it \
             too often: {}",
            pairs.join(", ")
        )
    })
}

/// A note where the rates may be wrong by more than the gain.
fn assumed_rates(cluster: &Cluster) -> Option<String> {
    let rates = &cluster.rates;
    (!rates.calibrated).then(|| {
        format!(
            "rates of the cluster are assumed ({}): a gain of some percent may be none; ± is only how it varies \
             with when the jobs start; `rankwright calibrate` measures the rates",
            rates.name
        )
    })
}

impl Prediction {
    /// Half the width of the 95 % interval of the gain of a pairing, as a share. Offsets of different pairs of jobs
    /// are independent; copies of a pair have one prediction, so their errors are the same. `copies` of each job
    /// were paired. `None` where it is not known: of other objectives than the sum, of more than two jobs on a
    /// node, of pairs that were not replayed.
    #[must_use]
    pub fn gain_half_width(
        &self,
        pairing: &Pairing,
        objective: Objective,
        copies: usize,
    ) -> Option<f64> {
        // By background and measured job: how often the prediction is in the sum.
        let mut counts: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for group in &pairing.groups {
            let [a, b] = &group.members[..] else { return None };
            let (a, b) = (a.job / copies, b.job / copies);
            *counts.entry((b, a)).or_default() += 1;
            *counts.entry((a, b)).or_default() += 1;
        }
        let squares = counts.into_iter().map(|((background, measured), count)| {
            (self.beside(background, measured).half_width * count as f64).powi(2)
        });
        // The sum of nothing would be -0.
        let sum = squares.fold(0.0, |sum, square| sum + square);
        let width = sum.sqrt() / (100.0 * self.alone.len() as f64 * copies as f64);
        (objective == Objective::Sum && width.is_finite()).then_some(width)
    }
}

impl Pairing {
    /// The answer where the gain is known to within `half_width`, a share: a gain below that is no difference.
    #[must_use]
    pub fn answer_within(&self, half_width: Option<f64>) -> Answer {
        match half_width {
            Some(width) if self.answer == Answer::Share && self.gain <= width => {
                Answer::NoDifference
            }
            _ => self.answer,
        }
    }
}
