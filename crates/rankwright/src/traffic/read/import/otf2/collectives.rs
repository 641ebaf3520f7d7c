//! Sums of collective calls.

use std::collections::BTreeMap;

use super::definitions::{Definitions, Members};
use super::line::{Line, leading_number, reference, split};
use crate::ids::Rank;
use crate::traffic::collectives::{CollectiveCalls, Form, Operation};
use crate::traffic::communicator::Communicator;
use crate::traffic::read::import::mpi_functions;

/// Operations that move no data of the program: creating and freeing communicators and memory.
const HOUSEKEEPING: [&str; 6] = [
    "CREATE_HANDLE",
    "DESTROY_HANDLE",
    "ALLOCATE",
    "DEALLOCATE",
    "CREATE_HANDLE_AND_ALLOCATE",
    "DESTROY_HANDLE_AND_DEALLOCATE",
];

/// Sums by rank, communicator (id of its definition), operation, nonblocking, root.
#[derive(Default)]
pub(super) struct Collectives(BTreeMap<(Rank, u64, Operation, bool, Option<Rank>), Sum>);

#[derive(Default)]
struct Sum {
    calls: u64,
    bytes: u64,
    /// Time inside the calls, in ticks.
    ticks: u64,
    first: u64,
    last: u64,
}

/// Time of a call, in ticks.
pub(super) struct Span {
    pub(super) begin: u64,
    /// Time inside the call, in ticks.
    pub(super) inside: u64,
    pub(super) nonblocking: bool,
}

impl Collectives {
    /// Adds a call of `rank`. The error says what was found.
    pub(super) fn add(
        &mut self,
        definitions: &Definitions,
        line: &Line<'_>,
        rank: Rank,
        span: &Span,
    ) -> Result<(), String> {
        let Some((rest, received)) = line.split("Received") else { return Err(broken(line)) };
        let attributes = || {
            let (rest, sent) = split(rest, "Sent")?;
            let (rest, root) = split(rest, "Root")?;
            let (rest, communicator) = split(rest, "Communicator")?;
            let operation = split(rest, "Operation")?.1;
            Some((operation, communicator, root, leading_number(sent)?, leading_number(received)?))
        };
        let (operation, communicator, root, sent, received) =
            attributes().ok_or_else(|| broken(line))?;
        if HOUSEKEEPING.contains(&operation) {
            return Ok(());
        }
        let operation = mpi_functions::operation(operation)
            .ok_or_else(|| format!("a collective operation {operation}, which is not supported"))?;
        let in_operation = |found: String| format!("{} of {found}", operation.name());
        let id = reference(communicator);
        let members = definitions.members(id, rank).map_err(in_operation)?;
        let (Members::Ranks { mine, other }, Some(id)) = (&members, id) else { return Ok(()) };
        let root = match root {
            "SELF" => Some(rank),
            "NONE" | "THIS_GROUP" | "UNDEFINED" => None,
            _ => {
                let position = leading_number(root);
                let found =
                    || in_operation(format!("root {root} in a communicator of {}", mine.len()));
                Some(members.partner(position, rank).ok_or_else(found)?)
            }
        };
        let position = mine.iter().position(|member| *member == rank).unwrap_or_default();
        let amount = Amount { sent, received, position, size: other.unwrap_or(mine).len() };
        let sum = self.0.entry((rank, id, operation, span.nonblocking, root)).or_default();
        if sum.calls == 0 {
            sum.first = span.begin;
        }
        sum.last = span.begin;
        sum.calls += 1;
        sum.ticks = sum.ticks.saturating_add(span.inside);
        sum.bytes = sum.bytes.saturating_add(amount.put_in(operation));
        Ok(())
    }

