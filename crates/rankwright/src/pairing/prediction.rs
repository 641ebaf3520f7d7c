//! What jobs lose or gain beside each other, predicted from each one's run alone: both are replayed
//! together on the same nodes, at random offsets.

use std::ops::ControlFlow;

use super::memory::{Losses, MemoryLoad, MemoryUse, memory_load};
use super::modes::{ModeError, Part, nodes_of, placed};
use super::{JobFacts, Slowdowns};
use crate::cluster::Cluster;
use crate::network::ServerKind;
use crate::placement::{JobShape, Placement};
use crate::random::{share, split_mix};
use crate::sim::Progress;
use crate::sim::replay::{Measured, ReplayError, ReplayOptions, Replayed, Replayer};
use crate::statistics::Estimate;
use crate::units::Seconds;

/// How slowdowns are predicted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictOptions {
    /// How often two jobs are replayed beside each other, each time with another offset.
    pub offsets: usize,
    /// Of the offsets.
    pub seed: u64,
    /// Whether a job may run beside a copy of itself.
    pub with_itself: bool,
    /// How messages are sent.
    pub replay: ReplayOptions,
}

impl PredictOptions {
    /// How many replays the prediction for this many jobs takes at most.
    #[must_use]
    pub fn replays(&self, jobs: usize) -> usize {
        let others = if self.with_itself { jobs } else { jobs.saturating_sub(1) };
        2 * jobs + jobs * others * self.offsets.max(1)
    }
}

impl Default for PredictOptions {
    fn default() -> Self {
        Self { offsets: 5, seed: 1, with_itself: false, replay: ReplayOptions::default() }
    }
}

/// A job alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alone {
    /// Its run time on whole nodes (Exclusive-Full).
    pub full: Seconds,
    /// Its run time on half of the cores of as many nodes as that takes (Exclusive-Half).
    pub half: Seconds,
    /// The share of the latter in which its ranks wait for messages, on average.
    pub communicating: f64,
    /// The share of it in which the busier port of a node's network device is in use, on average over
    /// its nodes.
    pub device_use: f64,
    /// How many nodes it has on whole nodes and on half of the cores.
    pub nodes: (usize, usize),
    /// The number of its messages.
    pub messages: u64,
    /// The most loaded memory on whole nodes; `None` without traffic, or without
    /// [`Prediction::with_memory_use`].
    pub memory: Option<MemoryLoad>,
}

/// Jobs alone and beside each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// By job.
    pub alone: Vec<Alone>,
    /// Row: background; column: measured. The run time in percent of that on whole nodes, with its 95 %
    /// interval over offsets.
    pub beside: Vec<Estimate>,
    /// The same to first order: the time in communication grows by the share in which the other uses the
    /// network device.
    pub first_order: Vec<f64>,
    /// The pairs, background then measured, that are not replayed together because the one in the
    /// background would begin again too often: `beside` has the first order for them.
    pub not_replayed: Vec<(usize, usize)>,
    /// What each loses beside each other one, in the same order; empty where memory is not considered.
    pub losses: Vec<Losses>,
}

/// A job in the background is replayed up to this many times, or longer up to this many messages.
const MOST_REPETITIONS: f64 = 10.0;
/// As above.
const MOST_MESSAGES: f64 = 5e6;

