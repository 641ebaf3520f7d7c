//! What a mapping does not use changes nothing.

use std::path::Path;

use proptest::prelude::*;

use super::Fluid;
use crate::cluster::Cluster;
use crate::cluster::read::toml;
use crate::placement::{Granularity, Mapping, slots};
use crate::traffic::Workload;
use crate::traffic::generate::pattern::Pattern;

/// Three leaf switches with finite uplinks of different rates, two of them below a switch of their own.
fn cluster() -> Cluster {
    let text = r#"
        name = "tree"
        rates = "paper-2013"

        [[node]]
        names = "n[0-8]"
        topology = "pack:1 core:3 pu:1"

        [[switch]]
        name = "a"
        nodes = "n[0-2]"
        uplink = "1 GB/s"

        [[switch]]
        name = "b"
        nodes = "n[3-5]"
        uplink = "200 MB/s"

        [[switch]]
        name = "c"
        nodes = "n[6-8]"
        uplink = "500 MB/s"

        [[switch]]
        name = "ab"
        switches = "a,b"
        uplink = "400 MB/s"

        [[switch]]
        name = "top"
        switches = "ab,c"
    "#;
    toml::parse(text, "tree.toml", Path::new("")).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Nodes without ranks, and pairs of nodes without messages, may be walked or left out: all times are
    /// the same to the last bit.
    #[test]
    fn nodes_and_pairs_without_messages_change_no_time(
        shuffled in Just((0..27).collect::<Vec<usize>>()).prop_shuffle(),
        pattern in prop::sample::select(vec![
            "linear:9:rate=40,messages=30",
            "all-to-all:6:rate=30,messages=20,length=1MiB",
            "gather:7:rate=90,messages=50,length=64KiB",
            "halo-2d:12:rate=200,messages=20,length=512KiB",
        ]),
        more in 2_usize..6,
    ) {
        let cluster = cluster();
        let slots = slots(&cluster, Granularity::Cores(1), 1).unwrap();
        let mut workload = Workload { name: "test".to_owned(), jobs: Vec::new() };
        for pattern in [pattern, &format!("ring:{more}:rate=100,messages=40,length=256KiB")] {
            workload.push(Pattern::parse(pattern).unwrap().job().unwrap());
        }
        let ranks = workload.rank_count();
        let mapping: Mapping = shuffled[..ranks].to_vec().into();
        let mut fluid = Fluid::new(&cluster, &workload, &slots).unwrap();
        let lean = fluid.evaluate(&mapping);
        let lean_waiting = fluid.waiting().to_vec();
        fluid.setup.walks_all = true;
        prop_assert_eq!(fluid.evaluate(&mapping), lean);
        prop_assert_eq!(fluid.waiting(), &lean_waiting[..]);
        prop_assert!(lean.link_waiting.0 >= 0.0 && lean.total_waiting.0 > 0.0);
    }
}
