//! The algorithms of MPI libraries by their shape, and the choice among them on one member.
//!
//! Lengths are the bytes that the library passes to its transport; counts are divided as the library
//! does it (`vector.rs`). Sources: Open MPI 4.1 and 5.0 `ompi/mca/coll/base`, MPICH 4.0
//! `src/mpi/coll`. `benchmarks/collectives` compares the bytes of each pair with the libraries' own.

mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod broadcast;
mod gather;
mod levels;
mod reduce;
mod reduce_scatter;
mod scan;
mod tree;
mod vector;

use super::library::Library;
use super::schedule::{Call, Member, element, linear};
use crate::traffic::collectives::Operation;
pub(super) use levels::Order;
pub(super) use reduce::Halves;
pub(super) use tree::Shape;
use vector::Vector;

/// An algorithm of one operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// Every contribution goes directly from its sender to its receiver, all at once.
    #[default]
    Direct,
    /// As `Direct`, in the library's own order: the root serves or receives from one member after the
    /// other.
    InTurn,
    /// As `Direct`, in a library's own order, all at once.
    Together,
    /// As `InTurn`, and the root asks each member first; of an all-to-all, at most `limit` messages in
    /// each direction (0: all).
    Synchronised { segment: u64, limit: usize },
    /// A tree.
    Tree { shape: Shape, segment: u64 },
    /// A tree in which the root changes numbers with member 0.
    TreeOfSwapped { shape: Shape },
    /// Halves of the vector down the two subtrees of a binary tree.
    SplitBinary { segment: u64 },
    /// A scatter and an allgather around a ring; of elements or, if `of_bytes`, of single bytes.
    ScatterRing { of_bytes: bool },
    /// A scatter and an allgather by recursive doubling.
    ScatterDoubling { of_bytes: bool },
    /// Partners at distances of powers of two.
    RecursiveDoubling,
    /// As recursive doubling, from far to near.
    RecursiveHalving,
    /// Recursive halving from near to far.
    Butterfly,
    /// Around a ring.
    Ring,
    /// Around a ring in segments.
    SegmentedRing { segment: u64 },
    /// Twice around a ring.
    DoubleRing,
    /// Recursive halving and doubling (Rabenseifner).
    HalvingDoubling { halves: Halves },
    /// Bruck's algorithm; of barriers, dissemination.
    Bruck,
    /// Neighbours swap two blocks at a time.
    NeighborExchange,
    /// One partner at a time.
    Pairwise,
    /// One partner at a time, for powers of two the one whose number differs in the bits of the step.
    PairwiseByBits,
    /// To the first member and back, both steps as the library chooses.
    TwoSteps,
    /// To the first member and back, both steps `InTurn`.
    TwoStepsInTurn,
}

/// Runs an operation on one member with what the library chooses.
pub(super) async fn run(library: &Library, call: Call<'_>, member: Member<'_>) {
    if member.group.is_between_groups() {
        return linear::run(call, &member).await;
    }
    if member.size < 2 || (call.bytes == 0 && !may_be_empty(call.operation)) {
        return;
    }
    let levels = member.layout().and_then(|layout| Some((layout, library.levels(&call, layout)?)));
    match levels {
        Some((layout, order)) => levels::run(order, layout, library, call, &member).await,
        None => flat(library, call, &member).await,
    }
}

/// Runs an operation without regard to nodes.
async fn flat(library: &Library, call: Call<'_>, member: &Member<'_>) {
    if member.size > 1 {
        run_as(library.choose(&call, member.size), library, call, member).await;
    }
}

/// Whether a call whose largest contribution is 0 bytes still has messages, or states them elsewhere.
fn may_be_empty(operation: Operation) -> bool {
    use Operation as O;
    !matches!(
        operation,
        O::Bcast
            | O::Reduce
            | O::Allreduce
            | O::Gather
            | O::Scatter
            | O::Allgather
            | O::Alltoall
            | O::ReduceScatterBlock
            | O::Scan
            | O::Exscan
    )
}

async fn run_as(algorithm: Algorithm, library: &Library, call: Call<'_>, member: &Member<'_>) {
    use Operation as O;
    match call.operation {
        _ if algorithm == Algorithm::Direct => linear::run(call, member).await,
        O::Barrier => run_barrier(algorithm, member).await,
        O::Bcast => run_broadcast(algorithm, call, member).await,
        O::Reduce => run_reduce(algorithm, call, member).await,
        O::Allreduce => run_allreduce(algorithm, library, call, member).await,
        O::Gather | O::Gatherv => run_gather(algorithm, call, member).await,
        O::Scatter | O::Scatterv => run_scatter(algorithm, call, member).await,
        O::Allgather | O::Allgatherv => run_allgather(algorithm, library, call, member).await,
        O::Alltoall => run_alltoall(algorithm, call, member).await,
        O::Alltoallv | O::Alltoallw => run_alltoallv(algorithm, call, member).await,
        O::ReduceScatter | O::ReduceScatterBlock => {
            run_reduce_scatter(algorithm, library, call, member).await;
        }
        O::Scan | O::Exscan => match algorithm {
            Algorithm::RecursiveDoubling => scan::recursive_doubling(member, call.bytes).await,
            _ => scan::chain(member, call.bytes).await,
        },
        O::NeighborAllgather
        | O::NeighborAllgatherv
        | O::NeighborAlltoall
        | O::NeighborAlltoallv
        | O::NeighborAlltoallw => linear::run(call, member).await,
    }
}

