//! Successive halving (Karnin, Koren and Somekh 2013; Jamieson and Talwalkar 2016): many candidates,
//! of which fewer and fewer are annealed for longer and longer.

use std::num::NonZeroUsize;

use super::swaps::{AcceptanceRatios, Advance, CoolingLimit, LocalSearch, Solution};
use crate::parallel;

/// How long and how hot candidates are annealed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schedule<'a> {
    /// Trial swaps of an annealing of the first round.
    pub(super) length: u64,
    /// Candidates take these in turn.
    pub(super) ratios: &'a [AcceptanceRatios],
    pub(super) seed: u64,
    /// The number of this halving, from 0 up: each draws other random numbers.
    pub(super) number: u64,
}

/// What a search may still spend.
pub(super) struct MoveBudget<'a> {
    /// How many annealings may run at the same time.
    pub(super) threads: NonZeroUsize,
    /// Trial swaps that are left.
    pub(super) moves: u64,
    /// Counts trial swaps as made. Whether the search must end.
    pub(super) advance: &'a Advance<'a>,
}

/// Anneals candidates. After every round the better half stays and annealings are twice as long,
/// until two are left.
///
/// Annealings count in order: if one is cut off by the time, the results of those behind it are
/// dropped. So an end by the clock gives the same candidates as an end after the same number of
/// moves, for any number of threads.
pub(super) fn successive_halving(
    search: &LocalSearch,
    mut candidates: Vec<Solution>,
    schedule: Schedule<'_>,
    budget: &mut MoveBudget,
) -> Vec<Solution> {
    let mut length = schedule.length;
    for round in 0.. {
        candidates.sort_by_key(|candidate| candidate.cost);
        let left = budget.moves;
        let advance = budget.advance;
        let annealed = parallel::map(&candidates, budget.threads, |place, candidate| {
            let moves = left.saturating_sub(length.saturating_mul(place as u64));
            let limit = CoolingLimit { length, moves, advance };
            let ratios = schedule.ratios[(place + round) % schedule.ratios.len()];
            let seed = [schedule.seed, schedule.number, round as u64, place as u64];
            let seed = seed.iter().fold(0, |mixed: u64, part| {
                (mixed ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
            });
            search.anneal(candidate, ratios, &limit, seed)
        });
        let mut complete = true;
        for (candidate, (solution, moves)) in candidates.iter_mut().zip(annealed) {
            if complete && moves > 0 {
                budget.moves -= moves;
                if solution.cost < candidate.cost {
                    *candidate = solution;
                }
            }
            complete &= moves == length;
        }
        if !complete || candidates.len() <= 2 {
            break;
        }
        candidates.sort_by_key(|candidate| candidate.cost);
        candidates.truncate(candidates.len().div_ceil(2));
        length *= 2;
    }
    candidates
}

/// The trial swaps of a halving, if none is cut off.
pub(super) fn moves_of_halving(candidates: u64, length: u64) -> u64 {
    let rounds = std::iter::successors(Some((candidates, length)), |(candidates, length)| {
        (*candidates > 2).then(|| (candidates.div_ceil(2), 2 * length))
    });
    rounds.map(|(candidates, length)| candidates * length).sum()
}
