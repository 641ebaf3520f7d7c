//! The time of the rounds of a rank in a closed loop, without delays by messages of other ranks.

use crate::cluster::Cluster;
use crate::ids::{GlobalRank, ServerId};
use crate::network::{Clock, ClockGroups, Multicast, OUTSIDE, Port, SiteModel, Sites};
use crate::placement::{Mapping, PlacementError, Slot};
use crate::traffic::Workload;
use crate::units::Seconds;

/// The time that the rounds of every source take in a closed loop in which only its own messages
/// delay each other: one of the two asymptotic bounds of a closed queueing network (Denning and Buzen
/// 1978, "The operational analysis of queueing network models"). The other one, the busiest server, is
/// `OfferedLoad::latest`.
///
/// As in the simulator, the next round begins when all messages of the last have arrived and the clock
/// has ticked. The clock stands still while the messages of its round are on their way, less the
/// services that real networks do at the same time as the longest of a path; those of a recorded run
/// tick in the time that ranks compute ([`Workload::in_computing_time`]). Queue pairs and their
/// processing hardware are left out, as in [`OfferedLoad`](super::OfferedLoad).
#[derive(Debug, Clone)]
pub struct RoundTrips {
    clocks: ClockGroups,
    paths: SitePaths,
    buffers: Buffers,
    /// The sites of the last evaluation. Index: [`GlobalRank`](crate::ids::GlobalRank).
    site_of: Vec<u32>,
    /// The times of the last evaluation. A part is a single clock or, after all of these, a multicast.
    /// Index: part.
    times: Vec<RoundTripTimes>,
    /// Index: part.
    stale: Vec<bool>,
    /// How many paths of messages all evaluations together have computed: their work.
    computed_paths: u64,
    /// The parts of each rank. Index: [`GlobalRank`](crate::ids::GlobalRank).
    parts_of: Vec<Vec<u32>>,
}

/// The rounds of all sources together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RoundTripTimes {
    /// The time of the source whose rounds take longest.
    pub longest: Seconds,
    /// The sum over all sources of the eighth powers of their times in seconds.
    pub powers: f64,
}

/// One round, seconds.
#[derive(Debug, Clone, Copy, Default)]
struct Round {
    /// From its beginning to the arrival of its last message.
    lasts: f64,
    /// For how long the clock stands still.
    stands: f64,
}

/// The buffers of an evaluation, kept to avoid allocations.
#[derive(Debug, Clone)]
struct Buffers {
    /// The members of the present multicast. Index: site.
    members: Vec<f64>,
    /// The senders of the present multicast. Index: site.
    senders: Vec<f64>,
    /// The sites with members.
    occupied: Vec<u32>,
    receivers: ReceiverServers,
}

/// The servers of receivers in one round.
#[derive(Debug, Clone)]
struct ReceiverServers {
    /// The end of the last service, seconds; 0 before the first. Index: [`ServerId`].
    free: Vec<f64>,
    /// The servers that have served something.
    used: Vec<ServerId>,
}

/// The paths between all sites.
#[derive(Debug, Clone)]
struct SitePaths {
    sites: Sites,
    /// Bytes. Index: as [`ClockGroups::lengths`].
    lengths: Vec<f64>,
}

/// The service times of one message, seconds.
#[derive(Debug, Clone, Copy, Default)]
struct PathTimes {
    /// The memory of the sender, with all accesses if the receiver has the same memory.
    memory: f64,
    /// The fastest network device of the sender; 0 inside a node.
    out: f64,
    /// The mean over many messages at the busiest device of the sender.
    out_share: f64,
    /// What a far device costs the sender's core.
    early: f64,
    links: f64,
    /// The fastest device of the receiver.
    into: f64,
    /// The memory of the receiver, or the cache that it shares with the sender.
    arrival: f64,
    /// The time that a far device costs the receiver's core.
    late: f64,
    /// The longest of these services.
    longest: f64,
    /// Whether sender and receiver have one device each, which serves one message after the other.
    single_devices: bool,
}

/// The last message of a multicast round arrives no earlier: the longest path, or the work of one of the sender's servers
/// with the shortest path from it. Seconds.
#[derive(Debug, Clone, Copy)]
struct MulticastBound {
    longest: f64,
    /// From the sender's memory.
    behind_memory: f64,
    /// From the sender's device.
    behind_out: f64,
}

