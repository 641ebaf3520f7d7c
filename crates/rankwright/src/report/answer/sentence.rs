//! The first line of the answer.

use std::collections::BTreeSet;

use super::{Facts, Verdict};
use crate::choose::{Candidate, NO_GAIN, PlanError, RunTimes, negligible_communication};
use crate::cluster::LevelKind;
use crate::map::MapError;
use crate::ranking::{CLOSED_LOOP_FINISH, Rule, Score, counts_as_equal, rank};
use crate::traffic::Job;
use crate::units::Seconds;

/// Waiting below this share of the time of all ranks is told as the reason why no placement helps.
const NEGLIGIBLE_WAITING: f64 = 0.01;

/// A share as people write it: whole percents from 10 to 99, else one digit more. What is below 100 %
/// does not read so.
pub(super) fn percent(share: f64) -> String {
    // What rounds to zero has no sign.
    let percent = if share.abs() < NO_GAIN { 0.0 } else { 100.0 * share };
    match percent.abs() {
        size if (99.95..100.0).contains(&size) => "99.9 %".to_owned(),
        size if (9.95..99.0).contains(&size) || size >= 100.0 => format!("{percent:.0} %"),
        _ => format!("{percent:.1} %"),
    }
}

/// As [`percent`], for shares that may be very small.
pub(super) fn small_percent(share: f64) -> String {
    if share < 0.01 { format!("{:.2} %", 100.0 * share) } else { percent(share) }
}

