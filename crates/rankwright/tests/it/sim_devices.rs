//! Several network devices in the simulator.

use rankwright::placement::ServerKind;
use rankwright::sim::Options;
use rankwright::traffic::Workload;
use rankwright::traffic::pattern::Pattern;

use crate::clusters::{Kind, cluster, with_two_nics};
use crate::sim_reference::{placed, run};

/// Messages out through each device of the nodes.
fn sent(pattern: &str) -> Vec<u64> {
    let cluster = with_two_nics(cluster(&[(8, Kind(1, 1, 1, 1))]));
    let workload = Workload::single(Pattern::parse(pattern).unwrap().job().unwrap());
    let placement = placed(&cluster, &workload, "blocked");
    let outcome = run(&cluster, &workload, &placement, &Options::default());
    let out =
        outcome.servers.iter().filter(|server| matches!(server.kind, ServerKind::NicOut { .. }));
    out.map(|server| server.messages).collect()
}

#[test]
fn one_message_after_the_other_takes_the_devices_in_turn() {
    assert_eq!(sent("bcast:8:rate=10,messages=1")[..2], [4, 3]);
    assert_eq!(sent("bcast:8:rate=10,messages=10")[..2], [35, 35]);
    // Ranks that send one message each begin at different devices.
    assert_eq!(sent("linear:4:rate=10,messages=1,in_step=true")[..6], [1, 0, 0, 1, 1, 0]);
}
