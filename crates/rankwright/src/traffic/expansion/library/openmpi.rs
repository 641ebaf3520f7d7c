//! Open MPI: `coll/tuned` with its fixed decisions or forced algorithms, `coll/basic` for what it lacks.

use std::collections::BTreeMap;

use super::super::algorithms::{Algorithm, Halves, Order, Shape};
use super::super::schedule::{Call, Layout};
use super::table::{self, Parameters};
use super::{Estimated, Settings, deciding_bytes, first_line, is_true};
use crate::traffic::collectives::Operation;

const DECISIONS: &str = include_str!("openmpi-tuned.csv");
const ALGORITHMS: &str = include_str!("openmpi-algorithms.csv");

/// The settings of Open MPI that choose algorithms.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OpenMpi {
    /// By operation; a row holds below its numbers.
    decisions: BTreeMap<Operation, Vec<Decision>>,
    /// Forced algorithms.
    forced: BTreeMap<Operation, Algorithm>,
    /// Whether `coll/han` takes the operations that it has.
    han: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Decision {
    ranks_below: usize,
    bytes_below: u64,
    algorithm: Algorithm,
}

/// Parameters of fixed decisions: no segments, pipelines as chains.
const FIXED: Parameters =
    Parameters { segment: 0, chains: 1, radix: 4, limit: 0, of_bytes: false, halves: HALVES };

/// Even members stand for pairs, of which each reduces one half.
const HALVES: Halves = Halves { standing: 0, fold_in_halves: true, by_blocks: false };

impl OpenMpi {
    /// The rules of a version, with what weakens them.
    pub(super) fn new(
        version: &str,
        number: Option<(u32, u32)>,
        settings: &Settings,
    ) -> (Self, Option<Estimated>) {
        let other = !matches!(number, Some((4, 1) | (5, 0)));
        let estimated = other.then(|| Estimated::OtherVersion {
            library: first_line(version).split(',').next().unwrap_or_default().to_owned(),
            rules: "Open MPI 4.1",
        });
        let mut rules = Self::by_default();
        let mut not_followed = rules.force(settings);
        let has_han = has_han(number, settings);
        rules.han = has_han && number.is_some_and(|(major, _)| major >= 5);
        let setting = |name: &str| {
            let value = settings.get(name).map(|value| value.trim()).unwrap_or_default();
            Some(Estimated::Setting { setting: format!("{name}={value}") })
        };
        if !Components::of(settings).are_followed() {
            not_followed = setting("coll");
        } else if has_han && !rules.han {
            not_followed = setting("coll_han_priority");
        }
        let not_followed = not_followed
            .or_else(|| table::not_followed("openmpi", settings))
            .or_else(|| table::not_followed("han", settings).filter(|_| has_han));
        (rules, estimated.or(not_followed))
    }

    /// The fixed decisions.
    pub(super) fn by_default() -> Self {
        let mut decisions: BTreeMap<Operation, Vec<Decision>> = BTreeMap::new();
        let algorithms: Vec<_> = table::rows(ALGORITHMS).collect();
        for row in table::rows(DECISIONS) {
            let [name, ranks, bytes, number] = row[..] else { continue };
            let Some(operation) = table::operation(name) else { continue };
            let Some(algorithm) = by_number(&algorithms, name, number, FIXED) else { continue };
            decisions.entry(operation).or_default().push(Decision {
                ranks_below: ranks.parse().unwrap_or(usize::MAX),
                bytes_below: bytes.parse().unwrap_or(u64::MAX),
                algorithm,
            });
        }
        Self { decisions, forced: BTreeMap::new(), han: false }
    }

    /// Number of fixed decisions.
    #[cfg(test)]
    pub(super) fn decisions(&self) -> usize {
        self.decisions.values().map(Vec::len).sum()
    }