impl Facts<'_> {
    /// The verdict and its sentence.
    pub(super) fn answer(&self) -> (Verdict, String) {
        let best = self.best();
        let Some(default) = self.default else {
            let launcher = self.launcher.name;
            let text = format!("Unknown: the default of {launcher} has no placement here.");
            return (Verdict::Unknown, text);
        };
        let beside = self.beside_mpi().join(", ");
        if !beside.is_empty() {
            let mpi = match self.is_same(default, best) {
                true => "By MPI alone nothing is gained.".to_owned(),
                false => self.bytes(default, best, "of MPI alone").1,
            };
            return (Verdict::Unknown, format!("Unknown: traffic beside MPI ({beside}). {mpi}"));
        }
        if self.is_same(default, best) {
            return match self.not_proven(default) {
                Some(text) => (Verdict::NotProven, text),
                None => (Verdict::NoGain, self.nothing_gained()),
            };
        }
        if self.default_is_better(default, best) {
            let text = format!(
                "No gain: the launcher's default is better than {}, the best of the strategies that \
                 were named.",
                self.plan.candidates[best].strategy
            );
            return (Verdict::NoGain, text);
        }
        let jobs = &self.workload.jobs;
        let timing = jobs.iter().all(|job| !job.sources.is_empty() || job.flows.is_empty());
        match (&self.plan.run_times, &self.plan.evaluation) {
            (Some(times), _) => self.run_time(times, default, best),
            (None, Some(_)) => self.waiting(default, best),
            (None, None) if timing => self.bytes(default, best, "not simulated, so no run time"),
            (None, None) => self.bytes(default, best, "no message timing, so no run time"),
        }
    }

    /// Names of libraries that carried traffic beside MPI.
    fn beside_mpi(&self) -> Vec<&str> {
        let names = self.workload.jobs.iter().flat_map(|job| &job.seen.beside_mpi);
        let names: BTreeSet<&str> = names.map(String::as_str).collect();
        names.into_iter().collect()
    }

    /// Whether a default that could not win is better than the best.
    fn default_is_better(&self, default: usize, best: usize) -> bool {
        let score = |at: usize| Score { reference: false, ..self.plan.candidates[at].score };
        let rule = match self.plan.evaluation {
            Some(_) => Rule::Objective(self.plan.rule),
            None => Rule::Static,
        };
        self.plan.candidates[default].score.reference
            && rank(&[score(best), score(default)], &rule).best() == 1
    }

    /// The answer where the launcher's default is written because what the next best placement saves is
    /// within the error; `None` if both count as equal.
    fn not_proven(&self, default: usize) -> Option<String> {
        if negligible_communication(self.workload).is_some() {
            return None;
        }
        let next = self.plan.ranking.runner_up?;
        let gain = self.gain(next).filter(|gain| gain.share > CLOSED_LOOP_FINISH)?;
        let id = &self.plan.candidates[next].strategy;
        let (name, share, error) = (id.name(), percent(gain.share), percent(gain.error));
        Some(format!(
            "No proven gain: {name} saves {share} (± {error}), which is within the error. The launcher's \
             default is written; --strategies {id} writes {name}{}.",
            self.merits(default, next)
        ))
    }

    fn nothing_gained(&self) -> String {
        let negligible = negligible_communication(self.workload);
        let compared = self.plan.ranking.order().len();
        let is_silent = |job: &Job| {
            let inside = job.flows.iter().all(|flow| flow.source == flow.destination);
            inside && job.sources.is_empty()
        };
        if self.workload.jobs.iter().all(is_silent) {
            let name = &self.workload.name;
            return format!("No placement helps here: {name} has no messages between ranks.");
        }
        match negligible {
            Some(share) => format!(
                "No placement helps here: {} of the run time is communication.",
                percent(share)
            ),
            None if compared == 1 => "Only the launcher's default was tried.".to_owned(),
            None if self.without_time() > 0 => format!(
                "No better placement was found in this time: {} of {} strategies had none left, and none \
                 of the others is better than the launcher's default.",
                self.without_time(),
                compared + self.without_time()
            ),
            None => match self.less_waiting_is_no_gain() {
                Some(why) => format!("No placement helps here: {why}."),
                None => format!(
                    "No placement helps here: of {compared} strategies none {}{}.",
                    self.small_gain().unwrap_or("is better than the launcher's default".to_owned()),
                    self.on_one_node().unwrap_or_default()
                ),
            },
        }
    }

    /// What the next best saves where that counts as nothing, if it is not 0.0 %.
    fn small_gain(&self) -> Option<String> {
        let gain = self.gain(self.plan.ranking.runner_up?).filter(|gain| gain.share >= NO_GAIN)?;
        Some(format!("saves more than {} of the run time", percent(gain.share)))
    }

    /// The number of strategies that had no time to begin.
    fn without_time(&self) -> usize {
        let had_none =
            |error: &PlanError| matches!(error, PlanError::Map { error: MapError::NoTime, .. });
        self.plan.left_out.iter().filter(|(_, error)| had_none(error)).count()
    }

    /// That the launcher's default has all ranks on one node, if so.
    fn on_one_node(&self) -> Option<String> {
        let default = &self.plan.candidates[self.default?];
        let ranks = self.workload.rank_count();
        (default.score.nodes == Some(1) && ranks > 1)
            .then(|| format!(", which has all {ranks} ranks on one node"))
    }

    /// Why the launcher's default is best although messages wait less with another placement; `None` if
    /// they do not, or the run time is known.
    fn less_waiting_is_no_gain(&self) -> Option<String> {
        self.plan.evaluation.as_ref().filter(|_| self.plan.run_times.is_none())?;
        let score = |at: usize| &self.plan.candidates[at].score;
        let waiting = |at: &usize| score(*at).total_waiting().0;
        let (default, order) = (self.default?, self.plan.ranking.order());
        let least = order.iter().min_by(|a, b| waiting(a).total_cmp(&waiting(b)))?;
        if counts_as_equal(waiting(&default), waiting(least)) {
            return None;
        }
        let end = score(default).last_arrival().0;
        let ranks = self.workload.rank_count() as f64;
        let share = waiting(&default) / (ranks * end).max(f64::MIN_POSITIVE);
        if share < NEGLIGIBLE_WAITING {
            return Some(format!(
                "with the launcher's default messages wait for {} of the time of all ranks",
                small_percent(share)
            ));
        }
        let later = score(*least).last_arrival().0 > end;
        later.then(|| "where messages wait less, the run ends later".to_owned())
    }

    fn run_time(&self, times: &RunTimes, default: usize, best: usize) -> (Verdict, String) {
        let Some(gain) = self.gain(best) else { return self.waiting(default, best) };
        let (share, error) = (percent(gain.share), percent(gain.error));
        if !gain.is_proven() {
            let written = self.plan.candidates[best].strategy.name();
            let text = format!(
                "No proven gain: {written} saves {share} (± {error}), which is within the error. \
                 {written} is written{}; the default may be kept.",
                self.merits(default, best)
            );
            return (Verdict::NotProven, text);
        }
        let time = |at: usize| format!("{:.2}", times.times[at]);
        let text = match times.only_ratios {
            None => format!(
                "Expected run time {} instead of {} with the launcher's default: {share} less \
                 (± {error}).",
                time(best),
                time(default)
            ),
            Some(why) => format!(
                "Expected run time {share} less than with the launcher's default (± {error}); no seconds, \
                 because {}.",
                why.reason()
            ),
        };
        (Verdict::ShorterRun, text)
    }

    /// The numbers of nodes of the best and of the launcher's default, if the best has more.
    fn more_nodes(&self, default: usize, best: usize) -> Option<(usize, usize)> {
        let nodes = |at: usize| self.plan.candidates[at].score.nodes;
        nodes(best).zip(nodes(default)).filter(|(more, less)| more > less)
    }

    /// What a placement that may gain nothing has beside run time: that messages wait less, if they do, and
    /// the nodes that it takes.
    fn merits(&self, default: usize, other: usize) -> String {
        let waiting = |at: usize| self.plan.candidates[at].score.total_waiting().0;
        let less = waiting(other) < waiting(default);
        let share = percent(1.0 - waiting(other) / waiting(default).max(f64::MIN_POSITIVE));
        let why = if less { format!(", where messages wait {share} less") } else { String::new() };
        let price = self.more_nodes(default, other).map_or(String::new(), |(more, less)| {
            format!(" (it takes {more} nodes instead of {less})")
        });
        format!("{why}{price}")
    }

    /// The answer for message timing without a recorded run: the ranks send at given rates.
    fn waiting(&self, default: usize, best: usize) -> (Verdict, String) {
        let score = |at: usize| &self.plan.candidates[at].score;
        let (waiting, before) = (score(best).total_waiting(), score(default).total_waiting());
        let (end, end_before) = (score(best).last_arrival(), score(default).last_arrival());
        let in_all = format!("{waiting:.2} instead of {before:.2}, summed over all messages");
        let waits = if waiting.0 <= before.0 {
            let share = 1.0 - waiting.0 / before.0.max(f64::MIN_POSITIVE);
            format!(
                "Messages wait {} less than with the launcher's default ({in_all})",
                percent(share)
            )
        } else {
            format!("Messages wait longer than with the launcher's default ({in_all})")
        };
        let part = self.simulated_part().unwrap_or_default();
        let as_long = counts_as_equal(end.0, end_before.0) && counts_as_equal(end_before.0, end.0);
        if as_long && waiting.0 <= before.0 {
            let waits = waits.replacen("Messages", "messages", 1);
            let closed = self.plan.evaluation.as_ref().is_some_and(|it| it.rule.closed_loop);
            let why = if closed { "" } else { ": rates fix when ranks send" };
            let price = self.more_nodes(default, best).map_or(String::new(), |(more, less)| {
                format!(
                    "; it takes {more} nodes instead of {less} (`--nodes {less}` keeps to as many)"
                )
            });
            let text =
                format!("No gain in run time: {waits}, but the run is as long{part}{why}{price}.");
            return (Verdict::LessWaiting, text);
        }
        let ends = if as_long {
            "the run is as long".to_owned()
        } else if end.0 < end_before.0 {
            let share = percent(1.0 - end.0 / end_before.0);
            format!("the run ends {share} earlier ({end:.2} instead of {end_before:.2})")
        } else {
            let share = percent(end.0 / end_before.0 - 1.0);
            format!("the run ends {share} later ({end:.2} instead of {end_before:.2})")
        };
        (Verdict::LessTraffic, format!("{waits}; {ends}{part}."))
    }

    /// `, both for the 12 % of the messages that were simulated`, if not all were: where a run ends depends
    /// on how much of it is simulated.
    fn simulated_part(&self) -> Option<String> {
        let share = self.plan.evaluation.as_ref()?.share;
        (share > 0.0 && share < 1.0).then(|| {
            format!(", both for the {} of the messages that were simulated", small_percent(share))
        })
    }

    /// The answer without run times; `untimed` says why.
    fn bytes(&self, default: usize, best: usize, untimed: &str) -> (Verdict, String) {
        let (best, default) = (&self.plan.candidates[best], &self.plan.candidates[default]);
        let fewer =
            |new: u64, old: u64| (new < old).then(|| percent(1.0 - new as f64 / old as f64));
        let nic = |candidate: &Candidate| candidate.load.busiest_nic_time();
        let text = if let Some(share) = fewer(best.load.inter_node.0, default.load.inter_node.0) {
            format!(
                "{share} fewer bytes between nodes than with the launcher's default; {untimed}."
            )
        } else if nic(best).0 < nic(default).0 {
            let share = percent(1.0 - nic(best).0 / nic(default).0);
            format!(
                "The busiest NIC needs {share} less time for its bytes than with the launcher's \
                 default; {untimed}."
            )
        } else if let Some((level, share)) = crossings(best, default) {
            format!(
                "{share} fewer bytes between {level} than with the launcher's default; {untimed}."
            )
        } else {
            format!("Bytes travel fewer hops than with the launcher's default; {untimed}.")
        };
        (Verdict::LessTraffic, text)
    }
}

