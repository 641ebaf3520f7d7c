//! What weakens an answer, and the way out.

use std::fmt;

use serde::Serialize;

use super::Facts;
use super::sentence::small_percent;
use crate::choose::{Basis, Evaluation};
use crate::launch::shell;
use crate::placement::RankPlacement;
use crate::timeline::{Steadiness, steadiness_of};
use crate::traffic::Job;
use crate::traffic::expansion::library::Estimated;
use crate::traffic::profile::RoughComputing;

/// What weakens an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Weakness {
    /// A name that never changes.
    pub code: &'static str,
    /// What it is.
    pub text: String,
    /// The way out.
    pub remedy: String,
}

impl Weakness {
    pub(super) fn new(
        code: &'static str,
        text: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { code, text: text.into(), remedy: remedy.into() }
    }

    /// What weakens all that follows from the recorded runs of jobs.
    #[must_use]
    pub fn of_recorded(jobs: &[Job]) -> Option<Self> {
        shared_pus(jobs).or_else(|| disturbed(jobs))
    }

    /// Each job that was recorded with its calls and whose traffic is not steady, as placing by totals
    /// assumes. Runs with more than five million calls are not looked at, so that nobody waits for this.
    #[must_use]
    pub fn of_unsteady_traffic(jobs: &[Job]) -> Vec<Self> {
        jobs.iter().filter_map(unsteady).collect()
    }
}

impl fmt::Display for Weakness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.text, self.remedy)
    }
}

/// The way out where only a measurement helps.
const MEASURE: &str = "`rankwright run --compare default,placement` measures the gain";

/// The most calls of a run whose steadiness is tested.
const MOST_CALLS: u64 = 5_000_000;

/// Everything that weakens an answer, the most important first.
pub(super) fn all(facts: &Facts) -> Vec<Weakness> {
    // Bytes are the same however long the ranks computed.
    let has_times = facts.plan.evaluation.is_some();
    let recorded = Weakness::of_recorded(&facts.workload.jobs).filter(|_| has_times);
    let parts = [recorded, no_timing(facts), no_calls(facts), disagreement(facts)];
    let parts = parts.into_iter().chain([not_simulated(facts), rates(facts), part(facts)]);
    let more = [collectives(facts), threads(facts), neighbours(facts), gpus(facts)];
    let parts = parts.chain(more).chain([devices(facts), default(facts)]);
    parts.flatten().collect()
}

fn shared_pus(jobs: &[Job]) -> Option<Weakness> {
    let shared = jobs.iter().find(|job| job.seen.shared_pus)?;
    Some(Weakness::new(
        "shared-pus",
        format!("ranks of {} shared PUs when it was recorded", shared.name),
        "record it again with a PU for each rank",
    ))
}

fn disturbed(jobs: &[Job]) -> Option<Weakness> {
    let job = jobs.iter().find(|job| job.seen.undisturbed.is_some())?;
    let how = match job.seen.rough {
        None => "times follow from its computing alone",
        Some(RoughComputing::Threads) => {
            "times follow from its computing, roughly, as other threads of its ranks compute too"
        }
        Some(RoughComputing::Sleep) => {
            "times follow from its computing, roughly, as the kernel does not tell waiting from sleep"
        }
    };
    Some(Weakness::new(
        "disturbed-run",
        format!("ranks of {} waited for PUs when it was recorded; {how}", job.name),
        "record it again with a PU for each rank, on nodes of its own",
    ))
}

fn unsteady(job: &Job) -> Option<Weakness> {
    let profile = job.seen.events.as_ref()?;
    // What is wrong with the events is told where they are needed.
    let steadiness = steadiness_of(profile, MOST_CALLS).ok().flatten()?;
    if steadiness.is_steady() || is_of_waiting(steadiness, job) {
        return None;
    }
    let what = match steadiness.has_level() || waited(job) {
        true => "later it goes elsewhere",
        false => "its amount changes during the run",
    };
    Some(Weakness::new(
        "traffic-not-steady",
        format!(
            "the traffic of {} is not steady: {what}, so one placement by totals may fit no part of it",
            job.name
        ),
        format!("see `rankwright timeline show {}`", shell::quote(&profile.display().to_string())),
    ))
}

/// Whether only the amount changes, and perhaps because ranks waited for PUs: they send when these are free, whatever
/// the program does.
fn is_of_waiting(steadiness: Steadiness, job: &Job) -> bool {
    waited(job) && steadiness.keeps_partners()
}

fn waited(job: &Job) -> bool {
    job.seen.shared_pus || job.seen.undisturbed.is_some()
}

fn no_timing(facts: &Facts) -> Option<Weakness> {
    let untimed = |job: &&Job| job.sources.is_empty() && !job.flows.is_empty();
    let job = facts.workload.jobs.iter().find(untimed)?;
    let recorded = !job.seen.hosts.is_empty();
    let remedy = match recorded {
        true => "record it again without `--gaps off`",
        false => "record the program with `rankwright profile`, or give a rate",
    };
    Some(Weakness::new("no-message-timing", format!("{} has no message timing", job.name), remedy))
}

