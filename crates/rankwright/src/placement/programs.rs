//! Slots for programs whose ranks have different numbers of cores.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::num::NonZeroU32;

use serde::Serialize;

use super::slots::{FreeUnits, Unit, cut};
use super::{PlacementError, Slot};
use crate::cluster::Cluster;
use crate::units::counted;

/// The ranks of a program of a job (MPMD), which follow those of the program before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ProgramRanks {
    /// How many there are.
    pub ranks: u32,
    /// The number of whole cores of each.
    pub cores: NonZeroU32,
}

/// By program: its class. Ranks of one class may exchange their slots: those with as many cores, or with
/// `own_nodes` those of the same program.
fn classes(programs: &[ProgramRanks], own_nodes: bool) -> Vec<u32> {
    let class = |(index, program): (usize, &ProgramRanks)| {
        if own_nodes { u32::try_from(index).unwrap_or(u32::MAX) } else { program.cores.get() }
    };
    programs.iter().enumerate().map(class).collect()
}

/// By rank: its class.
pub(crate) fn rank_classes(programs: &[ProgramRanks], own_nodes: bool) -> Vec<u32> {
    let classes = classes(programs, own_nodes);
    let of_program =
        |(program, class): (&ProgramRanks, u32)| std::iter::repeat_n(class, program.ranks as usize);
    programs.iter().zip(classes).flat_map(of_program).collect()
}

/// A slot for each rank, ordered by node, and by rank within a node. Rank by rank the first node with room takes it; with
/// `own_nodes` only a node that no other program has.
pub(super) fn slots(
    cluster: &Cluster,
    programs: &[ProgramRanks],
    own_nodes: bool,
) -> Result<Vec<Slot>, PlacementError> {
    let free: Vec<FreeUnits> =
        cluster.node_ids().map(|node| FreeUnits::new(cluster, node)).collect();
    let mut room: Vec<usize> = free.iter().map(|free| free.cores().len()).collect();
    let mut owner: Vec<Option<usize>> = vec![None; room.len()];
    // By node: cores and class of its ranks.
    let mut wanted: Vec<Vec<(usize, u32)>> = vec![Vec::new(); room.len()];
    let mut placed = 0;
    for (index, (program, class)) in programs.iter().zip(classes(programs, own_nodes)).enumerate() {
        let cores = program.cores.get() as usize;
        let mut node = 0;
        for _ in 0..program.ranks {
            let mine = |owner: Option<usize>| !own_nodes || owner.is_none_or(|it| it == index);
            while node < room.len() && !(room[node] >= cores && mine(owner[node])) {
                node += 1;
            }
            if node == room.len() {
                return Err(too_few(cluster, programs, placed, (cores, own_nodes)));
            }
            room[node] -= cores;
            owner[node] = Some(index);
            wanted[node].push((cores, class));
            placed += 1;
        }
    }
    let of_node = |((node, free), wanted): ((_, &FreeUnits), Vec<(usize, u32)>)| {
        let cores: Vec<usize> = wanted.iter().map(|(cores, _)| *cores).collect();
        let slot = |(units, (_, class)): (Vec<Unit>, (usize, u32))| Slot {
            class,
            ..free.slot(node, &units)
        };
        carved(free, &cores).into_iter().zip(wanted).map(slot).collect::<Vec<Slot>>()
    };
    Ok(cluster.node_ids().zip(&free).zip(wanted).flat_map(of_node).collect())
}

/// The cores of each of a node's ranks. Those with most cores choose first: so they stay within NUMA
/// nodes.
fn carved(free: &FreeUnits, cores: &[usize]) -> Vec<Vec<Unit>> {
    let mut by_size: Vec<usize> = (0..cores.len()).collect();
    by_size.sort_by_key(|rank| (Reverse(cores[*rank]), *rank));
    let mut carved = vec![Vec::new(); cores.len()];
    let mut rest = free.cores();
    for alike in by_size.chunk_by(|a, b| cores[*a] == cores[*b]) {
        let groups = cut(free.machine, rest.clone(), cores[alike[0]]);
        let mut taken = BTreeSet::new();
        for (rank, units) in alike.iter().zip(groups) {
            taken.extend(units.iter().copied());
            carved[*rank] = units;
        }
        rest.retain(|unit| !taken.contains(unit));
    }
    carved
}

fn too_few(
    cluster: &Cluster,
    programs: &[ProgramRanks],
    placed: usize,
    (cores, own_nodes): (usize, bool),
) -> PlacementError {
    let of_program = |program: &ProgramRanks| {
        format!("{} of {}", program.ranks, counted(program.cores.get() as usize, "core"))
    };
    let per: Vec<String> = programs.iter().map(of_program).collect();
    let own = if own_nodes { " of its own" } else { "" };
    PlacementError::TooFewParts {
        cluster: cluster.name.clone(),
        ranks: programs.iter().map(|program| program.ranks as usize).sum(),
        per: per.join(" and "),
        slots: placed,
        why: Some(format!(
            "then no node{own} has {} left for the next",
            counted(cores, "free core")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{self, NodeCount};
    use crate::placement::Granularity;

    fn program(ranks: u32, cores: u32) -> ProgramRanks {
        ProgramRanks { ranks, cores: NonZeroU32::new(cores).unwrap() }
    }

    /// `0:0-3/4`: node, cores and class of each slot.
    fn made(programs: &[ProgramRanks], own_nodes: bool) -> Result<String, String> {
        let node = "synthetic:pack:2 numa:1 core:4 pu:1";
        let cluster = cluster::open_with(node, NodeCount::Exactly(2)).unwrap();
        let granularity = Granularity::Programs { programs: programs.to_vec(), own_nodes };
        let slots = crate::placement::slots(&cluster, granularity, 1);
        let shown = |slot: &Slot| {
            let cores: Vec<u32> = slot.cores.iter().map(|core| core.0).collect();
            format!("{}:{}/{}", slot.node.0, crate::ids::format_index_list(&cores), slot.class)
        };
        let list = |slots: Vec<Slot>| slots.iter().map(shown).collect::<Vec<_>>().join(" ");
        slots.map(list).map_err(|error| error.to_string())
    }

    #[test]
    fn programs_share_nodes_or_have_their_own() {
        let three_and_one = [program(3, 1), program(1, 4)];
        assert_eq!(made(&three_and_one, false).unwrap(), "0:4/1 0:5/1 0:6/1 0:0-3/4");
        assert_eq!(made(&three_and_one, true).unwrap(), "0:0/0 0:1/0 0:2/0 1:0-3/1");
        // Small ranks fill what large ones leave.
        let large_first = [program(2, 6), program(4, 1)];
        let filled = "0:0-5/6 0:6/1 0:7/1 1:0-5/6 1:6/1 1:7/1";
        assert_eq!(made(&large_first, false).unwrap(), filled);
        assert_eq!(rank_classes(&large_first, false), [6, 6, 1, 1, 1, 1]);
        assert_eq!(rank_classes(&large_first, true), [0, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn programs_without_room_are_an_error() {
        let error = made(&[program(2, 6), program(5, 1)], false).unwrap_err();
        assert!(
            error.starts_with("7 ranks at 2 of 6 cores and 5 of 1 core: cluster `synthetic:"),
            "{error}"
        );
        assert!(
            error.ends_with("has room for 6 (then no node has 1 free core left for the next)"),
            "{error}"
        );
        let own = made(&[program(2, 6), program(1, 1)], true).unwrap_err();
        assert!(
            own.ends_with("(then no node of its own has 1 free core left for the next)"),
            "{own}"
        );
    }
}
