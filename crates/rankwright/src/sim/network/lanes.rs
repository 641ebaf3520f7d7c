//! Which streams are merged where, and which messages travel as trains.

use std::collections::BTreeSet;

use super::builder::Builder;
use super::{Hop, Lane, NONE, Network, SendTable, Stream};
use crate::sim::{Pacing, Service};

/// Feeders of a zone that are looked at one by one.
const FEW: usize = 4;

impl Builder<'_> {
    /// Sorts the streams into lanes.
    pub(super) fn finish(mut self) -> Network {
        let outbound = self.outbound_servers();
        let ending = self.ending_streams();
        let through = self.through_zones();
        self.find_feeders();
        self.find_entries();
        for stream in self.known_streams.values() {
            let Stream { zone: number, from, to, lane, .. } = &mut self.network.streams[*stream];
            let zone = &mut self.network.zones[*number];
            *lane = if *to == NONE && through[*number] {
                zone.passed.push(*from);
                Lane::Through
            } else if *to == NONE {
                zone.exports.push(*stream);
                Lane::Export
            } else if outbound[*to as usize] {
                zone.outbound.push(*stream);
                Lane::Outbound { slot: zone.outbound.len() - 1 }
            } else if ending[*stream] {
                let finals = &mut self.network.finals[*to as usize];
                if finals.is_empty() {
                    zone.finals.push(*to as usize);
                }
                finals.push(*stream);
                Lane::Final
            } else {
                zone.prompt.push(*stream);
                Lane::Prompt { slot: zone.prompt.len() - 1 }
            };
        }
        for zone in &mut self.network.zones {
            zone.only_export = zone.exports.first().copied().filter(|_| zone.exports.len() == 1);
        }
        self.network.trains = (0..self.network.hops.len() as u32).collect();
        self.network.services = vec![None; self.zones.len()];
        if self.options.service == Service::Deterministic {
            self.find_equal_services();
            self.join_trains();
        }
        self.network
    }

    fn find_equal_services(&mut self) {
        let Network { hops, services, .. } = &mut self.network;
        let mut differ = vec![false; services.len()];
        for hop in hops {
            let known = services[hop.server as usize].get_or_insert(hop.service);
            differ[hop.server as usize] |= *known != hop.service;
        }
        for (service, _) in services.iter_mut().zip(differ).filter(|(_, differ)| *differ) {
            *service = None;
        }
    }

    /// Per zone, whether in an open loop nothing else comes to the servers to which its exports lead.
    fn through_zones(&self) -> Vec<bool> {
        let Network { hops, streams, .. } = &self.network;
        // Per server the only stream that leads to it, `NONE` if there are ticks or several.
        let mut leading: Vec<Option<u32>> = vec![None; self.zones.len()];
        for hop in self.first_hops() {
            leading[hops[hop as usize].server as usize] = Some(NONE);
        }
        let passing = || hops.iter().filter(|hop| hop.next != NONE);
        for hop in passing() {
            let stream = leading[hops[hop.next as usize].server as usize].get_or_insert(hop.stream);
            if *stream != hop.stream {
                *stream = NONE;
            }
        }
        let mut through = vec![self.options.pacing == Pacing::Open; self.network.zones.len()];
        for hop in passing() {
            let Stream { zone, to, .. } = streams[hop.stream as usize];
            let sole = leading[hops[hop.next as usize].server as usize] == Some(hop.stream);
            through[zone] &= sole || to != NONE;
        }
        through
    }

    /// Finds for each zone those that messages pass before.
    fn find_feeders(&mut self) {
        let Network { hops, zones, .. } = &mut self.network;
        let zone = |hop: &Hop| self.zones[hop.server as usize];
        let mut before = vec![BTreeSet::new(); zones.len()];
        let mut entered = vec![false; hops.len()];
        let mut relays = vec![false; zones.len()];
        // The next hop always has a lower number.
        for (number, hop) in hops.iter().enumerate().rev().filter(|(_, hop)| hop.next != NONE) {
            let next = zone(&hops[hop.next as usize]);
            if next == zone(hop) {
                entered[hop.next as usize] |= entered[number];
            } else {
                entered[hop.next as usize] = true;
                relays[zone(hop)] |= entered[number];
                before[next].insert(zone(hop));
            }
        }
        for (number, zone) in zones.iter_mut().enumerate() {
            let mut feeders = Vec::new();
            let mut open: Vec<usize> = before[number].iter().copied().collect();
            while let Some(feeder) = open.pop().filter(|_| feeders.len() <= FEW) {
                if !feeders.contains(&feeder) {
                    feeders.push(feeder);
                    open.extend(before[feeder].iter().filter(|_| relays[feeder]));
                }
            }
            zone.feeders = Some(feeders).filter(|feeders| feeders.len() <= FEW);
        }
    }

    /// Finds for each zone the servers to which messages of others come.
    fn find_entries(&mut self) {
        let mut other = vec![false; self.zones.len()];
        for hop in self.first_hops() {
            other[self.network.hops[hop as usize].server as usize] = true;
        }
        let Network { hops, streams, zones, .. } = &mut self.network;
        let mut entries = BTreeSet::new();
        for hop in hops.iter().filter(|hop| hop.next != NONE) {
            let server = hops[hop.next as usize].server;
            if streams[hop.stream as usize].to == NONE {
                entries.insert(server);
            } else {
                other[server as usize] = true;
            }
        }
        let mut mixed = vec![false; zones.len()];
        for server in entries {
            let zone = self.zones[server as usize];
            zones[zone].entries.push(server);
            mixed[zone] |= other[server as usize];
        }
        for (zone, _) in zones.iter_mut().zip(mixed).filter(|(_, mixed)| *mixed) {
            zone.entries.clear();
        }
    }

    /// The first hops of all sends.
    fn first_hops(&self) -> impl Iterator<Item = u32> {
        let sends = self.network.sources.iter().flat_map(|source| &source.sends);
        sends.flat_map(|send| {
            let (at_once, others) = match send {
                SendTable::Single(hop) => (Some(*hop), &[][..]),
                SendTable::Late(first) => (None, std::slice::from_ref(first)),
                SendTable::InTurn { paths, .. } => (None, &paths[..]),
                SendTable::Train { .. } | SendTable::Direct(_) => (None, &[][..]),
            };
            at_once.into_iter().chain(others.iter().map(|first| first.hop))
        })
    }

    /// Per stream, whether all its messages end at the next server and no source waits for them; not
    /// for what comes from ticks.
    fn ending_streams(&self) -> Vec<bool> {
        let Network { hops, ends, streams, hop_releases, .. } = &self.network;
        let mut ending: Vec<bool> = streams.iter().map(|stream| stream.from != NONE).collect();
        for hop in hops.iter().filter(|hop| hop.next != NONE) {
            let next = &hops[hop.next as usize];
            let released = hop_releases[hop.next as usize] != NONE;
            ending[hop.stream as usize] &=
                next.next == NONE && !released && ends[next.stream as usize].releases == NONE;
        }
        ending
    }

    /// Per server, whether all its messages came from servers of the zone and leave the zone without
    /// passing others than such servers, and no source waits for them.
    fn outbound_servers(&self) -> Vec<bool> {
        let Network { hops, streams, hop_releases, .. } = &self.network;
        let mut outbound = vec![true; self.zones.len()];
        for (hop, releases) in hops.iter().zip(hop_releases) {
            if hop.next == NONE || *releases != NONE {
                outbound[hop.server as usize] = false;
            }
            if hop.next != NONE && streams[hop.stream as usize].to == NONE {
                outbound[hops[hop.next as usize].server as usize] = false;
            }
        }
        for hop in self.first_hops() {
            outbound[hops[hop as usize].server as usize] = false;
        }
        loop {
            let inside = |hop: &&Hop| {
                let to = streams[hop.stream as usize].to;
                to != NONE && !outbound[to as usize] && outbound[hop.server as usize]
            };
            let wrong = hops.iter().filter(|hop| hop.next != NONE).find(inside);
            let Some(wrong) = wrong else { return outbound };
            outbound[wrong.server as usize] = false;
        }
    }

    /// Makes trains of successive sends that begin with equal hops into an outbound stream.
    fn join_trains(&mut self) {
        let Network { hops, streams, sources, trains, .. } = &mut self.network;
        let begin = |send: &SendTable| match send {
            SendTable::Single(hop) => {
                let hop = &hops[*hop as usize];
                let outbound = hop.next != NONE
                    && matches!(streams[hop.stream as usize].lane, Lane::Outbound { .. });
                outbound.then_some((hop.server, hop.service, hop.stream))
            }
            _ => None,
        };
        for source in sources {
            let equal = |a: &SendTable, b: &SendTable| begin(a).is_some() && begin(a) == begin(b);
            let mut joined = Vec::new();
            for group in source.sends.chunk_by(equal) {
                let first = trains.len() as u32;
                match group {
                    [SendTable::Single(hop), _, ..] => {
                        for send in group {
                            if let SendTable::Single(hop) = send {
                                trains.push(hops[*hop as usize].next);
                            }
                        }
                        let count = group.len() as u32;
                        joined.push(SendTable::Train { hop: *hop, first, count });
                    }
                    _ => joined.extend_from_slice(group),
                }
            }
            source.sends = joined;
        }
    }
}
