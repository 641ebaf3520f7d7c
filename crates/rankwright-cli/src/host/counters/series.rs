//! From the files of the kernel that the tracer read every 10 ms to what each network device carried.

use std::collections::BTreeMap;

use rankwright::rails::counters::Combination;
use rankwright::traffic::read::counter_series::{CounterFile, Growth, NodeSeries};

use super::drivers::{self, Files};

/// A way to count the bytes of a device: the columns for bytes out and in, and the bytes of one unit.
#[derive(Debug, Default)]
struct Way {
    columns: [Vec<usize>; 2],
    unit: u64,
}

/// A device, and the ways of each of its ports to count.
#[derive(Debug, Default)]
struct Device {
    ports: BTreeMap<String, Vec<Way>>,
    largest: bool,
}

/// What the devices of a node carried. Network interfaces and RDMA devices are separate devices, also if they
/// are two faces of one.
pub(crate) fn of_node(file: &CounterFile, host: &str) -> NodeSeries {
    let devices = devices(&file.names);
    let mut samples = Vec::with_capacity(file.times.len());
    for (number, (time, values)) in file.times.iter().zip(&file.values).enumerate() {
        let before = &file.values[number.saturating_sub(1)];
        // A counter that was reset, or could not be read, has not grown.
        let growth = |column: usize| match (before[column], values[column]) {
            (Some(before), Some(value)) => value.saturating_sub(before),
            _ => 0,
        };
        let bytes = devices.values().map(|device| device.growth(&growth)).collect();
        samples.push(Growth { time: *time, bytes });
    }
    let names = devices.into_keys().collect();
    NodeSeries { sampling: file.sampling.clone(), host: host.to_owned(), devices: names, samples }
}

impl Device {
    fn growth(&self, growth: &dyn Fn(usize) -> u64) -> [u64; 2] {
        [0, 1].map(|direction| {
            let way = |way: &Way| -> u64 {
                let sum: u64 = way.columns[direction].iter().map(|column| growth(*column)).sum();
                sum.saturating_mul(way.unit)
            };
            let port = |ways: &Vec<Way>| {
                let ways = ways.iter().map(way);
                if self.largest { ways.max().unwrap_or(0) } else { ways.sum() }
            };
            self.ports.values().map(port).sum()
        })
    }
}

