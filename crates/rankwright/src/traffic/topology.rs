//! Process topologies: the communication pattern that a program declares to MPI.

use serde::Serialize;

use crate::ids::Rank;

/// The declaration of one rank for one communicator, by `MPI_Cart_create`, `MPI_Graph_create` or
/// `MPI_Dist_graph_create*`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeclaredTopology {
    /// Index into the profile's communicators.
    pub communicator: usize,
    /// The declaring rank.
    pub rank: Rank,
    /// The declaring function.
    pub kind: TopologyKind,
    /// Extent and periodicity of each dimension of a Cartesian grid.
    pub grid: Vec<(u32, bool)>,
    /// Declared destinations.
    pub neighbours: Vec<Neighbour>,
}

/// A neighbour in a declared topology.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Neighbour {
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: Rank,
    /// Declared edge weight; 1 if the program gives none.
    pub weight: u32,
}

/// The function that declared a topology.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TopologyKind {
    /// `MPI_Cart_create`.
    Cartesian,
    /// `MPI_Graph_create`.
    Graph,
    /// `MPI_Dist_graph_create` or `MPI_Dist_graph_create_adjacent`.
    DistributedGraph,
}

impl TopologyKind {
    /// The kind with this number in a trace.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::Cartesian),
            2 => Some(Self::Graph),
            3 => Some(Self::DistributedGraph),
            _ => None,
        }
    }

    /// Its name in a profile.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cartesian => "cartesian",
            Self::Graph => "graph",
            Self::DistributedGraph => "distributed_graph",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::Cartesian, Self::Graph, Self::DistributedGraph]
            .into_iter()
            .find(|k| k.name() == name)
    }
}
