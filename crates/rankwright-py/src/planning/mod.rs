//! Placements: strategies run, mappings evaluated, the best written.

mod settings;

use pyo3::prelude::*;
use rankwright::choose::PlanProgress;
use rankwright::map::MAPPERS;
use rankwright::placement::{PREDICTED_RUN_TIME, PlacementFile, digest};
use rankwright::report::{Answer, Comparison, LauncherDefault, Weakness};
use rankwright::{Plan, Planner};

use settings::Settings;
pub(crate) use settings::hosts;

use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::running::{Watch, run};
use crate::table::{Column, Table};
use crate::workload::Workload;

/// A plan as plain values.
#[derive(Debug, IntoPyObject)]
pub(crate) struct Planned {
    /// As `rankwright place --format json` prints it.
    comparison: String,
    /// The text of `placement.json`.
    placement: String,
    /// The positions of the strategies, the best first.
    order: Vec<usize>,
    /// The rows of the answer for people: titles, then a list of cells each.
    table: Vec<Vec<String>>,
    /// What weakens the answer, a line each.
    remarks: String,
    /// The strategies without a candidate, and why.
    left_out: Vec<(String, String)>,
    not_simulated: Option<String>,
    stopped: bool,
    /// What has no effect, and why.
    warnings: Vec<String>,
}

/// All strategies: name, what it does, where it is from, its options with defaults, whether it takes part
/// in every comparison.
#[pyfunction]
pub(crate) fn strategies() -> Table {
    let texts = |text: fn(&rankwright::map::MapperEntry) -> String| {
        Column::Texts(MAPPERS.iter().map(text).collect())
    };
    let options = |entry: &rankwright::map::MapperEntry| {
        let options = entry.options.iter().map(|it| format!("{}={}", it.name, it.default));
        options.collect::<Vec<_>>().join(",")
    };
    Table::new(vec![
        ("name", texts(|entry| entry.name.to_owned())),
        ("summary", texts(|entry| entry.summary.to_owned())),
        ("source", texts(|entry| entry.source.to_owned())),
        ("options", texts(options)),
        ("usual", Column::Flags(MAPPERS.iter().map(|entry| entry.role.is_candidate()).collect())),
    ])
}

/// Places a workload.
#[pyfunction]
pub(crate) fn plan(
    py: Python<'_>,
    workload: &Workload,
    cluster: &Cluster,
    settings: Settings,
    progress: Option<Py<PyAny>>,
) -> PyResult<Planned> {
    run(py, (progress, settings.keep_best), |watch| placed(workload, cluster, &settings, watch))
}

fn placed(
    workload: &Workload,
    Cluster { cluster: whole, source }: &Cluster,
    settings: &Settings,
    watch: &Watch,
) -> Result<Planned, Failure> {
    let simulation = settings.simulation(workload.pacing())?;
    let workload = &*workload.workload;
    let ranks = workload.rank_count();
    let clock = settings.clock(workload)?;
    let share = settings.share()?;
    let granted = settings.granted(whole)?;
    let (job, nodes) = match &granted {
        Some((title, nodes)) => (Some(title.as_str()), nodes),
        None => (None, &**whole),
    };
    let granularity = settings.granularity(nodes, ranks)?;
    let cluster = settings.chosen(nodes, job, &granularity, ranks)?;
    if let Some(mode) = share {
        mode.check_sockets(&cluster, workload.jobs.len())?;
    }
    let mut strategies = settings.strategies(workload.jobs.len(), share)?;
    let launcher = settings.launcher()?;
    let usual = launcher.default_strategy(ranks);
    let named = settings.strategies.is_some() || share.is_some();
    let default = (settings.compared)
        .then(|| LauncherDefault::add(&mut strategies, launcher, usual, named))
        .transpose()?;
    let (gpus, warning) = settings.gpus(whole, &cluster)?;
    let observer = |progress: &PlanProgress| {
        let (stage, done) = stage(progress);
        watch.tell(|| stage, done)
    };
    let planner = Planner::new(&cluster, workload)
        .strategies(&strategies)
        .granularity(granularity.clone())
        .devices(settings.nics(whole)?)
        .gpus(gpus)
        .simulation(simulation)
        .evaluate_all(settings.compared)
        .clock(clock.as_deref())
        .observer(&observer);
    let planner = settings.search(planner)?;
    let planner = match &default {
        Some(default) => default.planner(planner),
        None => planner,
    };
    let plan = planner.plan()?;
    let mut comparison = match &default {
        Some(default) => default.comparison(&plan, &cluster, workload, &granularity)?,
        None => Comparison::of_plan(&cluster, &plan),
    };
    comparison.answer = comparison.answer.map(|answer| answer.with_cluster_name(source, ""));
    if let Some(answer) = &mut comparison.answer {
        answer.weaknesses.extend(Weakness::of_unsteady_traffic(&workload.jobs));
    }
    if settings.keep_node_groups.is_some() {
        comparison = comparison.with_kept_node_groups();
    }
    if let Some(mode) = share {
        mode.check(&cluster, &plan.best().placement)?;
    }
    let mut file: PlacementFile = plan.best().file(&cluster, workload);
    file.cluster.digest = digest(&**whole);
    Ok(Planned::new(&plan, &comparison, file, warning))
}

impl Planned {
    fn new(
        plan: &Plan,
        comparison: &Comparison,
        mut file: PlacementFile,
        warning: Option<String>,
    ) -> Self {
        let run_time = comparison.answer.as_ref().and_then(Answer::run_time_s);
        file.predicted.extend(run_time.map(|seconds| (PREDICTED_RUN_TIME.to_owned(), seconds)));
        let (table, remarks) = match &comparison.answer {
            Some(answer) => {
                let (header, rows) = answer.table();
                let header = header.into_iter().map(str::to_owned).collect();
                ([header].into_iter().chain(rows).collect(), answer.remarks())
            }
            None => (Vec::new(), String::new()),
        };
        let left_out = plan.left_out.iter();
        Self {
            comparison: comparison.to_json(),
            placement: file.to_json(),
            order: plan.ranking.order().to_vec(),
            table,
            remarks,
            left_out: left_out
                .map(|(strategy, error)| (strategy.to_string(), error.to_string()))
                .collect(),
            not_simulated: plan.not_simulated.as_ref().map(ToString::to_string),
            stopped: plan.stopped,
            warnings: warning.into_iter().collect(),
        }
    }
}

/// What a planner does, and the share of it that is done.
fn stage(progress: &PlanProgress) -> (String, f64) {
    match *progress {
        PlanProgress::Strategy { strategy, number, count, done, .. } => {
            (format!("strategy {number} of {count}: {strategy}"), done)
        }
        PlanProgress::Simulation { done, .. } => ("simulations".to_owned(), done),
        PlanProgress::Replay => ("replay".to_owned(), 0.0),
        _ => ("planning".to_owned(), 0.0),
    }
}
