//! The report of a plan: what `place` finds.

use std::mem::discriminant;

use super::data::{FactGroup, Finding, Kind, Outcome, Report, Verdict};
use super::findings::{Found, Unmeasured};
use super::placements::{PlacementRole, Shown};
use super::strategies::StrategyTable;
use crate::choose::{Basis, Candidate, NotSimulated, Plan, PlanError};
use crate::cluster::Cluster;
use crate::map::StrategyId;
use crate::report::answer::{Answer, RATES_ASSUMED, Role, Verdict as AnswerVerdict};
use crate::report::comparison::{Comparison, StrategyRow as Compared};
use crate::report::triage::{LITTLE_COMMUNICATION, Triage};
use crate::report::waiting::WaitingComparison;
use crate::traffic::{Job, Workload};
use crate::units::{counted, percent};

impl Report {
    /// The report of a plan and its comparison, which has an answer if it was compared with a launcher's
    /// default.
    #[must_use]
    pub fn of_plan(
        (cluster, workload): (&Cluster, &Workload),
        plan: &Plan,
        comparison: &Comparison,
    ) -> Self {
        let nodes = counted(plan.best().score.nodes.unwrap_or_default(), "node");
        let title = format!("{} on {nodes} of {}", workload.name, cluster.name);
        let kind = if comparison.answer.is_some() { Kind::Workload } else { Kind::Comparison };
        let mut report = Self::new(kind, title, verdict(comparison))
            .with_workload_facts(workload)
            .with_placements(cluster, workload, &shown(plan, comparison));
        report.strategies = Some(StrategyTable::of_plan(plan, comparison));
        report.find(comparison.answer.iter().flat_map(answered));
        report.find(limits(plan));
        report.lack_of_plan(workload, plan, comparison);
        report
    }

    /// The report of a comparison by waiting; `by_bytes` is that of the same candidates by bytes.
    #[must_use]
    pub fn of_waiting(
        (cluster, workload): (&Cluster, &Workload),
        candidates: &[Candidate],
        waiting: &WaitingComparison,
        by_bytes: &Comparison,
    ) -> Self {
        let title = format!("{} on {}, strategies compared", workload.name, cluster.name);
        let verdict = Verdict {
            text: waiting.reason(),
            outcome: Outcome::Unknown,
            details: vec![basis(waiting.by, None, (waiting.calibrated, &waiting.rates))],
        };
        let best = candidates.iter().find(|candidate| candidate.strategy == waiting.best);
        let mut report = Self::new(Kind::Comparison, title, verdict)
            .with_workload_facts(workload)
            .with_placements(cluster, workload, &with_default(candidates, best));
        report.strategies = Some(StrategyTable::of_waiting(waiting, by_bytes));
        if !waiting.calibrated {
            report.lack(Unmeasured::Rates);
        }
        report.lack(Unmeasured::Counted);
        report
    }

    /// Says what was not measured for a plan.
    fn lack_of_plan(&mut self, workload: &Workload, plan: &Plan, comparison: &Comparison) {
        let untimed = |job: &Job| job.sources.is_empty() && !job.flows.is_empty();
        if workload.jobs.iter().any(untimed) {
            self.lack(Unmeasured::Waiting);
        }
        let has_default = plan.candidates.iter().any(|it| it.score.launcher_default);
        let only_ratios = plan.run_times.as_ref().map(|times| times.only_ratios);
        if only_ratios != Some(None) {
            self.lack(Unmeasured::RunTimes(only_ratios.flatten()));
        }
        if comparison.answer.is_some() && !has_default {
            self.lack(Unmeasured::Default);
        }
        // Where a finding says that rates are assumed, and how to measure them, once is enough.
        let said = self.findings.iter().any(|finding| finding.code == RATES_ASSUMED);
        if !comparison.calibrated && !said {
            self.lack(Unmeasured::Rates);
        }
        self.lack(Unmeasured::Counted);
    }

    /// Adds what a recorded run, of this name, tells before any placement.
    #[must_use]
    pub fn with_triage(mut self, job: &str, triage: &Triage) -> Self {
        let lines = [
            ("gain at most", triage.gain.as_ref().map(ToString::to_string)),
            ("time in MPI", triage.time_in_mpi.as_ref().map(ToString::to_string)),
            ("placement", Some(triage.placement())),
        ];
        for (name, value) in lines {
            self.fact(FactGroup::Run, &format!("{job}: {name}"), value.unwrap_or_default());
        }
        let shared = triage.gain.as_ref().is_some_and(|gain| !gain.is_known());
        let (Some(gain), Some(time), false) = (&triage.gain, &triage.time_in_mpi, shared) else {
            self.lack(if shared { Unmeasured::TimeInMpiAlone } else { Unmeasured::TimeInMpi });
            return self;
        };
        self.verdict.details.push(format!("{job}: any placement gains at most {gain}."));
        // What ranks wait for the one that computes longest: no placement changes it.
        let uneven = time.mean - gain.share;
        if uneven >= UNEVEN {
            let text = format!(
                "ranks of {job} wait {:.0} % of the run time for rank {}, which computes longest",
                100.0 * uneven,
                gain.rank
            );
            self.find([Found::new("ranks-unbalanced", text).finding()]);
        }
        if time.mean < LITTLE_COMMUNICATION {
            let text = format!(
                "{job} is {:.1} % of its run time in MPI: no placement matters much",
                100.0 * time.mean
            );
            self.find([Found::new("little-communication", text).finding()]);
        }
        self
    }
}

