//! Traffic for people: totals, heaviest pairs, and a heat map of the communication matrix.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use serde::Serialize;

use super::partial::partial_records;
use crate::ids::Rank;
use crate::traffic::collectives::Operation;
use crate::traffic::profile::{FlowKind, Profile};
use crate::traffic::topology::TopologyKind;
use crate::traffic::{Flow, Job, add_up};
use crate::units::{Bytes, counted};

/// The summary of a profile, before any placement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrafficSummary {
    /// The program.
    pub program: String,
    /// The origin of the traffic, such as the tracer or an importer.
    pub origin: String,
    /// The MPI library; empty if there was none.
    pub mpi_library: String,
    /// The library through which the program calls MPI: `mpi4py`; empty if none is known.
    pub called_through: String,
    /// Libraries by which the program may send past MPI; what they send is not counted.
    pub beside_mpi: Vec<String>,
    /// What the MPI library said about its collective algorithms and message limits, by name.
    pub library_settings: BTreeMap<String, String>,
    /// Number of ranks.
    pub ranks: u32,
    /// Number of hosts of the recorded run; 0 if unknown.
    pub hosts: usize,
    /// Number of messages between two ranks, point-to-point and one-sided.
    pub messages: u64,
    /// Bytes of these messages.
    pub bytes: u64,
    /// Number of messages of one-sided calls.
    pub one_sided_messages: u64,
    /// Bytes of one-sided calls.
    pub one_sided_bytes: u64,
    /// Bytes of messages that ranks send to themselves.
    pub self_bytes: u64,
    /// Bytes between ranks of one host in the recorded run; `None` if hosts are unknown.
    pub bytes_within_hosts: Option<u64>,
    /// Number of pairs that communicate.
    pub pairs: usize,
    /// Number of pairs with point-to-point messages.
    pub point_to_point_pairs: usize,
    /// The topologies that the program declares, by kind.
    pub declared: Vec<DeclaredSummary>,
    /// The largest memory use of any rank, bytes; `None` if unknown.
    pub peak_memory_bytes: Option<u64>,
    /// What is missing because the run ended early; empty for a complete profile.
    pub partial: Vec<String>,
    /// Calls and bytes of each collective operation.
    pub collectives: Vec<CollectiveSummary>,
    /// The pairs with the most bytes.
    pub heaviest: Vec<Flow>,
}

/// The declared topologies of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeclaredSummary {
    /// The kind.
    pub kind: TopologyKind,
    /// Number of communicators with such a topology.
    pub communicators: usize,
    /// Number of pairs of a rank and a neighbour it sends to, over all these communicators.
    pub pairs: usize,
}

/// All calls to one collective operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CollectiveSummary {
    /// Its name.
    pub operation: &'static str,
    /// Number of calls, summed over ranks.
    pub calls: u64,
    /// Number of ranks that made them.
    pub ranks: usize,
    /// Number of calls of each of these ranks; `None` if they differ.
    pub calls_per_rank: Option<u64>,
    /// Bytes that the ranks contribute by their own arguments.
    pub bytes: u64,
}

impl fmt::Display for CollectiveSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, calls, ranks, calls_per_rank, bytes } = self;
        write!(f, "{operation}: ")?;
        match calls_per_rank {
            Some(calls) if *ranks > 1 => {
                write!(f, "{calls} {} on each of {ranks} ranks", noun(*calls, "call"))?;
            }
            _ => write!(f, "{calls} {} on {}", noun(*calls, "call"), counted(*ranks, "rank"))?,
        }
        match bytes {
            0 => Ok(()),
            bytes if *ranks > 1 => write!(f, ", {:.1} contributed by all", Bytes(*bytes)),
            bytes => write!(f, ", {:.1} contributed", Bytes(*bytes)),
        }
    }
}