/// The devices by name.
fn devices(columns: &[String]) -> BTreeMap<String, Device> {
    let mut devices: BTreeMap<String, Device> = BTreeMap::new();
    for (number, column) in columns.iter().enumerate() {
        let mut parts = column.splitn(3, '/');
        let (Some(class), Some(name), Some(file)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        match class {
            "infiniband" => {
                let (name, driver) = name.split_once(':').unwrap_or((name, ""));
                let row = drivers::of(driver);
                let device = devices.entry(name.to_owned()).or_default();
                device.largest = row.combined() == Combination::Largest;
                let Some((port, file)) =
                    file.strip_prefix("ports/").and_then(|rest| rest.split_once('/'))
                else {
                    continue;
                };
                let ways = device.ports.entry(port.to_owned()).or_default();
                ways.resize_with(row.files.len(), Way::default);
                for (way, files) in ways.iter_mut().zip(row.files) {
                    way.add(file, number, files);
                }
            }
            _ => {
                let files = if class == "cxi" { &CXI } else { &INTERFACE };
                let device = devices.entry(name.to_owned()).or_default();
                let ways = device.ports.entry(String::new()).or_default();
                ways.resize_with(1, Way::default);
                ways[0].add(file, number, files);
            }
        }
    }
    devices
}

/// As the tracer names the columns of `/proc/net/dev`.
static INTERFACE: Files = Files { out: &["tx_bytes"], incoming: &["rx_bytes"], unit: 1 };
static CXI: Files = Files {
    out: &["device/telemetry/hni_sts_tx_ok_octets"],
    incoming: &["device/telemetry/hni_sts_rx_ok_octets"],
    unit: 1,
};

impl Way {
    fn add(&mut self, file: &str, column: usize, files: &Files) {
        self.unit = files.unit;
        for (direction, names) in [files.out, files.incoming].into_iter().enumerate() {
            if names.contains(&file) {
                self.columns[direction].push(column);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(rows: &[(&str, [Option<u64>; 3])]) -> CounterFile {
        CounterFile {
            names: rows.iter().map(|(name, _)| (*name).to_owned()).collect(),
            times: vec![10, 20, 30],
            values: (0..3)
                .map(|time| rows.iter().map(|(_, values)| values[time]).collect())
                .collect(),
            ..CounterFile::default()
        }
    }

    fn growth(file: &CounterFile) -> Vec<(String, Vec<[u64; 2]>)> {
        let series = of_node(file, "n0");
        let of = |(number, name): (usize, &String)| {
            (name.clone(), series.samples.iter().map(|sample| sample.bytes[number]).collect())
        };
        series.devices.iter().enumerate().map(of).collect()
    }

    #[test]
    fn growth_in_bytes_by_device() {
        let found = growth(&file(&[
            ("net/eth0/tx_bytes", [Some(100), Some(150), Some(40)]),
            ("net/eth0/rx_bytes", [Some(0), None, Some(9)]),
            (
                "infiniband/mlx5_0:mlx5_core/ports/1/counters/port_xmit_data",
                [Some(1), Some(3), Some(3)],
            ),
            (
                "infiniband/mlx5_0:mlx5_core/ports/2/counters/port_xmit_data",
                [Some(0), Some(1), Some(2)],
            ),
            ("infiniband/hfi1_0:hfi1/ports/1/counters/port_rcv_data", [Some(0), Some(1), Some(1)]),
        ]));
        let expected = [
            ("eth0", vec![[0, 0], [50, 0], [0, 0]]),
            ("hfi1_0", vec![[0, 0], [0, 8], [0, 0]]),
            ("mlx5_0", vec![[0, 0], [12, 0], [4, 0]]),
        ];
        assert_eq!(found, expected.map(|(name, growth)| (name.to_owned(), growth)));
    }

    #[test]
    fn of_alternatives_the_one_that_grows_most_counts() {
        let found = growth(&file(&[
            ("infiniband/efa_0:efa/ports/1/hw_counters/tx_bytes", [Some(0), Some(7), Some(7)]),
            ("infiniband/efa_0:efa/ports/1/hw_counters/send_bytes", [Some(0), Some(5), Some(9)]),
            (
                "infiniband/efa_0:efa/ports/1/hw_counters/rdma_write_bytes",
                [Some(0), Some(3), Some(3)],
            ),
        ]));
        assert_eq!(found, [("efa_0".to_owned(), vec![[0, 0], [8, 0], [4, 0]])]);
    }

    #[test]
    fn the_tracer_reads_all_files_of_the_table() {
        let source = include_str!("../../../../../tracer/src/counters/sources.c");
        for (pattern, names) in [
            ("counters/port_*_data", ["counters/port_xmit_data", "counters/port_rcv_data"]),
            ("hw_counters/*bytes", ["hw_counters/tx_bytes", "hw_counters/rx_bytes"]),
            ("hw_counters/ip*Octets", ["hw_counters/ip4OutOctets", "hw_counters/ip6InOctets"]),
        ] {
            assert!(source.contains(&format!("/{pattern}\"")), "{pattern}");
            let (begin, end) = pattern.split_once('*').unwrap();
            assert!(names.iter().all(|name| name.starts_with(begin) && name.ends_with(end)));
        }
        for name in drivers::all_files() {
            let matched = [
                ("counters/port_", "_data"),
                ("hw_counters/", "bytes"),
                ("hw_counters/ip", "Octets"),
            ];
            assert!(
                matched.iter().any(|(begin, end)| name.starts_with(begin) && name.ends_with(end)),
                "{name}"
            );
        }
    }
}
