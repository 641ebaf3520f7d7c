//! What a placement costs: by formulas, by simulation, by replay of recorded calls.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::Instant;

use pyo3::prelude::*;
use rankwright::cluster;
use rankwright::cluster::Levels;
use rankwright::estimate::{Fluid, Load, Prediction};
use rankwright::placement::{JobShape, Placement, PlacementFile};
use rankwright::ranking::Score;
use rankwright::report::simulation::SimulationReport;
use rankwright::sim::replay::{Discipline, ReplayOptions, Replayer};
use rankwright::sim::{Arrivals, Options, Pacing, Progress, Service, replicate};
use rankwright::traffic;
use rankwright::units::{Bytes, Seconds};

use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::running::{run, run_quietly, usable_pus};
use crate::workload::Workload;

/// The placement of a `placement.json` for this workload, with its strategy.
fn placement_of(
    text: &str,
    cluster: &cluster::Cluster,
    workload: &traffic::Workload,
) -> Result<(String, Placement), Failure> {
    let file = PlacementFile::parse(text, "the placement")?;
    let placed: Vec<usize> = file.jobs.iter().map(|job| job.ranks.len()).collect();
    let expected: Vec<usize> =
        JobShape::of(workload).iter().map(|job| job.ranks as usize).collect();
    if placed != expected {
        return Err(Failure::Infeasible(format!(
            "the placement has jobs of {placed:?} ranks, expected {expected:?} as in the workload; place \
             this workload anew"
        )));
    }
    let placement = file.placement(cluster)?;
    Ok((file.strategy, placement))
}

/// By quantity: seconds or bytes, as formulas have them. Times where all jobs have message timing.
#[pyfunction]
pub(crate) fn estimate(
    py: Python<'_>,
    workload: &Workload,
    cluster: &Cluster,
    placement: &str,
) -> PyResult<(BTreeMap<String, f64>, Option<String>)> {
    let (workload, cluster) = (&*workload.workload, &*cluster.cluster);
    run_quietly(py, || {
        let (_, placement) = placement_of(placement, cluster, workload)?;
        let load = Load::new(cluster, &Levels::new(cluster), workload, &placement);
        let mut values = load.predicted();
        values.insert("hop_bytes".to_owned(), load.hop_bytes as f64);
        let timed = |job: &traffic::Job| !job.sources.is_empty() || job.flows.is_empty();
        if !workload.jobs.iter().all(timed) || workload.jobs.iter().all(|job| job.flows.is_empty())
        {
            return Ok((values, None));
        }
        let steady = Prediction::new(cluster, workload, &placement)?;
        let score = Score::from(&Fluid::of_placement(cluster, workload, &placement)?);
        let waiting = score.waiting.unwrap_or_default();
        let times = [
            ("total_waiting_s", Some(waiting.total)),
            ("nic_waiting_s", Some(waiting.nics)),
            ("memory_waiting_s", Some(waiting.memories)),
            ("workload_finish_s", score.finish),
            ("total_finish_s", score.total_finish),
        ];
        let known = times.into_iter().filter_map(|(name, time)| Some((name.to_owned(), time?.0)));
        values.extend(known);
        values.insert("highest_utilisation".to_owned(), steady.highest_utilisation());
        values.insert("saturated_servers".to_owned(), steady.saturated().count() as f64);
        Ok((values, steady.busiest().map(|server| server.name.clone())))
    })
}

/// How a workload is simulated; the names are those of `rankwright.simulate`.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    seed: Option<u32>,
    replications: NonZeroUsize,
    threads: Option<NonZeroUsize>,
    arrivals: String,
    pacing: Option<String>,
    service: String,
}

