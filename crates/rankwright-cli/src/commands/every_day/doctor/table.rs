//! The table of checks.

use super::finding::Finding;
use super::programs::{self, Here};
use super::{launched, system};

/// A check.
pub(super) struct Check {
    /// Its name in output for programs.
    pub(super) name: &'static str,
    /// The commands that need it.
    pub(super) needed_by: &'static [&'static str],
    /// What they need it for.
    pub(super) purpose: &'static str,
    /// Whether it starts ranks, for which `--launch` asks.
    pub(super) launches: bool,
    pub(super) find: fn(&Here<'_>) -> Vec<Finding>,
}

/// A check that starts no ranks.
const fn check(
    name: &'static str,
    needed_by: &'static [&'static str],
    purpose: &'static str,
    find: fn(&Here<'_>) -> Vec<Finding>,
) -> Check {
    Check { name, needed_by, purpose, launches: false, find }
}

/// The checks, in the order of output.
pub(super) const CHECKS: [Check; 15] = [
    check("launcher", &["profile", "run"], "to start ranks", programs::launchers),
    check("shim", &["profile", "run"], "to bind and trace ranks", programs::shim),
    check("tracer", &["profile"], "to record messages", programs::tracers),
    check("preload", &["profile"], "to load the tracer into programs", system::preload),
    Check {
        name: "launch",
        needed_by: &["profile", "run"],
        purpose: "to start ranks, tried with 2",
        launches: true,
        find: launched::ranks,
    },
    Check {
        name: "record",
        needed_by: &["profile"],
        purpose: "to record messages, tried with 2 ranks",
        launches: true,
        find: launched::recorded,
    },
    check("site", &["place", "run"], "as default of --on", system::site),
    check("folders", &["profile", "run"], "for the tracer and predictions", system::folders),
    check("discovery", &["cluster discover"], "to read the hardware", system::discovery),
    check("network", &["place", "nic"], "for messages between nodes", system::network),
    check("scotch", &["place"], "for the strategy drb", system::scotch),
    check("resource-manager", &["profile", "run"], "in its jobs", programs::resource_managers),
    check("clock", &["profile"], "for the times of messages", system::clock),
    check("scheduler", &["profile"], "for the time that ranks wait for a PU", system::scheduler),
    check("lab", &["lab"], "to emulate nodes", system::lab),
];
