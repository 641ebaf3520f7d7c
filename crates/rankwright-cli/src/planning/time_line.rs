//! The time line of a recorded run, for the report of its placement.

use std::path::Path;

use rankwright::cluster::Cluster;
use rankwright::files::InputError;
use rankwright::ids::Rank;
use rankwright::placement::Placement;
use rankwright::report::page::{Report, Unmeasured};
use rankwright::report::timeline::{
    BandwidthFrom, CountedRow, TimelineReport, TimesFrom, bins_to_last_send,
};
use rankwright::timeline::{RecordedRun, SendTimes, Sites, calls_of, counted};
use rankwright::traffic::Workload;
use rankwright::traffic::read::counter_series;

use crate::output::progress::ProgressLine;
use crate::output::{self, Verbosity};

/// Runs with more calls have no time line in the report of a placement, which is not to wait for it.
const MOST_CALLS: u64 = 5_000_000;

/// The windows for load balance, serialisation and transfer, and the bins.
const WINDOWS: usize = 10;
const BINS: f64 = 100.0;

/// Adds the time line of the only job, where its calls were recorded: on the hosts of the run if the cluster
/// has them, else where the placement of this name puts its ranks. What is missing is said.
pub(crate) fn add(
    mut report: Report,
    (cluster, workload): (&Cluster, &Workload),
    (name, placement): (&str, &Placement),
    verbosity: &Verbosity,
) -> Report {
    let [job] = &workload.jobs[..] else {
        let recorded = workload.jobs.iter().any(|job| job.seen.events.is_some());
        report.lack(match recorded {
            true => Unmeasured::TimeLineOfSeveral,
            false => Unmeasured::TimeLine,
        });
        return report;
    };
    let Some(profile) = &job.seen.events else {
        report.lack(Unmeasured::TimeLine);
        return report;
    };
    let sites = match Sites::recorded_on(cluster, &job.seen.hosts) {
        Ok(sites) if sites.ranks() == job.ranks as usize => (sites, String::new()),
        _ => {
            let why = format!(
                "Ranks are taken to be where {name} puts them, at the times of the recorded run. "
            );
            (Sites::placed(cluster, placement), why)
        }
    };
    let line = ProgressLine::new(verbosity, "reading the calls of the run");
    let made = made(profile, &sites.0);
    drop(line);
    match made {
        Ok(Some(mut timeline)) => {
            timeline.answer = format!("{}{}", sites.1, timeline.answer);
            let nodes: Vec<u32> = (0..job.ranks).map(|rank| sites.0.node(Rank(rank))).collect();
            report.with_timeline(&timeline, &nodes)
        }
        Ok(None) => {
            report.lack(Unmeasured::LongTimeLine);
            report
        }
        // A report without a time line is of use.
        Err(error) => {
            output::warn(verbosity, format_args!("no time line in the report: {error}"));
            report.lack(Unmeasured::TimeLine);
            report
        }
    }
}

/// The time line of a profile; `None` if it has too many calls.
fn made(profile: &Path, sites: &Sites) -> Result<Option<TimelineReport>, InputError> {
    if calls_of(profile)? > MOST_CALLS {
        return Ok(None);
    }
    let run = RecordedRun::open(profile)?;
    let (times, from) = match run.has_transport() {
        true => (SendTimes::Transport, TimesFrom::Transport),
        false => (SendTimes::Mpi, TimesFrom::Mpi),
    };
    let timeline = run.timeline(sites, times, WINDOWS)?;
    let bin = timeline.span / BINS;
    let is_measured = sites.devices.iter().all(|device| device.curve.is_measured());
    let bandwidth = if is_measured { BandwidthFrom::Curve } else { BandwidthFrom::Device };
    let mut report = TimelineReport::new(&timeline, bin, from, bandwidth);
    let series = counter_series::read(profile)?;
    let bins = bins_to_last_send(&timeline, bin);
    report.counted = CountedRow::of(counted(&series, run.first_start(), &bins));
    Ok(Some(report))
}
