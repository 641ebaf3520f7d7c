//! The pattern of communication that a program declares to MPI.

use serde::Serialize;

use crate::ids::Rank;

/// What one rank declared for one communicator with `MPI_Cart_create`, `MPI_Graph_create` or
/// `MPI_Dist_graph_create*`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeclaredTopology {
    /// Position in the profile's list of communicators.
    pub communicator: usize,
    /// Who declared it.
    pub rank: Rank,
    /// How.
    pub kind: TopologyKind,
    /// The extent of each dimension of a Cartesian grid, and whether it is periodic.
    pub grid: Vec<(u32, bool)>,
    /// Whom the rank says it sends to.
    pub neighbours: Vec<Neighbour>,
}

/// A neighbour in a declared topology.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Neighbour {
    /// Its world rank.
    pub rank: Rank,
    /// The weight that the program gives; 1 where it gives none.
    pub weight: u32,
}

/// How a topology was declared.
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
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Cartesian, Self::Graph, Self::DistributedGraph]
            .into_iter()
            .find(|k| k.name() == name)
    }
}
