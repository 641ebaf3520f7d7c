use std::fmt::Write;

use super::*;
use crate::traffic::collectives::{CollectiveCalls, Form, Operation};
use crate::traffic::communicator::Communicator;
use crate::traffic::generate::pattern::Pattern;
use crate::traffic::profile::TimeInMpi;
use crate::traffic::{Flow, Job};
use crate::units::Seconds;

fn pattern(text: &str) -> Profile {
    Profile::of_job(&Pattern::parse(text).unwrap().job().unwrap(), "generated")
}

fn time(seconds: f64) -> TimeInMpi {
    TimeInMpi { calls: 1, time: Seconds(seconds) }
}

/// Hosts with these numbers of ranks, in order.
fn on_hosts_of(ranks: usize, mut profile: Profile) -> Profile {
    for (index, rank) in profile.ranks.iter_mut().enumerate() {
        rank.host = format!("n{}", index / ranks);
    }
    profile
}

fn unevenness(profile: &Profile) -> Unevenness {
    Triage::new(profile, Expansion::Default).locality.unevenness
}

#[test]
fn each_pattern_is_assessed() {
    let shapes = [
        "all-to-all:64",
        "halo-2d:64",
        "halo-2d:64:renumber",
        "halo-3d:64:points=27",
        "ring:64",
        "ring:64:renumber",
        "gather:64",
        "random:64:degree=32",
        "ring:2",
        "linear:3",
    ];
    let mut text = String::new();
    for shape in shapes {
        let triage = Triage::new(&pattern(shape), Expansion::Default).text();
        let _ = writeln!(text, "{shape:<24}{}", triage.lines().next().unwrap_or_default());
    }
    insta::assert_snapshot!(text);
}

#[test]
fn to_everyone_alike_no_placement_keeps_more_than_another() {
    let locality =
        Triage::new(&on_hosts_of(16, pattern("all-to-all:64")), Expansion::None).locality;
    assert!(!locality.supposed && locality.ranks_per_node == 16);
    let [random, most] = [locality.at_random, locality.at_most];
    assert!((random - 15.0 / 63.0).abs() < 1e-12 && (most - random).abs() < 1e-12);
    assert_eq!(locality.unevenness, Unevenness::Even);
}

#[test]
fn without_traffic_or_with_two_ranks_there_is_nothing_to_place() {
    let quiet = Profile::of_job(&Job::new("quiet", 8, []).unwrap(), "generated");
    assert_eq!(unevenness(&quiet), Unevenness::NoTraffic);
    assert_eq!(unevenness(&Profile::default()), Unevenness::NoTraffic);
    assert_eq!(unevenness(&pattern("ring:2")), Unevenness::TooFewRanks);
    let itself =
        [Flow { source: Rank(3), destination: Rank(3), messages: 1, bytes: 9, largest: 9 }];
    let alone = Profile::of_job(&Job::new("alone", 8, itself).unwrap(), "generated");
    assert_eq!(unevenness(&alone), Unevenness::NoTraffic);
}

#[test]
fn meaningless_times_are_not_assessed() {
    use crate::traffic::profile::Ended;
    let mut profile = pattern("ring:4");
    for rank in &mut profile.ranks {
        (rank.wall, rank.wait, rank.ended) = (Seconds(2.0), time(1.0), Ended::Finalized);
    }
    let reason = |profile: &Profile| Triage::new(profile, Expansion::Default).times_unknown;
    assert_eq!(reason(&profile), None);
    profile.run.several_threads = true;
    assert!(reason(&profile).unwrap().starts_with("several threads"));
    "mpi4py".clone_into(&mut profile.run.called_through);
    assert!(reason(&profile).unwrap().contains("MPI4PY_RC_THREADS=0"));
    profile.ranks[2].ended = Ended::Killed;
    let triage = Triage::new(&profile, Expansion::Default);
    assert_eq!((triage.time_in_mpi, triage.gain.is_none()), (None, true));
    assert!(triage.text().contains("gain at most    unknown, as is the time in MPI"));
    assert_eq!(reason(&pattern("ring:4")), Some(NO_TIMES));
}

#[test]
fn messages_count_where_there_are_no_bytes() {
    let locality = Triage::new(&pattern("ring:16:length=0B"), Expansion::None).locality;
    assert_eq!(
        (locality.counted, locality.unevenness),
        (Counted::Messages, Unevenness::GoodInOrder)
    );
}

