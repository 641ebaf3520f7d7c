//! The offered load of placements that change.

use proptest::prelude::*;
use rankwright::cluster::Cluster;
use rankwright::estimate::{Fluid, OfferedLoad};
use rankwright::ids::{GlobalRank, ServerId, SlotId};
use rankwright::network::Servers;
use rankwright::placement::{Granularity, JobShape, Mapping, Placement, Slot, slots};
use rankwright::traffic::generate::pattern::Pattern;
use rankwright::traffic::{Job, Send, Source, Workload};
use rankwright::units::{Bytes, BytesPerSecond, Seconds};

use crate::clusters::{Kind, cluster, with_switches, with_two_nics, with_uplinks};

/// 25 ranks of all kinds of senders, on 28 cores.
fn mixed() -> Workload {
    let patterns = [
        "all-to-all:10:rate=50,length=2MiB,messages=200",
        "bcast:9:rate=20,length=64KiB,messages=300,renumber=true",
        "random:6:degree=2,rate=10,length=1MiB,messages=100",
    ];
    let job = |text: &&str| Pattern::parse(text).unwrap().job().unwrap();
    let mut jobs: Vec<Job> = patterns.iter().map(job).collect();
    jobs[2] = repeated(&jobs[2]);
    Workload { name: "mixed".to_owned(), jobs }
}

/// Every message twice, and a short one to the same receiver.
fn repeated(job: &Job) -> Job {
    let source = |source: &Source| {
        let short = source.sends.iter().map(|send| Send { length: Bytes(100), ..*send });
        let sends = [&source.sends[..], &source.sends[..]].concat();
        Source { sends: sends.into_iter().chain(short).collect(), ..source.clone() }
    };
    let sources = job.sources.iter().map(source).collect();
    Job::from_sources(&job.name, job.ranks, sources).unwrap()
}

fn machines(links: bool, nics: bool) -> Cluster {
    let mut cluster = cluster(&[(3, Kind(2, 1, 4, 1)), (1, Kind(1, 2, 2, 1))]);
    if links {
        cluster = with_uplinks(with_switches(cluster, 2), BytesPerSecond(2e9));
    }
    if nics { with_two_nics(cluster) } else { cluster }
}