impl TrafficSummary {
    /// Sums up a profile; `heaviest` pairs are listed.
    #[must_use]
    pub fn new(profile: &Profile, heaviest: usize) -> Self {
        let between = |flow: &&Flow| flow.source != flow.destination;
        let flows = || profile.flows.iter().map(|record| &record.flow);
        let host = |rank: Rank| profile.ranks[rank.index()].host.as_str();
        let mut hosts: Vec<&str> = profile.ranks.iter().map(|rank| rank.host.as_str()).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let hosts_known = !hosts.contains(&"");
        let within = || {
            let same = |flow: &&Flow| host(flow.source) == host(flow.destination);
            sum(flows().filter(between).filter(same))
        };
        let mut pairs: Vec<Flow> = flows().filter(between).copied().collect();
        add_up(&mut pairs);
        let one_sided = || {
            let records = profile.flows.iter();
            let records = records.filter(|record| record.kind != FlowKind::PointToPoint);
            records.map(|record| &record.flow).filter(between)
        };
        let messages = |flow: &Flow| flow.messages;
        let count = pairs.len();
        pairs.sort_by_key(|f| (std::cmp::Reverse(f.bytes), f.source, f.destination));
        pairs.truncate(heaviest);
        Self {
            program: profile.run.program.clone(),
            origin: profile.run.origin.clone(),
            mpi_library: profile.run.mpi_library.clone(),
            called_through: profile.run.called_through.clone(),
            beside_mpi: profile.run.beside_mpi.clone(),
            library_settings: profile.library_settings.clone(),
            ranks: Rank::from_index(profile.ranks.len()).0,
            hosts: if hosts_known { hosts.len() } else { 0 },
            messages: flows().filter(between).map(messages).fold(0, u64::saturating_add),
            bytes: sum(flows().filter(between)),
            one_sided_messages: one_sided().map(messages).fold(0, u64::saturating_add),
            one_sided_bytes: sum(one_sided()),
            self_bytes: sum(flows().filter(|flow| !between(flow))),
            bytes_within_hosts: hosts_known.then(within),
            pairs: count,
            point_to_point_pairs: profile
                .flows
                .iter()
                .filter(|record| record.kind == FlowKind::PointToPoint && between(&&record.flow))
                .count(),
            declared: declared(profile),
            peak_memory_bytes: profile
                .ranks
                .iter()
                .map(|rank| rank.peak_memory.0)
                .max()
                .filter(|b| *b > 0),
            partial: partial_records(profile),
            collectives: collectives(profile),
            heaviest: pairs,
        }
    }

    /// The line that names the program.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{:<16}{}, {}\n", "program", self.program, counted(self.ranks as usize, "rank"))
    }

    /// The line that says who sends to whom: to how many others a rank sends, and the pairs with the most
    /// bytes as far as they are listed. Empty if the ranks only call collective operations.
    #[must_use]
    pub fn partners(&self) -> String {
        if self.pairs == 0 {
            return String::new();
        }
        let (each, others) = (self.pairs as f64 / f64::from(self.ranks), self.ranks - 1);
        let share = |flow: &Flow| 100.0 * flow.bytes as f64 / self.bytes.max(1) as f64;
        let pair =
            |flow: &Flow| format!("{} to {} ({:.1} %)", flow.source, flow.destination, share(flow));
        // The first pair has the most bytes, so that all are alike if it has an equal share.
        let first = self.heaviest.first();
        let all_alike = |flow: &Flow| flow.bytes.saturating_mul(self.pairs as u64) == self.bytes;
        let most = match first {
            None => String::new(),
            Some(flow) if all_alike(flow) => format!("; {:.1} on every pair", Bytes(flow.bytes)),
            Some(_) => {
                let pairs: Vec<String> = self.heaviest.iter().take(3).map(pair).collect();
                format!("; most bytes: {}", pairs.join(", "))
            }
        };
        let others = counted(others as usize, "other rank");
        let text = format!("a rank sends to {each:.1} of {others} on average{most}");
        format!("{:<16}{text}\n", "partners")
    }

    /// What was sent, and by whom it was recorded, as lines of text below the title;
    /// [`Triage`](super::triage::Triage) has what it means for a placement.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |name: &str, value: String| {
            let _ = writeln!(text, "{name:<16}{value}");
        };
        let library = if self.mpi_library.is_empty() { "" } else { ", " };
        line("recorded by", format!("{}{library}{}", self.origin, self.mpi_library));
        if !self.beside_mpi.is_empty() {
            let names = self.beside_mpi.join(", ");
            line("beside MPI", format!("{names}: what is sent through it is not recorded"));
        }
        let (bytes, messages) =
            (self.bytes - self.one_sided_bytes, self.messages - self.one_sided_messages);
        let pairs = counted(self.point_to_point_pairs, "pair");
        line(
            "point-to-point",
            format!("{:.1} in {messages} messages between {pairs}", Bytes(bytes)),
        );
        if self.one_sided_messages > 0 {
            let (bytes, messages) = (Bytes(self.one_sided_bytes), self.one_sided_messages);
            line("one-sided", format!("{bytes:.1} in {messages} puts and gets"));
        }
        if self.self_bytes > 0 {
            line("to itself", format!("{:.1}", Bytes(self.self_bytes)));
        }
        if let Some(within) = self.bytes_within_hosts.filter(|_| self.bytes > 0) {
            let share = 100.0 * within as f64 / self.bytes.max(1) as f64;
            let hosts = counted(self.hosts, "host");
            line("within hosts", format!("{share:.1} % of the bytes, as it ran on {hosts}"));
        }
        for collective in &self.collectives {
            line("collective", collective.to_string());
        }
        for DeclaredSummary { kind, communicators, pairs } in &self.declared {
            let kind = kind.name().replace('_', " ");
            let communicators = counted(*communicators, "communicator");
            let text = format!("{kind} topology of {communicators}: {pairs} pairs of neighbours");
            line("declared", text);
        }
        if let Some(bytes) = self.peak_memory_bytes {
            line("memory", format!("{:.1} at most by one rank", Bytes(bytes)));
        }
        for sentence in &self.partial {
            line("partial", sentence.clone());
        }
        text
    }
}