/// The options of a simulation by their names; `pacing` is called `loop` by users.
pub(crate) fn simulation(
    (arrivals, pacing, service): (&str, Option<&str>, &str),
    default: Pacing,
    seed: Option<u32>,
) -> Result<Options, Failure> {
    let unknown =
        |what, found, known: &[&str]| Err(Failure::unknown(what, found, known.iter().copied()));
    Ok(Options {
        arrivals: match arrivals {
            "source" => Arrivals::PerSource,
            "pair" => Arrivals::PerPair,
            other => return unknown("arrivals", other, &["source", "pair"]),
        },
        pacing: match pacing {
            None => default,
            Some("open") => Pacing::Open,
            Some("departure") => Pacing::AfterDeparture,
            Some("arrival") => Pacing::AfterArrival,
            Some(other) => return unknown("loop", other, &["open", "departure", "arrival"]),
        },
        service: match service {
            "deterministic" => Service::Deterministic,
            "exponential" => Service::Exponential,
            other => return unknown("service", other, &["deterministic", "exponential"]),
        },
        seed: seed.map_or(1, u64::from),
    })
}

/// A simulation as `rankwright simulate --format json` prints it.
#[pyfunction]
pub(crate) fn simulate(
    py: Python<'_>,
    workload: &Workload,
    cluster: &Cluster,
    placement: &str,
    settings: Settings,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let names = (settings.arrivals.as_str(), settings.pacing.as_deref(), settings.service.as_str());
    let options = simulation(names, workload.pacing(), settings.seed)?;
    let (workload, cluster) = (&*workload.workload, &*cluster.cluster);
    run(py, (progress, false), |watch| {
        let (name, placement) = placement_of(placement, cluster, workload)?;
        let begin = Instant::now();
        let count = settings.replications.get();
        let threads = settings.threads.unwrap_or_else(usable_pus).get();
        let observer = |number: usize, progress: &Progress| {
            watch.tell(|| format!("simulation {} of {count}", number + 1), share(progress))
        };
        let replications =
            replicate(cluster, workload, &placement, &options, (count, threads), &observer)?;
        let wall = Seconds(begin.elapsed().as_secs_f64());
        let Some(first) = replications.outcomes.first() else { return Err(stopped()) };
        let report = SimulationReport::new(cluster, &name, first, wall);
        Ok(match count {
            1 => report.to_json(),
            _ => report.with_replications(&replications).to_json(),
        })
    })
}

/// A replay of recorded calls, as `rankwright simulate --replay --format json` prints it; and how many calls
/// were left out, by what they are.
#[pyfunction]
pub(crate) fn replay(
    py: Python<'_>,
    workload: &Workload,
    cluster: &Cluster,
    placement: &str,
    eager_limit: Option<u64>,
    discipline: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, BTreeMap<&'static str, u64>)> {
    let discipline = match discipline {
        "fifo" => Discipline::Fifo,
        "max-min" => Discipline::MaxMin,
        other => {
            return Err(
                Failure::unknown("discipline", other, ["fifo", "max-min"].into_iter()).into()
            );
        }
    };
    let options = ReplayOptions { eager_limit: eager_limit.map(Bytes), discipline };
    let (workload, cluster) = (&*workload.workload, &*cluster.cluster);
    run(py, (progress, false), |watch| {
        if let Some(job) = workload.jobs.iter().find(|job| job.seen.events.is_none()) {
            return Err(Failure::Argument(format!(
                "replay: `{}` is not a profile made with `rankwright profile --events`",
                job.name
            )));
        }
        let (name, placement) = placement_of(placement, cluster, workload)?;
        let begin = Instant::now();
        let profiles = workload.jobs.iter().filter_map(|job| job.seen.events.as_ref());
        let replayer = Replayer::open(&profiles.collect::<Vec<_>>())?;
        let mut observer =
            |progress: &Progress| watch.tell(|| "replay".to_owned(), share(progress));
        let replayed = replayer.replay(cluster, &placement, options, &mut observer)?;
        let wall = Seconds(begin.elapsed().as_secs_f64());
        let report = SimulationReport::new(cluster, &name, &replayed.outcome, wall);
        Ok((report.with_ranks(&replayed.ranks).to_json(), replayed.left_out))
    })
}

fn stopped() -> Failure {
    Failure::Other("stopped before the simulation began; run it again to its end".to_owned())
}

/// The share of the messages that have arrived; 0 while their number is not known.
pub(crate) fn share(progress: &Progress) -> f64 {
    progress.messages.map_or(0.0, |all| progress.delivered as f64 / all.max(1) as f64)
}
