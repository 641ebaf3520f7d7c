//! The strategies of the papers on contention with random clusters and jobs.

use proptest::prelude::*;
use rankwright::ids::Rank;
use rankwright::map::{Budget, Problem};
use rankwright::placement::Granularity;
use rankwright::traffic::pattern::Pattern;
use rankwright::traffic::{Job, Send, Source};
use rankwright::units::{Bytes, PerSecond};

use crate::clusters::{Kind, cluster, without_cores};
use crate::workloads::{ring, workload};

/// A job of a few clocks with unlike messages, or of flows without rates.
pub(crate) fn random_job(ranks: u32) -> impl Strategy<Value = Job> {
    let send = (0..ranks, prop_oneof![Just(0), 1_u64..3000, 60_000_u64..3_000_000]);
    let sends = prop::collection::vec(send, 0..6);
    let clock = (0..ranks, 0.01..1e5_f64, 0.0..4.0_f64, sends);
    let clocks = prop::collection::vec(clock, 0..12);
    (clocks, any::<bool>()).prop_map(move |(clocks, rates)| {
        let source = |(rank, rate, cv, sends): (u32, f64, f64, Vec<(u32, u64)>)| Source {
            rank: Rank(rank),
            rate: PerSecond(rate),
            cv,
            in_step: None,
            rounds: 7,
            sends: sends
                .into_iter()
                .map(|(to, length)| Send { destination: Rank(to), length: Bytes(length) })
                .collect(),
        };
        let clocks = clocks.into_iter().map(source).collect();
        let mut job = Job::from_sources("random", ranks, clocks).unwrap();
        if !rates {
            job.sources.clear();
        }
        job
    })
}

/// Both strategies with every option.
const FORMS: [&str; 8] = [
    "mapping-2012",
    "mapping-2012:demand=sent,length=largest,stay=off",
    "mapping-2012:medium-sockets=spread,threshold=2",
    "mapping-2012:threshold=none",
    "mapping-2013",
    "mapping-2013:cv=model,medium-sockets=first,ties=smallest,nodes=any,severe=any",
    "mapping-2013:demand=sent,length=largest,stay=off,threshold=1",
    "mapping-2013:threshold=none",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_workload_gets_valid_places_on_any_cluster(
        kinds in prop::collection::vec((1_usize..4, 1_u32..3, 1_u32..3, 1_u32..5), 1..4),
        taken in prop::collection::vec(0_u32..6, 0..3),
        per_pu in any::<bool>(),
        jobs in prop::collection::vec((1_u32..9).prop_flat_map(random_job), 1..5),
    ) {
        let kinds: Vec<(usize, Kind)> = kinds
            .into_iter()
            .map(|(nodes, packages, numa, cores)| (nodes, Kind(packages, numa, cores, 2)))
            .collect();
        let cluster = without_cores(cluster(&kinds), &taken);
        let granularity = if per_pu { Granularity::Pu } else { Granularity::Cores(1) };
        let workload = workload(jobs);
        let loads: Vec<u64> = (0..workload.rank_count() as u64).map(|rank| rank % 4).collect();
        let alone = Problem::new(&cluster, &workload, granularity);
        let shared = Problem::sharing(&cluster, &workload, granularity, loads, 0.1);
        for problem in [alone, shared].into_iter().flatten() {
            for form in FORMS {
                let strategy: rankwright::map::Strategy = form.parse().unwrap();
                // It checks the answer.
                let slot_of = strategy.map(&problem, &Budget::default());
                prop_assert!(slot_of.is_ok(), "{}: {:?}", form, slot_of);
                prop_assert_eq!(strategy.map(&problem, &Budget::default()), slot_of);
            }
        }
    }

    #[test]
    fn a_threshold_holds_where_there_is_room(ranks in 5_u32..17, threshold in 1_usize..5) {
        let cluster = cluster(&[(8, Kind(2, 1, 2, 1))]);
        let job = Pattern::parse(&format!("all-to-all:{ranks}:rate=10,length=1MB")).unwrap();
        let jobs = workload(vec![job.job().unwrap(), ring("beside", 2, 10)]);
        let problem = Problem::new(&cluster, &jobs, Granularity::Cores(1)).unwrap();
        let strategy = format!("mapping-2012:threshold={threshold}");
        let slot_of = strategy.parse::<rankwright::map::Strategy>().unwrap().map(&problem, &Budget::default()).unwrap();
        let mut ranks_of = [0; 8];
        for slot in &slot_of[..ranks as usize] {
            ranks_of[problem.slots()[*slot].node.index()] += 1;
        }
        // Ranks beyond what the threshold lets in are spread evenly.
        let most = threshold.max((ranks as usize).div_ceil(8));
        prop_assert!(ranks_of.iter().all(|held| *held <= most), "{:?}", ranks_of);
    }
}
