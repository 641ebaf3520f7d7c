//! The strategies of the papers on contention with random clusters and jobs.

use proptest::prelude::*;
use rankwright::map::{Budget, Problem};
use rankwright::placement::Granularity;
use rankwright::traffic::generate::pattern::Pattern;

use crate::clusters::{Kind, cluster};
use crate::random_problems::{problems, random_cluster, random_granularity, random_jobs};
use crate::workloads::{ring, workload};

/// Both strategies with every option.
const FORMS: [&str; 8] = [
    "mapping-2012",
    "mapping-2012:demand=sent,length=mean,stay=on",
    "mapping-2012:medium-sockets=spread,threshold=2",
    "mapping-2012:threshold=none",
    "mapping-2013",
    "mapping-2013:cv=model,medium-sockets=spread,ties=smallest,nodes=any,severe=any",
    "mapping-2013:demand=sent,length=mean,stay=on,threshold=1",
    "mapping-2013:threshold=none",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_workload_gets_valid_places_on_any_cluster(
        cluster in random_cluster(),
        granularity in random_granularity(),
        jobs in random_jobs(),
    ) {
        for problem in problems(&cluster, &jobs, granularity) {
            for form in FORMS {
                let strategy: rankwright::map::Strategy = form.parse().unwrap();
                // It checks the answer.
                let mapping = strategy.map(&problem, &Budget::default());
                prop_assert!(mapping.is_ok(), "{}: {:?}", form, mapping);
                prop_assert_eq!(strategy.map(&problem, &Budget::default()), mapping);
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
        let mapping = strategy.parse::<rankwright::map::Strategy>().unwrap().map(&problem, &Budget::default()).unwrap();
        let mut ranks_of = [0; 8];
        for slot in &mapping.as_indices()[..ranks as usize] {
            ranks_of[problem.slots()[*slot].node.index()] += 1;
        }
        // Ranks beyond what the threshold lets in are spread evenly.
        let most = threshold.max((ranks as usize).div_ceil(8));
        prop_assert!(ranks_of.iter().all(|held| *held <= most), "{:?}", ranks_of);
    }
}