/// One step of an operation, as the library chooses it.
async fn step(library: &Library, call: Call<'_>, member: &Member<'_>) {
    Box::pin(run(library, call, member.clone())).await;
}

async fn run_barrier(algorithm: Algorithm, member: &Member<'_>) {
    match algorithm {
        Algorithm::DoubleRing => barrier::double_ring(member).await,
        Algorithm::RecursiveDoubling => barrier::recursive_doubling(member).await,
        Algorithm::Bruck | Algorithm::Pairwise => barrier::dissemination(member).await,
        Algorithm::Tree { .. } => barrier::tree(member).await,
        _ => barrier::linear(member).await,
    }
}

async fn run_broadcast(algorithm: Algorithm, call: Call<'_>, member: &Member<'_>) {
    let (vector, root) = (Vector::of(call.bytes, call.element), call.root.unwrap_or_default());
    match algorithm {
        Algorithm::Tree { shape, segment } => {
            broadcast::tree(member, root, vector, shape, segment).await;
        }
        Algorithm::TreeOfSwapped { shape } => {
            broadcast::tree_of_swapped(member, root, call.bytes, shape).await;
        }
        Algorithm::SplitBinary { segment } => {
            broadcast::split_binary(member, root, vector, segment).await;
        }
        Algorithm::ScatterRing { of_bytes } | Algorithm::ScatterDoubling { of_bytes } => {
            let vector = if of_bytes { Vector::of(call.bytes, 1) } else { vector };
            let around_ring = matches!(algorithm, Algorithm::ScatterRing { .. });
            broadcast::scatter_allgather(member, root, vector, around_ring).await;
        }
        _ => broadcast::linear(member, root, call.bytes).await,
    }
}

async fn run_reduce(algorithm: Algorithm, call: Call<'_>, member: &Member<'_>) {
    let (vector, root) = (Vector::of(call.bytes, call.element), call.root.unwrap_or_default());
    match algorithm {
        Algorithm::Tree { shape, segment } => {
            reduce::tree(member, root, vector, shape, segment).await;
        }
        Algorithm::TreeOfSwapped { shape } => {
            reduce::tree_of_swapped(member, root, call.bytes, shape).await;
        }
        Algorithm::HalvingDoubling { halves } => {
            reduce::rabenseifner(member, root, vector, halves).await;
        }
        _ => reduce::linear(member, root, call.bytes).await,
    }
}

async fn run_allreduce(
    algorithm: Algorithm,
    library: &Library,
    call: Call<'_>,
    member: &Member<'_>,
) {
    let vector = Vector::of(call.bytes, call.element);
    match algorithm {
        Algorithm::RecursiveDoubling => allreduce::recursive_doubling(member, call.bytes).await,
        Algorithm::Ring => allreduce::ring(member, vector, 1).await,
        Algorithm::SegmentedRing { segment } => {
            let rounds = allreduce::ring_rounds(vector, member.size, segment);
            allreduce::ring(member, vector, rounds).await;
        }
        Algorithm::HalvingDoubling { halves } => {
            allreduce::halving_doubling(member, vector, halves).await;
        }
        Algorithm::TwoSteps => {
            for operation in [Operation::Reduce, Operation::Bcast] {
                step(library, Call { operation, root: Some(0), ..call }, member).await;
            }
        }
        _ => {
            reduce::linear(member, 0, call.bytes).await;
            broadcast::linear(member, 0, call.bytes).await;
        }
    }
}

/// Bytes that the arguments state from one member to another.
fn stated(call: &Call<'_>, member: &Member<'_>, source: usize, destination: usize) -> u64 {
    match (member.rank(source), member.rank(destination)) {
        (Some(source), Some(destination)) => {
            let messages = call.amounts.stated(source, destination);
            messages.iter().copied().fold(0, u64::saturating_add)
        }
        _ => 0,
    }
}

async fn run_gather(algorithm: Algorithm, call: Call<'_>, member: &Member<'_>) {
    let root = call.root.unwrap_or_default();
    let block = |other| match call.operation {
        Operation::Gatherv => stated(&call, member, other, root),
        _ => call.bytes,
    };
    match algorithm {
        Algorithm::Tree { .. } => gather::binomial(member, root, call.bytes).await,
        Algorithm::Synchronised { segment, .. } => {
            gather::linear_sync(member, root, Vector::of(call.bytes, call.element), segment).await;
        }
        Algorithm::InTurn => gather::linear(member, root, block).await,
        _ => gather::together(member, root, block).await,
    }
}

