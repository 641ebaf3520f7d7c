//! What the collective operations of a workload cost under a placement. Their algorithms follow the
//! order of the ranks in the communicator: a tree whose subtrees lie inside nodes where ranks stand
//! in their order crosses nodes again and again where they do not.

use std::collections::BTreeMap;

use crate::cluster::Cluster;
use crate::ids::{NodeId, NumaId, Rank};
use crate::placement::Placement;
use crate::traffic::collectives::Operation;
use crate::traffic::expansion::{ExpandedOperation, Rounds};
use crate::traffic::{Flow, Workload};
use crate::units::{Bytes, Seconds};

/// The collective operations of a workload, ready to be priced under placements.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectivePrices {
    /// Per job: its first rank when all are counted through, and its operations.
    jobs: Vec<(usize, Vec<ExpandedOperation>)>,
}

/// What collective operations cost. Sums of bytes saturate at 2^64 - 1.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CollectiveCost {
    /// The bytes of all their messages.
    pub bytes: Bytes,
    /// Those between different nodes.
    pub inter_node: Bytes,
    /// How long the busiest network device needs for them, if nothing else passes it.
    pub busiest_nic_time: Seconds,
    /// How long they take one after the other, each rank at once with its next round when it has
    /// what it needs: the critical path.
    pub time: Seconds,
    /// The same by operation, in the order of their names.
    pub operations: Vec<OperationCost>,
}

/// What all calls of one operation cost.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationCost {
    /// Its name, as `Bcast`.
    pub operation: &'static str,
    /// The bytes of its messages.
    pub bytes: Bytes,
    /// Those between different nodes.
    pub inter_node: Bytes,
    /// Its critical path, without the other operations.
    pub time: Seconds,
}

impl CollectivePrices {
    /// The operations that the jobs know of.
    #[must_use]
    pub fn new(workload: &Workload) -> Self {
        let jobs = workload.jobs.iter().zip(workload.rank_offsets());
        Self { jobs: jobs.map(|(job, first)| (first, job.collectives.rounds())).collect() }
    }

    /// Whether there is nothing to price.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.jobs.iter().all(|(_, operations)| operations.is_empty())
    }

    /// What they cost under a placement of their workload; takes time linear in the number of their
    /// messages, where everyone sends to everyone in that of the ranks.
    ///
    /// A message between nodes takes the latency of its device and as long as the busier of the two
    /// devices needs for all that passes it in the round; one inside a node as long as the memories
    /// of the node need for all of the round. Jobs, and operations of ranks that are not the same,
    /// run side by side without meeting at a device.
    #[must_use]
    pub fn cost(&self, cluster: &Cluster, placement: &Placement) -> CollectiveCost {
        let mut pricing = Pricing::new(cluster, placement);
        for (first, operations) in &self.jobs {
            for one in operations {
                pricing.add(*first, one);
            }
        }
        pricing.finish()
    }
}

/// What a node can do, and what it is asked.
#[derive(Debug, Clone, Default)]
struct NodeState {
    /// Bytes per second of its network devices, and of its memories.
    network: f64,
    memory: f64,
    latency: f64,
    /// Of the round, in bytes.
    out: f64,
    incoming: f64,
    inside: f64,
    /// Of all operations.
    all_out: f64,
    all_incoming: f64,
}

struct Pricing {
    /// Of each rank, by position.
    node_of: Vec<usize>,
    nodes: Vec<NodeState>,
    copies: f64,
    /// When each rank has passed the operations so far.
    ready: Vec<f64>,
    total: u64,
    inter_node: u64,
    by_operation: BTreeMap<&'static str, OperationSum>,
}

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
            let memory = |at| cluster.memory_bandwidth(node, NumaId::from_index(at)).0;
            let latency = machine.nics.first().and_then(|nic| nic.latency);
            NodeState {
                network: cluster.node_bandwidth(node).0,
                memory: memories.map(memory).sum(),
                latency: latency.unwrap_or(cluster.rates.nic_latency).0,
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

    fn add(&mut self, first: usize, operation: &ExpandedOperation) {
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

    fn add_round(&mut self, operation: Operation, first: usize, flows: &[Flow]) {
        let Self { node_of, nodes, copies, .. } = self;
        let ranks = |flow: &Flow| (first + flow.source.index(), first + flow.destination.index());
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
            // All messages of a round begin with what was there before it.
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
        first: usize,
        members: &[(Rank, u64)],
        messages: u64,
    ) {
        // Of each node: how many members, and what each of them sends to one other, summed.
        let mut on_nodes: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        for (rank, bytes) in members {
            let node = self.node_of[first + rank.index()];
            let (count, sum) = on_nodes.entry(node).or_default();
            *count += 1.0;
            *sum += *bytes as f64;
        }
        let count = members.len() as f64;
        let all: f64 = on_nodes.values().map(|(_, sum)| sum).sum();
        let (mut span, mut crossing) = (0.0_f64, 0.0);
        for (node, (here, sum)) in &on_nodes {
            let node = &mut self.nodes[*node];
            let out = sum * (count - here);
            let incoming = (all - sum) * here;
            let network = out.max(incoming) / node.network;
            let latency = if count > *here { node.latency * messages as f64 } else { 0.0 };
            span = span.max(latency + network);
            span = span.max(self.copies * sum * (here - 1.0) / node.memory);
            node.all_out += out;
            node.all_incoming += incoming;
            crossing += out;
        }
        // Floats saturate when they become whole numbers.
        self.count(operation, (all * (count - 1.0)) as u64, crossing as u64);
        self.pass(operation, |ready| {
            let members = || members.iter().map(|(rank, _)| first + rank.index());
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

    /// Lets ranks pass a round: among all operations, and among those of its kind.
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
            // Operations of different ranks meet at devices all the same.
            time: Seconds(last(&self.ready).0.max(busiest)),
            operations: operations.filter(|one| one.bytes.0 > 0).collect(),
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
