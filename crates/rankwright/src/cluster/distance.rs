//! The machine matrix of Mercier and Clet-Ortega 2009, section 2.2: the closeness of each pair of
//! cores.

use serde::Serialize;

use super::{Cluster, Machine};
use crate::ids::{CoreId, NodeId, PuId};

/// Two cores on one die (one NUMA node), fig. 3.
pub(crate) const SAME_DIE: u32 = 1000;
/// Two cores of neighbouring NUMA nodes, fig. 3.
pub(crate) const NEAR: u32 = 100;
/// Two cores of NUMA nodes of one node that are farther apart, fig. 3.
pub(crate) const FAR: u32 = 10;
/// The factor of two cores that share a cache as well. The paper only says that weights increase as
/// more elements of the memory hierarchy are shared; its Opteron has no shared caches.
pub(crate) const SHARED_CACHE: u32 = 10;
/// Two cores of different nodes. The paper only says that it is the smallest weight.
pub(crate) const NETWORK: u32 = 1;

/// The matrix: symmetric, larger is closer, 0 on the diagonal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MachineMatrix {
    /// By row (and column): the node and the first PU (P#) of the core. Nodes are in the order of
    /// the cluster, PUs by P# within a node, as the paper numbers them.
    pub cores: Vec<(NodeId, PuId)>,
    /// The weights, row by row.
    pub weights: Vec<Vec<u32>>,
}

impl MachineMatrix {
    /// The matrix of these nodes.
    ///
    /// NUMA nodes at the smallest remote distance of `numa_distance` are near, all others are far.
    /// Without `numa_distance`, NUMA nodes of one package are nearer than those of different
    /// packages. Cores that share their last-level cache ([`Core::cache`](super::Core::cache)) have
    /// ten times the weight.
    ///
    /// # Panics
    /// If the cluster does not have one of these nodes.
    #[must_use]
    pub fn new(cluster: &Cluster, nodes: &[NodeId]) -> Self {
        let mut cores: Vec<(NodeId, PuId, CoreId)> = Vec::new();
        for &node in nodes {
            let machine = cluster.machine(node);
            let first = cores.len();
            cores.extend(machine.core_ids().map(|id| (node, machine.cores[id.index()].pus[0], id)));
            cores[first..].sort_unstable_by_key(|(_, pu, _)| *pu);
        }
        let inside: Vec<Closeness<'_>> =
            cluster.groups.iter().map(|group| Closeness::new(&group.machine)).collect();
        let weight = |a: &(NodeId, PuId, CoreId), b: &(NodeId, PuId, CoreId)| {
            let same_node = a.0 == b.0;
            if same_node { inside[cluster.node(a.0).group].weight(a.2, b.2) } else { NETWORK }
        };
        let row = |a| cores.iter().map(|b| weight(a, b)).collect();
        let weights = cores.iter().map(row).collect();
        Self { cores: cores.iter().map(|(node, pu, _)| (*node, *pu)).collect(), weights }
    }
}

/// The closeness of the cores of a node: the matrix inside of a node.
#[derive(Debug, Clone, Copy)]
pub struct Closeness<'a> {
    machine: &'a Machine,
    /// The smallest distance between two different NUMA nodes.
    nearest: u32,
}

impl<'a> Closeness<'a> {
    /// The closeness of the cores of a machine.
    #[must_use]
    pub fn new(machine: &'a Machine) -> Self {
        Self { machine, nearest: nearest_remote(machine) }
    }

    /// The weight of two cores: larger is closer, 0 for a core and itself.
    #[must_use]
    pub fn weight(&self, a: CoreId, b: CoreId) -> u32 {
        let numa = |core: CoreId| self.machine.cores[core.index()].numa.index();
        let (from, to) = (numa(a), numa(b));
        let distance = |from, to| numa_distance(self.machine, from, to);
        if a == b {
            return 0;
        }
        let memories = if from == to {
            SAME_DIE
        } else if distance(from, to).min(distance(to, from)) <= self.nearest {
            // Firmware tables need not be symmetric; the matrix is.
            NEAR
        } else {
            FAR
        };
        // A cache that is not known does not count.
        let cache = |core: CoreId| self.machine.cores[core.index()].cache;
        if cache(a).is_some() && cache(a) == cache(b) { SHARED_CACHE * memories } else { memories }
    }
}

