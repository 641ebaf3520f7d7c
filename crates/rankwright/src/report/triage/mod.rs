//! Whether a placement is worth the trouble: what can be said from a profile alone, before anything
//! is placed. `docs/src/metrics.md` has the definitions.

mod locality;
mod nodes;
mod partners;

use std::fmt::Write;

use serde::Serialize;

pub use locality::{Counted, Locality, Unevenness};

use crate::ids::Rank;
use crate::traffic::expansion::Expansion;
use crate::traffic::profile::{OversubscribedHost, Profile, RankRecord};

/// The verdict on a profile.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Triage {
    /// Why nothing can be said about times; `None` where something can.
    pub times_unknown: Option<&'static str>,
    /// How much of the time was spent inside MPI; `None` where that is not known.
    pub time_in_mpi: Option<TimeShares>,
    /// What a placement can gain; `None` where that is not known.
    pub gain: Option<GainBound>,
    /// Whether it matters who is near to whom.
    pub locality: Locality,
}

/// Time inside MPI as a share of the run time of all ranks, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TimeShares {
    /// Over all ranks and classes.
    pub mean: f64,
    /// Sends, receives and probes.
    pub point_to_point: f64,
    /// Waits and tests.
    pub wait: f64,
    /// Collective operations.
    pub collective: f64,
    /// One-sided communication and its synchronisation.
    pub one_sided: f64,
    /// The rest.
    pub other: f64,
    /// Of the rank with the largest share.
    pub largest: f64,
    /// That rank.
    pub largest_rank: Rank,
}

/// What no placement can exceed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GainBound {
    /// The part of the run time, from 0 to 1, that is left if MPI costs no time at all: the rank
    /// that was busy outside MPI the longest is still as busy.
    pub share: f64,
    /// That rank.
    pub rank: Rank,
    /// Where ranks shared PUs: their time inside MPI has waiting for a PU in it, and the bound says
    /// nothing.
    pub shared_pus: Option<SharedPus>,
}

/// A host on which more ranks ran than they had PUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SharedPus {
    /// The host.
    pub host: String,
    /// How many ranks ran there.
    pub ranks: usize,
    /// How many PUs they had.
    pub pus: usize,
}

impl Triage {
    /// Judges a profile. Collective calls count as the messages of `expansion`; the nodes are those
    /// that it ran on, or four if it ran on one or that is unknown.
    #[must_use]
    pub fn new(profile: &Profile, expansion: Expansion) -> Self {
        let times_unknown = times_unknown(profile);
        let known = times_unknown.is_none().then_some(profile);
        Self {
            times_unknown,
            time_in_mpi: known.and_then(|profile| time_shares(&profile.ranks)),
            gain: known.and_then(gain_bound),
            locality: Locality::new(profile, expansion, None),
        }
    }

    /// The same for nodes that hold this many ranks.
    #[must_use]
    pub fn on_nodes_of(ranks: u32, profile: &Profile, expansion: Expansion) -> Self {
        let locality = Locality::new(profile, expansion, Some(ranks));
        Self { locality, ..Self::new(profile, Expansion::None) }
    }

    /// Three lines: time inside MPI, what a placement can gain at most, whether it matters.
    #[must_use]
    pub fn text(&self) -> String {
        let unknown = || format!("unknown: {}", self.times_unknown.unwrap_or(NO_TIMES));
        let mut text = String::new();
        let mut line = |name: &str, value: String| {
            let _ = writeln!(text, "{name:<16}{value}");
        };
        line("time in MPI", self.time_in_mpi.map_or_else(unknown, |time| time.to_string()));
        line("gain at most", self.gain.as_ref().map_or_else(unknown, GainBound::to_string));
        line("placement", self.locality.to_string());
        text
    }
}

impl std::fmt::Display for TimeShares {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1} % (", 100.0 * self.mean)?;
        for (name, share) in [
            ("send/receive", self.point_to_point),
            ("wait", self.wait),
            ("collective", self.collective),
            ("one-sided", self.one_sided),
            ("other", self.other),
        ] {
            // Few programs are one-sided; a line is short.
            if share > 0.0 || name != "one-sided" {
                write!(f, "{name} {:.1} %, ", 100.0 * share)?;
            }
        }
        write!(f, "most on rank {}: {:.1} %)", self.largest_rank, 100.0 * self.largest)
    }
}

impl std::fmt::Display for GainBound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(SharedPus { host, ranks, pus }) = &self.shared_pus {
            return write!(
                f,
                "unknown: {ranks} ranks shared {pus} PUs on {host}, so time in MPI includes waiting \
                 for a PU"
            );
        }
        let (share, rest) = (100.0 * self.share, 100.0 * (1.0 - self.share));
        write!(
            f,
            "{share:.1} % of the run time: rank {} is busy outside MPI for {rest:.1} %",
            self.rank
        )
    }
}

const NO_TIMES: &str = "no times were recorded";

fn times_unknown(profile: &Profile) -> Option<&'static str> {
    if !profile.calls_were_timed() {
        Some(NO_TIMES)
    } else if !profile.partial().is_empty() {
        Some("not all ranks came to their end")
    } else if profile.run.several_threads {
        Some("several threads of a rank may be inside MPI at a time, and their times add up")
    } else {
        None
    }
}

fn time_shares(ranks: &[RankRecord]) -> Option<TimeShares> {
    let wall: f64 = ranks.iter().map(|rank| rank.wall.0).sum();
    let share = |rank: &RankRecord| (rank.time_in_mpi().0 / rank.wall.0).clamp(0.0, 1.0);
    let timed = ranks.iter().enumerate().filter(|(_, rank)| rank.wall.0 > 0.0);
    let (largest_rank, largest) = timed
        .map(|(index, rank)| (Rank::from_index(index), share(rank)))
        .reduce(|largest, next| if next.1 > largest.1 { next } else { largest })?;
    let of_wall = |time: &dyn Fn(&RankRecord) -> f64| {
        (ranks.iter().map(time).sum::<f64>() / wall).clamp(0.0, 1.0)
    };
    let mean = of_wall(&|rank| rank.time_in_mpi().0);
    let point_to_point = of_wall(&|rank| rank.point_to_point.time.0);
    let wait = of_wall(&|rank| rank.wait.time.0);
    let collective = of_wall(&|rank| rank.collective.time.0);
    let one_sided = of_wall(&|rank| rank.one_sided.time.0);
    let other = of_wall(&|rank| rank.other.time.0);
    let shares = TimeShares {
        mean,
        point_to_point,
        wait,
        collective,
        one_sided,
        other,
        largest,
        largest_rank,
    };
    Some(shares)
}

fn gain_bound(profile: &Profile) -> Option<GainBound> {
    let timed = || profile.ranks.iter().enumerate().filter(|(_, rank)| rank.wall.0 > 0.0);
    let run_time = timed().map(|(_, rank)| rank.wall.0).fold(0.0, f64::max);
    let (rank, busy) = timed()
        .map(|(index, rank)| (index, (rank.wall.0 - rank.time_in_mpi().0).max(0.0)))
        .reduce(|busiest, next| if next.1 > busiest.1 { next } else { busiest })?;
    let shared = profile.shared_pus();
    let shared_pus = shared.map(|OversubscribedHost { host, ranks, pus }| SharedPus {
        host: host.to_owned(),
        ranks,
        pus,
    });
    let share = (1.0 - busy / run_time).clamp(0.0, 1.0);
    Some(GainBound { share, rank: Rank::from_index(rank), shared_pus })
}

#[cfg(test)]
mod tests;