    /// Takes over forced algorithms. Returns a setting that is not followed.
    fn force(&mut self, settings: &Settings) -> Option<Estimated> {
        let text = |name: &str| settings.get(name).map(|value| value.trim()).unwrap_or_default();
        if !is_true(text("coll_tuned_use_dynamic_rules")) {
            return None;
        }
        let mut not_followed = None;
        let algorithms: Vec<_> = table::rows(ALGORITHMS).collect();
        for name in OPERATIONS {
            let setting = format!("coll_tuned_{name}_algorithm");
            let number = text(&setting);
            let parameter = |what: &str, missing: u64| {
                let value = text(&format!("coll_tuned_{name}_algorithm_{what}"));
                value.parse().unwrap_or(missing)
            };
            let count = |what: &str, missing| usize::try_from(parameter(what, missing));
            let parameters = Parameters {
                segment: parameter("segmentsize", 0),
                chains: count("chain_fanout", 4).unwrap_or(4),
                radix: count("knomial_radix", 4).unwrap_or(4),
                limit: count("max_requests", 0).unwrap_or(0),
                ..FIXED
            };
            let forced = by_number(&algorithms, name, number, parameters);
            if let (Some(operation), Some(algorithm)) = (table::operation(name), forced) {
                self.forced.insert(operation, algorithm);
            } else if !matches!(number, "" | "0" | "ignore") {
                not_followed = Some(format!("{setting}={number}"));
            }
        }
        let rules = text("coll_tuned_dynamic_rules_filename");
        if !rules.is_empty() {
            not_followed = Some(format!("coll_tuned_dynamic_rules_filename={rules}"));
        }
        not_followed.map(|setting| Estimated::Setting { setting })
    }

    /// How `coll/han` runs an operation. Of nodes with unequal numbers of members it leaves most operations
    /// to the component below.
    pub(super) fn levels(&self, operation: Operation, layout: &Layout) -> Option<Order> {
        use Operation as O;
        if !self.han || layout.nodes.len() < 2 {
            return None;
        }
        match operation {
            O::Barrier | O::Allreduce => Some(Order::Segments),
            O::Bcast | O::Reduce | O::Gather | O::Scatter | O::Allgather => {
                match layout.is_even() {
                    true => Some(Order::Segments),
                    false => Some(Order::OneAfterAll),
                }
            }
            _ => None,
        }
    }

    /// The algorithm for a call on `size` members.
    pub(super) fn choose(&self, call: &Call<'_>, size: usize) -> Algorithm {
        let operation = call.operation;
        if call.nonblocking {
            return nonblocking(call, size);
        }
        let bytes = deciding_bytes(call, size);
        let holds = |row: &&Decision| size < row.ranks_below && bytes < row.bytes_below;
        let decided = || {
            let row = self.decisions.get(&operation)?.iter().find(holds)?;
            Some(row.algorithm)
        };
        let chosen = self.forced.get(&operation).copied().or_else(decided);
        possible(chosen.unwrap_or(basic(operation)), call, size)
    }
}

/// Operations whose algorithm can be forced.
const OPERATIONS: [&str; 14] = [
    "allgather",
    "allgatherv",
    "allreduce",
    "alltoall",
    "alltoallv",
    "barrier",
    "bcast",
    "exscan",
    "gather",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scan",
    "scatter",
];

/// The algorithm with a number or a name.
fn by_number(
    rows: &[Vec<&str>],
    operation: &str,
    number: &str,
    parameters: Parameters,
) -> Option<Algorithm> {
    let named = |row: &&Vec<&str>| row[0] == operation && (row[1] == number || row[2] == number);
    table::algorithm(rows.iter().find(named)?[3], parameters)
}

/// What `coll/basic` does.
fn basic(operation: Operation) -> Algorithm {
    use Operation as O;
    match operation {
        O::Gatherv | O::Scatterv | O::Scan | O::Exscan | O::Alltoallw => Algorithm::InTurn,
        _ => Algorithm::Direct,
    }
}

/// Priority of `coll/tuned`.
const TUNED: i64 = 30;

