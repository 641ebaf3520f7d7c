//! Tables of decisions: rows of text, in files beside this one.

use super::super::algorithms::{Algorithm, Halves, Shape};
use super::{Estimated, Settings};
use crate::traffic::collectives::Operation;

/// Rows without comments and head, split at commas.
pub(super) fn rows(table: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = table.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.skip(1).map(|line| line.split(',').map(str::trim).collect())
}

/// The operation with a name in lower case, as libraries' settings have it.
pub(super) fn operation(name: &str) -> Option<Operation> {
    let same = |operation: &Operation| operation.name().eq_ignore_ascii_case(name);
    (0..).map_while(Operation::from_number).find(same)
}

const SETTINGS: &str = include_str!("settings.csv");

/// The first setting that has a value which is not followed, by the table of a library.
pub(super) fn not_followed(library: &str, settings: &Settings) -> Option<Estimated> {
    let table: Vec<_> = rows(SETTINGS).filter(|row| row[0] == library).collect();
    let changes = |(name, value): &(&String, &String)| {
        let row = table.iter().find(|row| fits(row[1], name));
        row.is_some_and(|row| !is_among(value, row[2]))
    };
    let (name, value) = settings.iter().find(changes)?;
    Some(Estimated::Setting { setting: format!("{name}={value}") })
}

fn is_among(value: &str, values: &str) -> bool {
    let value = match value.trim() {
        "false" => "0",
        "true" => "1",
        value => value,
    };
    values.split(' ').any(|one| one == value)
}

/// Whether a name fits a pattern, in which `*` stands for any text.
fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some((_, behind)) = rest.split_once(part) else { return false };
        rest = behind;
    }
    rest.ends_with(last)
}

/// What an algorithm takes besides its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parameters {
    /// Length of segments, in bytes; 0: none.
    pub(super) segment: u64,
    /// Number of chains.
    pub(super) chains: usize,
    /// Radix of k-nomial trees.
    pub(super) radix: usize,
    /// Messages under way in each direction; 0: all.
    pub(super) limit: usize,
    /// Whether a scattered vector is divided between any bytes.
    pub(super) of_bytes: bool,
    /// How vectors are halved.
    pub(super) halves: Halves,
}

/// The algorithm with a name in a table.
pub(super) fn algorithm(name: &str, parameters: Parameters) -> Option<Algorithm> {
    let Parameters { segment, chains, radix, limit, of_bytes, halves } = parameters;
    let tree = |shape| Algorithm::Tree { shape, segment };
    Some(match name {
        "direct" => Algorithm::Direct,
        "together" => Algorithm::Together,
        "in-turn" => Algorithm::InTurn,
        "synchronised" => Algorithm::Synchronised { segment, limit },
        "binomial" => tree(Shape::Binomial),
        "binomial-in-order" => tree(Shape::InOrderBinomial),
        "binary" => tree(Shape::Complete { fanout: 2 }),
        "binary-in-order" => tree(Shape::InOrderBinary),
        "knomial" => tree(Shape::Knomial { radix }),
        "chain" => tree(Shape::Chains { chains }),
        "pipeline" => tree(Shape::Chains { chains: 1 }),
        "split-binary" => Algorithm::SplitBinary { segment },
        "scatter-ring" => Algorithm::ScatterRing { of_bytes },
        "scatter-doubling" => Algorithm::ScatterDoubling { of_bytes },
        "recursive-doubling" => Algorithm::RecursiveDoubling,
        "recursive-halving" => Algorithm::RecursiveHalving,
        "butterfly" => Algorithm::Butterfly,
        "ring" => Algorithm::Ring,
        "segmented-ring" => Algorithm::SegmentedRing { segment },
        "double-ring" => Algorithm::DoubleRing,
        "halving-doubling" => Algorithm::HalvingDoubling { halves },
        "pairwise-by-bits" => Algorithm::PairwiseByBits,
        "bruck" => Algorithm::Bruck,
        "neighbor-exchange" => Algorithm::NeighborExchange,
        "pairwise" => Algorithm::Pairwise,
        "two-steps" => Algorithm::TwoSteps,
        "two-steps-in-turn" => Algorithm::TwoStepsInTurn,
        _ => return None,
    })
}