/// From this share of the run time on, waiting for the rank that computes longest is a finding.
const UNEVEN: f64 = 0.1;

fn verdict(comparison: &Comparison) -> Verdict {
    let share = comparison.evaluation.as_ref().and_then(|evaluation| evaluation.simulated_share);
    let rates = (comparison.calibrated, comparison.rates.as_str());
    let because = vec![comparison.reason.clone(), basis(comparison.by, share, rates)];
    match &comparison.answer {
        Some(answer) => Verdict {
            text: answer.text.clone(),
            outcome: match answer.verdict {
                AnswerVerdict::ShorterRun => Outcome::Gain,
                AnswerVerdict::LessWaiting => Outcome::LessWaiting,
                AnswerVerdict::LessTraffic => Outcome::LessTraffic,
                AnswerVerdict::NoGain => Outcome::NoGain,
                AnswerVerdict::NotProven | AnswerVerdict::Unknown => Outcome::Unknown,
            },
            details: because,
        },
        None => Verdict {
            text: headline(comparison),
            outcome: match (comparison.matters, comparison.by) {
                (false, _) => Outcome::NoGain,
                (true, Basis::Static) => Outcome::LessTraffic,
                (true, _) => Outcome::Gain,
            },
            details: because,
        },
    }
}

/// The result of a comparison without an answer in a sentence: the best, and what it saves against the
/// launcher's default.
fn headline(comparison: &Comparison) -> String {
    let rows = &comparison.strategies;
    let best = rows.iter().find(|row| row.name == comparison.best);
    let default = rows.iter().find(|row| row.default);
    let (Some(best), others @ 1..) = (best, rows.len().saturating_sub(1)) else {
        return format!("{} is the only strategy that was tried.", comparison.best);
    };
    if best.default {
        return format!(
            "Keep {}, the launcher's default: of {} strategies none is proven to be better.",
            best.name,
            others + 1
        );
    }
    let of = format!("{} is the best of {} strategies", best.name, rows.len());
    match default.and_then(|default| saving(best, default)) {
        Some(saving) => format!("{of}: {saving}."),
        None => format!("{of}."),
    }
}

/// What the best saves against the launcher's default, by what it was ranked by; `None` if that is the same.
fn saving(best: &Compared, default: &Compared) -> Option<String> {
    let than = format!("than with {}, the launcher's default", default.name);
    if let (Some(gain), Some(error)) = (best.gain, best.gain_error) {
        let word = if gain < 0.0 { "longer" } else { "shorter" };
        let (gain, error) = (percent(gain.abs()), percent(error));
        return Some(format!("the run is {gain} (± {error}) {word} {than}"));
    }
    let change = |before: f64, after: f64| match before > 0.0 && after != before {
        true => Some((percent((1.0 - after / before).abs()), after < before)),
        false => None,
    };
    if let (Some(before), Some(after)) = (default.evaluated, best.evaluated) {
        let (share, is_less) = change(before.total_waiting_s, after.total_waiting_s)?;
        let word = if is_less { "less" } else { "more" };
        return Some(format!("messages wait {share} {word} {than}"));
    }
    let (share, is_less) = change(default.busiest_nic_time_s, best.busiest_nic_time_s)?;
    let word = if is_less { "less" } else { "more" };
    Some(format!("the busiest NIC needs {share} {word} time {than}"))
}

/// How the numbers were computed, `share` of the messages if they were simulated, and whether the rates
/// were measured, with their name.
fn basis(by: Basis, share: Option<f64>, (calibrated, rates): (bool, &str)) -> String {
    let how = match (by, share) {
        (Basis::Simulation, Some(share)) if share < 1.0 => {
            format!("Computed by simulating {:.2} % of the messages.", 100.0 * share)
        }
        (Basis::Simulation, _) => "Computed by simulating the messages.".to_owned(),
        (Basis::Replay, _) => "Computed by replaying the recorded calls.".to_owned(),
        (Basis::Model, _) => "Computed by a fluid model of the network.".to_owned(),
        (Basis::Static, _) => "Computed from the bytes alone.".to_owned(),
    };
    let origin = if calibrated { "measured" } else { "assumed" };
    format!("{how} The rates of the cluster are {origin}: {rates}.")
}