/// More ends than any workload has, so that none are joined.
const MOST_KINDS: usize = 64;

impl RoundTrips {
    /// For mappings of a workload to these slots.
    ///
    /// # Errors
    /// If a slot does not exist in the cluster.
    pub fn new(
        cluster: &Cluster,
        workload: &Workload,
        slots: &[Slot],
    ) -> Result<Self, PlacementError> {
        let SiteModel { clocks, sites, lengths } =
            SiteModel::new(cluster, workload, slots, MOST_KINDS)?;
        let count = sites.sites.len();
        let receivers = ReceiverServers { free: vec![0.0; sites.kinds.len()], used: Vec::new() };
        let buffers = Buffers {
            members: vec![0.0; count],
            senders: vec![0.0; count],
            occupied: Vec::new(),
            receivers,
        };
        let parts = clocks.singles.len() + clocks.multicasts.len();
        Ok(Self {
            parts_of: parts_of(&clocks),
            site_of: vec![u32::MAX; clocks.rank_count],
            times: vec![RoundTripTimes::default(); parts],
            stale: vec![false; parts],
            computed_paths: 0,
            clocks,
            paths: SitePaths { sites, lengths },
            buffers,
        })
    }

    /// The rounds under a mapping to the slots of [`RoundTrips::new`]. What has not changed since the
    /// last evaluation is not computed again.
    pub fn evaluate(&mut self, mapping: &Mapping) -> RoundTripTimes {
        let sites = self.paths.sites.of_mapping(mapping);
        for ((site, last), parts) in sites.zip(&mut self.site_of).zip(&self.parts_of) {
            if *last != site {
                *last = site;
                parts.iter().for_each(|part| self.stale[*part as usize] = true);
            }
        }
        for part in 0..self.stale.len() {
            if std::mem::take(&mut self.stale[part]) {
                self.times[part] = match part.checked_sub(self.clocks.singles.len()) {
                    None => self.of_single(part),
                    Some(multicast) => self.of_multicast(multicast),
                };
            }
        }
        let mut times = RoundTripTimes::default();
        for part in &self.times {
            times.longest.0 = times.longest.0.max(part.longest.0);
            times.powers += part.powers;
        }
        times
    }

    /// How many paths of messages have been computed since [`RoundTrips::new`]: the work of the evaluations.
    #[must_use]
    pub fn computed_paths(&self) -> u64 {
        self.computed_paths
    }

    fn of_single(&mut self, number: usize) -> RoundTripTimes {
        let single = &self.clocks.singles[number];
        self.computed_paths += single.sends.len() as u64;
        let site = |rank| match rank {
            OUTSIDE => None,
            rank => Some(self.site_of[rank.index()] as usize),
        };
        let sends = single.sends.iter().map(|send| (site(send.rank), send.length as usize));
        let from = self.site_of[single.sender.index()] as usize;
        let round = self.paths.round(from, sends, &mut self.buffers.receivers);
        let mut times = RoundTripTimes::default();
        times.add(round.all(&single.clock), 1.0);
        times
    }

    fn of_multicast(&mut self, number: usize) -> RoundTripTimes {
        let mut times = RoundTripTimes::default();
        let multicast = &self.clocks.multicasts[number];
        let site = |rank: GlobalRank| self.site_of[rank.index()];
        let buffers = &mut self.buffers;
        if let [sender] = multicast.senders[..] {
            self.computed_paths += multicast.members.len() as u64;
            let others = multicast.members.iter().filter(|rank| **rank != sender);
            let sends = others.map(|rank| (Some(site(*rank) as usize), multicast.length));
            let from = site(sender) as usize;
            let round = self.paths.round(from, sends, &mut buffers.receivers);
            times.add(round.all(&multicast.clock), 1.0);
            return times;
        }
        for site in buffers.occupied.drain(..) {
            (buffers.members[site as usize], buffers.senders[site as usize]) = (0.0, 0.0);
        }
        for rank in &multicast.members {
            let site = site(*rank);
            if buffers.members[site as usize] == 0.0 {
                buffers.occupied.push(site);
            }
            buffers.members[site as usize] += 1.0;
        }
        for rank in &multicast.senders {
            buffers.senders[site(*rank) as usize] += 1.0;
        }
        let sites = buffers.occupied.iter().map(|site| (*site, buffers.senders[*site as usize]));
        for (from, senders) in sites.filter(|(_, senders)| *senders > 0.0) {
            self.computed_paths += buffers.occupied.len() as u64;
            let round = self.paths.multicast_round(multicast, from, buffers);
            times.add(round.all(&multicast.clock), senders);
        }
        times
    }
}

