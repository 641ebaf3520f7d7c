//! What `simulate`, `compare`, `place`, `map` and `reproduce` share: options of simulations, their progress, and an
//! end in order when the user interrupts.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use rankwright::sim::{Arrivals, Options, Pacing, Progress, Service};

use crate::cli::Verbosity;
use crate::exit_code::UsageError;
use crate::{inputs, interrupt, output};

/// Options of every simulation.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "Simulation")]
pub(crate) struct SimulationOptions {
    /// Which messages share a clock
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    arrivals: ArrivalsOption,
    /// Whether senders wait before their next round [default: arrival for profiles, else open]
    #[arg(long = "loop", value_enum, value_name = "WHEN")]
    pacing: Option<PacingOption>,
    /// How long a service takes
    #[arg(long, value_enum, default_value_t, value_name = "LAW")]
    service: ServiceOption,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum ArrivalsOption {
    /// All destinations of a rank: at each tick it sends one message to every one
    #[default]
    Source,
    /// None: each pair of ranks has a clock of its own
    Pair,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PacingOption {
    /// Never: an open loop
    Open,
    /// Until the messages of the last round have left the node
    Departure,
    /// Until the messages of the last round have arrived
    Arrival,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum ServiceOption {
    /// As long as length and rate say
    #[default]
    Deterministic,
    /// At random with that mean, to compare with theory
    Exponential,
}

impl SimulationOptions {
    /// An error if the user gave any of them, where nothing is simulated.
    pub(crate) fn refuse(&self, why: &str) -> Result<(), UsageError> {
        let given = self.arrivals != ArrivalsOption::default()
            || self.pacing.is_some()
            || self.service != ServiceOption::default();
        match given {
            true => Err(UsageError(format!("--arrivals, --loop and --service are {why}"))),
            false => Ok(()),
        }
    }

    /// The same as the library has them, for the workloads that the user names. Programs that were
    /// profiled wait for their messages.
    pub(crate) fn options(&self, seed: u64, workloads: &[String]) -> Options {
        let is_profile = |name: &String| inputs::is_profile(Path::new(name)).unwrap_or(false);
        let names = workloads.iter().flat_map(|name| inputs::split(name));
        let profiles = names.into_iter().all(|name| is_profile(&name));
        let usual = if profiles { PacingOption::Arrival } else { PacingOption::Open };
        Options {
            arrivals: match self.arrivals {
                ArrivalsOption::Source => Arrivals::PerSource,
                ArrivalsOption::Pair => Arrivals::PerPair,
            },
            pacing: match self.pacing.unwrap_or(usual) {
                PacingOption::Open => Pacing::Open,
                PacingOption::Departure => Pacing::AfterDeparture,
                PacingOption::Arrival => Pacing::AfterArrival,
            },
            service: match self.service {
                ServiceOption::Deterministic => Service::Deterministic,
                ServiceOption::Exponential => Service::Exponential,
            },
            seed,
        }
    }
}

/// Watches several simulations: shows how far they are together, and stops them all when the user
/// interrupts.
pub(crate) struct Watch {
    bar: ProgressBar,
    begin: Instant,
    /// Per simulation, how much of it is done in parts of [`WHOLE`], and events so far.
    reached: Vec<(AtomicU64, AtomicU64)>,
}

/// Parts of a simulation that its progress is counted in.
const WHOLE: u64 = 10_000;

impl Watch {
    /// A watch over `count` simulations. From now on an interrupt only stops them.
    pub(crate) fn new(verbosity: &Verbosity, count: usize) -> Self {
        interrupt::watch();
        Self {
            bar: output::progress_bar(verbosity, WHOLE * count as u64),
            begin: Instant::now(),
            reached: (0..count).map(|_| Default::default()).collect(),
        }
    }

    /// Notes how far a simulation is.
    pub(crate) fn observe(&self, position: usize, progress: &Progress) -> ControlFlow<()> {
        let (parts, events) = &self.reached[position];
        let share = progress.messages.map_or(0.0, |all| progress.delivered as f64 / all as f64);
        parts.fetch_max((WHOLE as f64 * share) as u64, Ordering::Relaxed);
        events.store(progress.events, Ordering::Relaxed);
        if !self.bar.is_hidden() {
            self.show(progress);
        }
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn show(&self, progress: &Progress) {
        let sum = |of: fn(&(AtomicU64, AtomicU64)) -> &AtomicU64| -> u64 {
            self.reached.iter().map(|one| of(one).load(Ordering::Relaxed)).sum()
        };
        let rate = sum(|one| &one.1) as f64 / self.begin.elapsed().as_secs_f64().max(1e-3);
        self.bar.set_position(sum(|one| &one.0));
        let (time, rate) = (progress.time, rate / 1e6);
        self.bar.set_message(format!("at {time:.1}, {rate:.1} M events/s"));
    }

    /// How long it has taken so far, in seconds.
    pub(crate) fn elapsed(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
