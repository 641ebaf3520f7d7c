//! What libraries choose, and that their messages match.

use std::collections::BTreeMap;

use super::{Estimated, Library, Settings};
use crate::ids::Rank;
use crate::traffic::collectives::Operation;
use crate::traffic::communicator::Communicator;
use crate::traffic::expansion::schedule::{Amounts, Call, Group, Phase, Schedule, element};

const OPEN_MPI_4: &str = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, May 26, 2022";
const OPEN_MPI_5: &str = "Open MPI v5.0.3, package: root, ident: 5.0.3";
const MPICH_4: &str = "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022";

/// Blocks of 0, 1 or 2 times a length.
struct Uneven {
    block: u64,
    before: Vec<u64>,
    row: [u64; 3],
}

impl Amounts for Uneven {
    fn contributions(&self) -> &[u64] {
        &self.before
    }

    fn stated(&self, _: Rank, destination: Rank) -> &[u64] {
        std::slice::from_ref(&self.row[destination.index() % 3])
    }
}

fn uneven(operation: Operation, block: u64, ranks: usize) -> Uneven {
    let all = (0..=ranks).map(|end| (0..end).map(|member| block * (member % 3) as u64).sum());
    let before = if operation == Operation::Allgatherv { all.collect() } else { Vec::new() };
    Uneven { block, before, row: [0, block, 2 * block] }
}

fn call(operation: Operation, amounts: &Uneven, root: usize, ranks: usize) -> Call<'_> {
    use Operation as O;
    let whole = matches!(operation, O::Alltoall | O::Scatter | O::ReduceScatterBlock);
    let bytes = if whole { amounts.block * ranks as u64 } else { amounts.block };
    let (root, element) = (Some(root), element(amounts.block));
    Call { operation, root, bytes, element, nonblocking: false, amounts }
}

fn group(ranks: usize) -> Group {
    let members = (0..ranks).map(|rank| Some(Rank::from_index(rank))).collect();
    Group::new(&Communicator { members, ..Communicator::default() })
}

/// Lengths of the messages of each pair in order, as sent and as received.
type Messages = BTreeMap<(usize, usize), Vec<u64>>;

fn messages(library: &Library, call: Call<'_>, group: &Group) -> (Messages, Messages) {
    let (mut sent, mut received) = (Messages::new(), Messages::new());
    let mut phase = Phase::default();
    for me in 0..group.members() {
        let mut schedule = Schedule::new(library, call, group, me);
        while schedule.next(&mut phase) {
            for message in &phase.sends {
                sent.entry((me, message.peer)).or_default().push(message.bytes);
            }
            for message in &phase.receives {
                received.entry((message.peer, me)).or_default().push(message.bytes);
            }
        }
    }
    (sent, received)
}

#[test]
fn what_a_library_sends_is_received_in_this_order() {
    for version in [OPEN_MPI_4, OPEN_MPI_5, MPICH_4] {
        let library = Library::new(version, &Settings::new());
        for operation in (0..17).map_while(Operation::from_number) {
            for ranks in [1, 2, 3, 7, 8, 13] {
                let layouts = [ranks, 3, 2]
                    .map(|per_node| group(ranks).on(&|rank| (rank.index() / per_node) as u32));
                for (group, block) in
                    layouts.iter().flat_map(|g| [0, 8, 3000, 200_000].map(|b| (g, b)))
                {
                    let amounts = uneven(operation, block, ranks);
                    let call = call(operation, &amounts, ranks - 1, ranks);
                    let (sent, received) = messages(&library, call, group);
                    assert_eq!(sent, received, "{version} {operation:?} {ranks} {block}");
                }
            }
        }
    }
}

#[test]
fn a_forced_algorithm_is_taken_by_number_or_name() {
    let setting = |value: &str| {
        let names = ["coll_tuned_use_dynamic_rules", "coll_tuned_bcast_algorithm"];
        let values = ["true", value];
        names.into_iter().zip(values).map(|(n, v)| (n.to_owned(), v.to_owned())).collect()
    };
    let (group, amounts) = (group(5), uneven(Operation::Bcast, 800, 5));
    let call = call(Operation::Bcast, &amounts, 0, 5);
    let by_number = messages(&Library::new(OPEN_MPI_4, &setting("3")), call, &group).0;
    let by_name = messages(&Library::new(OPEN_MPI_4, &setting("pipeline")), call, &group).0;
    assert_eq!(by_number, by_name);
    assert_eq!(by_number, (0..4).map(|m| ((m, m + 1), vec![800])).collect());
}

#[test]
fn what_is_not_known_for_certain_is_an_estimate() {
    let none = Settings::new();
    let why = |version: &str| Library::new(version, &none).estimated().map(ToString::to_string);
    assert_eq!(why(OPEN_MPI_4), None);
    assert_eq!(why(OPEN_MPI_5), None);
    assert_eq!(why(MPICH_4), None);
    let expected = [
        ("", "the profile names no MPI library"),
        (
            "Open MPI v4.0.5, ident",
            "the run used Open MPI v4.0.5; the algorithms are those of Open MPI 4.1",
        ),
        (
            "MPICH Version:      4.3.1",
            "the run used MPICH 4.3.1; the algorithms are those of MPICH 4.0",
        ),
        ("Intel(R) MPI Library 2021.9", "how Intel MPI chooses algorithms is not public"),
        ("MPI VERSION : CRAY MPICH version 8.1", "how Cray MPICH chooses algorithms is not public"),
        ("MVAPICH2 Version :\t2.3.7", "how MVAPICH chooses algorithms is not public"),
        ("Other 1.0", "the algorithms of `Other 1.0` are not known"),
    ];
    for (version, reason) in expected {
        assert_eq!(why(version).as_deref(), Some(reason));
    }
    let hcoll = Settings::from([("coll_hcoll_enable".to_owned(), "1".to_owned())]);
    let estimated = Library::new(OPEN_MPI_4, &hcoll);
    assert_eq!(estimated.estimated(), Some(&Estimated::Component { component: "HCOLL" }));
}

#[test]
fn every_row_of_the_tables_names_what_exists() {
    for table in
        ["openmpi-tuned.csv", "openmpi-algorithms.csv", "mpich.csv", "mpich-algorithms.csv"]
    {
        let text = match table {
            "openmpi-tuned.csv" => include_str!("openmpi-tuned.csv"),
            "openmpi-algorithms.csv" => include_str!("openmpi-algorithms.csv"),
            "mpich.csv" => include_str!("mpich.csv"),
            _ => include_str!("mpich-algorithms.csv"),
        };
        for row in super::table::rows(text) {
            assert!(super::table::operation(row[0]).is_some(), "{table}: {row:?}");
        }
    }
    let rules = super::openmpi::OpenMpi::by_default();
    assert_eq!(rules.decisions(), 376);
}