/// The parts of each rank, as [`RoundTrips::parts_of`].
fn parts_of(clocks: &ClockGroups) -> Vec<Vec<u32>> {
    let mut parts_of = vec![Vec::new(); clocks.rank_count];
    for (number, single) in (0..).zip(&clocks.singles) {
        let mut ranks: Vec<GlobalRank> = single.sends.iter().map(|send| send.rank).collect();
        ranks.push(single.sender);
        ranks.sort_unstable();
        ranks.dedup();
        for rank in ranks.into_iter().filter(|rank| *rank != OUTSIDE) {
            parts_of[rank.index()].push(number);
        }
    }
    for (number, multicast) in (clocks.singles.len() as u32..).zip(&clocks.multicasts) {
        multicast.members.iter().for_each(|rank| parts_of[rank.index()].push(number));
    }
    parts_of
}

impl ReceiverServers {
    /// Serves a message that arrives at a time, seconds. Returns the end of the service.
    fn serve(&mut self, server: ServerId, arrival: f64, service: f64) -> f64 {
        let free = &mut self.free[server.index()];
        if *free == 0.0 {
            self.used.push(server);
        }
        *free = free.max(arrival) + service;
        *free
    }

    fn clear(&mut self) {
        for server in self.used.drain(..) {
            self.free[server.index()] = 0.0;
        }
    }
}

impl Round {
    /// The time of all rounds of a clock, seconds. Its first tick may be at once.
    fn all(&self, clock: &Clock) -> f64 {
        self.lasts + (clock.rounds - 1.0) * self.lasts.max(1.0 / clock.rate + self.stands)
    }

    /// Adds a message that arrives `arrives` seconds after the round starts. `overlap`: the sum of its service
    /// times without the longest, in seconds.
    fn add(&mut self, arrives: f64, overlap: f64) {
        self.lasts = self.lasts.max(arrives);
        self.stands = self.stands.max(arrives - overlap);
    }
}

impl SitePaths {
    /// One round of a rank that sends its messages at once. `sends`: the site of each receiver, `None`
    /// outside, and the index of the length, in the order of sending.
    fn round(
        &self,
        from: usize,
        sends: impl Iterator<Item = (Option<usize>, usize)>,
        receivers: &mut ReceiverServers,
    ) -> Round {
        let (mut memory, mut out, mut shares, mut overlap): (f64, f64, f64, f64) =
            (0.0, 0.0, 0.0, 0.0);
        let mut round = Round::default();
        for (to, length) in sends {
            let path = self.times(from, to, length);
            memory += path.memory;
            if path.out == 0.0 {
                round.add(memory + path.arrival, path.overlap());
                continue;
            }
            shares = if shares == 0.0 { memory } else { shares } + path.out_share;
            overlap = overlap.max(path.overlap());
            let receiver = to.map(|to| &self.sites.sites[to]);
            let arrives = if let (true, Some(receiver)) = (path.single_devices, receiver) {
                out = out.max(memory) + path.out;
                let arrival = out + path.early + path.links;
                let into = receivers.serve(receiver.ports[0].into, arrival, path.into);
                receivers.serve(receiver.memory, into, path.arrival) + path.late
            } else {
                memory + path.behind_memory()
            };
            round.add(arrives, path.overlap());
        }
        receivers.clear();
        round.add(shares, overlap);
        round
    }

    /// A lower bound of one round of a multicast for each sender of a site.
    fn multicast_round(&self, multicast: &Multicast, from: u32, buffers: &Buffers) -> Round {
        let (mut memory, mut out, mut before_out) = (0.0, 0.0, 0.0);
        let (mut lasts, mut stands) = (MulticastBound::default(), MulticastBound::default());
        for to in &buffers.occupied {
            let count = buffers.members[*to as usize] - f64::from(u8::from(*to == from));
            if count == 0.0 {
                continue;
            }
            let path = self.times(from as usize, Some(*to as usize), multicast.length);
            lasts.add(&path, 0.0);
            stands.add(&path, path.overlap());
            memory += count * path.memory;
            if path.out > 0.0 {
                out += count * path.out_share;
                before_out = path.memory;
            }
        }
        let end = |bound: &MulticastBound| bound.end(memory, before_out, out);
        Round { lasts: end(&lasts), stands: end(&stands) }
    }

