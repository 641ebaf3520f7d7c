//! Options of every simulation.

use std::path::Path;

use clap::{Args, ValueEnum};
use rankwright::sim::{Arrivals, Options, Pacing, Service};

use super::inputs;

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
    /// The library's options, for the workloads that the user names. Programs that were
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
