//! Placements: strategies run, mappings evaluated, the best written.

use std::num::{NonZeroU32, NonZeroUsize};

use pyo3::prelude::*;
use rankwright::choose::{PlanProgress, fewest_nodes, nearest_nodes};
use rankwright::launch::{self, LAUNCHERS, Launcher};
use rankwright::map::{EFFORTS, Effort, MAPPERS, Strategy};
use rankwright::placement::{
    GpuUse, Granularity, PREDICTED_RUN_TIME, PlacementFile, RanksPer, Share, digest,
};
use rankwright::rails::Selection;
use rankwright::ranking::Objective;
use rankwright::report::{Answer, Comparison, LauncherDefault};
use rankwright::sim::Options;
use rankwright::{Plan, Planner, cluster};

use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::running::{Watch, run};
use crate::table::{Column, Table};
use crate::workload::Workload;

/// How a workload is placed; the names are those of `rankwright.place`.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    strategies: Option<Vec<String>>,
    objective: Option<String>,
    effort: Option<String>,
    seed: Option<u32>,
    threads: Option<NonZeroUsize>,
    nodes: Option<NonZeroUsize>,
    cores_per_rank: Option<NonZeroU32>,
    ranks_per_node: Option<NonZeroU32>,
    ranks_per_package: Option<NonZeroU32>,
    ranks_per_numa: Option<NonZeroU32>,
    ranks_per_gpu: Option<NonZeroU32>,
    per_pu: bool,
    nics: Option<String>,
    gpus: Option<String>,
    launcher: Option<String>,
    /// Whether the launcher's default is among the candidates and all are evaluated, as in `place`.
    compared: bool,
    keep_best: bool,
}

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
    run(py, (progress, settings.keep_best), |watch| {
        placed(workload, &cluster.cluster, &settings, watch)
    })
}

fn placed(
    workload: &Workload,
    whole: &cluster::Cluster,
    settings: &Settings,
    watch: &Watch,
) -> Result<Planned, Failure> {
    let simulation = Options {
        pacing: workload.pacing(),
        seed: settings.seed.map_or(1, u64::from),
        ..Options::default()
    };
    let workload = &*workload.workload;
    let granularity = settings.granularity()?;
    let cluster = settings.chosen(whole, &granularity, workload.rank_count());
    let mut strategies = settings.strategies(workload.jobs.len())?;
    let launcher = settings.launcher()?;
    let named = settings.strategies.is_some();
    let ranks = workload.rank_count();
    let default = (settings.compared)
        .then(|| LauncherDefault::add(&mut strategies, launcher, ranks, named))
        .transpose()?;
    let observer = |progress: &PlanProgress| {
        let (stage, done) = stage(progress);
        watch.tell(|| stage, done)
    };
    let mut planner = Planner::new(&cluster, workload)
        .strategies(&strategies)
        .objective(settings.objective()?)
        .threads(settings.threads.unwrap_or_else(usable_pus))
        .granularity(granularity.clone())
        .devices(settings.nics()?)
        .gpus(settings.gpus()?)
        .simulation(simulation)
        .evaluate_all(settings.compared)
        .observer(&observer);
    if let Some(effort) = settings.effort()? {
        planner = planner.effort(effort);
    }
    if let Some(default) = &default {
        planner = default.planner(planner);
    }
    let plan = planner.plan()?;
    let comparison = match &default {
        Some(default) => default.comparison(&plan, &cluster, workload, &granularity)?,
        None => {
            let evaluation = plan.evaluation.as_ref();
            Comparison::new(&cluster, &plan.candidates, &plan.ranking, evaluation)
        }
    };
    let mut file: PlacementFile = plan.best().file(&cluster, workload);
    file.cluster.digest = digest(whole);
    Ok(Planned::new(&plan, &comparison, file))
}