    /// From a site to another, or to the outside. `length`: index in [`ClockGroups::lengths`].
    fn times(&self, from: usize, to: Option<usize>, length: usize) -> PathTimes {
        let bytes = self.lengths[length];
        let sender = &self.sites.sites[from];
        let busiest = || sender.ports.iter().map(|port| port.share * port.time).fold(0.0, f64::max);
        let outside = || PathTimes {
            memory: bytes * sender.memory_time,
            out: bytes * fastest(&sender.ports),
            out_share: bytes * busiest(),
            early: self.sites.far_core_time(length, from),
            longest: bytes * sender.memory_time.max(fastest(&sender.ports)),
            ..PathTimes::default()
        };
        let Some(to) = to else {
            return outside();
        };
        let receiver = &self.sites.sites[to];
        if sender.node != receiver.node {
            let (mut links, mut longest) =
                (0.0, receiver.memory_time.max(fastest(&receiver.ports)));
            for link in self.sites.links_between(sender.node, receiver.node) {
                links += link.time;
                longest = longest.max(link.time);
            }
            let outside = outside();
            return PathTimes {
                links: bytes * links,
                longest: outside.longest.max(bytes * longest),
                // Behind the device: the next message there does not wait for it.
                late: self.sites.far_core_time(length, to),
                into: bytes * fastest(&receiver.ports),
                arrival: bytes * receiver.memory_time,
                single_devices: sender.ports.len() == 1 && receiver.ports.len() == 1,
                ..outside
            };
        }
        let first = self.sites.nodes[sender.node].sites.start;
        let local = self.sites.local(length, from)[to - first];
        if local.first + local.rest == 0.0 {
            return PathTimes { arrival: local.cache, ..PathTimes::default() };
        }
        let longest = local.first.max(local.rest / local.rest_count.max(1.0));
        if sender.memory == receiver.memory {
            PathTimes { memory: local.first + local.rest, longest, ..PathTimes::default() }
        } else {
            PathTimes { memory: local.first, arrival: local.rest, longest, ..PathTimes::default() }
        }
    }
}

impl PathTimes {
    /// From the end of the service at the sender's memory to the receiver, seconds.
    fn behind_memory(&self) -> f64 {
        self.out + self.behind_out()
    }

    /// From the end of the service at the sender's device to the receiver, seconds.
    fn behind_out(&self) -> f64 {
        self.early + self.links + self.into + self.arrival + self.late
    }

    /// The sum of the service times without the longest, in seconds; 0 for a message through a shared cache,
    /// which passes no server.
    fn overlap(&self) -> f64 {
        if self.longest == 0.0 {
            return 0.0;
        }
        self.memory + self.out + self.links + self.into + self.arrival - self.longest
    }
}

impl MulticastBound {
    /// Adds the path to a member, whose latency is `overlap` seconds shorter.
    fn add(&mut self, path: &PathTimes, overlap: f64) {
        let behind_memory = path.behind_memory() - overlap;
        self.longest = self.longest.max(path.memory + behind_memory);
        self.behind_memory = self.behind_memory.min(behind_memory);
        if path.out > 0.0 {
            self.behind_out = self.behind_out.min(path.behind_out() - overlap);
        }
    }

    /// `memory` and `out`: the work of the sender's memory and of its device, which begins after `before_out`; seconds.
    fn end(&self, memory: f64, before_out: f64, out: f64) -> f64 {
        let by_memory = if memory > 0.0 { memory + self.behind_memory } else { 0.0 };
        let by_out = if out > 0.0 { before_out + out + self.behind_out } else { 0.0 };
        self.longest.max(by_memory).max(by_out)
    }
}

impl Default for MulticastBound {
    fn default() -> Self {
        Self { longest: 0.0, behind_memory: f64::INFINITY, behind_out: f64::INFINITY }
    }
}

/// Seconds per byte of the fastest of several devices; 0 without devices.
fn fastest(ports: &[Port]) -> f64 {
    ports.iter().map(|port| port.time).reduce(f64::min).unwrap_or_default()
}

impl RoundTripTimes {
    fn add(&mut self, seconds: f64, sources: f64) {
        self.longest.0 = self.longest.0.max(seconds);
        self.powers += sources * seconds.powi(8);
    }
}
