//! Ranks candidates, and selects those that the best is compared with in its explanation.

use super::{Candidate, Evaluation};
use crate::ranking::{Ranking, Rule, Score, rank};

/// The ranking of candidates, and those that the best is compared with in its explanation.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RankedCandidates {
    /// The ranking, by indices of candidates.
    pub ranking: Ranking,
    /// Index of the next best candidate with another mapping than the best; `None` if there is none.
    pub runner_up: Option<usize>,
    /// Index of the next best candidate that does not count as equal to the best; if all do, the
    /// runner-up.
    pub rival: Option<usize>,
}

impl RankedCandidates {
    /// Indices of all candidates that were compared, the best first.
    #[must_use]
    pub fn order(&self) -> &[usize] {
        self.ranking.order()
    }

    /// The ranking where nothing is gained by any placement: the launcher's default is best, if it may
    /// win.
    #[must_use]
    pub(super) fn with_default_best(mut self) -> Self {
        let best = self.best();
        self.ranking = self.ranking.with_default_best();
        if self.best() != best {
            (self.runner_up, self.rival) = (Some(best), Some(best));
        }
        self
    }

    /// Index of the best candidate.
    #[must_use]
    pub fn best(&self) -> usize {
        self.ranking.best()
    }
}

/// Ranks candidates by their times if all were evaluated, else by bytes.
///
/// By times the best by the objective wins, unless the launcher's default counts as equal to it.
///
/// # Panics
/// If there is no candidate.
#[must_use]
pub fn rank_candidates(
    candidates: &[Candidate],
    evaluation: Option<&Evaluation>,
) -> RankedCandidates {
    let all_timed = candidates.iter().all(|candidate| candidate.evaluation.is_some());
    let timed = evaluation.filter(|_| all_timed);
    let Some(evaluation) = timed else { return rank_by_bytes(candidates) };
    let rule = Rule::Objective(evaluation.rule);
    let ranking = rank(&scores(candidates), &rule);
    let best = ranking.best();
    let best_of = |positions: &[usize]| {
        let scores: Vec<Score> = positions.iter().map(|at| candidates[*at].score).collect();
        (!scores.is_empty()).then(|| positions[rank(&scores, &rule).best()])
    };
    let is_other = |at: &usize| candidates[*at].number != candidates[best].number;
    let mut others: Vec<usize> = ranking.order().iter().copied().filter(is_other).collect();
    others.sort_unstable();
    let runner_up = best_of(&others);
    others.retain(|at| !ranking.is_equal_to_best(*at));
    RankedCandidates { rival: best_of(&others).or(runner_up), runner_up, ranking }
}

/// Ranks candidates by bytes alone.
///
/// # Panics
/// If there is no candidate.
#[must_use]
pub fn rank_by_bytes(candidates: &[Candidate]) -> RankedCandidates {
    let ranking = rank(&scores(candidates), &Rule::Static);
    let runner_up = ranking.order().get(1).copied();
    let default = ranking.launcher_default().filter(|at| *at != ranking.best());
    RankedCandidates { rival: default.or(runner_up), runner_up, ranking }
}

fn scores(candidates: &[Candidate]) -> Vec<Score> {
    candidates.iter().map(|candidate| candidate.score).collect()
}
