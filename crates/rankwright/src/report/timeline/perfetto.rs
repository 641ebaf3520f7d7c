//! A time line as a trace that <https://ui.perfetto.dev> and `chrome://tracing` open: the JSON of the Trace
//! Event Format. A process for each node, with a track for each rank and counters for each device.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Value, json};

use crate::timeline::{Bins, Timeline};

/// Writes the trace. Times in it are microseconds, with nanoseconds as decimals; counters have a value for
/// each of `bins`, in MB/s.
///
/// # Errors
/// If it cannot be written.
pub fn perfetto(timeline: &Timeline, bins: &Bins, out: &mut dyn Write) -> io::Result<()> {
    let mut events = Events { out, first: true };
    events.out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")?;
    // Process 0 stands for the idle process of a machine.
    let mut nodes: BTreeMap<&str, usize> = BTreeMap::new();
    for device in &timeline.devices {
        let next = nodes.len() + 1;
        nodes.entry(&device.site.node).or_insert(next);
    }
    for (name, pid) in &nodes {
        events
            .add(&json!({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}))?;
    }
    let mut named = vec![false; timeline.ranks.len()];
    for device in &timeline.devices {
        let pid = nodes[device.site.node.as_str()];
        ranks(timeline, device, pid, &mut named, &mut events)?;
        counters(device, pid, bins, &mut events)?;
    }
    events.out.write_all(b"\n]}\n")
}

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
}

/// The sends of ranks through a device. A rank sends one message after the other through a device; if it
/// has several, they are in tracks of their own, because the slices of a track must not cross.
fn ranks(
    timeline: &Timeline,
    device: &crate::timeline::Device,
    pid: usize,
    named: &mut [bool],
    events: &mut Events<'_>,
) -> io::Result<()> {
    let mut free = vec![f64::NEG_INFINITY; timeline.ranks.len()];
    let mut tracks: BTreeMap<u32, usize> = BTreeMap::new();
    for (send, end) in device.out.transfers.iter().zip(&device.out.occupation.other_end) {
        let rank = send.process as usize;
        if let std::collections::btree_map::Entry::Vacant(track) = tracks.entry(send.process) {
            let again = std::mem::replace(&mut named[rank], true);
            // Tracks of further devices get numbers behind those of all ranks.
            let tid = if again { timeline.ranks.len() * pid + rank + 1 } else { rank + 1 };
            track.insert(tid);
            let name = match again {
                true => format!("rank {rank}, {}", device.site.device),
                false => format!("rank {rank}"),
            };
            let args = json!({"name": name});
            events.add(
                &json!({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": args}),
            )?;
            let args = json!({"sort_index": rank});
            events.add(
                &json!({"ph": "M", "name": "thread_sort_index", "pid": pid, "tid": tid, "args": args}),
            )?;
        }
        let begin = microseconds(send.time.max(free[rank]));
        free[rank] = *end;
        events.add(&json!({
            "ph": "X", "cat": "send", "name": format!("to {}", send.peer), "pid": pid,
            "tid": tracks[&send.process], "ts": begin, "dur": (microseconds(*end) - begin).max(0.0),
            "args": {"bytes": send.bytes}
        }))?;
    }
    Ok(())
}

fn counters(
    device: &crate::timeline::Device,
    pid: usize,
    bins: &Bins,
    events: &mut Events<'_>,
) -> io::Result<()> {
    for (direction, bytes) in ["out", "in"].into_iter().zip(device.bins(bins)) {
        let name = format!("{} {direction}", device.site.device).trim().to_owned();
        let mut last = f64::NAN;
        for (number, bytes) in bytes.values.iter().chain(&[0.0]).enumerate() {
            let rate = (bytes / bins.width / 1e6 * 1e3).round() / 1e3;
            if rate == last {
                continue;
            }
            last = rate;
            let ts = microseconds(bins.begin + bins.width * number as f64);
            let args = json!({"MB/s": rate});
            events.add(&json!({"ph": "C", "name": name, "pid": pid, "ts": ts, "args": args}))?;
        }
    }
    Ok(())
}

/// Rounded to nanoseconds.
fn microseconds(seconds: f64) -> f64 {
    (seconds * 1e9).round() / 1e3
}
