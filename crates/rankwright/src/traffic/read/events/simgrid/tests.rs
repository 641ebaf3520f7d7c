use std::fs;

use super::*;
use crate::traffic::read::events::sample::{Payload, write_files, write_profile};
use crate::traffic::read::events::store;

const WORLD: u64 = 0;

fn exported(payloads: &[Payload]) -> Result<(Exported, Vec<String>), String> {
    let folder = tempfile::tempdir().unwrap();
    let profile = write_profile(folder.path(), payloads.len());
    store::add(&profile, &write_files(folder.path(), payloads)).unwrap();
    let recording = Recording::open(&profile).unwrap();
    let target = folder.path().join("ti");
    let exported = export(&recording, &target, 1e9).map_err(|error| error.to_string())?;
    let files = (0..payloads.len()).map(|rank| target.join(format!("rank-{rank}.txt")));
    let texts: Vec<String> = files.map(|path| fs::read_to_string(path).unwrap()).collect();
    let listed = fs::read_to_string(target.join(LIST)).unwrap();
    assert_eq!(listed.lines().count(), payloads.len());
    Ok((exported, texts))
}

#[test]
fn a_receive_from_anyone_names_what_came() {
    let receiver = Payload::new(2)
        .event(4, &[4 | 16 | 32, 2, 0, WORLD, 100])
        .event(6, &[0, 1, 1, 1, 3 + 1, 14, 40])
        .event(4, &[16, 3 + 1, 14, WORLD, 8]);
    let sender = Payload::new(2).event(3, &[0, 3, 14, WORLD, 40]).event(3, &[1, 3, 14, WORLD, 8]);
    let (exported, texts) = exported(&[receiver, sender]).unwrap();
    let expected = "0 init\n0 compute 1000\n0 irecv 1 7 40\n0 compute 1000\n0 wait 1 0 7\n\
                    0 compute 1000\n0 recv 1 7 8\n0 finalize\n";
    assert_eq!(texts[0], expected);
    let expected =
        "1 init\n1 compute 1000\n1 send 0 7 40\n1 compute 1000\n1 isend 0 7 8\n1 finalize\n";
    assert_eq!(texts[1], expected);
    assert_eq!(exported.actions, 14);
}

#[test]
fn a_receive_that_nothing_answered_and_cancelled_ones_are_left_out() {
    let rank = Payload::new(1)
        .event(4, &[4, 3, 0, WORLD, 100])
        .event(4, &[4, 3, 0, WORLD, 100])
        .event(6, &[0, 1, 1, 2]);
    let (_, texts) = exported(&[rank]).unwrap();
    assert_eq!(texts[0], "0 init\n0 compute 3000\n0 finalize\n");
}

#[test]
fn collectives_of_all_ranks_are_actions_and_others_messages() {
    let pair = [0, 0, 1, 1, 0, 2, 2, 0];
    let rank = |number: u64| {
        Payload::new(3)
            .event(9, &[1, 0, WORLD, 3, if number == 0 { 64 } else { 0 }])
            .event(9, &[12, 1, WORLD, 0, 16])
            .event(6, &[0, 1, 1, 0])
    };
    let with_pair = |number| rank(number).record(2, &pair).event(9, &[12, 0, 1, 0, 8]);
    let (_, texts) = exported(&[with_pair(0), with_pair(1), rank(2)]).unwrap();
    let actions: Vec<&str> = texts[1].lines().filter(|line| !line.contains("compute")).collect();
    let expected = [
        "1 init",
        "1 bcast 64 0",
        "1 isend 0 5 16",
        "1 irecv 0 5 16",
        "1 wait 1 0 5",
        "1 wait 0 1 5",
        "1 irecv 0 2 8",
        "1 isend 0 2 8",
        "1 wait 0 1 2",
        "1 wait 1 0 2",
        "1 finalize",
    ];
    assert_eq!(actions, expected);
}

#[test]
fn tags_on_different_communicators_stay_apart() {
    let rank = || {
        Payload::new(1)
            .record(2, &[0, 1, 1, 1, 0, 2, 1, 0])
            .event(3, &[4, 3, 10, WORLD, 1])
            .event(3, &[4, 3, 10, 1, 2])
    };
    let (_, texts) = exported(&[rank()]).unwrap();
    assert!(
        texts[0].contains("0 isend 0 0 1\n") && texts[0].contains("0 isend 0 1 2\n"),
        "{texts:?}"
    );
}

#[test]
fn what_cannot_be_replayed_is_refused_or_counted() {
    let bcast = Payload::new(2).event(9, &[1, 0, WORLD, 3, 64]);
    let barrier = Payload::new(2).event(9, &[0, 0, WORLD, 0, 0]);
    let message = exported(&[bcast.clone(), barrier]).unwrap_err();
    assert!(message.contains("MPI_Bcast on rank 0 and MPI_Barrier on rank 1"), "{message}");
    let message = exported(&[bcast, Payload::new(2)]).unwrap_err();
    assert!(message.contains("MPI_Bcast on 1 of its 2 ranks"), "{message}");
    let threads = Payload::new(1).record(1, &[1]).event(12, &[4]);
    let message = exported(&[threads]).unwrap_err();
    assert!(message.contains("several threads on rank 0"), "{message}");
    let large = Payload::new(1).event(3, &[0, 3, 0, WORLD, 1 << 31]);
    let message = exported(&[large]).unwrap_err();
    assert!(message.contains("32 bits"), "{message}");
    let one_sided = Payload::new(1).event(12, &[3]).event(12, &[3]);
    let (exported, _) = exported(&[one_sided]).unwrap();
    assert_eq!(exported.left_out, BTreeMap::from([("one-sided calls", 2)]));
}
