//! The cost of the collective operations of a workload under a placement. Their algorithms follow the
//! order of the ranks in the communicator: a tree whose subtrees lie inside nodes under block order
//! may cross nodes at every step under another.

use std::collections::BTreeMap;

use crate::cluster::Cluster;
use crate::ids::{GlobalRank, NodeId, NumaId, Rank};
use crate::placement::Placement;
use crate::traffic::collectives::Operation;
use crate::traffic::expansion::{ExpandedOperation, Rounds};
use crate::traffic::{Flow, Job, Workload};
use crate::units::{Bytes, Seconds};

/// The collective operations of a workload, ready to be evaluated under placements.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectivePrices {
    jobs: Vec<JobOperations>,
}

/// The operations of a job.
#[derive(Debug, Clone, PartialEq)]
struct JobOperations {
    /// The global rank of the job's rank 0.
    first: GlobalRank,
    operations: Vec<ExpandedOperation>,
}

/// The cost of collective operations. Sums of bytes saturate at 2^64 - 1.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CollectiveCost {
    /// The bytes of all their messages.
    pub bytes: Bytes,
    /// The bytes of messages between different nodes.
    pub inter_node: Bytes,
    /// The time that the busiest network device needs for them alone.
    pub busiest_nic_time: Seconds,
    /// The critical path: the operations run one after the other, and each rank begins its next round
    /// as soon as it has what it needs.
    pub time: Seconds,
    /// The cost of each operation, in the order of names.
    pub operations: Vec<OperationCost>,
}

/// The cost of all calls of one operation.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationCost {
    /// Its name, as `Bcast`.
    pub operation: &'static str,
    /// The bytes of its messages.
    pub bytes: Bytes,
    /// The bytes of messages between different nodes.
    pub inter_node: Bytes,
    /// Its critical path, without the other operations.
    pub time: Seconds,
}

impl CollectivePrices {
    /// Expands the operations of all jobs.
    #[must_use]
    pub fn new(workload: &Workload) -> Self {
        let jobs = workload.jobs.iter().zip(workload.rank_offsets());
        let operations = |(job, first): (&Job, GlobalRank)| JobOperations {
            first,
            operations: job.collectives.rounds(),
        };
        Self { jobs: jobs.map(operations).collect() }
    }

    /// Whether there are no operations.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.jobs.iter().all(|job| job.operations.is_empty())
    }

    /// Their cost under a placement of their workload. Takes time linear in the number of their
    /// messages; for all-to-all operations in the number of ranks.
    ///
    /// A message between nodes takes the latency of its device and as long as the busier of the two
    /// devices needs for its bytes of the round; one inside a node as long as the memories of the node
    /// need for theirs. Jobs, and operations of disjoint sets of ranks, run concurrently without
    /// delaying each other at a device.
    #[must_use]
    pub fn cost(&self, cluster: &Cluster, placement: &Placement) -> CollectiveCost {
        let mut pricing = Pricing::new(cluster, placement);
        for job in &self.jobs {
            for operation in &job.operations {
                pricing.add(job.first, operation);
            }
        }
        pricing.finish()
    }
}

/// The rates of a node, and its bytes.
#[derive(Debug, Clone, Default)]
struct NodeState {
    /// Bytes per second of all its network devices.
    network: f64,
    /// Bytes per second of all its memories.
    memory: f64,
    /// Seconds.
    latency: f64,
    /// Bytes to other nodes in the present round.
    out: f64,
    /// Bytes from other nodes in the present round.
    incoming: f64,
    /// Bytes between ranks of the node in the present round.
    inside: f64,
    /// Bytes to other nodes in all rounds so far.
    all_out: f64,
    /// Bytes from other nodes in all rounds so far.
    all_incoming: f64,
}

struct Pricing {
    /// Index: [`GlobalRank`](crate::ids::GlobalRank).
    node_of: Vec<usize>,
    /// Index: [`NodeId`].
    nodes: Vec<NodeState>,
    /// Accesses to the memory by a message inside a node.
    copies: f64,
    /// When each rank has finished the operations so far, seconds. Index:
    /// [`GlobalRank`](crate::ids::GlobalRank).
    ready: Vec<f64>,
    /// Bytes.
    total: u64,
    /// Bytes.
    inter_node: u64,
    by_operation: BTreeMap<&'static str, OperationSum>,
}

/// As the fields of [`Pricing`], for one operation.
struct OperationSum {
    bytes: u64,
    inter_node: u64,
    ready: Vec<f64>,
}

impl Pricing {
    fn new(cluster: &Cluster, placement: &Placement) -> Self {
        let node_of: Vec<usize> = placement.ranks().map(|place| place.node.index()).collect();
        let state = |node: NodeId| {
            let machine = cluster.machine(node);
            let memories = 0..machine.numa_nodes.len().max(1);
            let memory = |at| cluster.memory_bandwidth(node, NumaId::from_index(at)).value.0;
            let latency = machine.mpi_nics().next().map(|(nic, _)| cluster.nic_latency(node, nic));
            NodeState {
                network: cluster.node_bandwidth(node).0,
                memory: memories.map(memory).sum(),
                latency: latency.unwrap_or_else(|| cluster.rates.unknown_nic_latency()).0,
                ..NodeState::default()
            }
        };
        Self {
            ready: vec![0.0; node_of.len()],
            node_of,
            nodes: cluster.node_ids().map(state).collect(),
            copies: f64::from(cluster.rates.memory_copies),
            total: 0,
            inter_node: 0,
            by_operation: BTreeMap::new(),
        }
    }