#[test]
fn collective_calls_count_as_messages() {
    let mut profile = pattern("ring:16");
    profile.flows.clear();
    let members = (0..16).map(|rank| Some(Rank(rank))).collect();
    profile.communicators = vec![Communicator { members, ..Communicator::default() }];
    let call = |rank| CollectiveCalls {
        rank: Rank(rank),
        communicator: 0,
        operation: Operation::Alltoall,
        form: Form::Blocking,
        root: None,
        calls: 1,
        bytes: 1600,
        seconds: 0.0,
        first: 0.0,
        last: 0.0,
        row: Vec::new(),
    };
    profile.collectives = (0..16).map(call).collect();
    assert_eq!(unevenness(&profile), Unevenness::Even);
    let without = Triage::new(&profile, Expansion::None).locality.unevenness;
    assert_eq!(without, Unevenness::NoTraffic);
    // More than can be made up.
    profile.communicators[0].members = vec![Some(Rank(0)); 5000];
    assert!(Triage::new(&profile, Expansion::Default).locality.without_collectives);
}

#[test]
fn the_rank_that_is_busiest_outside_mpi_limits_the_gain() {
    let mut profile = pattern("ring:4");
    for (rank, record) in profile.ranks.iter_mut().enumerate() {
        record.wall = Seconds(10.0);
        record.wait = time([1.0, 6.0, 7.0, 8.0][rank]);
        record.collective = time(1.0);
    }
    let triage = Triage::new(&profile, Expansion::Default);
    let time = triage.time_in_mpi.unwrap();
    assert_eq!((time.largest, time.largest_rank), (0.9, Rank(3)));
    assert!((time.mean - 0.65).abs() < 1e-12 && (time.wait - 0.55).abs() < 1e-12);
    // The others wait for rank 0; faster messages do not help them.
    let gain = triage.gain.as_ref().unwrap();
    assert!((gain.share - 0.2).abs() < 1e-12 && gain.rank == Rank(0));
    insta::assert_snapshot!(triage.text());
    for record in &mut profile.ranks {
        record.host = "laptop".to_owned();
        record.pus = "0-1".parse().unwrap();
    }
    let text = Triage::new(&profile, Expansion::Default).text();
    assert!(text.contains("gain at most    unknown: 4 ranks shared 2 PUs on laptop"), "{text}");
    assert_eq!(text.lines().count(), 3);
}

#[test]
fn beside_other_programs_the_gain_is_unknown() {
    let mut profile = pattern("ring:4");
    let waiting_for_pus = |profile: &mut Profile, waited: f64| {
        for record in &mut profile.ranks {
            record.wall = Seconds(10.0);
            record.wait = time(2.0);
            record.waited_for_pu = Some(Seconds(waited));
        }
        Triage::new(profile, Expansion::Default)
    };
    let little = waiting_for_pus(&mut profile, 0.2);
    assert!(little.gain.unwrap().is_known());
    let much = waiting_for_pus(&mut profile, 2.0);
    assert_eq!(much.gain.as_ref().unwrap().waited_for_pus, Some(0.25));
    let text = much.text();
    let unknown = "gain at most    unknown: other programs ran beside it (ranks waited for PUs during 25 % of";
    assert!(text.contains(unknown), "{text}");
}

#[test]
fn nodes_may_be_given() {
    let profile = pattern("halo-2d:64:grid=8x8");
    let locality = Triage::on_nodes_of(8, &profile, Expansion::None).locality;
    // Rows of eight: 7 of 7 + 7 neighbours.
    assert!((locality.in_order - 0.5).abs() < 1e-12 && !locality.supposed, "{locality:?}");
    let more = Triage::on_nodes_of(64, &profile, Expansion::None).locality;
    assert_eq!((more.at_random, more.unevenness), (1.0, Unevenness::Even));
    let single = Triage::on_nodes_of(1, &profile, Expansion::None).locality;
    assert_eq!((single.at_random, single.searched), (0.0, 0.0));
    let huge = Triage::on_nodes_of(u32::MAX, &profile, Expansion::None).locality;
    assert_eq!(huge.unevenness, Unevenness::Even);
}
