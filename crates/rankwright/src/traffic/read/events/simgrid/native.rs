//! Collective operations that SimGrid's format has: blocking ones of all ranks.

use std::fmt::Write;

use crate::ids::Rank;
use crate::traffic::collectives::Operation;
use crate::traffic::read::events::matching::Collective;

/// SimGrid counts elements (bytes here) in signed 32-bit integers.
pub(super) const LARGEST: u64 = i32::MAX as u64;

/// The action for `rank`; `None` if the format has none.
pub(super) fn action(collective: &Collective, ranks: u32, rank: Rank) -> Option<String> {
    use Operation as O;
    let largest = collective.largest;
    let root = collective.root.map_or(0, |root| root.0);
    let block = largest / u64::from(ranks.max(1));
    let all = || (0..ranks).map(Rank);
    let stated = |source: Rank, destination: Rank| collective.stated(source, destination);
    let (name, numbers) = match collective.operation {
        O::Barrier => ("barrier", Vec::new()),
        O::Bcast => ("bcast", vec![largest, u64::from(root)]),
        // The second number of a reduction is its computation.
        O::Reduce => ("reduce", vec![largest, 0, u64::from(root)]),
        O::Allreduce => ("allreduce", vec![largest, 0]),
        O::Scan => ("scan", vec![largest, 0]),
        O::Exscan => ("exscan", vec![largest, 0]),
        O::Alltoall => ("alltoall", vec![block, block]),
        O::Gather => ("gather", vec![largest, largest, u64::from(root)]),
        O::Scatter => ("scatter", vec![block, block, u64::from(root)]),
        O::Allgather => ("allgather", vec![largest, largest]),
        O::ReduceScatterBlock => ("reducescatter", with_ends([], all().map(|_| block), [0])),
        O::ReduceScatter => ("reducescatter", with_ends([], all().map(|to| stated(rank, to)), [0])),
        O::Gatherv => {
            let sent = stated(rank, Rank(root));
            let parts = all().map(|from| stated(from, Rank(root)));
            ("gatherv", with_ends([sent], parts, [u64::from(root)]))
        }
        O::Scatterv => {
            let parts = all().map(|to| stated(Rank(root), to));
            ("scatterv", with_ends([], parts, [stated(Rank(root), rank), u64::from(root)]))
        }
        O::Allgatherv => {
            let bytes = |from| collective.contributed(from);
            ("allgatherv", with_ends([bytes(rank)], all().map(bytes), []))
        }
        O::Alltoallv | O::Alltoallw => {
            let sent: Vec<u64> = all().map(|to| stated(rank, to)).collect();
            let received: Vec<u64> = all().map(|from| stated(from, rank)).collect();
            let sums = (sent.iter().sum(), received.iter().sum());
            let mut numbers = with_ends([sums.0], sent.into_iter(), [sums.1]);
            numbers.extend(received);
            ("alltoallv", numbers)
        }
        O::NeighborAllgather
        | O::NeighborAllgatherv
        | O::NeighborAlltoall
        | O::NeighborAlltoallv
        | O::NeighborAlltoallw => return None,
    };
    // SimGrid's buffers hold the contributions of all ranks.
    let whole = largest.checked_mul(u64::from(ranks)).is_some_and(|whole| whole <= LARGEST);
    if !whole || numbers.iter().any(|number| *number > LARGEST) {
        return None;
    }
    let mut action = name.to_owned();
    for number in numbers {
        write!(action, " {number}").expect("a string takes what is written");
    }
    Some(action)
}

fn with_ends<const A: usize, const B: usize>(
    before: [u64; A],
    middle: impl Iterator<Item = u64>,
    after: [u64; B],
) -> Vec<u64> {
    before.into_iter().chain(middle).chain(after).collect()
}
