//! When measurements are refused.

use rankwright::cluster::{Cluster, hostlist};
use rankwright::units::counted;

use super::fit::{Fitted, Row, Value};
use super::record::Record;
use crate::output::exit_code::Infeasible;

/// The largest spread of a bandwidth, and of a time, that is believed. Times of short messages differ by
/// nature; where ranks share PUs, as the scheduler of the host decides, and nothing is said of them.
const BANDWIDTH_SPREAD: f64 = 0.15;
const TIME_SPREAD: f64 = 0.75;
/// The fewest samples whose spread says anything; ranks that wait for a PU most of the time give fewer.
const FEWEST_SAMPLES: u32 = 4;
/// The least and the most bytes that a device may send for each byte of the probe: headers need a few
/// percent.
const LEAST_ON_WIRE: f64 = 0.97;
const MOST_ON_WIRE: f64 = 1.25;

/// Where ranks share PUs: a latency this many times that before has waiting for a PU in it.
const TIMES_LONGER: f64 = 10.0;

/// Refuses hosts that the cluster does not have, and too few ranks.
pub(super) fn check_start(record: &Record, cluster: &Cluster) -> anyhow::Result<()> {
    let unknown: Vec<&str> = record
        .hosts
        .iter()
        .map(|host| host.host.as_str())
        .filter(|host| cluster.find_node(host).is_none())
        .collect();
    if !unknown.is_empty() {
        let has: Vec<&str> = cluster.nodes.iter().map(|node| node.name.as_str()).collect();
        let text = format!(
            "the probe ran on {}, which `{}` does not have; it has {}; nothing is written: start it on \
             nodes of the description, or add these nodes",
            hostlist::compress(&unknown),
            cluster.name,
            hostlist::compress(&has)
        );
        return Err(Infeasible(text).into());
    }
    if record.ranks < 2 {
        let text = "1 rank: message rates need at least two; start two or more, on two nodes if network \
                    devices are to be measured (if more were started, each was a job of its own: the launcher \
                    belongs to another MPI than the probe, see --mpi); nothing is written";
        return Err(Infeasible(text.to_owned()).into());
    }
    if record.hosts.len() == 1 && record.shares_pus {
        let text = "one node whose ranks share PUs: network devices need ranks on two nodes, and \
                    memory and caches a core for each rank; nothing is written";
        return Err(Infeasible(text.to_owned()).into());
    }
    Ok(())
}

/// What is said about a record that is not of all.
pub(super) fn remarks(record: &Record, cluster: &Cluster) -> Vec<String> {
    let mut remarks = Vec::new();
    if record.hosts.len() == 1 {
        let text = "one node: network devices are not measured; they keep the rates that they had";
        remarks.push(text.to_owned());
    }
    if record.hosts.len() > 1 && record.hosts.iter().all(|host| host.ranks == 1) {
        let text = "one rank per node: the curve of pairs has one point";
        remarks.push(text.to_owned());
    }
    if !record.shares_pus && record.hosts.iter().all(|host| host.bound == 0) {
        let text = "no rank could be bound to a core: cores, caches and memories are not measured; let the \
                    launcher bind each rank to one";
        remarks.push(text.to_owned());
    }
    if record.shares_pus && !cluster.emulated {
        let one_kernel = record.hosts.len() > 1
            && record.hosts.iter().all(|host| host.kernel == record.hosts[0].kernel);
        let text = match one_kernel {
            true => {
                "all hosts are one machine: cores, caches and memories are not measured; write \
                     `emulated = true` into the description"
            }
            false => {
                "ranks share PUs: cores, caches and memories are not measured; start one rank per \
                      core"
            }
        };
        remarks.push(text.to_owned());
    }
    remarks
}

/// That the latency of network devices has waiting for a PU in it, if it seems so.
pub(super) fn waited(record: &Record, fitted: &Fitted) -> Option<String> {
    let rows = &mut fitted.rows.iter().filter(|_| record.shares_pus);
    let row = rows.find(|row| row.rate == "nic_latency")?;
    let (Value::Time(measured), Some((Value::Time(before), _))) = (row.value, row.before) else {
        return None;
    };
    let times = measured.0 / before.0;
    (times.is_finite() && times > TIMES_LONGER).then(|| {
        format!(
            "nic_latency is {times:.0} times that before: ranks share PUs here, and waited for them; measure \
             when nothing else runs, or write the latency into the description"
        )
    })
}

/// Why a measurement should not be believed; empty if it should.
pub(super) fn doubts(record: &Record, fitted: &Fitted) -> Vec<String> {
    // Others may vary because of the host's scheduler, and matter less.
    const DECISIVE: [&str; 4] =
        ["nic_bandwidth", "nic_latency", "memory_bandwidth", "cache_bandwidth"];
    let doubt = |row: &Row| {
        if !DECISIVE.contains(&row.rate.as_str()) && row.rate != "wire_per_byte" {
            return None;
        }
        if row.samples < FEWEST_SAMPLES && row.rate != "wire_per_byte" {
            return Some(format!(
                "{} has only {}",
                row.rate,
                counted(row.samples as usize, "sample")
            ));
        }
        let percent = 100.0 * row.spread;
        match row.value {
            Value::Bandwidth(_) if row.spread > BANDWIDTH_SPREAD => {
                Some(format!("{} varies by {percent:.0} %", row.rate))
            }
            Value::Time(_) if row.spread > TIME_SPREAD && !record.shares_pus => {
                Some(format!("{} varies by {percent:.0} %", row.rate))
            }
            Value::Factor(factor) if factor > MOST_ON_WIRE => {
                Some(format!("the device sent {factor:.1} bytes for each of the probe"))
            }
            Value::Factor(factor) if factor < LEAST_ON_WIRE => Some(format!(
                "the busiest device sent only {factor:.2} of the payload: the MPI library used several \
                 devices; choose one (OMPI_MCA_btl_tcp_if_include, UCX_NET_DEVICES) and measure again"
            )),
            _ => None,
        }
    };
    fitted.rows.iter().filter_map(doubt).collect()
}
