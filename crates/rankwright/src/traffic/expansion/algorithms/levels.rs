//! Operations in two levels: among the members of each node, and across nodes among members with the
//! same number on their nodes.

use super::vector::Vector;
use super::{flat, run_as};
use crate::traffic::collectives::Operation;
use crate::traffic::expansion::library::Library;
use crate::traffic::expansion::schedule::{Call, Layout, Member};

/// One member in both levels.
struct Levels<'a, 'b> {
    library: &'b Library,
    call: Call<'b>,
    /// On its node.
    node: Member<'a>,
    /// Across nodes, if it has the number that exchanges across them.
    across: Option<Member<'a>>,
    /// Root on a node and across nodes.
    roots: (usize, usize),
}

/// In which order an operation runs in its levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Order {
    /// In segments, across nodes among members with the root's number (`coll/han` of Open MPI).
    Segments,
    /// Whether nodes have equally many members is asked, and they have not: then in one level (`coll/han`,
    /// in every call).
    OneAfterAll,
    /// Through the first members of nodes; the root exchanges with the first member of its node, or of
    /// all (MPICH's composition alpha).
    Leaders,
    /// Through the first members of nodes; on the root's node in one operation with the root (MPICH's
    /// composition beta).
    RootOnNode,
}

/// Runs an operation in levels.
pub(super) async fn run(
    order: Order,
    layout: &Layout,
    library: &Library,
    call: Call<'_>,
    member: &Member<'_>,
) {
    let root = call.root.filter(|_| is_rooted(call.operation)).unwrap_or_default();
    let (root_node, number) = layout.place[root];
    let number = if order == Order::Segments { number } else { 0 };
    let (my_node, _) = layout.place[member.me];
    let across = &layout.across[number as usize];
    let Some(node) = member.within(&layout.nodes[my_node as usize]) else { return };
    let top = layout.nodes[root_node as usize][number as usize];
    let root_across = across.binary_search(&top).ok();
    let levels = Levels {
        library,
        call,
        node,
        across: member.within(across),
        roots: (number as usize, root_across.unwrap_or_default()),
    };
    use Operation as O;
    if order == Order::OneAfterAll {
        levels.ask_for_sizes().await;
        return flat(library, call, member).await;
    }
    if order != Order::Segments {
        let root = Root {
            place: root,
            number: layout.place[root].1 as usize,
            is_here: root_node == my_node,
        };
        return levels.compose(order, root, member).await;
    }
    match call.operation {
        O::Bcast => levels.broadcast().await,
        O::Reduce => levels.reduce().await,
        O::Allreduce => levels.allreduce().await,
        O::Gather => levels.gather().await,
        O::Scatter => levels.scatter(layout.nodes.len() as u64).await,
        O::Allgather => levels.allgather(member.size as u64).await,
        _ => levels.barrier().await,
    }
}

fn is_rooted(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::Bcast | Operation::Reduce | Operation::Gather | Operation::Scatter
    )
}

/// Length of a segment that passes both levels as a whole.
const SEGMENT: u64 = 65536;

/// The root from the point of view of a member.
#[derive(Debug, Clone, Copy)]
struct Root {
    /// In the communicator.
    place: usize,
    /// On its node.
    number: usize,
    /// Whether it is on the member's node.
    is_here: bool,
}

impl Levels<'_, '_> {
    async fn on_node(&self, operation: Operation, bytes: u64) {
        self.on_node_from(operation, self.roots.0, bytes).await;
    }

    async fn on_node_from(&self, operation: Operation, root: usize, bytes: u64) {
        let call = Call { operation, root: Some(root), bytes, ..self.call };
        flat(self.library, call, &self.node).await;
    }

    async fn across(&self, operation: Operation, bytes: u64, nonblocking: bool) {
        self.across_from(operation, self.roots.1, bytes, nonblocking).await;
    }

    async fn across_from(&self, operation: Operation, root: usize, bytes: u64, nonblocking: bool) {
        if let Some(member) = self.across.as_ref().filter(|member| member.size > 1) {
            let root = Some(root);
            let call = Call { operation, root, bytes, nonblocking, ..self.call };
            run_as(self.library.choose(&call, member.size), self.library, call, member).await;
        }
    }

    /// Lengths of the segments.
    fn segments(&self) -> impl Iterator<Item = u64> + use<> {
        let vector = Vector::of(self.call.bytes, self.call.element);
        let per_segment = vector.per_segment(SEGMENT);
        let number = vector.count.div_ceil(per_segment);
        (0..number).map(move |segment| vector.bytes(vector.blocks(per_segment, segment, 1)))
    }