/// Whether `coll/han` precedes `coll/tuned`. Its priority is 35 from version 5 on, before 0.
fn has_han(number: Option<(u32, u32)>, settings: &Settings) -> bool {
    let default = if number.is_some_and(|(major, _)| major >= 5) { 35 } else { 0 };
    let priority = settings.get("coll_han_priority").and_then(|value| value.trim().parse().ok());
    priority.unwrap_or(default) > TUNED && Components::of(settings).has("han")
}

/// The components that the setting `coll` leaves: those that it names, or behind `^` all others.
struct Components<'a> {
    named: &'a str,
    are_excluded: bool,
}

impl<'a> Components<'a> {
    fn of(settings: &'a Settings) -> Self {
        let text = settings.get("coll").map(|value| value.trim()).unwrap_or_default();
        match text.strip_prefix('^') {
            Some(named) => Self { named, are_excluded: true },
            None => Self { named: text, are_excluded: text.is_empty() },
        }
    }

    fn has(&self, component: &str) -> bool {
        self.named.split(',').any(|name| name.trim() == component) != self.are_excluded
    }

    /// Whether the components are there whose algorithms are followed. Of the others only `han`
    /// has a priority that matters unless settings say so.
    fn are_followed(&self) -> bool {
        ["tuned", "basic", "libnbc"].iter().all(|component| self.has(component))
    }
}

/// What `coll/libnbc` does. Its other operations are direct messages.
fn nonblocking(call: &Call<'_>, size: usize) -> Algorithm {
    use Operation as O;
    let pipeline = Algorithm::TreeOfSwapped { shape: Shape::Chains { chains: 1 } };
    match call.operation {
        O::Barrier => Algorithm::Bruck,
        O::Bcast if size <= 4 => Algorithm::Together,
        O::Bcast if call.bytes < 65536 => Algorithm::TreeOfSwapped { shape: Shape::Binomial },
        O::Bcast => pipeline,
        O::Reduce if size > 2 && call.bytes / call.element >= 1 << size.ilog2() => {
            Algorithm::HalvingDoubling { halves: HALVES }
        }
        O::Reduce if size > 4 || call.bytes < 65536 => {
            Algorithm::TreeOfSwapped { shape: Shape::InOrderBinomial }
        }
        O::Reduce => pipeline,
        _ => Algorithm::Direct,
    }
}

/// What an algorithm falls back to where it is not possible.
fn possible(algorithm: Algorithm, call: &Call<'_>, size: usize) -> Algorithm {
    use Operation as O;
    let count = call.bytes / call.element;
    let power = 1_u64 << size.ilog2();
    let ranks = size as u64;
    match (call.operation, algorithm) {
        (O::Bcast, Algorithm::ScatterRing { .. } | Algorithm::ScatterDoubling { .. })
            if count < ranks =>
        {
            Algorithm::InTurn
        }
        (O::Reduce, Algorithm::HalvingDoubling { .. }) if count < power => Algorithm::InTurn,
        (O::Allreduce, Algorithm::Ring) if count < ranks => Algorithm::RecursiveDoubling,
        (O::Allreduce, Algorithm::SegmentedRing { .. }) if count < ranks => {
            Algorithm::RecursiveDoubling
        }
        (O::Allreduce, Algorithm::HalvingDoubling { .. }) if count < power => {
            Algorithm::TwoStepsInTurn
        }
        (O::Allgather, Algorithm::RecursiveDoubling) if !size.is_power_of_two() => Algorithm::Bruck,
        (O::Allgather | O::Allgatherv, Algorithm::NeighborExchange) if size % 2 == 1 => {
            Algorithm::Ring
        }
        (O::Bcast, Algorithm::Tree { shape: Shape::Chains { chains: 0 }, segment }) => {
            Algorithm::Tree { shape: Shape::Chains { chains: 1 }, segment }
        }
        (_, algorithm) => algorithm,
    }
}