    fn add(&mut self, first: GlobalRank, operation: &ExpandedOperation) {
        match &operation.rounds {
            Rounds::OneByOne(rounds) => {
                for flows in rounds {
                    self.add_round(operation.operation, first, flows);
                }
            }
            Rounds::AllPairs { members, messages } => {
                self.add_all_pairs(operation.operation, first, members, *messages);
            }
        }
    }

    fn add_round(&mut self, operation: Operation, first: GlobalRank, flows: &[Flow]) {
        let Self { node_of, nodes, copies, .. } = self;
        let ranks = |flow: &Flow| {
            (flow.source.global(first).index(), flow.destination.global(first).index())
        };
        let ends = |flow: &Flow| {
            let (from, to) = ranks(flow);
            (node_of[from], node_of[to])
        };
        let (mut total, mut crossing) = (0_u64, 0_u64);
        for flow in flows {
            let (from, to) = ends(flow);
            let bytes = flow.bytes as f64;
            total = total.saturating_add(flow.bytes);
            if from == to {
                nodes[from].inside += bytes;
            } else {
                crossing = crossing.saturating_add(flow.bytes);
                nodes[from].out += bytes;
                nodes[to].incoming += bytes;
            }
        }
        let span = |flow: &Flow| {
            let (node, other) = ends(flow);
            let (from, to) = (&nodes[node], &nodes[other]);
            if node == other {
                return *copies * from.inside / from.memory;
            }
            let transfer = (from.out / from.network).max(to.incoming / to.network);
            from.latency * flow.messages as f64 + transfer
        };
        let spans: Vec<f64> = flows.iter().map(span).collect();
        for flow in flows {
            let (from, to) = ends(flow);
            nodes[from].end_round();
            nodes[to].end_round();
        }
        self.count(operation, total, crossing);
        self.pass(operation, |ready| {
            // The messages of a round do not depend on each other.
            let end = |(flow, span): (&Flow, &f64)| {
                let (from, to) = ranks(flow);
                (from, to, ready[from].max(ready[to]) + span)
            };
            let ends: Vec<(usize, usize, f64)> = flows.iter().zip(&spans).map(end).collect();
            for (from, to, end) in ends {
                ready[from] = ready[from].max(end);
                ready[to] = ready[to].max(end);
            }
        });
    }

    fn add_all_pairs(
        &mut self,
        operation: Operation,
        first: GlobalRank,
        members: &[(Rank, u64)],
        messages: u64,
    ) {
        // By node: the number of members, and the sum over them of the bytes to one other member.
        let mut on_nodes: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        for (rank, bytes) in members {
            let node = self.node_of[rank.global(first).index()];
            let (count, sum) = on_nodes.entry(node).or_default();
            *count += 1.0;
            *sum += *bytes as f64;
        }
        let count = members.len() as f64;
        let all: f64 = on_nodes.values().map(|(_, sum)| sum).sum();
        let (mut span, mut crossing) = (0.0_f64, 0.0);
        for (node, (members, sum)) in &on_nodes {
            let node = &mut self.nodes[*node];
            let out = sum * (count - members);
            let incoming = (all - sum) * members;
            let network = out.max(incoming) / node.network;
            let latency = if count > *members { node.latency * messages as f64 } else { 0.0 };
            span = span.max(latency + network);
            span = span.max(self.copies * sum * (members - 1.0) / node.memory);
            node.all_out += out;
            node.all_incoming += incoming;
            crossing += out;
        }
        // The conversion to integers saturates.
        self.count(operation, (all * (count - 1.0)) as u64, crossing as u64);
        self.pass(operation, |ready| {
            let members = || members.iter().map(|(rank, _)| rank.global(first).index());
            let end = members().map(|rank| ready[rank]).fold(0.0, f64::max) + span;
            members().for_each(|rank| ready[rank] = end);
        });
    }

    fn count(&mut self, operation: Operation, bytes: u64, inter_node: u64) {
        let sum = self.operation(operation);
        sum.bytes = sum.bytes.saturating_add(bytes);
        sum.inter_node = sum.inter_node.saturating_add(inter_node);
        self.total = self.total.saturating_add(bytes);
        self.inter_node = self.inter_node.saturating_add(inter_node);
    }

    /// Advances the ranks by a round: in the sum over all operations, and in that of this one.
    fn pass(&mut self, operation: Operation, advance: impl Fn(&mut [f64])) {
        advance(&mut self.ready);
        advance(&mut self.operation(operation).ready);
    }

    fn operation(&mut self, operation: Operation) -> &mut OperationSum {
        let ranks = self.ready.len();
        let none = || OperationSum { bytes: 0, inter_node: 0, ready: vec![0.0; ranks] };
        self.by_operation.entry(operation.name()).or_insert_with(none)
    }

    fn finish(self) -> CollectiveCost {
        let last = |ready: &[f64]| Seconds(ready.iter().copied().fold(0.0, f64::max));
        let nic = |node: &NodeState| node.all_out.max(node.all_incoming) / node.network;
        let busiest = self.nodes.iter().map(nic).fold(0.0, f64::max);
        let operations = self.by_operation.iter().map(|(name, sum)| OperationCost {
            operation: name,
            bytes: Bytes(sum.bytes),
            inter_node: Bytes(sum.inter_node),
            time: last(&sum.ready),
        });
        CollectiveCost {
            bytes: Bytes(self.total),
            inter_node: Bytes(self.inter_node),
            busiest_nic_time: Seconds(busiest),
            // Operations of different ranks share devices, which the critical path leaves out.
            time: Seconds(last(&self.ready).0.max(busiest)),
            operations: operations.filter(|operation| operation.bytes.0 > 0).collect(),
        }
    }
}

impl NodeState {
    fn end_round(&mut self) {
        self.all_out += std::mem::take(&mut self.out);
        self.all_incoming += std::mem::take(&mut self.incoming);
        self.inside = 0.0;
    }
}