fn noun(count: u64, noun: &str) -> String {
    if count == 1 { noun.to_owned() } else { format!("{noun}s") }
}

fn sum<'a>(flows: impl Iterator<Item = &'a Flow>) -> u64 {
    flows.map(|flow| flow.bytes).fold(0, u64::saturating_add)
}

fn declared(profile: &Profile) -> Vec<DeclaredSummary> {
    let kinds = [TopologyKind::Cartesian, TopologyKind::Graph, TopologyKind::DistributedGraph];
    let summary = |kind| {
        let of_kind = || profile.topologies.iter().filter(move |topology| topology.kind == kind);
        let mut communicators: Vec<usize> = of_kind().map(|t| t.communicator).collect();
        communicators.dedup();
        let pairs = of_kind().map(|topology| topology.neighbours.len()).sum();
        DeclaredSummary { kind, communicators: communicators.len(), pairs }
    };
    kinds.into_iter().map(summary).filter(|summary| summary.communicators > 0).collect()
}

fn collectives(profile: &Profile) -> Vec<CollectiveSummary> {
    let mut sums: BTreeMap<Operation, (BTreeMap<Rank, u64>, u64)> = BTreeMap::new();
    for calls in &profile.collectives {
        let (by_rank, bytes) = sums.entry(calls.operation).or_default();
        let sum = by_rank.entry(calls.rank).or_default();
        *sum = sum.saturating_add(calls.calls);
        *bytes = bytes.saturating_add(calls.bytes);
    }
    let summary = |(operation, (by_rank, bytes)): (Operation, (BTreeMap<Rank, u64>, u64))| {
        let first = by_rank.values().next().copied();
        CollectiveSummary {
            operation: operation.name(),
            calls: by_rank.values().copied().fold(0, u64::saturating_add),
            ranks: by_rank.len(),
            calls_per_rank: first.filter(|first| by_rank.values().all(|calls| calls == first)),
            bytes,
        }
    };
    sums.into_iter().map(summary).collect()
}

/// From no bytes to the most.
const SHADES: [char; 6] = ['·', '░', '▒', '▓', '█', '█'];

/// The communication matrix as a heat map: senders down, receivers across, at most `width` cells in
/// each direction, so that a cell may stand for several ranks. Shades are logarithmic.
#[must_use]
pub fn heat_map(job: &Job, width: u32) -> String {
    let per_cell = job.ranks.div_ceil(width.max(1)).max(1);
    let cells = job.ranks.div_ceil(per_cell) as usize;
    let mut bytes = vec![vec![0_u64; cells]; cells];
    for flow in &job.flows {
        let cell = |rank: Rank| (rank.0 / per_cell) as usize;
        let sum = &mut bytes[cell(flow.source)][cell(flow.destination)];
        *sum = sum.saturating_add(flow.bytes);
    }
    let most = bytes.iter().flatten().copied().max().unwrap_or_default();
    let least = bytes.iter().flatten().copied().filter(|bytes| *bytes > 0).min().unwrap_or(1);
    let label = |cell: usize| cell as u64 * u64::from(per_cell);
    let digits = label(cells - 1).to_string().len().max("sender".len());
    let mut text = format!("{:>digits$}  receiver\n", "sender");
    for place in axis_labels(cells, &label) {
        let _ = writeln!(text, "{:>digits$}  {}", "", place.trim_end());
    }
    for (row, cells) in bytes.iter().enumerate() {
        let shades: String = cells.iter().map(|bytes| shade(*bytes, least, most)).collect();
        let _ = writeln!(text, "{:>digits$}  {shades}", label(row));
    }
    let ranks = if per_cell == 1 { "rank".to_owned() } else { format!("{per_cell} ranks") };
    let _ = write!(text, "\none cell: {ranks}; · none");
    if most > least {
        let _ = write!(text, ", ░ from {:.1} to █ {:.1}", Bytes(least), Bytes(most));
    } else if most > 0 {
        let _ = write!(text, ", █ {:.1}", Bytes(most));
    }
    text.push('\n');
    text
}

