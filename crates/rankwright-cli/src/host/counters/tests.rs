//! Counters of invented machines; `testdata/counters/README.md` says where they come from.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;

use super::devices::{longest_kept, read};

/// The tree of a file of testdata.
fn tree(name: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/counters");
    let text = fs::read_to_string(testdata.join(format!("{name}.tree"))).unwrap();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (path, link, contents) = match line.split_once(" -> ") {
            Some((path, target)) => (path, true, target),
            None => line.split_once(" = ").map(|(path, text)| (path, false, text)).unwrap(),
        };
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match link {
            true => symlink(contents, &path).unwrap(),
            false => fs::write(&path, contents.replace("\\n", "\n") + "\n").unwrap(),
        }
    }
    folder
}

/// A line per device: its names, its driver and its counters.
fn devices(name: &str) -> String {
    let folder = tree(name);
    let mut text = String::new();
    for device in read(folder.path()).unwrap() {
        let names = [vec![device.name.clone()], device.aliases.clone()].concat().join("=");
        text += &format!("{names} ({}), {:?}\n", device.driver, device.combined);
        for counter in &device.counters {
            let number = |bytes: Option<u64>| bytes.map_or("?".to_owned(), |b| b.to_string());
            let (out, incoming) = (number(counter.out), number(counter.incoming));
            let unknown = counter.unknown.as_deref().unwrap_or_default();
            let line = format!("  {}: {out} {incoming} {unknown}", counter.source);
            text += line.trim_end();
            text.push('\n');
        }
    }
    text
}

#[test]
fn counters_of_network_interfaces() {
    insta::assert_snapshot!(devices("ethernet"), @r"
    eth0 (virtio_net), Sum
      net/eth0: 5000 7000
    ");
}

#[test]
fn bytes_of_roce_are_added_to_those_of_the_network_interface() {
    insta::assert_snapshot!(devices("roce"), @r"
    mlx5_0=eth2 (mlx5_core), Sum
      infiniband/mlx5_0/ports/1/counters: 8000000000000 4000
      net/eth2: 5000 7000
    ");
    assert_eq!(longest_kept(tree("roce").path()).as_millis(), 10);
}

#[test]
fn classic_counters_that_have_stopped_are_unknown() {
    insta::assert_snapshot!(devices("infiniband"), @r"
    mlx4_0 (mlx4_core), Sum
      infiniband/mlx4_0/ports/1/counters: ? 100 stands at 2^32-1, where a counter of 32 bits stops
      infiniband/mlx4_0/ports/2/counters: ? 200 found `N/A (no PMA)`, expected a number
    mlx5_0=ib0 (mlx5_core), Sum
      infiniband/mlx5_0/ports/1/counters: 17179869180 2000
    ");
}

#[test]
fn counters_of_other_rdma_devices() {
    insta::assert_snapshot!(devices("others"), @r"
    bnxt_re0 (bnxt_en), Sum
      infiniband/bnxt_re0/ports/1/hw_counters: 11 22
    cxi0=hsn0 (cxi_core), Sum
      cxi/cxi0/device/telemetry: 123456789 987654321
    hfi1_0 (hfi1), Sum
      infiniband/hfi1_0/ports/1/counters: 80 160
    ionic_0 (ionic), Sum
      infiniband/ionic_0/ports/1/hw_counters: 33 44
    rdmap0s6 (efa), Largest
      infiniband/rdmap0s6/ports/1/hw_counters: 1000 2000
      infiniband/rdmap0s6/ports/1/hw_counters/send_bytes..: 135 240
    siw0 (), Sum
    ");
}

#[test]
fn interfaces_on_top_of_others_name_them() {
    let folder = tree("bond");
    let devices = read(folder.path()).unwrap();
    let below: Vec<(&str, String)> =
        devices.iter().map(|device| (device.name.as_str(), device.below.join(" "))).collect();
    let expected = [("bond0", "eth0 eth1"), ("bond0.5", "bond0"), ("eth0", ""), ("eth1", "")];
    assert_eq!(below, expected.map(|(name, below)| (name, below.to_owned())));
}

#[test]
fn links_of_another_network_namespace_are_not_followed() {
    let folder = tree("ethernet");
    let table = folder.path().join("proc/net/dev");
    let text = fs::read_to_string(&table).unwrap() + "  eth1: 1 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0\n";
    fs::write(&table, text).unwrap();
    let devices = read(folder.path()).unwrap();
    let drivers: Vec<(&str, &str)> =
        devices.iter().map(|device| (device.name.as_str(), device.driver.as_str())).collect();
    assert_eq!(drivers, [("eth0", ""), ("eth1", "")]);
}

#[test]
fn this_host_has_counters() {
    let reading = super::read(std::time::Duration::from_millis(1)).unwrap();
    assert_eq!(reading.samples.len(), 2);
    assert!(reading.samples[0].uptime_s <= reading.samples[1].uptime_s);
}