/// Why slowdowns cannot be predicted.
#[derive(Debug, thiserror::Error)]
pub enum PredictError {
    /// The jobs do not fit.
    #[error(transparent)]
    Mode(#[from] ModeError),
    /// A run cannot be replayed.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The observer ended it.
    #[error("interrupted")]
    Stopped,
}

/// Predicts what each job loses or gains beside each other one, half of the cores of each node each.
/// The job in the background begins again until the measured one ends, as in the paper. The observer gets the number
/// of the present replay, from 0, and its progress.
///
/// # Errors
/// If a job does not fit, a run cannot be replayed, or the observer ends it.
pub fn predict(
    cluster: &Cluster,
    replayer: &Replayer,
    names: &[String],
    options: &PredictOptions,
    observer: &mut dyn FnMut(usize, &Progress) -> ControlFlow<()>,
) -> Result<Prediction, PredictError> {
    let shape = |(name, ranks): (&String, usize)| JobShape {
        name: name.clone(),
        ranks: u32::try_from(ranks).unwrap_or(u32::MAX),
    };
    let shapes = names.iter().zip(replayer.ranks()).map(shape).collect();
    let mut run = Run { cluster, replayer, shapes, options, observer, replays: 0 };
    let count = names.len();
    let alone: Vec<Alone> = (0..count).map(|job| run.alone(job)).collect::<Result<_, _>>()?;
    let first_order = |background: usize, measured: usize| {
        let Alone { full, half, communicating, .. } = alone[measured];
        let grown = half.0 * (1.0 + communicating * alone[background].device_use);
        percent(grown, full)
    };
    let cells = || (0..count).flat_map(|row| (0..count).map(move |column| (row, column)));
    let (mut beside, mut not_replayed) = (Vec::new(), Vec::new());
    for (background, measured) in cells() {
        let is_asked = background != measured || options.with_itself;
        let repetitions = alone[measured].half.0 / alone[background].half.0;
        let messages = repetitions * alone[background].messages as f64;
        let takes_long = repetitions > MOST_REPETITIONS && messages > MOST_MESSAGES;
        if is_asked && takes_long {
            not_replayed.push((background, measured));
        }
        beside.push(match is_asked && !takes_long {
            false => {
                Estimate { mean: first_order(background, measured), half_width: f64::INFINITY }
            }
            true => run.beside(background, measured, &alone)?,
        });
    }
    let first_order = cells().map(|(row, column)| first_order(row, column)).collect();
    Ok(Prediction { alone, beside, first_order, not_replayed, losses: Vec::new() })
}

impl Prediction {
    /// The table of slowdowns.
    #[must_use]
    pub fn slowdowns(&self) -> Slowdowns {
        Slowdowns::new(self.alone.len(), self.beside.iter().map(|cell| cell.mean).collect())
    }

    /// What is known of the jobs: their run times on whole nodes and on half of the cores. Their shares
    /// are equal, as in the replays.
    #[must_use]
    pub fn facts(&self, names: &[String]) -> Vec<JobFacts> {
        let facts = |(name, alone): (&String, &Alone)| JobFacts {
            seconds: Some(alone.full.0),
            half: Some(percent(alone.half.0, alone.full)),
            ..JobFacts::named(name)
        };
        names.iter().zip(&self.alone).map(facts).collect()
    }

    /// The prediction if each rank also uses this much of memories and caches while it computes: computing
    /// takes longer where ranks want more than a memory has ([`MemoryLoad::stretch`]). Jobs with memories
    /// of their own do not disturb each other. `shapes` are the jobs in order, `uses` those of a rank of
    /// each.
    ///
    /// Recorded computing times already contain the waiting for memory, and are taken to be those on whole
    /// nodes. So the run times on whole nodes stay, and all others change by the ratio to the stretch there.
    ///
    /// # Errors
    /// If the jobs do not fit.
    pub fn with_memory_use(
        mut self,
        cluster: &Cluster,
        shapes: &[JobShape],
        uses: &[MemoryUse],
    ) -> Result<Self, ModeError> {
        let load = |jobs: &[(usize, Part)]| -> Result<Option<MemoryLoad>, ModeError> {
            let placed_jobs: Vec<(JobShape, Part)> =
                jobs.iter().map(|(job, part)| (shapes[*job].clone(), *part)).collect();
            let placement = placed(cluster, &placed_jobs, "pair")?;
            let uses: Vec<MemoryUse> = jobs.iter().map(|(job, _)| uses[*job]).collect();
            Ok(memory_load(cluster, &placement, &uses))
        };
        let stretch = |load: Option<MemoryLoad>| load.map_or(1.0, |load| load.stretch());
        let before = self.alone.clone();
        let longer = |job: usize, load: Option<MemoryLoad>, whole: Option<MemoryLoad>| {
            let computing = before[job].half.0 * (1.0 - before[job].communicating);
            computing * (stretch(load) / stretch(whole) - 1.0)
        };
        for (job, alone) in self.alone.iter_mut().enumerate() {
            alone.memory = load(&[(job, Part::WHOLE)])?;
            alone.half.0 += longer(job, load(&[(job, Part::FIRST_HALF)])?, alone.memory);
        }
        let count = before.len();
        for (cell, at) in self.beside.iter_mut().zip(0..) {
            let (background, measured) = (at / count, at % count);
            let jobs = [(measured, Part::FIRST_HALF), (background, Part::SECOND_HALF)];
            let load = load(&jobs)?;
            let Alone { full, half, memory, .. } = self.alone[measured];
            let longer = longer(measured, load, memory);
            self.losses.push(Losses {
                network: Seconds(cell.mean / 100.0 * full.0 - before[measured].half.0),
                memory: Seconds(longer + before[measured].half.0 - half.0),
                load,
            });
            if full.0 > 0.0 {
                let points = percent(longer, full);
                cell.mean += points;
                self.first_order[at] += points;
            }
        }
        Ok(self)
    }

