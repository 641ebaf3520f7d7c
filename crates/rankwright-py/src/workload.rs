//! Workloads by name, and from arrays.

use std::path::Path;
use std::sync::Arc;

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use rankwright::ids::Rank;
use rankwright::placement::digest;
use rankwright::report::to_json;
use rankwright::report::workload::WorkloadSummary;
use rankwright::sim::Pacing;
use rankwright::traffic::{self, Flow, Job};

use crate::failure::Failure;
use crate::running::run_quietly;
use crate::table::{Column, Table, integer};

/// Jobs that run at the same time.
#[pyclass(frozen, module = "rankwright._native")]
#[derive(Debug)]
pub(crate) struct Workload {
    pub(crate) workload: Arc<traffic::Workload>,
    /// Whether all of it are profiles: their ranks wait for messages before they send more.
    recorded: bool,
}

impl Workload {
    /// Whether senders wait, where the user does not say: as the command line has it.
    pub(crate) fn pacing(&self) -> Pacing {
        if self.recorded { Pacing::AfterArrival } else { Pacing::Open }
    }
}

#[pymethods]
impl Workload {
    /// Opens what a name stands for, or several with commas between.
    #[staticmethod]
    fn open(py: Python<'_>, names: &str) -> PyResult<Self> {
        run_quietly(py, || {
            let is_profile = |name: &String| traffic::is_profile(Path::new(name)).unwrap_or(false);
            let recorded = traffic::split(names).iter().all(is_profile);
            Ok(Self { workload: Arc::new(traffic::open(names)?), recorded })
        })
    }

    /// A job of flows: arrays of equal length. `largest`: the largest message, bytes.
    #[staticmethod]
    fn of_flows(
        py: Python<'_>,
        name: &str,
        ranks: u32,
        pairs: (PyReadonlyArray1<'_, i64>, PyReadonlyArray1<'_, i64>),
        amounts: [PyReadonlyArray1<'_, i64>; 3],
    ) -> PyResult<Self> {
        let [messages, bytes, largest] = amounts.map(|array| array.as_array().to_vec());
        let (sources, destinations) = (pairs.0.as_array().to_vec(), pairs.1.as_array().to_vec());
        let count = sources.len();
        if [&destinations, &messages, &bytes, &largest].iter().any(|other| other.len() != count) {
            let text =
                format!("found arrays of different lengths, expected {count} values in each");
            return Err(Failure::Argument(text).into());
        }
        let unsigned = |value: i64| u64::try_from(value).unwrap_or(0);
        let rank = |value: i64| Rank(u32::try_from(value).unwrap_or(u32::MAX));
        run_quietly(py, || {
            let flows = (0..count).map(|at| Flow {
                source: rank(sources[at]),
                destination: rank(destinations[at]),
                messages: unsigned(messages[at]),
                bytes: unsigned(bytes[at]),
                largest: unsigned(largest[at]),
            });
            let workload = traffic::Workload::single(Job::new(name, ranks, flows)?);
            Ok(Self { workload: Arc::new(workload), recorded: false })
        })
    }

    /// The jobs of several workloads together, by default under the names of the jobs.
    #[staticmethod]
    fn together(name: Option<String>, workloads: Vec<PyRef<'_, Self>>) -> Self {
        let parts = workloads.iter().map(|workload| traffic::Workload::clone(&workload.workload));
        let mut all = traffic::Workload::together(parts);
        all.name = name.unwrap_or(all.name);
        let recorded = workloads.iter().all(|workload| workload.recorded);
        Self { workload: Arc::new(all), recorded }
    }

    #[getter]
    fn name(&self) -> &str {
        &self.workload.name
    }

    /// The name and the number of ranks of each job.
    #[getter]
    fn jobs(&self) -> Vec<(&str, u32)> {
        self.workload.jobs.iter().map(|job| (job.name.as_str(), job.ranks)).collect()
    }

    /// Whether all jobs that send have message timing.
    #[getter]
    fn is_timed(&self) -> bool {
        let timed = |job: &Job| !job.sources.is_empty() || job.flows.is_empty();
        self.workload.jobs.iter().all(timed)
    }

    #[getter]
    fn digest(&self) -> String {
        digest(&*self.workload)
    }

    /// The traffic of each job, JSON.
    fn summary(&self) -> String {
        to_json(&WorkloadSummary::new(&self.workload))
    }

    /// Who sends how much to whom: a row per job and pair of ranks.
    fn pairs(&self) -> Table {
        let flows = || {
            let of_job = |job: usize| self.workload.jobs[job].flows.iter().map(move |it| (job, it));
            (0..self.workload.jobs.len()).flat_map(of_job)
        };
        let job = |(job, _): (usize, &Flow)| self.workload.jobs[job].name.clone();
        let mut columns = vec![("job", Column::Texts(flows().map(job).collect()))];
        columns.extend(flow_columns(flows().map(|(_, flow)| flow)));
        Table::new(columns)
    }
}

/// The names of several workloads with commas between, as [`Workload::open`] takes them.
#[pyfunction]
pub(crate) fn names_of(names: &str) -> Vec<String> {
    traffic::split(names)
}

/// The columns of flows.
pub(crate) fn flow_columns<'a>(
    flows: impl Iterator<Item = &'a Flow> + Clone,
) -> [(&'static str, Column); 5] {
    let column = |value: fn(&Flow) -> i64| Column::Integers(flows.clone().map(value).collect());
    [
        ("source", column(|flow| flow.source.0.into())),
        ("destination", column(|flow| flow.destination.0.into())),
        ("messages", column(|flow| integer(flow.messages))),
        ("bytes", column(|flow| integer(flow.bytes))),
        ("largest", column(|flow| integer(flow.largest))),
    ]
}
