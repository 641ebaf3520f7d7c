//! What a placement can gain at most, from a profile alone. `docs/src/metrics.md` has the
//! definitions.

mod locality;
mod nodes;
mod partners;

use std::fmt::Write;

use serde::Serialize;

pub use locality::{Counted, Locality, Unevenness};

use crate::ids::Rank;
use crate::traffic::expansion::Expansion;
use crate::traffic::profile::{OversubscribedHost, Profile, RankRecord};

/// What a profile says about possible placements.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Triage {
    /// Why the times cannot be used; `None` if they can.
    pub times_unknown: Option<&'static str>,
    /// The share of the run time inside MPI; `None` if unknown.
    pub time_in_mpi: Option<TimeShares>,
    /// The largest possible gain; `None` if unknown.
    pub gain: Option<GainBound>,
    /// Whether it matters which ranks share a node.
    pub locality: Locality,
}

/// Time inside MPI as a share of the run time of all ranks, 0 to 1.
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
    /// All other calls.
    pub other: f64,
    /// The largest share of a single rank.
    pub largest: f64,
    /// The rank with that share.
    pub largest_rank: Rank,
}

/// An upper bound of the gain of any placement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GainBound {
    /// The share of the run time, 0 to 1, that would be saved if MPI took no time: the run still takes
    /// as long as the rank that computes longest.
    pub share: f64,
    /// The rank that computes longest.
    pub rank: Rank,
    /// A host on which ranks shared PUs: time inside MPI then includes waiting for a PU, and the bound
    /// is meaningless.
    pub shared_pus: Option<SharedPus>,
    /// How long ranks waited for PUs that other programs used, as a share of their time outside MPI; `None`
    /// if hardly. As above.
    pub waited_for_pus: Option<f64>,
}

impl GainBound {
    /// Whether it means something: no rank waited long for a PU.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.shared_pus.is_none() && self.waited_for_pus.is_none()
    }
}

/// A host on which more ranks ran than they had PUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SharedPus {
    /// Name of the host.
    pub host: String,
    /// Number of ranks there.
    pub ranks: usize,
    /// Number of PUs of these ranks.
    pub pus: usize,
}

impl Triage {
    /// Assesses a profile. Collective calls count as the messages of `expansion`. Nodes are taken to
    /// hold as many ranks as in the recorded run; if that ran on one host or its hosts are unknown,
    /// four nodes are assumed.
    #[must_use]
    pub fn new(profile: &Profile, expansion: Expansion) -> Self {
        let times_unknown = times_unknown(profile);
        let timed = times_unknown.is_none().then_some(profile);
        Self {
            times_unknown,
            time_in_mpi: timed.and_then(|profile| time_shares(&profile.ranks)),
            gain: timed.and_then(gain_bound),
            locality: Locality::new(profile, expansion, None),
        }
    }

    /// Assesses a profile for nodes with this number of ranks each.
    #[must_use]
    pub fn on_nodes_of(ranks: u32, profile: &Profile, expansion: Expansion) -> Self {
        let locality = Locality::new(profile, expansion, Some(ranks));
        Self { locality, ..Self::new(profile, Expansion::None) }
    }

    /// Whether the placement matters, and why, in a line.
    #[must_use]
    pub fn placement(&self) -> String {
        match &self.time_in_mpi {
            Some(time) if time.mean < LITTLE_COMMUNICATION => format!(
                "hardly matters: {:.1} % of the time of all ranks is in MPI ({})",
                100.0 * time.mean,
                self.locality
            ),
            _ => self.locality.to_string(),
        }
    }

    /// Three lines: whether the placement matters, the largest possible gain, and the time inside MPI.
    #[must_use]
    pub fn text(&self) -> String {
        let unknown = || format!("unknown: {}", self.times_unknown.unwrap_or(NO_TIMES));
        let mut text = String::new();
        let mut line = |name: &str, value: String| {
            let _ = writeln!(text, "{name:<16}{value}");
        };
        line("placement", self.placement());
        let no_gain = || match self.times_unknown {
            Some(_) => "unknown, as is the time in MPI".to_owned(),
            None => unknown(),
        };
        line("gain at most", self.gain.as_ref().map_or_else(no_gain, GainBound::to_string));
        line("time in MPI", self.time_in_mpi.map_or_else(unknown, |time| time.to_string()));
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
        if let Some(waited) = self.waited_for_pus {
            return write!(
                f,
                "unknown: other programs ran beside it (ranks waited for PUs during {:.0} % of their time \
                 outside MPI), so time in MPI includes waiting for a PU",
                100.0 * waited
            );
        }
        let (share, rest) = (100.0 * self.share, 100.0 * (1.0 - self.share));
        write!(
            f,
            "{share:.1} % of the run time: rank {} computes for the other {rest:.1} %",
            self.rank
        )
    }
}

/// Seconds for which a rank may wait for a PU while all ranks start, also on an idle host.
const A_START: f64 = 0.05;

/// Below this share of the run time, communication is little.
pub(super) const LITTLE_COMMUNICATION: f64 = 0.02;

const NO_TIMES: &str = "no times were recorded";

fn times_unknown(profile: &Profile) -> Option<&'static str> {
    if !profile.calls_were_timed() {
        Some(NO_TIMES)
    } else if !profile.partial().is_empty() {
        Some("not all ranks reached their end")
    } else if profile.run.several_threads && profile.run.called_through == "mpi4py" {
        Some(
            "mpi4py asks for MPI_THREAD_MULTIPLE, and times of several threads add up; record again with \
             MPI4PY_RC_THREADS=0 (or mpi4py.rc.threads = False) if one thread calls MPI",
        )
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
    let waited: f64 = timed().filter_map(|(_, rank)| rank.waited_for_pu).map(|it| it.0).sum();
    let told = shared_pus.is_none() && waited > A_START * profile.ranks.len() as f64;
    let waited_for_pus = profile.much_waiting_for_pus().filter(|_| told);
    Some(GainBound { share, rank: Rank::from_index(rank), shared_pus, waited_for_pus })
}

#[cfg(test)]
mod tests;