    /// What `measured` loses beside `background`, by resource; `None` without [`Self::with_memory_use`].
    #[must_use]
    pub fn losses(&self, background: usize, measured: usize) -> Option<&Losses> {
        self.losses.get(background * self.alone.len() + measured)
    }

    /// The run time of `measured` beside `background`.
    #[must_use]
    pub fn beside(&self, background: usize, measured: usize) -> Estimate {
        self.beside[background * self.alone.len() + measured]
    }

    /// The same to first order.
    #[must_use]
    pub fn first_order(&self, background: usize, measured: usize) -> f64 {
        self.first_order[background * self.alone.len() + measured]
    }
}

fn percent(time: f64, of: Seconds) -> f64 {
    if of.0 > 0.0 { 100.0 * time / of.0 } else { 100.0 }
}

/// The replays of a prediction.
struct Run<'a, 'o> {
    cluster: &'a Cluster,
    replayer: &'a Replayer,
    shapes: Vec<JobShape>,
    options: &'a PredictOptions,
    observer: &'o mut dyn FnMut(usize, &Progress) -> ControlFlow<()>,
    /// How many were begun.
    replays: usize,
}

impl Run<'_, '_> {
    fn placed(&self, jobs: &[(usize, Part)]) -> Result<Placement, ModeError> {
        let jobs: Vec<(JobShape, Part)> =
            jobs.iter().map(|(job, part)| (self.shapes[*job].clone(), *part)).collect();
        placed(self.cluster, &jobs, "pair")
    }

    fn replay(
        &mut self,
        jobs: &[(usize, Part)],
        measured: Option<Measured>,
    ) -> Result<(Replayed, Placement), PredictError> {
        let placement = self.placed(jobs)?;
        let jobs: Vec<usize> = jobs.iter().map(|(job, _)| *job).collect();
        let number = self.replays;
        self.replays += 1;
        let replayed = self.replayer.replay_some(
            (&jobs, measured),
            (self.cluster, &placement),
            self.options.replay,
            &mut |progress| (self.observer)(number, progress),
        )?;
        if replayed.outcome.stopped.is_some() {
            return Err(PredictError::Stopped);
        }
        Ok((replayed, placement))
    }

    fn alone(&mut self, job: usize) -> Result<Alone, PredictError> {
        let (full, on_full) = self.replay(&[(job, Part::WHOLE)], None)?;
        let (half, on_half) = self.replay(&[(job, Part::FIRST_HALF)], None)?;
        let end: f64 = half.ranks.iter().map(|rank| rank.end.0).sum();
        let waited: f64 = half.ranks.iter().map(|rank| rank.waited.0).sum();
        Ok(Alone {
            full: full.outcome.jobs[0].finish,
            half: half.outcome.jobs[0].finish,
            communicating: if end > 0.0 { waited / end } else { 0.0 },
            device_use: device_use(&half, &on_half),
            nodes: (nodes_of(&on_full).len(), nodes_of(&on_half).len()),
            messages: half.outcome.jobs[0].messages,
            memory: None,
        })
    }

    fn beside(
        &mut self,
        background: usize,
        measured: usize,
        alone: &[Alone],
    ) -> Result<Estimate, PredictError> {
        let count = self.options.offsets.max(1);
        let mut percents = Vec::new();
        for number in 0..count {
            // One in each of as many equal parts of the other's run.
            let pair = (background * alone.len() + measured) as u64;
            let random = share(split_mix(self.options.seed ^ pair << 32, number as u64));
            let begins = alone[background].half.0 * (number as f64 + random) / count as f64;
            let job = Measured { job: 0, begins: Seconds(begins) };
            let jobs = [(measured, Part::FIRST_HALF), (background, Part::SECOND_HALF)];
            let (replayed, _) = self.replay(&jobs, Some(job))?;
            let time = replayed.outcome.jobs[0].finish.0 - begins;
            percents.push(percent(time, alone[measured].full));
        }
        Ok(Estimate::of(&percents))
    }
}

/// The share of the run in which the busier port of the network device is in use, on average over nodes.
fn device_use(replayed: &Replayed, placement: &Placement) -> f64 {
    let finish = replayed.outcome.jobs[0].finish.0;
    let nodes = nodes_of(placement);
    let busiest = |node| {
        let ports = replayed.outcome.servers.iter().filter(|server| match server.kind {
            ServerKind::NicOut { node: at, .. } | ServerKind::NicIn { node: at, .. } => at == node,
            _ => false,
        });
        ports.map(|server| server.service.0).fold(0.0, f64::max)
    };
    let service: f64 = nodes.iter().map(|node| busiest(*node)).sum();
    if finish > 0.0 { (service / nodes.len() as f64 / finish).min(1.0) } else { 0.0 }
}
