//! How long the rounds of a rank take that waits for its messages, if nobody else is in the way.

use crate::cluster::Cluster;
use crate::ids::ServerId;
use crate::network::demand::{Demand, Fan, OUTSIDE};
use crate::network::sites::{Port, Site, Sites};
use crate::placement::{PlacementError, RankPlacement, Slot};
use crate::traffic::Workload;
use crate::units::Seconds;

/// The time that the rounds of every source take in a closed loop, if only its own messages are in
/// each other's way: one of the two asymptotic bounds of a closed queueing network (Denning and Buzen
/// 1978, "The operational analysis of queueing network models"); the other one, the busiest server, is
/// [`OfferedLoad::latest`](super::OfferedLoad::latest).
///
/// The next round is taken to begin when all messages of the last have arrived. Queue pairs and their
/// processing hardware are left out, as in [`OfferedLoad`](super::OfferedLoad).
#[derive(Debug, Clone)]
pub struct RoundTrips {
    demand: Demand,
    ways: Ways,
    /// Of one fan: how many ranks and senders are at each site, and the sites that have any.
    ranks_at: Vec<f64>,
    senders_at: Vec<f64>,
    occupied: Vec<u32>,
    busy: Busy,
    /// What was evaluated last: the site of each rank, and the times of each single and each fan.
    site_of: Vec<u32>,
    times_of: Vec<RoundTripTimes>,
    /// Per rank, the singles and fans that it is in, numbered as in `times_of`.
    parts_of: Vec<Vec<u32>>,
    /// Which of them are to be evaluated anew.
    stale: Vec<bool>,
}

/// All sources together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RoundTripTimes {
    /// Of the source whose rounds take the longest.
    pub longest: Seconds,
    /// The sum over all sources of the eighth power of their seconds.
    pub powers: f64,
}

/// Until when servers of receivers have work in one round, seconds.
#[derive(Debug, Clone)]
struct Busy {
    /// By server.
    until: Vec<f64>,
    /// Those that have any.
    servers: Vec<ServerId>,
}

/// The servers between all sites.
#[derive(Debug, Clone)]
struct Ways {
    sites: Sites,
    /// Bytes.
    lengths: Vec<f64>,
    /// Seconds per byte of a message that passes no server.
    cache: f64,
}

/// The way of one message, seconds at each stage.
#[derive(Debug, Clone, Copy, Default)]
struct Way {
    /// The memory of the sender, with all accesses if the receiver has the same.
    memory: f64,
    /// Its fastest network device; 0 inside a node.
    out: f64,
    /// The busiest of its devices, on average over many messages.
    out_share: f64,
    /// Links, and what the sender's core has to do more because of where its device is.
    links: f64,
    /// The fastest device of the receiver.
    into: f64,
    /// The memory of the receiver, or the cache that it shares with the sender.
    arrival: f64,
    /// What the receiver's core has to do more.
    late: f64,
    /// Whether sender and receiver have one device each, at which messages pass one after the other.
    in_line: bool,
}

/// Ends that nobody is asked to tell apart.
const MOST_KINDS: usize = 64;

impl RoundTrips {
    /// Of a workload whose ranks run in these slots.
    ///
    /// # Errors
    /// If a slot does not exist in the cluster.
    pub fn new(
        cluster: &Cluster,
        workload: &Workload,
        slots: &[Slot],
    ) -> Result<Self, PlacementError> {
        let demand = Demand::new(workload, MOST_KINDS);
        let places: Vec<RankPlacement> = slots.iter().map(Slot::place).collect();
        let sites = Sites::new(cluster, &places, &demand.lengths)?;
        let lengths = demand.lengths.iter().map(|length| *length as f64).collect();
        let count = sites.sites.len();
        let busy = Busy { until: vec![0.0; sites.kinds.len()], servers: Vec::new() };
        Ok(Self {
            demand,
            ways: Ways { sites, lengths, cache: 1.0 / cluster.rates.cache_bandwidth.0 },
            ranks_at: vec![0.0; count],
            senders_at: vec![0.0; count],
            occupied: Vec::new(),
            busy,
            site_of: Vec::new(),
            times_of: Vec::new(),
            parts_of: Vec::new(),
            stale: Vec::new(),
        }
        .with_parts())
    }

