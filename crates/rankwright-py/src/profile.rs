//! Profiles as tables.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use rankwright::cluster::Rates;
use rankwright::report::timeline::{BandwidthFrom, TimelineReport, TimesFrom};
use rankwright::report::to_json;
use rankwright::report::traffic::TrafficSummary;
use rankwright::report::triage::Triage;
use rankwright::timeline::{RecordedRun, SendTimes, Sites};
use rankwright::traffic::collectives::CollectiveCalls;
use rankwright::traffic::expansion::{EXPANSIONS, Expansion};
use rankwright::traffic::profile::{FlowRecord, FlowTimes, RankRecord, TimeInMpi};
use rankwright::traffic::read::import::Imported;
use rankwright::traffic::{self, FilesOnly};
use rankwright::units::Seconds;

use crate::failure::Failure;
use crate::running::run_quietly;
use crate::table::{Column, Table, integer};
use crate::workload::flow_columns;

/// A recorded run.
#[pyclass(frozen, module = "rankwright._native")]
#[derive(Debug)]
pub(crate) struct Profile {
    profile: Arc<traffic::profile::Profile>,
    path: PathBuf,
}

/// The names of the columns of a class of calls, and what a rank spent in it.
type ClassOfCalls = (&'static str, &'static str, fn(&RankRecord) -> TimeInMpi);

/// Columns of values of the same rows.
fn numbers<T>(rows: &[T], value: impl Fn(&T) -> f64) -> Column {
    Column::Numbers(rows.iter().map(value).collect())
}

fn integers<T>(rows: &[T], value: impl Fn(&T) -> u64) -> Column {
    Column::Integers(rows.iter().map(|row| integer(value(row))).collect())
}

fn texts<T>(rows: &[T], value: impl Fn(&T) -> String) -> Column {
    Column::Texts(rows.iter().map(value).collect())
}

impl Profile {
    /// The recorded calls in order.
    fn recorded(&self) -> Result<RecordedRun, Failure> {
        if self.profile.run.events.is_none() {
            return Err(Failure::Infeasible(format!(
                "{}: no time line: the calls of the run were not recorded in order; record it with \
                 `rankwright profile --events -o app.rwp -- mpirun ...`",
                self.path.display()
            )));
        }
        Ok(RecordedRun::open(&self.path)?)
    }

    /// The hosts of the run, each with a device of unknown bandwidth.
    fn sites(&self) -> Sites {
        let hosts: Vec<String> = self.profile.ranks.iter().map(|rank| rank.host.clone()).collect();
        Sites::recorded(&hosts, Rates::default().unknown_nic_bandwidth())
    }
}

