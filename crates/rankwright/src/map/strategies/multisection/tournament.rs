//! Many first assignments, of which fewer and fewer are annealed for longer and longer.

use std::num::NonZeroUsize;

use super::annealing::Shares;
use super::local_search::{Answer, Limit, LocalSearch};
use crate::parallel::side_by_side;

/// How a tournament goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules<'a> {
    /// How many trial swaps an annealing of the first round makes.
    pub(super) length: u64,
    /// From how hot to how cold annealings are, in turn.
    pub(super) shares: &'a [Shares],
    pub(super) seed: u64,
    /// The number of the tournament: later ones anneal for longer.
    pub(super) number: u64,
}

/// What a tournament may spend.
pub(super) struct Purse<'a> {
    /// How many annealings may run at the same time.
    pub(super) threads: NonZeroUsize,
    /// How many trial swaps are left.
    pub(super) moves: u64,
    /// Whether the time is over.
    pub(super) over: &'a (dyn Fn() -> bool + Sync),
}

/// Anneals assignments. After every round the better half goes on and the next annealings are twice
/// as long, until two are left after a round.
///
/// Annealings count in order: if one is cut off by the time, those behind it are forgotten. So an
/// end by the clock leaves what an end after as many moves does, for any number of threads.
pub(super) fn hold(
    search: &LocalSearch,
    mut players: Vec<Answer>,
    rules: Rules<'_>,
    purse: &mut Purse,
) -> Vec<Answer> {
    let mut length = rules.length;
    for round in 0.. {
        players.sort_by_key(|player| player.cost);
        let left = purse.moves;
        let over = purse.over;
        let annealed = side_by_side(&players, purse.threads, |place, player| {
            let limit = Limit {
                length,
                moves: left.saturating_sub(length.saturating_mul(place as u64)),
                over,
            };
            let shares = rules.shares[(place + round) % rules.shares.len()];
            let seed = [rules.seed, rules.number, round as u64, place as u64];
            let seed = seed.iter().fold(0, |mixed: u64, part| {
                (mixed ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
            });
            search.anneal(player, shares, &limit, seed)
        });
        let mut whole = true;
        for (player, (answer, moves)) in players.iter_mut().zip(annealed) {
            if whole && moves > 0 {
                purse.moves -= moves;
                if answer.cost < player.cost {
                    *player = answer;
                }
            }
            whole &= moves == length;
        }
        if !whole || players.len() <= 2 {
            break;
        }
        players.sort_by_key(|player| player.cost);
        players.truncate(players.len().div_ceil(2));
        length *= 2;
    }
    players
}