    /// The calls and their communicators. `since_start` converts a tick to seconds since MPI
    /// started on a rank.
    pub(super) fn finish(
        self,
        definitions: &Definitions,
        since_start: impl Fn(Rank, u64) -> f64,
    ) -> (Vec<CollectiveCalls>, Vec<Communicator>) {
        let mut communicators: Vec<Communicator> = Vec::new();
        let mut positions: BTreeMap<u64, usize> = BTreeMap::new();
        let used: std::collections::BTreeSet<u64> = self.0.keys().map(|key| key.1).collect();
        let mut used: Vec<u64> = used.into_iter().collect();
        used.sort_by_key(|id| (!definitions.is_world(&definitions.communicators[id]), *id));
        for id in used {
            let definition = &definitions.communicators[&id];
            let (members, remote) = definitions.groups_of(definition).unwrap_or_default();
            let some = |ranks: &[Rank]| ranks.iter().copied().map(Some).collect::<Vec<_>>();
            let (members, remote_members) = (some(members), some(remote));
            let name = definition.name.clone();
            let same = communicators.iter().position(|other| {
                (&other.name, &other.members) == (&name, &members)
                    && other.remote_members == remote_members
            });
            let position = same.unwrap_or_else(|| {
                communicators.push(Communicator { name, members, remote_members, created: 0 });
                communicators.len() - 1
            });
            communicators[position].created += 1;
            positions.insert(id, position);
        }
        let mut calls: BTreeMap<_, Sum> = BTreeMap::new();
        for ((rank, id, operation, nonblocking, root), sum) in self.0 {
            let key = (rank, positions[&id], operation, nonblocking, root);
            calls.entry(key).or_default().add(&sum);
        }
        let record =
            |((rank, communicator, operation, nonblocking, root), sum): (_, Sum)| CollectiveCalls {
                rank,
                communicator,
                operation,
                form: if nonblocking { Form::Nonblocking } else { Form::Blocking },
                root,
                calls: sum.calls,
                bytes: sum.bytes,
                seconds: definitions.seconds(sum.ticks),
                first: since_start(rank, sum.first),
                last: since_start(rank, sum.last),
                row: Vec::new(),
            };
        (calls.into_iter().map(record).collect(), communicators)
    }
}

impl Sum {
    fn add(&mut self, other: &Self) {
        self.first = if self.calls == 0 { other.first } else { self.first.min(other.first) };
        self.last = self.last.max(other.last);
        self.calls += other.calls;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.ticks = self.ticks.saturating_add(other.ticks);
    }
}

/// Score-P's counters of a call: bytes sent and received if every rank sent its part directly to
/// every receiver, itself included.
struct Amount {
    sent: u64,
    received: u64,
    /// Rank in its group, and the number of receivers of an operation to all.
    position: usize,
    size: usize,
}

impl Amount {
    /// Bytes contributed by the rank's arguments. With `MPI_IN_PLACE` Score-P omits the rank's
    /// message to itself, which cannot be detected here: the result is then (size − 1) / size of
    /// the contribution.
    fn put_in(&self, operation: Operation) -> u64 {
        use Operation as O;
        let size = self.size.max(1) as u64;
        let position = self.position as u64;
        match operation {
            O::Bcast | O::Allgather | O::Allgatherv | O::Allreduce => self.sent.div_ceil(size),
            // Sent to all ranks from this one on, received from all up to this one.
            O::Scan => {
                let later = self.sent / size.saturating_sub(position).max(1);
                later.max(self.received / (position + 1))
            }
            O::Exscan => {
                let later = self.sent / (size.saturating_sub(position + 1)).max(1);
                later.max(self.received / position.max(1))
            }
            _ => self.sent,
        }
    }
}

fn broken(line: &Line<'_>) -> String {
    format!("{} with `{}`", line.record, line.attributes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_everyone_sends_to_everyone_is_put_in_once() {
        let amount = |sent, received, position| Amount { sent, received, position, size: 4 };
        assert_eq!(amount(400, 400, 0).put_in(Operation::Allreduce), 100);
        assert_eq!(amount(400, 100, 0).put_in(Operation::Bcast), 100);
        assert_eq!(amount(0, 100, 1).put_in(Operation::Bcast), 0);
        assert_eq!(amount(100, 400, 2).put_in(Operation::Gather), 100);
        assert_eq!(amount(400, 400, 2).put_in(Operation::Alltoall), 400);
        for position in 0..4 {
            let (later, before) = (100 * (4 - position), 100 * (position + 1));
            let scan = amount(later, before, position as usize).put_in(Operation::Scan);
            let exclusive = amount(later - 100, before - 100, position as usize);
            assert_eq!((scan, exclusive.put_in(Operation::Exscan)), (100, 100), "{position}");
        }
    }
}