/// The widest level between whose groups fewer bytes pass, in words, and by what share.
fn crossings(best: &Candidate, default: &Candidate) -> Option<(String, String)> {
    let cuts = best.load.cuts.iter().zip(&default.load.cuts).rev();
    let mut fewer = cuts.filter(|(new, old)| new.bytes.0 < old.bytes.0);
    let (new, old) = fewer.next()?;
    let share = 1.0 - new.bytes.0 as f64 / old.bytes.0 as f64;
    let level = match new.level {
        LevelKind::Numa => "NUMA nodes".to_owned(),
        LevelKind::Switch(_) => "switches".to_owned(),
        level => format!("{level}s"),
    };
    Some((level, percent(share)))
}

/// A time for a table.
pub(super) fn time(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "-".to_owned(), |seconds| format!("{:.2}", Seconds(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_written_with_two_digits() {
        let shares = [0.0, -1e-4, 1e-4, 0.051, -0.12, 0.9994, 0.99999, 1.0, 1.5];
        let written = ["0.0 %", "0.0 %", "0.0 %", "5.1 %", "-12 %", "99.9 %", "99.9 %", "100 %"];
        let found: Vec<String> = shares.into_iter().map(percent).collect();
        assert_eq!(found[..8], written);
        assert_eq!([1e-4, 0.0096, 0.5].map(small_percent), ["0.01 %", "0.96 %", "50 %"]);
    }
}
