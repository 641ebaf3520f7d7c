use proptest::prelude::*;

use super::*;
use crate::ids::Rank;
use crate::traffic::collectives::{Form, Operation};
use crate::traffic::expansion::Expansion;
use crate::traffic::profile::{FlowKind, FlowRecord};

/// What `otf2-print` prints of the archive in `testdata/otf2/halo`.
const HALO: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/otf2/halo.txt"));

fn import(text: &str) -> Result<Profile, InputError> {
    read(&mut text.as_bytes(), "halo.otf2")
}

fn nearly(seconds: f64, expected: f64) -> bool {
    (seconds - expected).abs() < 1e-12
}

#[test]
fn receivers_are_found_through_every_kind_of_communicator() {
    use FlowKind::{Get, PointToPoint, Put};
    assert!(sniff(HALO));
    let profile = import(HALO).unwrap();
    assert_eq!(profile.run.program, "halo");
    let flows: Vec<_> = profile
        .flows
        .iter()
        .map(|FlowRecord { flow, kind, .. }| {
            (flow.source.0, flow.destination.0, *kind, flow.messages, flow.bytes)
        })
        .collect();
    // Each sends 100, 200 and 400 bytes to the next in a ring. Then 64 bytes in a part of the world,
    // 5 to oneself, 33 and 44 between groups, 4096 put, 512 got and 8 each way by an atomic
    // operation, and 1000 bytes from a second thread.
    let expected = [
        (0, 1, PointToPoint, 3, 700),
        (1, 1, PointToPoint, 1, 5),
        (1, 2, PointToPoint, 3, 700),
        (1, 3, PointToPoint, 1, 64),
        (1, 3, Get, 2, 512 + 8),
        (2, 1, PointToPoint, 1, 33),
        (2, 3, PointToPoint, 3 + 1, 700 + 1000),
        (3, 0, PointToPoint, 3 + 1, 700 + 44),
        (3, 1, Put, 2, 4096 + 8),
    ];
    assert_eq!(flows, expected);
}

#[test]
fn times_count_from_the_end_of_mpi_init() {
    let profile = import(HALO).unwrap();
    let first = &profile.flows[0];
    let times = first.times.unwrap();
    assert!(nearly(times.first.0, 0.001_005) && nearly(times.last.0, 0.003_005), "{times:?}");
    assert!(nearly(times.gap_mean.0, 0.001) && nearly(times.gap_cv, 0.0), "{times:?}");
    assert_eq!(first.size_histogram, [0, 0, 0, 0, 0, 0, 0, 1, 1, 1]);
    let hosts: Vec<&str> = profile.ranks.iter().map(|rank| rank.host.as_str()).collect();
    assert_eq!(hosts, ["n1", "n1", "n0", "n0"]);
    let rank = &profile.ranks[0];
    assert!(nearly(rank.wall.0, 0.01));
    assert!(nearly(rank.wait.time.0, 0.0007) && rank.wait.calls == 4);
    assert!(nearly(rank.point_to_point.time.0, 0.000_06) && rank.point_to_point.calls == 6);
    assert!(nearly(rank.collective.time.0, 0.000_21) && rank.collective.calls == 3);
}

#[test]
fn collective_calls_hold_what_each_rank_put_in() {
    let profile = import(HALO).unwrap();
    let names: Vec<_> =
        profile.communicators.iter().map(|communicator| communicator.name.as_str()).collect();
    assert_eq!(names, ["MPI_COMM_WORLD", "odd \"ones\", Tag: 5 <9>"]);
    assert_eq!(profile.communicators[1].members, [Some(Rank(3)), Some(Rank(1))]);
    let of = |operation: Operation| {
        let calls = profile.collectives.iter().filter(move |call| call.operation == operation);
        calls
            .map(|call| (call.rank.0, call.root, call.bytes, call.form == Form::Nonblocking))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(Operation::Bcast), [(1, Some(Rank(3)), 0, false), (3, Some(Rank(3)), 40, false)]);
    assert_eq!(of(Operation::Allreduce)[2], (2, None, 8, false));
    assert_eq!(of(Operation::Barrier)[0], (0, None, 0, true));
    // 40 bytes by the broadcast in the part of the world.
    let with = profile.job(Expansion::Linear).unwrap();
    let bytes = |job: &crate::traffic::Job, from: u32, to: u32| {
        let flow = job.flows.iter().find(|flow| (flow.source.0, flow.destination.0) == (from, to));
        flow.map_or(0, |flow| flow.bytes)
    };
    assert_eq!(bytes(&with, 3, 1), 4104 + 40 + 100, "and a quarter of 400 by Alltoallv");
}

#[test]
fn what_the_writer_says_of_itself_is_kept() {
    let said = HALO.replacen("Creator ", "Creator                        Score-P 7.1", 1).replacen(
        "Number of properties           0",
        "Property name                  OTF2::MPI_COMMUNICATION_COMPLETE\n\
         Property value                 false",
        1,
    );
    let origin = import(&said).unwrap().run.origin;
    assert_eq!(origin, "imported from otf2 (Score-P 7.1), which left out messages");
}

#[test]
fn errors_say_what_is_wrong() {
    let world = "Communicator: \"MPI_COMM_WORLD\" <0>, Tag";
    let cases = [
        (HALO.replacen(world, "Communicator: INVALID <77>, Tag", 1), "in communicator 77, which"),
        (HALO.replacen("Receiver: 0 ", "Receiver: 4 ", 1), "of rank 3 to 4 (\"Master thread\""),
        (HALO.replace("Paradigm: MPI", "Paradigm: SHMEM"), "found no MPI, but SHMEM"),
        (HALO.replace("\nGROUP ", "\n#GROUP "), "found no communication"),
        (HALO.replacen("Window: \"Win 1\" <0>", "Window: INVALID <3>", 1), "to window 3, which"),
        (HALO.replace(": ALLREDUCE,", ": MAGIC,"), "a collective operation MAGIC"),
        (HALO.replacen("Ticks per Seconds: 1000000", "Ticks per Seconds: 0", 1), "than 1 tick"),
        (HALO.replacen("4 Members", "5 Members", 1), "a definition GROUP 0 with"),
        (HALO.replacen("4 Members: 0 (", "4 Members: 9 (", 1), "a definition GROUP 1 with"),
        (
            HALO.replacen("ENTER                                          4", "ENTER   9", 1),
            "location 9",
        ),
        ("=== OTF2-PRINT ===\n".to_owned(), "found no events"),
    ];
    for (text, message) in cases {
        let error = import(&text).expect_err(message).to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn a_text_cut_after_any_line_is_an_error() {
    let lines: Vec<&str> = HALO.lines().collect();
    let last = lines.iter().rposition(|line| line.starts_with("PROGRAM_END")).unwrap();
    for end in 0..last {
        assert!(import(&lines[..end].join("\n")).is_err(), "cut before line {}", end + 1);
    }
}

proptest! {
    #[test]
    fn no_line_makes_the_reader_panic(place in 20_usize..340, line in "[A-Z_]{3,20} [0-9<>\"(), :A-Za-z]{0,60}") {
        let lines: Vec<&str> = HALO.lines().collect();
        let (before, after) = lines.split_at(place.min(lines.len()));
        let text = [&before.join("\n"), line.as_str(), &after.join("\n")].join("\n");
        let _ = import(&text);
    }
}
