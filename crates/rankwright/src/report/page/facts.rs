//! What, when, where: the inputs of a report.

use std::collections::BTreeSet;

use super::data::{FactGroup, Report};
use super::findings::Found;
use super::machine::rates;
use crate::calendar;
use crate::cluster::{Cluster, hostlist};
use crate::placement::digest;
use crate::traffic::profile::Profile;
use crate::traffic::{Job, Workload};
use crate::units::{Seconds, counted};

/// The longest hostlist that is shown.
const LONGEST_LIST: usize = 200;

/// Nanoseconds of a day.
const NS_OF_A_DAY: u64 = 86_400_000_000_000;

/// The most jobs that are listed one by one.
const MOST_JOBS: usize = 8;

impl Report {
    /// Adds what is known of a workload.
    #[must_use]
    pub fn with_workload_facts(mut self, workload: &Workload) -> Self {
        let jobs = &workload.jobs;
        let job = |job: &Job| format!("{} ({})", job.name, counted(job.ranks as usize, "rank"));
        let mut listed: Vec<String> = jobs.iter().take(MOST_JOBS).map(job).collect();
        if let Some(more @ 1..) = jobs.len().checked_sub(MOST_JOBS) {
            listed.push(format!("and {}", counted(more, "more job")));
        }
        let name = if jobs.len() == 1 { "job" } else { "jobs" };
        self.fact(FactGroup::Run, name, listed.join(", "));
        let each = |value: &dyn Fn(&Job) -> Option<String>| {
            let values: BTreeSet<String> = jobs.iter().filter_map(value).collect();
            values.into_iter().collect::<Vec<_>>().join("; ")
        };
        // The version string of MPICH has several lines.
        let library = |job: &Job| Some(job.mpi_library.lines().next()?.trim().to_owned());
        self.fact(FactGroup::Run, "MPI library", each(&library));
        let hosts: BTreeSet<&str> =
            jobs.iter().flat_map(|job| &job.seen.hosts).map(String::as_str).collect();
        if !hosts.is_empty() {
            let hosts: Vec<&str> = hosts.into_iter().collect();
            let count = counted(hosts.len(), "host");
            let text = match hostlist::compress(&hosts) {
                list if list.len() <= LONGEST_LIST => format!("{count}: {list}"),
                _ => count,
            };
            self.fact(FactGroup::Run, "recorded on", text);
        }
        let wall = |job: &Job| job.seen.wall.map(|Seconds(wall)| format!("{:.2}", Seconds(wall)));
        self.fact(FactGroup::Run, "recorded run time", each(&wall));
        self.fact(FactGroup::Run, "workload digest", digest(workload));
        for job in jobs.iter().filter(|job| !job.seen.beside_mpi.is_empty()) {
            let libraries = job.seen.beside_mpi.join(", ");
            let text =
                format!("{} also sends through {libraries}, not through MPI alone", job.name);
            self.find([Found::new("traffic-beside-mpi", text).finding()]);
        }
        self
    }

    /// Adds the day on which a profile, of this name, was recorded, if it has that.
    #[must_use]
    pub fn with_day_of(mut self, name: &str, profile: &Profile) -> Self {
        let starts = profile.ranks.iter().map(|rank| rank.start_unix_ns);
        let first = starts.filter(|start| *start > 0).min();
        if let Some(start) = first.and_then(|start| u64::try_from(start).ok()) {
            let text = format!("{} (UTC)", calendar::day(start / NS_OF_A_DAY));
            self.fact(FactGroup::Run, &format!("{name}: recorded"), text);
        }
        self
    }

    /// Adds what is known of a cluster; `whole` is the description with all its nodes.
    #[must_use]
    pub fn with_cluster_facts(mut self, whole: &Cluster) -> Self {
        let machine = FactGroup::Machine;
        self.fact(machine, "cluster", whole.name.clone());
        let cores = counted(whole.core_count(), "core");
        self.fact(machine, "nodes", format!("{}, {cores}", counted(whole.nodes.len(), "node")));
        self.fact(machine, "rates", rates(whole));
        if let Some(calibration) = &whole.rates.calibration {
            self.fact(machine, "rates measured with", calibration.mpi.lines().next().unwrap_or(""));
        }
        self.fact(machine, "cluster digest", digest(whole));
        self
    }

    /// Adds the command line and the version of this library.
    #[must_use]
    pub fn with_command_line(mut self, command: &str) -> Self {
        let report = FactGroup::Report;
        self.fact(report, "command", command);
        self.fact(report, "rankwright", env!("CARGO_PKG_VERSION"));
        self
    }
}
