use super::*;

#[test]
fn built_in_clusters_are_those_of_the_papers() {
    let shapes: Vec<String> = BUILT_IN
        .iter()
        .map(|built_in| {
            let cluster = built_in.cluster();
            assert_eq!(cluster.name, built_in.name);
            format!("{} x {}", cluster.nodes.len(), cluster.groups[0].machine)
        })
        .collect();
    assert_eq!(
        shapes,
        [
            "16 x 4 packages, 4 NUMA nodes, 16 cores, 16 PUs, 1 NIC",
            "16 x 4 packages, 4 NUMA nodes, 16 cores, 16 PUs, 1 NIC",
            "10 x 4 packages, 4 NUMA nodes, 8 cores, 8 PUs, 1 NIC",
            "8 x 4 packages, 4 NUMA nodes, 16 cores, 16 PUs, 1 NIC",
            "2 x 2 packages, 2 NUMA nodes, 44 cores, 88 PUs, 4 NICs",
        ]
    );
}