impl Planned {
    fn new(plan: &Plan, comparison: &Comparison, mut file: PlacementFile) -> Self {
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

pub(crate) fn usable_pus() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

impl Settings {
    /// The named strategies; without names, all that are candidates, for several jobs also those that keep
    /// them apart or together.
    fn strategies(&self, jobs: usize) -> Result<Vec<Strategy>, Failure> {
        let named: Vec<&str> = match &self.strategies {
            Some(named) => named.iter().map(String::as_str).collect(),
            None => {
                let usual = MAPPERS.iter().filter(|entry| entry.role.is_candidate());
                usual.map(|entry| entry.name).collect()
            }
        };
        let mut strategies: Vec<Strategy> = Vec::new();
        for name in named {
            let strategy = self.strategy(name)?;
            if strategies.iter().any(|other| other.id() == strategy.id()) {
                let text = format!("strategies: found {} twice, expected each once", strategy.id());
                return Err(Failure::Argument(text));
            }
            strategies.push(strategy);
        }
        if jobs > 1 && self.strategies.is_none() {
            for name in ["exclusive-full", "shared:per-node=all,sockets=shared"] {
                strategies.push(name.parse()?);
            }
        }
        Ok(strategies)
    }

    /// A strategy by name, with the settings as defaults of its options.
    fn strategy(&self, name: &str) -> Result<Strategy, Failure> {
        let for_all = [
            ("seed", self.seed.map(|seed| seed.to_string())),
            ("effort", self.effort.clone()),
            ("objective", self.objective.clone()),
        ];
        let mut strategy: Strategy = name.parse()?;
        for (option, value) in for_all {
            if let Some(value) = value {
                strategy = strategy.with_default(option, &value)?;
            }
        }
        Ok(strategy)
    }

    fn objective(&self) -> Result<Objective, Failure> {
        let objective = self.objective.as_deref().map_or(Ok(Objective::default()), str::parse);
        objective.map_err(|expected| {
            let text = self.objective.as_deref().unwrap_or_default();
            Failure::Argument(format!("objective: found `{text}`, {expected}"))
        })
    }

    fn effort(&self) -> Result<Option<Effort>, Failure> {
        let Some(name) = self.effort.as_deref() else { return Ok(None) };
        match EFFORTS.iter().find(|(effort, _)| *effort == name) {
            Some((_, effort)) => Ok(Some(*effort)),
            None => Err(unknown("effort", name, EFFORTS.iter().map(|(name, _)| *name))),
        }
    }

    fn launcher(&self) -> Result<&'static Launcher, Failure> {
        let Some(name) = self.launcher.as_deref() else { return Ok(&LAUNCHERS[0]) };
        let names = LAUNCHERS.iter().map(|launcher| launcher.name);
        launch::find(name).ok_or_else(|| unknown("launcher", name, names))
    }

    fn nics(&self) -> Result<Selection, Failure> {
        let Some(name) = self.nics.as_deref() else { return Ok(Selection::NONE) };
        name.parse().map_err(|error| Failure::Argument(format!("nics: {error}")))
    }

    fn gpus(&self) -> Result<GpuUse, Failure> {
        match self.gpus.as_deref() {
            None => Ok(GpuUse::None),
            Some("near") => Ok(GpuUse::Near),
            Some("one-per-rank") => Ok(GpuUse::OnePerRank),
            Some(other) => Err(unknown("gpus", other, ["near", "one-per-rank"].into_iter())),
        }
    }

    /// What each rank gets.
    fn granularity(&self) -> Result<Granularity, Failure> {
        let one = NonZeroU32::MIN;
        let per = [
            self.ranks_per_node.map(RanksPer::Node),
            self.ranks_per_package.map(RanksPer::Package),
            self.ranks_per_numa.map(RanksPer::Numa),
            self.ranks_per_gpu.map(|ranks| RanksPer::Gpus { ranks, gpus: one }),
        ];
        let mut given = per.into_iter().flatten();
        let ranks = given.next();
        if given.next().is_some() || (self.cores_per_rank.is_some() && self.per_pu) {
            let text = "found several sizes of a rank, expected one of ranks_per_node, \
                        ranks_per_package, ranks_per_numa, ranks_per_gpu, and at most one of \
                        cores_per_rank and per=\"pu\"";
            return Err(Failure::Argument(text.to_owned()));
        }
        let share = match self.cores_per_rank {
            Some(cores) => Share::CoresEach(cores),
            None if self.per_pu => Share::Pus,
            None => Share::Cores,
        };
        Ok(match (ranks, self.cores_per_rank) {
            (Some(ranks), _) => Granularity::Part { ranks, share },
            (None, Some(cores)) => Granularity::Cores(cores.get()),
            (None, None) if self.per_pu => Granularity::Pu,
            (None, None) => Granularity::Cores(1),
        })
    }

    /// The nodes that may be used: as many as were named, else all, or as few as hold the ranks where their
    /// number per node is given.
    fn chosen(
        &self,
        whole: &cluster::Cluster,
        granularity: &Granularity,
        ranks: usize,
    ) -> cluster::Cluster {
        let most = self.nodes.map(NonZeroUsize::get).unwrap_or_else(|| match granularity {
            Granularity::Part { .. } => fewest_nodes(whole, granularity, ranks),
            _ => whole.nodes.len(),
        });
        nearest_nodes(whole, granularity, ranks, most)
    }
}

/// The failure for a name that is not in a list.
pub(crate) fn unknown<'a>(
    what: &str,
    found: &str,
    known: impl Iterator<Item = &'a str>,
) -> Failure {
    let known: Vec<&str> = known.collect();
    Failure::Argument(format!("{what}: found `{found}`, expected one of {}", known.join(", ")))
}