    fn with_parts(mut self) -> Self {
        let Demand { ranks, singles, fans, .. } = &self.demand;
        let mut parts_of = vec![Vec::new(); *ranks];
        for (number, single) in (0..).zip(singles) {
            let mut members: Vec<u32> = single.sends.iter().map(|send| send.rank).collect();
            members.push(single.sender);
            members.sort_unstable();
            members.dedup();
            for rank in members.into_iter().filter(|rank| *rank != OUTSIDE) {
                parts_of[rank as usize].push(number);
            }
        }
        for (number, fan) in (singles.len() as u32..).zip(fans) {
            fan.ranks.iter().for_each(|rank| parts_of[*rank as usize].push(number));
        }
        let parts = singles.len() + fans.len();
        self.site_of = vec![u32::MAX; *ranks];
        self.times_of = vec![RoundTripTimes::default(); parts];
        self.stale = vec![false; parts];
        self.parts_of = parts_of;
        self
    }

    /// With rank r, counted over all jobs, at slot `slot_of[r]`. What has not changed since the last
    /// time is not evaluated again.
    pub fn evaluate(&mut self, slot_of: &[usize]) -> RoundTripTimes {
        let sites = &self.ways.sites.of_place;
        for ((slot, known), parts) in slot_of.iter().zip(&mut self.site_of).zip(&self.parts_of) {
            if *known != sites[*slot] {
                *known = sites[*slot];
                parts.iter().for_each(|part| self.stale[*part as usize] = true);
            }
        }
        for part in 0..self.stale.len() {
            if std::mem::take(&mut self.stale[part]) {
                self.times_of[part] = match part.checked_sub(self.demand.singles.len()) {
                    None => self.of_single(part),
                    Some(fan) => self.of_fan(fan),
                };
            }
        }
        let mut times = RoundTripTimes::default();
        for part in &self.times_of {
            times.longest.0 = times.longest.0.max(part.longest.0);
            times.powers += part.powers;
        }
        times
    }

    fn of_single(&mut self, number: usize) -> RoundTripTimes {
        let single = &self.demand.singles[number];
        let site = |rank: u32| self.site_of[rank as usize] as usize;
        let to = |rank: u32| (rank != OUTSIDE).then(|| site(rank));
        let sends = single.sends.iter().map(|send| (to(send.rank), send.length as usize));
        let round = self.ways.round(site(single.sender), sends, &mut self.busy);
        let mut times = RoundTripTimes::default();
        times.add(single.clock.rounds * round, 1.0);
        times
    }

    fn of_fan(&mut self, number: usize) -> RoundTripTimes {
        let mut times = RoundTripTimes::default();
        let fan = &self.demand.fans[number];
        let site = |rank: u32| self.site_of[rank as usize];
        if let [sender] = fan.senders[..] {
            let others = fan.ranks.iter().filter(|rank| **rank != sender);
            let sends = others.map(|rank| (Some(site(*rank) as usize), fan.length));
            let from = site(sender) as usize;
            let round = self.ways.round(from, sends, &mut self.busy);
            times.add(fan.clock.rounds * round, 1.0);
            return times;
        }
        for site in self.occupied.drain(..) {
            (self.ranks_at[site as usize], self.senders_at[site as usize]) = (0.0, 0.0);
        }
        for rank in &fan.ranks {
            let site = site(*rank);
            if self.ranks_at[site as usize] == 0.0 {
                self.occupied.push(site);
            }
            self.ranks_at[site as usize] += 1.0;
        }
        for rank in &fan.senders {
            self.senders_at[site(*rank) as usize] += 1.0;
        }
        for from in self.occupied.iter().filter(|from| self.senders_at[**from as usize] > 0.0) {
            let round = self.round_of_fan(fan, *from);
            times.add(fan.clock.rounds * round, self.senders_at[*from as usize]);
        }
        times
    }

    /// At least so many seconds does a round of a fan take each sender of a site: the longest way, or
    /// what one of the sender's servers has to do, with the quickest way to it and from it.
    fn round_of_fan(&self, fan: &Fan, from: u32) -> f64 {
        let (mut longest, mut memory, mut out): (f64, f64, f64) = (0.0, 0.0, 0.0);
        let (mut behind_memory, mut behind_out) = (f64::INFINITY, f64::INFINITY);
        let mut before_out = 0.0;
        for to in &self.occupied {
            let count = self.ranks_at[*to as usize] - f64::from(u8::from(*to == from));
            if count == 0.0 {
                continue;
            }
            let way = self.ways.way(from as usize, Some(*to as usize), fan.length);
            let behind = way.links + way.into + way.arrival;
            longest = longest.max(way.memory + way.out + behind);
            memory += count * way.memory;
            behind_memory = behind_memory.min(way.out + behind);
            if way.out > 0.0 {
                out += count * way.out_share;
                (before_out, behind_out) = (way.memory, behind_out.min(behind));
            }
        }
        let after = |seconds: f64, others: f64| if seconds > 0.0 { seconds + others } else { 0.0 };
        longest.max(after(memory, behind_memory)).max(after(out, before_out + behind_out))
    }
}