/// The launcher's default, the best and the next best, as far as they differ.
fn shown<'a>(plan: &'a Plan, comparison: &Comparison) -> Vec<Shown<'a>> {
    let Some(answer) = &comparison.answer else {
        let mut shown = with_default(&plan.candidates, Some(plan.best()));
        let mut order = plan.ranking.order().iter().map(|at| &plan.candidates[*at]);
        let next = order.find(|next| shown.iter().all(|it| it.name != next.strategy.to_string()));
        shown.extend(next.map(|next| shown_as(PlacementRole::Next, next)));
        return shown;
    };
    let rows = answer.rows.iter().filter_map(|row| {
        let role = match row.role {
            Role::Default | Role::DefaultAndBest => PlacementRole::Default,
            Role::Best => PlacementRole::Best,
            Role::Next => PlacementRole::Next,
        };
        let made = |candidate: &&Candidate| candidate.strategy == row.strategy;
        Some(shown_as(role, plan.candidates.iter().find(made)?))
    });
    rows.collect()
}

/// The launcher's default, if it was compared, and the best, if that is another one.
fn with_default<'a>(candidates: &'a [Candidate], best: Option<&'a Candidate>) -> Vec<Shown<'a>> {
    let default = candidates.iter().find(|candidate| candidate.score.launcher_default);
    let best = best.filter(|best| default.is_none_or(|it| it.strategy != best.strategy));
    let default = default.map(|default| shown_as(PlacementRole::Default, default));
    default.into_iter().chain(best.map(|best| shown_as(PlacementRole::Best, best))).collect()
}

fn shown_as(role: PlacementRole, candidate: &Candidate) -> Shown<'_> {
    Shown {
        role,
        name: candidate.strategy.to_string(),
        placement: &candidate.placement,
        load: &candidate.load,
    }
}

/// What an answer says beside its figures.
fn answered(answer: &Answer) -> Vec<Finding> {
    let mut found: Vec<Found> = answer.weaknesses.iter().map(Found::weakness).collect();
    if answer.verdict == AnswerVerdict::NoGain {
        let text = format!(
            "there is nothing to gain by placing: the default of {} is as good",
            answer.launcher
        );
        found.push(Found::new("nothing-to-gain", text).remedy("keep the default"));
    }
    found.into_iter().map(Found::finding).collect()
}

/// What a plan lacks: an interrupted search, evaluations that were not possible, strategies without a
/// mapping.
#[must_use]
pub fn limits(plan: &Plan) -> Vec<Finding> {
    let mut found = Vec::new();
    if plan.stopped {
        let text = "interrupted: this is the best placement so far";
        found.push(Found::new("search-interrupted", text));
    }
    if let Some(why) = plan.not_simulated.as_ref().filter(|why| **why != NotSimulated::Stopped) {
        let by = if plan.evaluation.is_some() { "the model" } else { "static estimates" };
        let text = format!("ranked by {by}, not by simulation: {why}");
        found.push(Found::new("ranked-without-simulation", text));
    }
    if let Some(why) = plan.evaluation.as_ref().and_then(|it| it.not_replayed.as_ref()) {
        let text = format!("simulated by clocks, not replayed: {why}");
        found.push(Found::new("not-replayed", text));
    }
    for text in by_reason(&plan.left_out) {
        found.push(Found::new("strategy-left-out", format!("left out: {text}")));
    }
    found.into_iter().map(Found::finding).collect()
}

/// One line for each reason, with the strategies that failed for it. Failures to choose devices differ
/// only in the nodes and ranks that they name: the line has those of the first strategy.
fn by_reason(failed: &[(StrategyId, PlanError)]) -> Vec<String> {
    let why = |error: &PlanError| match error {
        PlanError::Map { error, .. } => error.to_string(),
        other => other.to_string(),
    };
    let alike = |a: &PlanError, b: &PlanError| match (a, b) {
        (PlanError::Selection { error: a, .. }, PlanError::Selection { error: b, .. }) => {
            discriminant(a) == discriminant(b)
        }
        _ => why(a) == why(b),
    };
    let mut reasons: Vec<Vec<&(StrategyId, PlanError)>> = Vec::new();
    for failure in failed {
        match reasons.iter_mut().find(|reason| alike(&reason[0].1, &failure.1)) {
            Some(reason) => reason.push(failure),
            None => reasons.push(vec![failure]),
        }
    }
    let line = |reason: &Vec<&(StrategyId, PlanError)>| {
        let names: Vec<String> = reason.iter().map(|(id, _)| id.to_string()).collect();
        let (names, first) = (names.join(", "), why(&reason[0].1));
        match reason.iter().all(|(_, error)| why(error) == first) {
            true => format!("{names}: {first}"),
            false => format!("{names}; under {}: {first}", reason[0].0),
        }
    };
    reasons.iter().map(line).collect()
}