/// The smallest distance between two different NUMA nodes with cores.
fn nearest_remote(machine: &Machine) -> u32 {
    let mut with_cores: Vec<usize> = machine.cores.iter().map(|core| core.numa.index()).collect();
    with_cores.sort_unstable();
    with_cores.dedup();
    let pairs = with_cores.iter().flat_map(|a| with_cores.iter().map(move |b| (*a, *b)));
    let remote = pairs.filter(|(a, b)| a != b);
    remote.map(|(a, b)| numa_distance(machine, a, b)).min().unwrap_or(0)
}

/// The firmware's distance, or 1 inside of a package and 2 otherwise.
fn numa_distance(machine: &Machine, from: usize, to: usize) -> u32 {
    if let Some(distance) = &machine.numa_distance {
        return distance[from][to];
    }
    let package = |numa: usize| {
        let core = machine.cores.iter().find(|core| core.numa.index() == numa);
        core.map(|core| core.package)
    };
    if package(from) == package(to) { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::read::{built_in, synthetic};
    use crate::cluster::{ClusterDescription, NodeGroup};

    #[test]
    fn figure_3_comes_out_for_the_opteron_node() {
        let cluster = built_in::find("paper:2009-placement").unwrap().cluster();
        let matrix = MachineMatrix::new(&cluster, &[NodeId(0)]);
        assert_eq!(
            matrix.cores.iter().map(|(_, pu)| pu.0).collect::<Vec<_>>(),
            [0, 1, 2, 3, 4, 5, 6, 7]
        );
        assert_eq!(
            matrix.weights,
            [
                [0, 100, 100, 10, 1000, 100, 100, 10],
                [100, 0, 10, 100, 100, 1000, 10, 100],
                [100, 10, 0, 100, 100, 10, 1000, 100],
                [10, 100, 100, 0, 10, 100, 100, 1000],
                [1000, 100, 100, 10, 0, 100, 100, 10],
                [100, 1000, 10, 100, 100, 0, 10, 100],
                [100, 10, 1000, 100, 100, 10, 0, 100],
                [10, 100, 100, 1000, 10, 100, 100, 0],
            ]
        );
    }

    #[test]
    fn cores_of_two_nodes_have_the_smallest_weight() {
        let cluster = built_in::find("paper:2009-placement").unwrap().cluster();
        let matrix = MachineMatrix::new(&cluster, &[NodeId(2), NodeId(7)]);
        assert_eq!(matrix.cores.len(), 16);
        assert_eq!(matrix.cores[8], (NodeId(7), PuId(0)));
        assert_eq!(matrix.weights[0][8], NETWORK);
        assert_eq!(matrix.weights[8][12], SAME_DIE);
    }

    /// The first row of the matrix of a node.
    fn first_row(topology: &str) -> Vec<u32> {
        let group = NodeGroup::all_free(synthetic::parse(topology).unwrap());
        let names = vec!["n".to_owned()];
        let cluster = ClusterDescription::uniform("c", names, group).build().unwrap();
        MachineMatrix::new(&cluster, &[NodeId(0)]).weights[0].clone()
    }

    #[test]
    fn without_distances_the_package_decides() {
        assert_eq!(first_row("pack:2 numa:2 core:1 pu:1"), [0, NEAR, FAR, FAR]);
    }

    #[test]
    fn a_shared_cache_adds_to_the_closeness() {
        let inside_a_memory = first_row("pack:1 numa:1 l3:2 core:2 pu:1");
        assert_eq!(inside_a_memory, [0, 10 * SAME_DIE, SAME_DIE, SAME_DIE]);
        let of_two_memories = first_row("pack:2 l3:1 numa:2 core:1 pu:1");
        assert_eq!(of_two_memories, [0, 10 * NEAR, FAR, FAR]);
        let private = first_row("pack:1 numa:1 l2:2 core:1 pu:1");
        assert_eq!(private, [0, SAME_DIE]);
    }
}