async fn run_scatter(algorithm: Algorithm, call: Call<'_>, member: &Member<'_>) {
    let root = call.root.unwrap_or_default();
    let equal = call.bytes / member.size as u64;
    let block = |other| match call.operation {
        Operation::Scatterv => stated(&call, member, root, other),
        _ => equal,
    };
    match algorithm {
        Algorithm::Tree { .. } => gather::scatter_binomial(member, root, equal).await,
        Algorithm::InTurn => gather::scatter_linear(member, root, block).await,
        _ => gather::scatter_together(member, root, block).await,
    }
}

async fn run_allgather(
    algorithm: Algorithm,
    library: &Library,
    call: Call<'_>,
    member: &Member<'_>,
) {
    let sum = |first, members| call.contributed(first, members);
    match algorithm {
        Algorithm::RecursiveDoubling => allgather::recursive_doubling(member, sum).await,
        Algorithm::Bruck => allgather::bruck(member, sum).await,
        Algorithm::NeighborExchange => allgather::neighbor_exchange(member, sum).await,
        Algorithm::TwoSteps => {
            if call.operation == Operation::Allgather {
                let gather = Call { operation: Operation::Gather, root: Some(0), ..call };
                step(library, gather, member).await;
            } else {
                gather::linear(member, 0, |other| sum(other, 1)).await;
            }
            let bytes = sum(0, member.size);
            // Blocks of unequal length are one element of a derived datatype.
            let element = if call.operation == Operation::Allgather { call.element } else { bytes };
            let operation = Operation::Bcast;
            let broadcast = Call { operation, root: Some(0), bytes, element, ..call };
            step(library, broadcast, member).await;
        }
        _ => allgather::ring(member, sum).await,
    }
}

async fn run_alltoall(algorithm: Algorithm, call: Call<'_>, member: &Member<'_>) {
    let block = call.bytes / member.size as u64;
    match algorithm {
        Algorithm::Bruck => alltoall::bruck(member, block).await,
        Algorithm::Pairwise => alltoall::pairwise(member, |_, _| block).await,
        Algorithm::PairwiseByBits => alltoall::pairwise_by_bits(member, |_, _| block).await,
        Algorithm::Synchronised { limit, .. } => {
            alltoall::linear(member, limit, |_, _| Some(block)).await;
        }
        _ => alltoall::linear(member, 0, |_, _| Some(block)).await,
    }
}

async fn run_alltoallv(algorithm: Algorithm, call: Call<'_>, member: &Member<'_>) {
    let block = |from, to| stated(&call, member, from, to);
    let not_empty = |from, to| Some(block(from, to)).filter(|bytes| *bytes > 0);
    match algorithm {
        Algorithm::Pairwise => alltoall::pairwise(member, block).await,
        Algorithm::Synchronised { limit, .. } => alltoall::linear(member, limit, not_empty).await,
        _ => alltoall::linear(member, 0, not_empty).await,
    }
}

async fn run_reduce_scatter(
    algorithm: Algorithm,
    library: &Library,
    call: Call<'_>,
    member: &Member<'_>,
) {
    let equal = call.bytes / member.size as u64;
    let before: Vec<u64> = match call.operation {
        Operation::ReduceScatter => {
            let blocks = (0..member.size).map(|other| stated(&call, member, member.me, other));
            let sums = blocks.scan(0_u64, |sum, block| {
                *sum = sum.saturating_add(block);
                Some(*sum)
            });
            std::iter::once(0).chain(sums).collect()
        }
        _ => Vec::new(),
    };
    let sum = |first: usize, members: usize| match before.as_slice() {
        [] => equal * members as u64,
        before => before[first + members] - before[first],
    };
    let all = sum(0, member.size);
    let blocks = before.windows(2).map(|pair| element(pair[1] - pair[0]));
    let call = Call { element: blocks.min().unwrap_or(call.element), ..call };
    match algorithm {
        _ if all == 0 => {}
        Algorithm::RecursiveDoubling => reduce_scatter::recursive_doubling(member, equal).await,
        Algorithm::RecursiveHalving => reduce_scatter::recursive_halving(member, sum).await,
        Algorithm::Butterfly if before.is_empty() && member.size.is_power_of_two() => {
            reduce_scatter::butterfly_of_power(member, equal).await;
        }
        Algorithm::Butterfly => reduce_scatter::butterfly(member, sum).await,
        Algorithm::Ring => reduce_scatter::ring(member, sum).await,
        Algorithm::Pairwise => alltoall::pairwise(member, |_, to| sum(to, 1)).await,
        _ => {
            let reduce = Call { operation: Operation::Reduce, root: Some(0), bytes: all, ..call };
            step(library, reduce, member).await;
            if before.is_empty() {
                let operation = Operation::Scatter;
                step(library, Call { operation, root: Some(0), bytes: all, ..call }, member).await;
            } else {
                gather::scatter_linear(member, 0, |other| sum(other, 1)).await;
            }
        }
    }
}