impl Busy {
    /// A message comes at a time and is served; when that is over.
    fn serve(&mut self, server: ServerId, at: f64, service: f64) -> f64 {
        let until = &mut self.until[server.index()];
        if *until == 0.0 {
            self.servers.push(server);
        }
        *until = until.max(at) + service;
        *until
    }

    fn clear(&mut self) {
        for server in self.servers.drain(..) {
            self.until[server.index()] = 0.0;
        }
    }
}

impl Ways {
    /// How long the messages of one round take that a rank sends at once, with receivers and lengths in
    /// the order of sending.
    fn round(
        &self,
        from: usize,
        sends: impl Iterator<Item = (Option<usize>, usize)>,
        busy: &mut Busy,
    ) -> f64 {
        let (mut memory, mut out, mut shares, mut end): (f64, f64, f64, f64) = (0.0, 0.0, 0.0, 0.0);
        for (to, length) in sends {
            let way = self.way(from, to, length);
            memory += way.memory;
            if way.out == 0.0 {
                end = end.max(memory + way.arrival);
                continue;
            }
            shares = if shares == 0.0 { memory } else { shares } + way.out_share;
            let receiver = to.map(|to| &self.sites.sites[to]);
            if let (true, Some(receiver)) = (way.in_line, receiver) {
                out = out.max(memory) + way.out;
                let into = busy.serve(receiver.ports[0].into, out + way.links, way.into);
                end = end.max(busy.serve(receiver.memory, into, way.arrival) + way.late);
            } else {
                end = end.max(memory + way.out + way.links + way.into + way.arrival + way.late);
            }
        }
        busy.clear();
        end.max(shares)
    }

    /// From a site to another one, or to the outside.
    fn way(&self, from: usize, to: Option<usize>, length: usize) -> Way {
        let bytes = self.lengths[length];
        let sender = &self.sites.sites[from];
        let busiest = || sender.ports.iter().map(|port| port.share * port.time).fold(0.0, f64::max);
        let away = || Way {
            memory: bytes * sender.memory_time,
            out: bytes * fastest(&sender.ports),
            out_share: bytes * busiest(),
            links: self.sites.far[length][from],
            ..Way::default()
        };
        let Some(to) = to else {
            return away();
        };
        let receiver = &self.sites.sites[to];
        if sender.node != receiver.node {
            return Way {
                links: bytes * self.of_links(sender, receiver) + self.sites.far[length][from],
                // Behind the device: who comes after it there does not wait for that.
                late: self.sites.far[length][to],
                into: bytes * fastest(&receiver.ports),
                arrival: bytes * receiver.memory_time,
                in_line: sender.ports.len() == 1 && receiver.ports.len() == 1,
                ..away()
            };
        }
        let local = self.sites.local[length][from][to - self.sites.nodes[sender.node].start];
        if local.first + local.rest == 0.0 {
            return Way { arrival: bytes * self.cache, ..Way::default() };
        }
        match sender.memory == receiver.memory {
            true => Way { memory: local.first + local.rest, ..Way::default() },
            false => Way { memory: local.first, arrival: local.rest, ..Way::default() },
        }
    }

    /// Seconds per byte on the links between two nodes.
    fn of_links(&self, from: &Site, to: &Site) -> f64 {
        let route = &self.sites.routes[from.node * self.sites.nodes.len() + to.node];
        route.iter().map(|link| self.sites.links[*link as usize].1).sum()
    }
}

/// Seconds per byte of the fastest of several devices; 0 if there is none.
fn fastest(ports: &[Port]) -> f64 {
    ports.iter().map(|port| port.time).reduce(f64::min).unwrap_or_default()
}

impl RoundTripTimes {
    fn add(&mut self, seconds: f64, sources: f64) {
        self.longest.0 = self.longest.0.max(seconds);
        self.powers += sources * seconds.powi(8);
    }
}
