//! MPICH with device ch4: compositions of levels, and the algorithms of each level.

use std::collections::BTreeMap;

use super::super::algorithms::{Algorithm, Halves, Order};
use super::super::schedule::{Call, Layout};
use super::table::{self, Parameters};
use super::{Estimated, Settings, deciding_bytes, first_line};
use crate::traffic::collectives::Operation;

const DECISIONS: &str = include_str!("mpich.csv");
const ALGORITHMS: &str = include_str!("mpich-algorithms.csv");

/// The settings of MPICH that choose algorithms.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mpich {
    /// By operation: orders of levels, `None` if nodes are disregarded.
    whole: BTreeMap<Operation, Vec<(Condition, Option<Order>)>>,
    /// By operation: algorithms of a level.
    flat: BTreeMap<Operation, Vec<(Condition, Algorithm)>>,
    forced: BTreeMap<Operation, Algorithm>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Condition {
    ranks: Ranks,
    /// Whether bytes are those of all members.
    total: bool,
    bytes_up_to: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Ranks {
    Any,
    Below(usize),
    PowerOfTwo,
}

/// How many messages an all-to-all has under way (`MPIR_CVAR_ALLTOALL_THROTTLE`).
const THROTTLE: usize = 32;

impl Mpich {
    /// The rules of a version, with what weakens them.
    pub(super) fn new(
        version: &str,
        number: Option<(u32, u32)>,
        settings: &Settings,
    ) -> (Self, Option<Estimated>) {
        let other = !matches!(number, Some((4, 0)));
        // Profiles name the device only if it is another one.
        let estimated = (other || version.contains("ch3")).then(|| Estimated::OtherVersion {
            library: in_words(version),
            rules: "MPICH 4.0 with device ch4",
        });
        let rules = Self::with(settings, !other);
        let forced = settings.iter().find(|(name, value)| rules.ignores(name, value));
        let forced = forced.map(|(name, value)| format!("{name}={value}"));
        let forced = forced.map(|setting| Estimated::Setting { setting });
        let not_followed = forced.or_else(|| table::not_followed("mpich", settings));
        (rules, not_followed.or(estimated))
    }

    /// Whether a setting forces an algorithm that is not followed.
    fn ignores(&self, name: &str, value: &str) -> bool {
        let forced = name
            .strip_prefix("MPIR_CVAR_")
            .and_then(|name| name.strip_suffix("_INTRA_ALGORITHM"))
            .and_then(|name| table::operation(&name.to_lowercase()));
        let chosen = !matches!(value.trim(), "" | "0" | "auto");
        chosen && forced.is_some_and(|forced| !self.forced.contains_key(&forced))
    }

    /// Numbers of algorithms are followed where `numbers_hold`: each version has its own.
    fn with(settings: &Settings, numbers_hold: bool) -> Self {
        let throttle = settings.get("MPIR_CVAR_ALLTOALL_THROTTLE");
        let limit = throttle.and_then(|value| value.trim().parse().ok()).unwrap_or(THROTTLE);
        let parameters = |operation| parameters(operation, limit);
        let mut rules =
            Self { whole: BTreeMap::new(), flat: BTreeMap::new(), forced: BTreeMap::new() };
        for row in table::rows(DECISIONS) {
            let [name, level, ranks, bytes, up_to, chosen] = row[..] else { continue };
            let Some(operation) = table::operation(name) else { continue };
            let condition = Condition {
                ranks: match ranks.strip_prefix('<').map(str::parse) {
                    Some(Ok(below)) => Ranks::Below(below),
                    _ if ranks == "pow2" => Ranks::PowerOfTwo,
                    _ => Ranks::Any,
                },
                total: bytes == "total",
                bytes_up_to: up_to.parse().unwrap_or(u64::MAX),
            };
            if level == "whole" {
                let order = match chosen {
                    "leaders" => Some(Order::Leaders),
                    "root-on-node" => Some(Order::RootOnNode),
                    _ => None,
                };
                rules.whole.entry(operation).or_default().push((condition, order));
            } else if let Some(algorithm) = table::algorithm(chosen, parameters(operation)) {
                rules.flat.entry(operation).or_default().push((condition, algorithm));
            }
        }
        for row in table::rows(ALGORITHMS) {
            let [operation, number, name, algorithm] = row[..] else { continue };
            let variable = format!("MPIR_CVAR_{}_INTRA_ALGORITHM", operation.to_uppercase());
            let found = settings.get(&variable).map(|value| value.trim());
            let is_forced = found == Some(name) || (numbers_hold && found == Some(number));
            if let (true, Some(operation)) = (is_forced, table::operation(operation)) {
                let algorithm = table::algorithm(algorithm, parameters(operation));
                rules.forced.extend(algorithm.map(|algorithm| (operation, algorithm)));
            }
        }
        rules
    }

    /// The composition of a call on a communicator of which several members are on one node.
    pub(super) fn levels(&self, call: &Call<'_>, layout: &Layout) -> Option<Order> {
        let size = layout.place.len();
        if call.operation == Operation::Allreduce && layout.nodes.len() == 1 {
            return None;
        }
        let rows = self.whole.get(&call.operation)?;
        rows.iter().find(|(condition, _)| condition.holds(call, size))?.1
    }

    /// The algorithm for a call on `size` members of a level.
    pub(super) fn choose(&self, call: &Call<'_>, size: usize) -> Algorithm {
        if call.nonblocking {
            return Algorithm::Direct;
        }
        let rows = self.flat.get(&call.operation).map_or(&[][..], Vec::as_slice);
        let decided = || rows.iter().find(|(condition, _)| condition.holds(call, size));
        let forced = self.forced.get(&call.operation).copied().filter(|forced| {
            // Where a forced algorithm is not possible, the decision holds.
            let power = matches!(call.operation, Operation::Allgather | Operation::Allgatherv)
                && *forced == Algorithm::RecursiveDoubling;
            possible(*forced, call, size) == *forced && (!power || size.is_power_of_two())
        });
        let chosen = forced.or_else(|| decided().map(|(_, algorithm)| *algorithm));
        possible(chosen.unwrap_or(Algorithm::Direct), call, size)
    }
}

/// Name and version: `MPICH 4.3.1`.
fn in_words(version: &str) -> String {
    let words = first_line(version).split_whitespace().filter(|word| *word != "Version:");
    words.collect::<Vec<_>>().join(" ")
}

fn parameters(operation: Operation, limit: usize) -> Parameters {
    // In an allreduce the odd member of a pair stands for both, in a reduction the even one.
    let standing = usize::from(operation == Operation::Allreduce);
    Parameters {
        segment: 0,
        chains: 1,
        radix: 2,
        limit,
        of_bytes: true,
        halves: Halves { standing, fold_in_halves: false, by_blocks: true },
    }
}

impl Condition {
    fn holds(self, call: &Call<'_>, size: usize) -> bool {
        let of_block = deciding_bytes(call, size);
        let bytes = match (self.total, call.operation) {
            (false, _) => of_block,
            (true, Operation::ReduceScatter) => call.bytes,
            (true, Operation::Allgatherv) => call.contributed(0, size),
            (true, _) => of_block.saturating_mul(size as u64),
        };
        let ranks = match self.ranks {
            Ranks::Any => true,
            Ranks::Below(below) => size < below,
            Ranks::PowerOfTwo => size.is_power_of_two(),
        };
        ranks && bytes <= self.bytes_up_to
    }
}

/// Vectors with fewer elements than the largest power of two of members are not halved.
fn possible(algorithm: Algorithm, call: &Call<'_>, size: usize) -> Algorithm {
    let short = call.bytes / call.element < 1 << size.ilog2();
    match (algorithm, call.operation) {
        (Algorithm::HalvingDoubling { .. }, Operation::Allreduce) if short => {
            Algorithm::RecursiveDoubling
        }
        (Algorithm::HalvingDoubling { .. }, Operation::Reduce) if short => {
            let shape = super::super::algorithms::Shape::InOrderBinomial;
            Algorithm::Tree { shape, segment: 0 }
        }
        (algorithm, _) => algorithm,
    }
}
