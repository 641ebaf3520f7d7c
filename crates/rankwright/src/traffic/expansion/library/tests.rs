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

/// What the tracer records of libraries without settings.
const AS_THEY_ARE: [(&str, &str); 3] = [
    (OPEN_MPI_4, include_str!("../../../../../../testdata/library-settings/openmpi-4.1.4.txt")),
    (OPEN_MPI_5, include_str!("../../../../../../testdata/library-settings/openmpi-5.0.11.txt")),
    (MPICH_4, include_str!("../../../../../../testdata/library-settings/mpich-4.0.2.txt")),
];

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
    let bytes =
        if operation.divides_buffer() { amounts.block * ranks as u64 } else { amounts.block };
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
fn a_forced_algorithm_of_mpich_is_taken_as_the_tracer_records_it() {
    let setting = |value: &str| {
        Settings::from([("MPIR_CVAR_BCAST_INTRA_ALGORITHM".to_owned(), value.to_owned())])
    };
    let (group, amounts) = (group(9), uneven(Operation::Bcast, 800_000, 9));
    let call = call(Operation::Bcast, &amounts, 0, 9);
    let [chosen, recorded, named] = ["0", "1", "binomial"].map(|value| {
        let library = Library::new(MPICH_4, &setting(value));
        assert_eq!(library.estimated(), None);
        messages(&library, call, &group).0
    });
    assert_eq!(recorded, named);
    assert_ne!(recorded, chosen);
    // 3 is `smp`, which is not among the algorithms; other versions have other numbers.
    let ignored = |version: &str, value: &str| {
        let why = Library::new(version, &setting(value)).estimated().map(ToString::to_string);
        assert_eq!(why, Some(format!("`MPIR_CVAR_BCAST_INTRA_ALGORITHM={value}` is not followed")));
    };
    ignored(MPICH_4, "3");
    ignored("MPICH Version: 5.0.0", "1");
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
            "the run used MPICH 4.3.1; the algorithms are those of MPICH 4.0 with device ch4",
        ),
        (
            "MPICH Version: 4.0.2 (ch3:nemesis)",
            "the run used MPICH 4.0.2 (ch3:nemesis); the algorithms are those of MPICH 4.0 with device ch4",
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
fn a_setting_that_changes_the_choice_is_noticed() {
    let is_followed = |version: &str, setting: &str| {
        let (name, value) = setting.split_once('=').expect("a setting");
        let settings = Settings::from([(name.to_owned(), value.to_owned())]);
        let library = Library::new(version, &settings);
        let expected = Estimated::Setting { setting: setting.to_owned() };
        assert!(library.estimated().is_none_or(|why| *why == expected), "{library:?}");
        library.estimated().is_none()
    };
    let open_mpi = [
        ("coll=", true),
        ("coll=^hcoll", true),
        ("coll=^hcoll,ucc", true),
        ("coll=tuned,libnbc,basic,self,inter", true),
        ("coll=^tuned", false),
        ("coll=basic,libnbc", false),
        ("coll_tuned_priority=30", true),
        ("coll_tuned_priority=90", false),
        ("coll_adapt_priority=100", false),
        ("coll_sync_barrier_before=0", true),
        ("coll_sync_barrier_before=1000", false),
        ("coll_libnbc_ibcast_algorithm=2", false),
        ("coll_libnbc_ibcast_knomial_radix=4", true),
    ];
    for (setting, followed) in open_mpi {
        assert_eq!(is_followed(OPEN_MPI_4, setting), followed, "{setting}");
        assert_eq!(is_followed(OPEN_MPI_5, setting), followed, "{setting}");
    }
    // Only version 5 has han unless it is asked for.
    for setting in ["coll_han_bcast_segsize=1024", "coll_han_use_dynamic_file_rules=1"] {
        assert!(is_followed(OPEN_MPI_4, setting), "{setting}");
        assert!(!is_followed(OPEN_MPI_5, setting), "{setting}");
    }
    assert!(!is_followed(OPEN_MPI_4, "coll_han_priority=100"));
    assert!(is_followed(OPEN_MPI_5, "coll_han_priority=100"));
    let mpich = [
        ("MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE=", true),
        ("MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE=/a.json", false),
        ("MPIR_CVAR_REDUCE_COMPOSITION=0", true),
        ("MPIR_CVAR_REDUCE_COMPOSITION=2", false),
        ("MPIR_CVAR_BCAST_POSIX_INTRA_ALGORITHM=2", true),
        ("MPIR_CVAR_BCAST_POSIX_INTRA_ALGORITHM=1", false),
        ("MPIR_CVAR_DEVICE_COLLECTIVES=2", true),
        ("MPIR_CVAR_DEVICE_COLLECTIVES=1", false),
        ("MPIR_CVAR_ALLREDUCE_DEVICE_COLLECTIVE=0", false),
        ("MPIR_CVAR_NOLOCAL=1", false),
    ];
    for (setting, followed) in mpich {
        assert_eq!(is_followed(MPICH_4, setting), followed, "{setting}");
    }
}

#[test]
fn a_forced_algorithm_that_is_not_known_is_noticed() {
    let names = ["coll_tuned_use_dynamic_rules", "coll_tuned_allgather_algorithm"];
    let with = |number: &str| {
        let values = ["1", number].map(str::to_owned);
        let settings = names.map(str::to_owned).into_iter().zip(values).collect();
        Library::new(OPEN_MPI_5, &settings).estimated().map(ToString::to_string)
    };
    assert_eq!(with("0"), None);
    assert_eq!(with("4"), None);
    let expected = "`coll_tuned_allgather_algorithm=7` is not followed".to_owned();
    assert_eq!(with("7"), Some(expected));
}

#[test]
fn settings_without_changes_are_followed() {
    for (version, settings) in AS_THEY_ARE {
        let settings = settings.lines().filter_map(|line| line.split_once('='));
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        assert_eq!(Library::new(version, &settings).estimated(), None, "{version}");
    }
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