/// Messages and work of each server, message by message along its path.
fn counted(
    cluster: &Cluster,
    workload: &Workload,
    slots: &[Slot],
    mapping: &Mapping,
) -> Vec<[f64; 2]> {
    let shapes = JobShape::of(workload);
    let placement =
        Placement::from_slots(cluster, &shapes, "test", slots, mapping.as_indices()).unwrap();
    let servers = Servers::new(cluster, &placement);
    let mut sums = vec![[0.0; 2]; servers.kinds().len()];
    for (job, first) in workload.jobs.iter().zip(workload.rank_offsets()) {
        for source in &job.sources {
            for send in &source.sends {
                let (from, to) = (source.rank.global(first), send.destination.global(first));
                let paths = servers.paths(from, to, send.length);
                let messages = source.rounds as f64 / paths.len() as f64;
                for hop in paths.iter().flat_map(|path| &path.hops) {
                    let sum = &mut sums[hop.server.index()];
                    sum[0] += messages;
                    sum[1] += messages * hop.service.0;
                }
            }
        }
    }
    sums
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn changes_lead_where_counting_anew_leads(
        changes in prop::collection::vec((0_u32..25, 0_u32..28, any::<bool>()), 1..40),
        links in any::<bool>(),
        nics in any::<bool>(),
        ticks in any::<bool>(),
    ) {
        let (cluster, workload) = (machines(links, nics), mixed());
        let slots = slots(&cluster, Granularity::Cores(1), 25).unwrap();
        let first: Mapping = (0..25).map(SlotId).collect();
        let mut load = OfferedLoad::new(&cluster, &workload, &slots, &first).unwrap();
        load.count_ticks(ticks);
        for (rank, slot, take_back) in changes {
            let (rank, slot) = (GlobalRank(rank), SlotId(slot));
            let before = (load.waiting(), load.mapping().clone());
            let other = load.mapping().iter().find(|(_, taken)| *taken == slot);
            match other {
                Some((other, _)) => load.swap(rank, other),
                None => load.move_to(rank, slot),
            };
            prop_assert_eq!(load.mapping().slot(rank), slot);
            if take_back {
                load.undo();
                prop_assert_eq!(&before, &(load.waiting(), load.mapping().clone()));
            }
        }
        let mut anew = OfferedLoad::new(&cluster, &workload, &slots, load.mapping()).unwrap();
        anew.count_ticks(ticks);
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (a.abs() + b.abs()) + 1e-9;
        prop_assert!(near(load.waiting().0, anew.waiting().0), "{:?} {:?}", load.waiting(), anew.waiting());
        let counted = counted(&cluster, &workload, &slots, load.mapping());
        for (server, [messages, work]) in counted.into_iter().enumerate() {
            let (offered, time) = load.offered(ServerId(server as u32));
            let equal = near(offered, messages) && near(time.0, work);
            prop_assert!(equal, "{server}: {offered} {messages}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn changes_of_several_ranks_lead_where_counting_anew_leads(
        order in Just((0..28).collect::<Vec<usize>>()).prop_shuffle(),
        moved in prop::collection::btree_set(0_usize..25, 1..8),
        links in any::<bool>(),
        ticks in any::<bool>(),
    ) {
        let (cluster, workload) = (machines(links, false), mixed());
        let slots = slots(&cluster, Granularity::Cores(1), 25).unwrap();
        let first: Mapping = (0..25).map(SlotId).collect();
        let mut load = OfferedLoad::new(&cluster, &workload, &slots, &first).unwrap();
        load.count_ticks(ticks);
        let before = (load.waiting(), load.finish());
        let moves: Vec<(usize, usize)> = moved.iter().map(|rank| (*rank, order[*rank])).collect();
        load.change(&moves);
        let mut expected = first.clone();
        for (rank, slot) in &moves {
            expected.set(GlobalRank::from_index(*rank), SlotId::from_index(*slot));
        }
        prop_assert_eq!(load.mapping(), &expected);
        let mut anew = OfferedLoad::new(&cluster, &workload, &slots, &expected).unwrap();
        anew.count_ticks(ticks);
        let near = |a: Seconds, b: Seconds| (a.0 - b.0).abs() <= 1e-9 * (a.0 + b.0) + 1e-9;
        prop_assert!(near(load.waiting(), anew.waiting()) && near(load.finish(), anew.finish()));
        load.undo();
        prop_assert_eq!((load.waiting(), load.finish()), before);
        prop_assert_eq!(load.mapping(), &first);
        load.restart(&expected);
        prop_assert_eq!((load.waiting(), load.finish()), (anew.waiting(), anew.finish()));
    }
}

#[test]
fn ranks_are_alike_where_an_exchange_changes_nothing() {
    let (cluster, workload) = (machines(false, false), mixed());
    let slots = slots(&cluster, Granularity::Cores(1), 25).unwrap();
    let all: Mapping = (0..25).map(SlotId).collect();
    let mut load = OfferedLoad::new(&cluster, &workload, &slots, &all).unwrap();
    // Two of the all-to-all, which are on two sockets; one of it and one of the bcast.
    let [a, b, other] = [0, 9, 12].map(GlobalRank);
    assert!(load.alike(a, b) && !load.alike(a, other));
    assert_ne!(load.site(SlotId(0)), load.site(SlotId(9)));
    let before = load.waiting().0;
    assert!((load.swap(a, b).0 - before).abs() < 1e-9 * before);
    let longest = (0..load.servers().len()).map(|server| load.offered(ServerId(server as u32)).1.0);
    let longest = longest.fold(0.0, f64::max);
    assert!(load.finish().0 >= longest);
}

#[test]
fn overloaded_devices_cost_half_their_backlog() {
    let cluster = cluster(&[(2, Kind(1, 1, 1, 1))]);
    let slots = slots(&cluster, Granularity::Cores(1), 2).unwrap();
    let pattern = "linear:2:rate=2000,length=1000000B,messages=10000";
    let workload = Workload::single(Pattern::parse(pattern).unwrap().job().unwrap());
    let load = OfferedLoad::new(&cluster, &workload, &slots, &vec![0, 1].into()).unwrap();
    // 10 s of work in 5 s, at both devices.
    let expected = 2.0 * 10_000.0 * 2.5;
    assert!((load.waiting().0 / expected - 1.0).abs() < 0.01, "{:?}", load.waiting());
}

#[test]
fn on_an_idle_network_messages_wait_for_others_of_their_tick_as_in_the_fluid() {
    let cluster = machines(false, true);
    let slots = slots(&cluster, Granularity::Cores(1), 25).unwrap();
    for pattern in ["halo-2d:25:", "all-to-all:25:", "random:25:degree=5,"] {
        let text = format!("{pattern}rate=0.01,length=1MiB,messages=100");
        let workload = Workload::single(Pattern::parse(&text).unwrap().job().unwrap());
        let mapping: Mapping = (0..25).map(|rank| SlotId((7 * rank) % 25)).collect();
        let mut load = OfferedLoad::new(&cluster, &workload, &slots, &mapping).unwrap();
        let others = load.waiting().0;
        load.count_ticks(true);
        assert!((load.waiting().0 - load.tick_waiting().0 - others).abs() < 1e-9 * others);
        let mut fluid = Fluid::new(&cluster, &workload, &slots).unwrap();
        let fluid = fluid.evaluate(&mapping).total_waiting.0;
        let waiting = load.waiting().0;
        assert!((waiting / fluid - 1.0).abs() < 0.01, "{pattern}: {waiting} {fluid} {others}");
        load.count_ticks(false);
        assert_eq!(load.waiting().0, others);
    }
}
