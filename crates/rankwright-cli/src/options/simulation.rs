//! Options of every simulation.

use std::path::Path;

use clap::{Args, ValueEnum};
use rankwright::sim::{Arrivals, Options, Pacing, Service};

use super::inputs;

/// Options of every simulation.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct SimulationOptions {
    /// Messages injected together: all of a rank, or those of a pair of ranks
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    arrivals: ArrivalsOption,
    /// When a rank sends its next round of messages [default: arrival for profiles, else open]
    #[arg(long = "loop", value_enum, value_name = "WHEN")]
    pacing: Option<PacingOption>,
    /// Time that a server (network device, memory) needs for a message
    #[arg(long, value_enum, default_value_t, value_name = "LAW")]
    service: ServiceOption,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum ArrivalsOption {
    /// All messages of a rank: at each tick it sends one to every destination
    #[default]
    Source,
    /// The messages from one rank to another: a clock per pair of ranks
    Pair,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PacingOption {
    /// At the next tick, even if earlier messages still wait (open loop)
    Open,
    /// Its clock stands still until the messages of the round have left the node
    Departure,
    /// Its clock stands still until the messages of the round have arrived
    Arrival,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum ServiceOption {
    /// Length divided by bandwidth
    #[default]
    Deterministic,
    /// Random with that mean, for comparison with queueing theory
    Exponential,
}

impl SimulationOptions {
    /// The library's options for these workloads. Profiled programs run in a closed loop by
    /// default.
    pub(crate) fn options(&self, seed: u64, workloads: &[String]) -> Options {
        let is_profile = |name: &String| inputs::is_profile(Path::new(name)).unwrap_or(false);
        let names = workloads.iter().flat_map(|name| inputs::split(name));
        let profiles = names.into_iter().all(|name| is_profile(&name));
        let default = if profiles { PacingOption::Arrival } else { PacingOption::Open };
        Options {
            arrivals: match self.arrivals {
                ArrivalsOption::Source => Arrivals::PerSource,
                ArrivalsOption::Pair => Arrivals::PerPair,
            },
            pacing: match self.pacing.unwrap_or(default) {
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