/// The labels of the receivers, written downwards digit by digit, every fourth cell.
fn axis_labels(cells: usize, label: &dyn Fn(usize) -> u64) -> Vec<String> {
    let digits = label(cells - 1).to_string().len();
    let mut lines = vec![String::new(); digits];
    for cell in 0..cells {
        let number = format!("{:>digits$}", label(cell));
        for (line, digit) in lines.iter_mut().zip(number.chars()) {
            line.push(if cell % 4 == 0 { digit } else { ' ' });
        }
    }
    lines
}

fn shade(bytes: u64, least: u64, most: u64) -> char {
    if bytes == 0 {
        return SHADES[0];
    }
    let span = (most as f64 / least as f64).ln();
    let place = if span > 0.0 { (bytes as f64 / least as f64).ln() / span } else { 1.0 };
    // The lightest visible shade for the least, the darkest for the most.
    SHADES[1 + (place * 4.0).floor() as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::generate::pattern::Pattern;

    #[test]
    fn a_heat_map_has_labelled_axes_and_a_legend() {
        let job = Pattern::parse("halo-2d:16:points=9").unwrap().job().unwrap();
        insta::assert_snapshot!(heat_map(&job, 64));
    }

    #[test]
    fn many_ranks_share_cells() {
        let job = Pattern::parse("ring:1000").unwrap().job().unwrap();
        let map = heat_map(&job, 20);
        assert!(map.contains("one cell: 50 ranks"), "{map}");
        assert!(map.lines().all(|line| line.chars().count() < 60));
    }

    #[test]
    fn sums_saturate() {
        let pattern = "ring:4:length=1B,messages=18446744073709551615";
        let job = Pattern::parse(pattern).unwrap().job().unwrap();
        let summary = TrafficSummary::new(&Profile::of_job(&job, "generated"), 1);
        assert_eq!((summary.messages, summary.bytes), (u64::MAX, u64::MAX));
    }

    #[test]
    fn no_traffic_is_no_division_by_zero() {
        let job = Job::new("quiet", 3, []).unwrap();
        assert!(heat_map(&job, 10).contains("···"));
        let profile = Profile::of_job(&job, "generated");
        assert!(TrafficSummary::new(&profile, 5).text().contains("between 0 pairs"));
    }

    #[test]
    fn calls_are_told_per_rank_where_all_make_equally_many() {
        let told = |calls, ranks, calls_per_rank, bytes| {
            let operation = "Bcast";
            CollectiveSummary { operation, calls, ranks, calls_per_rank, bytes }.to_string()
        };
        assert_eq!(
            told(40, 8, Some(5), 320),
            "Bcast: 5 calls on each of 8 ranks, 320 B contributed by all"
        );
        assert_eq!(told(8, 8, Some(1), 0), "Bcast: 1 call on each of 8 ranks");
        assert_eq!(told(9, 8, None, 0), "Bcast: 9 calls on 8 ranks");
        assert_eq!(told(3, 1, Some(3), 7), "Bcast: 3 calls on 1 rank, 7 B contributed");
    }

    #[test]
    fn libraries_beside_mpi_are_told() {
        let job = Job::new("training", 2, []).unwrap();
        let mut profile = Profile::of_job(&job, "generated");
        assert!(!TrafficSummary::new(&profile, 0).text().contains("beside MPI"));
        profile.run.beside_mpi = vec!["NCCL".to_owned(), "UCX".to_owned()];
        let text = TrafficSummary::new(&profile, 0).text();
        assert!(text.contains("beside MPI      NCCL, UCX: what is sent through"), "{text}");
    }

    #[test]
    fn absurd_amounts_saturate() {
        let flow = |source, destination| Flow {
            source: Rank(source),
            destination: Rank(destination),
            messages: i64::MAX as u64,
            bytes: i64::MAX as u64,
            largest: 1,
        };
        let flows = [flow(0, 1), flow(1, 2), flow(2, 0)];
        let profile = Profile::of_job(&Job::new("absurd", 3, flows).unwrap(), "imported");
        let summary = TrafficSummary::new(&profile, 5);
        assert_eq!((summary.messages, summary.bytes), (u64::MAX, u64::MAX));
    }
}
