//! A time line as a trace that <https://ui.perfetto.dev> and `chrome://tracing` open: the JSON of the Trace
//! Event Format. A process for each node, with a track for each rank and counters for each device.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Value, json};

use super::CountedRow;
use crate::ids::Rank;
use crate::timeline::{Bins, Sites, Timeline};

/// Writes the trace. Times in it are microseconds, with nanoseconds as decimals; counters have a value for
/// each of `bins`, in MB/s. `sites` has the nodes of the ranks of `timeline`, which is `None` if only
/// counters were recorded; `counted` is what devices counted in `bins`.
///
/// # Errors
/// If it cannot be written.
pub fn perfetto(
    timeline: Option<&Timeline>,
    sites: &Sites,
    counted: &[CountedRow],
    bins: &Bins,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut events = Events { out, first: true };
    events.out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")?;
    // Process 0 stands for the idle process of a machine.
    let mut nodes: BTreeMap<&str, usize> = BTreeMap::new();
    let devices = timeline.map_or(&[][..], |timeline| &timeline.devices);
    let of_devices = devices.iter().map(|device| &device.site.node);
    for name in of_devices.chain(counted.iter().map(|row| &row.node)) {
        let next = nodes.len() + 1;
        nodes.entry(name).or_insert(next);
    }
    for (name, pid) in &nodes {
        events
            .add(&json!({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}))?;
    }
    if let Some(timeline) = timeline {
        for rank in (0..timeline.ranks.len()).map(Rank::from_index) {
            let first = sites.devices_of(rank)[0] as usize;
            let pid = nodes[sites.devices[first].node.as_str()];
            events.track(pid, rank.index() + 1, &format!("rank {rank}"), rank)?;
        }
        let mut slices_of = vec![false; timeline.ranks.len()];
        for device in devices {
            let pid = nodes[device.site.node.as_str()];
            ranks(device, pid, &mut slices_of, &mut events)?;
            for (direction, bytes) in DIRECTIONS.iter().zip(device.bins(bins)) {
                let name = format!("{} {direction}", device.site.device);
                counter(name.trim(), pid, &bytes.values, bins, &mut events)?;
            }
        }
    }
    for row in counted {
        for (direction, bytes) in DIRECTIONS.iter().zip([&row.bytes_out, &row.bytes_in]) {
            let name = format!("{} counted {direction}", row.device);
            counter(&name, nodes[row.node.as_str()], bytes, bins, &mut events)?;
        }
    }
    events.out.write_all(b"\n]}\n")
}

/// As counters name them.
const DIRECTIONS: [&str; 2] = ["out", "in"];

/// The events of a trace, separated by commas.
struct Events<'a> {
    out: &'a mut dyn Write,
    first: bool,
}

impl Events<'_> {
    fn add(&mut self, event: &Value) -> io::Result<()> {
        if !std::mem::take(&mut self.first) {
            self.out.write_all(b",\n")?;
        }
        serde_json::to_writer(&mut *self.out, event)?;
        Ok(())
    }

    /// A track with a name, in the order of ranks.
    fn track(&mut self, pid: usize, tid: usize, name: &str, rank: Rank) -> io::Result<()> {
        for (what, args) in [
            ("thread_name", json!({"name": name})),
            ("thread_sort_index", json!({"sort_index": rank.0})),
        ] {
            self.add(&json!({"ph": "M", "name": what, "pid": pid, "tid": tid, "args": args}))?;
        }
        Ok(())
    }
}

/// The sends of ranks through a device. A rank sends one message after the other through a device; if it
/// has several, those of all but one are in tracks of their own, because the slices of a track must not
/// cross. Index of `slices_of`: rank; whether its own track has slices of a device.
fn ranks(
    device: &crate::timeline::Device,
    pid: usize,
    slices_of: &mut [bool],
    events: &mut Events<'_>,
) -> io::Result<()> {
    let count = slices_of.len();
    let mut free = vec![f64::NEG_INFINITY; count];
    let mut tracks: BTreeMap<u32, usize> = BTreeMap::new();
    for (send, end) in device.out.transfers.iter().zip(&device.out.occupation.other_end) {
        let rank = send.process as usize;
        let tid = match tracks.get(&send.process) {
            Some(tid) => *tid,
            None if !std::mem::replace(&mut slices_of[rank], true) => rank + 1,
            None => {
                // Behind the numbers of all ranks.
                let tid = count * pid + rank + 1;
                let name = format!("rank {rank}, {}", device.site.device);
                events.track(pid, tid, &name, Rank(send.process))?;
                tid
            }
        };
        tracks.insert(send.process, tid);
        let begin = microseconds(send.time.max(free[rank]));
        free[rank] = *end;
        events.add(&json!({
            "ph": "X", "cat": "send", "name": format!("to {}", send.peer), "pid": pid,
            "tid": tid, "ts": begin, "dur": (microseconds(*end) - begin).max(0.0),
            "args": {"bytes": send.bytes}
        }))?;
    }
    Ok(())
}

/// A counter, with a value where it changes. Index of `bytes`: bin.
fn counter(
    name: &str,
    pid: usize,
    bytes: &[f64],
    bins: &Bins,
    events: &mut Events<'_>,
) -> io::Result<()> {
    let mut last = f64::NAN;
    for (number, bytes) in bytes.iter().chain(&[0.0]).enumerate() {
        let rate = (bytes / bins.width / 1e6 * 1e3).round() / 1e3;
        if rate == last {
            continue;
        }
        last = rate;
        let ts = microseconds(bins.begin + bins.width * number as f64);
        let args = json!({"MB/s": rate});
        events.add(&json!({"ph": "C", "name": name, "pid": pid, "ts": ts, "args": args}))?;
    }
    Ok(())
}

/// Rounded to nanoseconds.
fn microseconds(seconds: f64) -> f64 {
    (seconds * 1e9).round() / 1e3
}