/// A run time that no replay of recorded calls gave.
fn no_calls(facts: &Facts) -> Option<Weakness> {
    facts.plan.run_times.as_ref()?;
    let job = facts.workload.jobs.iter().find(|job| job.seen.events.is_none())?;
    Some(Weakness::new(
        "no-calls",
        format!(
            "the calls of {} were not recorded: the run is simulated from message rates, which is less exact than \
             a replay",
            job.name
        ),
        "record it again with `rankwright profile --events`",
    ))
}

fn disagreement(facts: &Facts) -> Option<Weakness> {
    let (simulated, recorded) = facts.plan.run_times.as_ref()?.disagreement?;
    Some(Weakness::new(
        "simulation-too-slow",
        format!("the simulated default takes {simulated:.2}, the recorded run {recorded:.2}"),
        "the rates of the cluster are too low, or the run was not placed by the default",
    ))
}

fn rates(facts: &Facts) -> Option<Weakness> {
    let rates = &facts.cluster.rates;
    let from = if rates.nic_bandwidth.is_none() { " from its hardware" } else { "" };
    (!rates.calibrated).then(|| {
        Weakness::new(
            RATES_ASSUMED,
            format!("rates of the cluster are assumed{from} ({})", rates.name),
            remedy_for_rates("cluster.toml", ""),
        )
    })
}

/// The code of rates that were not measured.
pub(in crate::report) const RATES_ASSUMED: &str = "rates-assumed";

/// The way out where rates are assumed. `name` is what the user calls the cluster; measured rates are
/// written into a description, which a synthetic or built-in cluster does not have. `entry`: the
/// prefix of a command that must run on the nodes of a lab.
pub(super) fn remedy_for_rates(name: &str, entry: &str) -> String {
    let name_in_shell = shell::quote(name);
    match name.ends_with(".toml") {
        true => format!("measure them: `{entry}rankwright calibrate --on {name_in_shell}`"),
        false => {
            "`rankwright cluster discover -o cluster.toml` describes your cluster, `rankwright \
                  calibrate --on cluster.toml` measures it"
                .to_owned()
        }
    }
}

fn not_simulated(facts: &Facts) -> Option<Weakness> {
    let jobs = &facts.workload.jobs;
    let timing = no_timing(facts).is_none() && jobs.iter().any(|job| !job.sources.is_empty());
    let text = match facts.plan.evaluation.as_ref().map(Evaluation::basis) {
        Some(Basis::Model) => "the times are those of a fluid model; nothing was simulated",
        // Why it could not be simulated is a warning of its own.
        None if timing && facts.plan.not_simulated.is_none() => "nothing was simulated",
        _ => return None,
    };
    Some(Weakness::new("not-simulated", text, "`--effort normal` simulates"))
}

fn part(facts: &Facts) -> Option<Weakness> {
    let share = facts.plan.evaluation.as_ref()?.share;
    (share > 0.0 && share < 1.0).then(|| {
        Weakness::new(
            "part-simulated",
            format!("{} of the messages were simulated", small_percent(share)),
            "`--effort best` or a longer `--time` simulates more",
        )
    })
}

fn collectives(facts: &Facts) -> Option<Weakness> {
    // A replay has the messages of the run's own library.
    if facts.plan.evaluation.as_ref().map(Evaluation::basis) == Some(Basis::Replay) {
        let why = estimated(&facts.workload.jobs)?;
        let text = format!("collectives are estimated: {why}");
        return Some(Weakness::new("collectives-estimated", text, MEASURE));
    }
    let total = facts.plan.best().load.total.0;
    let bytes = facts.effects?.collectives.as_ref()?.bytes;
    let share = bytes as f64 / total.max(1) as f64;
    let sentence = facts.effects?.collectives_sentence(total)?;
    (share >= 0.01).then(|| {
        Weakness::new(
            "collectives-estimated",
            format!("messages of collectives are estimated. {}", sentence.trim_end_matches('.')),
            MEASURE,
        )
    })
}

/// Why the algorithms of the first job with collective calls of unknown algorithms are an estimate.
fn estimated(jobs: &[Job]) -> Option<&Estimated> {
    let called = jobs.iter().filter(|job| !job.collectives.calls.is_empty());
    called.filter_map(|job| job.collectives.library.estimated()).next()
}

/// Ranks that computed with several threads and get one core.
fn threads(facts: &Facts) -> Option<Weakness> {
    let mut jobs = facts.workload.jobs.iter().zip(facts.plan.best().placement.jobs());
    // Ranks with more cores than others have them because the user said so.
    let one_core = |ranks: &[RankPlacement]| ranks.iter().all(|rank| rank.cores.len() == 1);
    let (job, _) = jobs.find(|(job, placed)| job.seen.threaded && one_core(&placed.ranks))?;
    Some(Weakness::new(
        "threads-without-cores",
        format!("ranks of {} computed with several threads, and get 1 core each", job.name),
        "`--cores-per-rank N` gives them N, with N like OMP_NUM_THREADS",
    ))
}