#[pymethods]
impl Profile {
    /// Opens a profile, or a run in a format of another tool.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        run_quietly(py, || {
            let name = path.to_string_lossy();
            let profile = match traffic::named(&name, &FilesOnly)? {
                Imported::Run(profile) => *profile,
                Imported::Traffic(workload) => one_job(&name, &workload)?,
            };
            Ok(Self { profile: Arc::new(profile), path: path.clone() })
        })
    }

    /// Facts of the whole run, JSON: as `rankwright traffic show --format json` without its `sending`.
    fn summary(&self, heaviest: usize) -> String {
        let summary = TrafficSummary::new(&self.profile, heaviest);
        let triage = Triage::new(&self.profile, Expansion::Default);
        let triage = serde_json::to_string(&triage).unwrap_or_default();
        format!("[{}, {triage}]", to_json(&summary))
    }

    #[getter]
    fn ranks_count(&self) -> usize {
        self.profile.ranks.len()
    }

    #[getter]
    fn has_events(&self) -> bool {
        self.profile.run.events.is_some()
    }

    /// Who sends how much to whom: a row per pair of ranks and kind of call.
    fn pairs(&self) -> Table {
        let flows = &self.profile.flows;
        let time = |value: fn(&FlowTimes) -> f64| {
            numbers(flows, |record| record.times.as_ref().map_or(f64::NAN, value))
        };
        let mut columns = Vec::from(flow_columns(flows.iter().map(|record| &record.flow)));
        columns
            .insert(2, ("kind", texts(flows, |record: &FlowRecord| record.kind.name().to_owned())));
        columns.extend([
            ("first_s", time(|times| times.first.0)),
            ("last_s", time(|times| times.last.0)),
            ("gap_mean_s", time(|times| times.gap_mean.0)),
            ("gap_cv", time(|times| times.gap_cv)),
        ]);
        Table::new(columns)
    }

    /// The messages with those of collective operations: a row per pair of ranks.
    fn pairs_with_collectives(&self, py: Python<'_>, collectives: &str) -> PyResult<Table> {
        let found = EXPANSIONS.iter().find(|(name, _)| *name == collectives);
        let Some((_, expansion)) = found else {
            let names: Vec<&str> = EXPANSIONS.iter().map(|(name, _)| *name).collect();
            let names = names.join(", ");
            let text = format!("collectives: found `{collectives}`, expected one of {names}");
            return Err(Failure::Argument(text).into());
        };
        run_quietly(py, || {
            let job = self.profile.job(*expansion)?;
            Ok(Table::new(Vec::from(flow_columns(job.flows.iter()))))
        })
    }

    /// Collective calls: a row per rank, communicator, operation, form and root.
    fn calls(&self) -> Table {
        let calls: &[CollectiveCalls] = &self.profile.collectives;
        let communicator = |call: &CollectiveCalls| {
            let communicator = self.profile.communicators.get(call.communicator);
            let name = communicator.map_or("", |communicator| communicator.name.as_str());
            if name.is_empty() { format!("#{}", call.communicator) } else { name.to_owned() }
        };
        let root = |call: &CollectiveCalls| call.root.map_or(-1, |root| i64::from(root.0));
        Table::new(vec![
            ("rank", integers(calls, |call| call.rank.0.into())),
            ("communicator", texts(calls, communicator)),
            ("operation", texts(calls, |call| call.operation.name().to_owned())),
            ("form", texts(calls, |call| call.form.name().to_owned())),
            ("root", Column::Integers(calls.iter().map(root).collect())),
            ("calls", integers(calls, |call| call.calls)),
            ("bytes", integers(calls, |call| call.bytes)),
            ("time_s", numbers(calls, |call| call.seconds)),
            ("first_s", numbers(calls, |call| call.first)),
            ("last_s", numbers(calls, |call| call.last)),
        ])
    }

    /// Times in MPI, host and affinity: a row per rank.
    fn ranks(&self) -> Table {
        let ranks = &self.profile.ranks;
        let known = |time: Option<Seconds>| time.map_or(f64::NAN, |time| time.0);
        let mut columns = vec![
            ("rank", Column::Integers((0..).take(ranks.len()).collect())),
            ("host", texts(ranks, |rank| rank.host.clone())),
            ("pus", texts(ranks, |rank| rank.pus.to_string())),
            ("ended", texts(ranks, |rank| rank.ended.name().to_owned())),
            ("wall_s", numbers(ranks, |rank| rank.wall.0)),
        ];
        let classes: [ClassOfCalls; 5] = [
            ("point_to_point_calls", "point_to_point_s", |rank| rank.point_to_point),
            ("wait_calls", "wait_s", |rank| rank.wait),
            ("collective_calls", "collective_s", |rank| rank.collective),
            ("one_sided_calls", "one_sided_s", |rank| rank.one_sided),
            ("other_calls", "other_s", |rank| rank.other),
        ];
        let in_mpi = |rank: &RankRecord| classes.iter().map(|(_, _, of)| of(rank).time.0).sum();
        columns.push(("mpi_s", numbers(ranks, in_mpi)));
        for (calls, time, of) in classes {
            columns.push((calls, integers(ranks, |rank| of(rank).calls)));
            columns.push((time, numbers(ranks, |rank| of(rank).time.0)));
        }
        columns.extend([
            ("waited_for_pu_s", numbers(ranks, |rank| known(rank.waited_for_pu))),
            ("processor_s", numbers(ranks, |rank| rank.processor.0)),
            ("peak_memory_bytes", integers(ranks, |rank| rank.peak_memory.0)),
        ]);
        Table::new(columns)
    }

    /// The recorded messages in the order of time: a row per message, those of collective operations
    /// included; and the length of the run, seconds.
    fn messages(&self, py: Python<'_>) -> PyResult<(Table, f64)> {
        run_quietly(py, || {
            let messages = self.recorded()?.messages(&self.sites())?;
            let sends = &messages.sends;
            let table = Table::new(vec![
                ("time_s", numbers(sends, |send| send.time)),
                ("source", integers(sends, |send| send.process.into())),
                ("destination", integers(sends, |send| send.peer.into())),
                ("bytes", integers(sends, |send| send.bytes)),
            ]);
            Ok((table, messages.span))
        })
    }

    /// The time line as `rankwright timeline --format json` has it, with this number of bins and windows.
    fn timeline(&self, py: Python<'_>, bins: usize) -> PyResult<String> {
        run_quietly(py, || {
            let recorded = self.recorded()?;
            let (times, from) = match recorded.has_transport() {
                true => (SendTimes::Transport, TimesFrom::Transport),
                false => (SendTimes::Mpi, TimesFrom::Mpi),
            };
            let timeline = recorded.timeline(&self.sites(), times, bins)?;
            let width = timeline.span / bins.max(1) as f64;
            Ok(to_json(&TimelineReport::new(&timeline, width, from, BandwidthFrom::Assumed)))
        })
    }
}

/// Traffic without facts of a run, as a profile.
fn one_job(name: &str, workload: &traffic::Workload) -> Result<traffic::profile::Profile, Failure> {
    match workload.jobs.as_slice() {
        [job] => Ok(traffic::profile::Profile::of_job(job, "traffic")),
        jobs => Err(Failure::Argument(format!(
            "{name}: found {} jobs, expected a profile or traffic of one job; use \
             rankwright.Workload(name)",
            jobs.len()
        ))),
    }
}
