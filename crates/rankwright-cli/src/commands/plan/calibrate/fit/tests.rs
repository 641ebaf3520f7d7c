//! Rates from recorded probes.

use std::path::Path;

use rankwright::cluster::read::toml;

use super::super::checks;
use super::super::record::tests::record;
use super::*;

const CLUSTER: &str = "[[node]]\nnames = \"n[0-1]\"\ntopology = \"numa:2 core:2 pu:1\"\n\
    [[node.nic]]\nname = \"mlx5_0\"\nbandwidth = \"200 Gbit/s\"\nnear = \"numa:0\"\n\
    [[node.nic]]\nname = \"mlx5_1\"\nbandwidth = \"200 Gbit/s\"\nnear = \"numa:1\"\n\
    [[node.nic]]\nname = \"eth0\"\n\
    [[switch]]\nname = \"s\"\nnodes = \"n[0-1]\"\n";

fn cluster() -> Cluster {
    toml::parse(CLUSTER, "c.toml", Path::new("")).unwrap()
}

fn recorded(name: &str) -> Record {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/probe").join(name);
    record(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn fitted(name: &str, cluster: &Cluster) -> Fitted {
    fit(&recorded(name), cluster, "2026-11-23")
}

#[test]
fn rates_are_those_of_the_record() {
    let fitted = fitted("two-numa.txt", &cluster());
    let rates = &fitted.rates;
    assert!(rates.calibrated);
    assert_eq!(rates.name, "measured on 2026-11-23");
    assert_eq!(rates.memory_bandwidth, Some(BytesPerSecond(1.8e10)));
    assert_eq!(rates.cache_bandwidth, Some(BytesPerSecond(1.2e10)));
    assert_eq!(rates.remote_memory_factor, 1.25);
    // The device has rates of its own, and others may be of another kind.
    assert_eq!((rates.nic_bandwidth, rates.nic_latency), (None, None));
    let calibration = rates.calibration.as_deref().unwrap();
    let device = &calibration.devices[0];
    assert_eq!(device.names, ["mlx5_0", "mlx5_1"]);
    assert_eq!((device.bandwidth.0, device.latency.to_string().as_str()), (2.4e10, "1.5 us"));
    assert_eq!(device.far_bandwidth, Some(BytesPerSecond(1.9e10)));
    assert_eq!(device.far_latency, Some("1.7 us".parse().unwrap()));
    let pairs = [(1, BytesPerSecond(2.2e10)), (2, BytesPerSecond(2.4e10))];
    assert_eq!(calibration.pairs, pairs);
    assert_eq!(calibration.pairs_both_ways, [(2, BytesPerSecond(4.6e10))]);
    assert_eq!(calibration.mpi, "Open MPI v5.0.5");
}

#[test]
fn messages_have_the_parameters_of_their_level() {
    let fitted = fitted("two-numa.txt", &cluster());
    let calibration = fitted.rates.calibration.unwrap();
    let levels: Vec<String> =
        calibration.messages.iter().map(|messages| messages.level.to_string()).collect();
    assert_eq!(levels, ["cache", "switch-1", "switch-2"]);
    let latencies = calibration.messages.iter().map(|messages| messages.latency);
    let latencies: Vec<String> = latencies.map(|latency| latency.to_string()).collect();
    // Of the one-way times, without the overheads of both ends.
    assert_eq!(latencies, ["150 ns", "1 us", "1.4 us"]);
    let overhead = calibration.messages[1].receive_overhead;
    assert_eq!(overhead, Some("300 ns".parse().unwrap()));
}

#[test]
fn a_slow_node_is_named() {
    let notes = fitted("two-numa.txt", &cluster()).notes;
    assert!(notes.iter().any(|note| note.contains("n1.cluster.example: 12.0 GB/s")), "{notes:?}");
}

#[test]
fn without_a_described_device_the_rates_are_of_all() {
    let text = "[[node]]\nnames = \"n[0-1]\"\ntopology = \"4\"\n";
    let cluster = toml::parse(text, "c.toml", Path::new("")).unwrap();
    let fitted = fitted("two-numa.txt", &cluster);
    assert_eq!(fitted.rates.nic_bandwidth, Some(BytesPerSecond(2.4e10)));
    assert!(fitted.rates.calibration.unwrap().devices.is_empty());
}

#[test]
fn an_edited_description_has_the_fitted_rates() {
    let fitted = fitted("two-numa.txt", &cluster());
    let edited = toml::with_rates(CLUSTER, "c.toml", Path::new(""), &fitted.rates).unwrap();
    let read = toml::parse(&edited, "c.toml", Path::new("")).unwrap();
    assert_eq!(read.rates, fitted.rates);
    let again = toml::parse(&toml::write(&read), "c.toml", Path::new("")).unwrap();
    assert_eq!(again, read);
}

#[test]
fn a_latency_with_waiting_in_it_is_told() {
    let mut record = recorded("two-numa.txt");
    let text = "[[node]]\nnames = \"n[0-1]\"\ntopology = \"4\"\n";
    let cluster = toml::parse(text, "c.toml", Path::new("")).unwrap();
    let mut fitted = fit(&record, &cluster, "2026-11-23");
    let row = fitted.rows.iter_mut().find(|row| row.rate == "nic_latency").unwrap();
    row.before = Some((Value::Time(Seconds(25e-6)), true));
    row.value = Value::Time(Seconds(3e-3));
    // A rank with a PU of its own does not wait for one.
    assert_eq!(checks::waited(&record, &fitted), None);
    record.shares_pus = true;
    let told = checks::waited(&record, &fitted).unwrap();
    assert!(told.starts_with("nic_latency is 120 times that before: ranks share PUs"), "{told}");
    let row = fitted.rows.iter_mut().find(|row| row.rate == "nic_latency").unwrap();
    row.value = Value::Time(Seconds(60e-6));
    assert_eq!(checks::waited(&record, &fitted), None);
}

#[test]
fn messages_shared_out_over_several_devices_are_doubted() {
    let mut record = recorded("two-numa.txt");
    let stream = record.rates.iter().find(|rate| rate.rate == "bandwidth" && rate.level == "nodes");
    let (rate, half) = ("wire_per_byte".to_owned(), 0.5);
    let wire =
        Rate { rate, mean: half, median: half, low: half, high: half, ..stream.unwrap().clone() };
    record.rates.push(wire);
    let fitted = fit(&record, &cluster(), "2026-11-23");
    let doubts = checks::doubts(&record, &fitted).join("; ");
    assert!(doubts.contains("the busiest device sent only 0.50 of the payload"), "{doubts}");
    assert_eq!(fitted.rates.calibration.unwrap().wire_per_byte, None);
}