    /// The first segment is sent by the blocking form.
    async fn broadcast(&self) {
        for (number, bytes) in self.segments().enumerate() {
            self.across(Operation::Bcast, bytes, number > 0).await;
            self.on_node(Operation::Bcast, bytes).await;
        }
    }

    async fn reduce(&self) {
        for bytes in self.segments() {
            self.on_node(Operation::Reduce, bytes).await;
            self.across(Operation::Reduce, bytes, true).await;
        }
    }

    async fn allreduce(&self) {
        for bytes in self.segments() {
            self.on_node(Operation::Reduce, bytes).await;
            self.across(Operation::Reduce, bytes, true).await;
            self.across(Operation::Bcast, bytes, true).await;
            self.on_node(Operation::Bcast, bytes).await;
        }
    }

    /// The first members of nodes compare three integers, and tell two to their nodes.
    async fn ask_for_sizes(&self) {
        let integers = |operation, count: u64| Call {
            operation,
            root: Some(0),
            bytes: 4 * count,
            element: 4,
            ..self.call
        };
        if let Some(member) = self.across.as_ref().filter(|member| member.size > 1) {
            flat(self.library, integers(Operation::Allreduce, 3), member).await;
        }
        flat(self.library, integers(Operation::Bcast, 2), &self.node).await;
    }

    async fn gather(&self) {
        let bytes = self.call.bytes;
        self.on_node(Operation::Gather, bytes).await;
        self.across(Operation::Gather, bytes.saturating_mul(self.node.size as u64), false).await;
    }

    async fn scatter(&self, nodes: u64) {
        self.across(Operation::Scatter, self.call.bytes, false).await;
        self.on_node(Operation::Scatter, self.call.bytes / nodes).await;
    }

    async fn allgather(&self, members: u64) {
        let bytes = self.call.bytes;
        self.on_node(Operation::Gather, bytes).await;
        self.across(Operation::Allgather, bytes.saturating_mul(self.node.size as u64), false).await;
        self.on_node(Operation::Bcast, bytes.saturating_mul(members)).await;
    }

    async fn barrier(&self) {
        self.on_node(Operation::Barrier, 0).await;
        self.across(Operation::Barrier, 0, false).await;
        self.on_node(Operation::Barrier, 0).await;
    }

    /// MPICH's compositions. What it does within a node through shared memory is messages of its algorithm
    /// for messages here.
    async fn compose(&self, order: Order, root: Root, member: &Member<'_>) {
        use Operation as O;
        let bytes = self.call.bytes;
        match (self.call.operation, order) {
            (O::Bcast, Order::RootOnNode) => {
                let first = root.is_here && root.number > 0;
                if first {
                    self.on_node_from(O::Bcast, root.number, bytes).await;
                }
                self.across(O::Bcast, bytes, false).await;
                if !first {
                    self.on_node(O::Bcast, bytes).await;
                }
            }
            (O::Bcast, _) => {
                if root.is_here && root.number > 0 && self.node.me == 0 {
                    self.node.receive_now(root.number, bytes).await;
                } else if root.is_here && root.number > 0 && self.node.me == root.number {
                    self.node.send_now(0, bytes).await;
                }
                self.across(O::Bcast, bytes, false).await;
                self.on_node(O::Bcast, bytes).await;
            }
            (O::Reduce, Order::RootOnNode) => {
                if !root.is_here {
                    self.on_node(O::Reduce, bytes).await;
                }
                self.across(O::Reduce, bytes, false).await;
                if root.is_here {
                    self.on_node_from(O::Reduce, root.number, bytes).await;
                }
            }
            (O::Reduce, _) => {
                self.on_node(O::Reduce, bytes).await;
                self.across_from(O::Reduce, 0, bytes, false).await;
                if root.place != 0 && member.me == 0 {
                    member.send_now(root.place, bytes).await;
                } else if root.place != 0 && member.me == root.place {
                    member.receive_now(0, bytes).await;
                }
            }
            (O::Allreduce, _) => {
                self.on_node(O::Reduce, bytes).await;
                self.across(O::Allreduce, bytes, false).await;
                self.on_node(O::Bcast, bytes).await;
            }
            _ => {
                self.on_node(O::Barrier, 0).await;
                self.across(O::Barrier, 0, false).await;
                self.on_node(O::Bcast, 1).await;
            }
        }
    }
}