fn neighbours(facts: &Facts) -> Option<Weakness> {
    let (text, remedy) = facts.effects?.node_groups()?;
    Some(Weakness::new("other-node-neighbours", text, remedy))
}

fn gpus(facts: &Facts) -> Option<Weakness> {
    let far = facts.plan.far_gpus.as_ref()?;
    Some(Weakness::new("far-gpus", far.sentence(), far.remedy()))
}

/// Devices were chosen for the launcher's default as well. Without them its traffic would be simulated over all devices
/// of a node together, as no network stack does it.
fn devices(facts: &Facts) -> Option<Weakness> {
    let default = &facts.plan.candidates[facts.default?].placement;
    default.ranks().any(|rank| !rank.nics.is_empty()).then(|| {
        Weakness::new(
            "devices-of-default",
            "the launcher's default is compared with chosen network devices too: the gain is that of the cores alone",
            "`rankwright nic PLACEMENT --fabric STACK --explain` shows the devices that the stack would take itself",
        )
    })
}

fn default(facts: &Facts) -> Option<Weakness> {
    (!facts.launcher.default_was_tried()).then(|| {
        Weakness::new(
            "default-assumed",
            format!(
                "the default of {} may be another under the site's scheduler",
                facts.launcher.name
            ),
            MEASURE,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Rank;
    use crate::traffic::collectives::{CollectiveCalls, Form, Operation};
    use crate::traffic::expansion::library::{Library, Settings};
    use crate::traffic::read::events::sample::{self, Payload};
    use crate::traffic::read::events::store;
    use crate::units::Seconds;

    #[test]
    fn a_replay_is_weakened_only_by_collectives_of_a_library_that_is_not_known() {
        let job = |library: &str, calls: usize| {
            let call = CollectiveCalls {
                rank: Rank(0),
                communicator: 0,
                operation: Operation::Barrier,
                form: Form::Blocking,
                root: None,
                calls: 1,
                bytes: 0,
                seconds: 0.0,
                first: 0.0,
                last: 0.0,
                row: Vec::new(),
            };
            let mut job = Job::default();
            job.collectives.library = Library::new(library, &Settings::new());
            job.collectives.calls = vec![call; calls];
            job
        };
        let (known, closed) = ("Open MPI v4.1.4", "Intel(R) MPI Library 2021.9");
        assert_eq!(estimated(&[job(known, 1), job(closed, 0)]), None);
        let why = [job(known, 1), job(closed, 1)];
        let why = estimated(&why).map(ToString::to_string);
        assert_eq!(why.as_deref(), Some("how Intel MPI chooses algorithms is not public"));
    }

    /// The weaknesses of a run in which rank 0 sends to these ranks, one after the other, and what the
    /// profile is called.
    fn unsteady(peers: &[u64]) -> (Vec<Weakness>, String) {
        let folder = tempfile::tempdir().unwrap();
        let sends = |payload: Payload, peer: &u64| payload.event(3, &[0, 3 + peer, 0, 0, 1000]);
        let mut payloads = vec![peers.iter().fold(Payload::new(3), sends)];
        for receiver in 1..3 {
            let count = peers.iter().filter(|peer| **peer == receiver).count();
            let receive = |payload: Payload, _| payload.event(4, &[0, 3, 0, 0, 1000]);
            payloads.push((0..count).fold(Payload::new(3), receive));
        }
        let profile = sample::write_profile(folder.path(), payloads.len());
        store::add(&profile, &sample::write_files(folder.path(), &payloads)).unwrap();
        let name = profile.display().to_string();
        let workload = crate::traffic::open(&name).unwrap();
        (Weakness::of_unsteady_traffic(&workload.jobs), name)
    }

    #[test]
    fn amounts_that_follow_from_waiting_for_pus_are_not_told() {
        let changes = Steadiness { kpss: 1.0, quarters_differ: 0.6, partners_change: 0.0 };
        let elsewhere = Steadiness { kpss: 0.1, quarters_differ: 0.1, partners_change: 1.0 };
        let mut job = Job::default();
        assert!(!is_of_waiting(changes, &job));
        job.seen.undisturbed = Some(Seconds(1.0));
        assert!(is_of_waiting(changes, &job) && !is_of_waiting(elsewhere, &job));
        assert!(!is_of_waiting(Steadiness { partners_change: 1.0, ..changes }, &job));
    }

    #[test]
    fn a_run_whose_traffic_goes_elsewhere_later_is_not_steady() {
        let alternating: Vec<u64> = (0..400).map(|number| 1 + number % 2).collect();
        assert!(unsteady(&alternating).0.is_empty());
        let later: Vec<u64> = (0..400).map(|number| 1 + number / 200).collect();
        let (found, name) = unsteady(&later);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].code, "traffic-not-steady");
        assert!(
            found[0].text.contains(" is not steady: later it goes elsewhere"),
            "{:?}",
            found[0]
        );
        assert_eq!(found[0].remedy, format!("see `rankwright timeline show {name}`"));
    }
}
