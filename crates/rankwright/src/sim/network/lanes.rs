//! The lanes of the streams, the bounds of the zones, and which messages travel as trains.

use std::collections::BTreeSet;

use super::builder::Builder;
use super::{Hop, Lane, NONE, Network, SendTable, Stream};
use crate::sim::{Pacing, Service};

/// The most feeders of a zone that are looked at one by one.
const MOST_FEEDERS: usize = 4;

impl Builder<'_> {
    /// Sorts the streams into lanes.
    pub(super) fn finish(mut self) -> Network {
        let outbound = self.outbound_servers();
        let ending = self.ending_streams();
        let through = self.through_zones();
        self.find_feeders();
        self.find_entry_servers();
        for stream in self.known_streams.values() {
            let Stream { zone: number, from, to, lane, .. } = &mut self.network.streams[*stream];
            let zone = &mut self.network.zones[*number];
            *lane = if *to == NONE && through[*number] {
                zone.through_servers.push(*from);
                Lane::Through
            } else if *to == NONE {
                zone.exports.push(*stream);
                Lane::Export
            } else if outbound[*to as usize] {
                zone.outbound.push(*stream);
                Lane::Outbound { slot: zone.outbound.len() - 1 }
            } else if ending[*stream] {
                let streams = &mut self.network.final_streams[*to as usize];
                if streams.is_empty() {
                    zone.final_servers.push(*to as usize);
                }
                streams.push(*stream);
                Lane::Final
            } else {
                zone.local.push(*stream);
                Lane::Local { slot: zone.local.len() - 1 }
            };
        }
        for zone in &mut self.network.zones {
            zone.only_export = zone.exports.first().copied().filter(|_| zone.exports.len() == 1);
        }
        self.network.train_hops = (0..self.network.hops.len() as u32).collect();
        self.network.equal_services = vec![None; self.zones.len()];
        if self.options.service == Service::Deterministic {
            self.find_equal_services();
            self.join_trains();
        }
        self.network
    }

    fn find_equal_services(&mut self) {
        let Network { hops, equal_services, .. } = &mut self.network;
        let mut differ = vec![false; equal_services.len()];
        for hop in hops {
            let first = equal_services[hop.server as usize].get_or_insert(hop.service);
            differ[hop.server as usize] |= *first != hop.service;
        }
        for (service, _) in equal_services.iter_mut().zip(differ).filter(|(_, differ)| *differ) {
            *service = None;
        }
    }

    /// Whether all exports of a zone are through streams: in an open loop, if nothing else arrives at
    /// the servers to which they lead. Index: zone.
    fn through_zones(&self) -> Vec<bool> {
        let Network { hops, streams, .. } = &self.network;
        // The only stream that leads to each server; `NONE` for ticks or several.
        let mut only_stream: Vec<Option<u32>> = vec![None; self.zones.len()];
        for hop in self.first_hops() {
            only_stream[hops[hop as usize].server as usize] = Some(NONE);
        }
        let passing = || hops.iter().filter(|hop| hop.next != NONE);
        for hop in passing() {
            let server = hops[hop.next as usize].server as usize;
            let stream = only_stream[server].get_or_insert(hop.stream);
            if *stream != hop.stream {
                *stream = NONE;
            }
        }
        let mut through = vec![self.options.pacing == Pacing::Open; self.network.zones.len()];
        for hop in passing() {
            let Stream { zone, to, .. } = streams[hop.stream as usize];
            let server = hops[hop.next as usize].server as usize;
            through[zone] &= only_stream[server] == Some(hop.stream) || to != NONE;
        }
        through
    }

    /// Finds the feeders of each zone: the zones that send to it and, if messages that enter such a
    /// zone leave it again, the feeders of that zone too.
    fn find_feeders(&mut self) {
        let Network { hops, zones, .. } = &mut self.network;
        let zone = |hop: &Hop| self.zones[hop.server as usize];
        let mut senders = vec![BTreeSet::new(); zones.len()];
        // Whether messages at a hop have entered its zone before.
        let mut entered = vec![false; hops.len()];
        let mut relays = vec![false; zones.len()];
        // The next hop always has a lower index.
        for (number, hop) in hops.iter().enumerate().rev().filter(|(_, hop)| hop.next != NONE) {
            let next = zone(&hops[hop.next as usize]);
            if next == zone(hop) {
                entered[hop.next as usize] |= entered[number];
            } else {
                entered[hop.next as usize] = true;
                relays[zone(hop)] |= entered[number];
                senders[next].insert(zone(hop));
            }
        }
        for (number, zone) in zones.iter_mut().enumerate() {
            let mut feeders = Vec::new();
            let mut open: Vec<usize> = senders[number].iter().copied().collect();
            while let Some(feeder) = open.pop().filter(|_| feeders.len() <= MOST_FEEDERS) {
                if !feeders.contains(&feeder) {
                    feeders.push(feeder);
                    open.extend(senders[feeder].iter().filter(|_| relays[feeder]));
                }
            }
            zone.feeders = Some(feeders).filter(|feeders| feeders.len() <= MOST_FEEDERS);
        }
    }

    /// Finds the entry servers of each zone.
    fn find_entry_servers(&mut self) {
        let mut has_others = vec![false; self.zones.len()];
        for hop in self.first_hops() {
            has_others[self.network.hops[hop as usize].server as usize] = true;
        }
        let Network { hops, streams, zones, .. } = &mut self.network;
        let mut entry_servers = BTreeSet::new();
        for hop in hops.iter().filter(|hop| hop.next != NONE) {
            let server = hops[hop.next as usize].server;
            if streams[hop.stream as usize].to == NONE {
                entry_servers.insert(server);
            } else {
                has_others[server as usize] = true;
            }
        }
        let mut mixed = vec![false; zones.len()];
        for server in entry_servers {
            let zone = self.zones[server as usize];
            zones[zone].entry_servers.push(server);
            mixed[zone] |= has_others[server as usize];
        }
        for (zone, _) in zones.iter_mut().zip(mixed).filter(|(_, mixed)| *mixed) {
            zone.entry_servers.clear();
        }
    }

    /// The first hops of all sends.
    fn first_hops(&self) -> impl Iterator<Item = u32> {
        let sends = self.network.sources.iter().flat_map(|source| &source.sends);
        sends.flat_map(|send| {
            let (at_once, others) = match send {
                SendTable::Single(hop) => (Some(*hop), &[][..]),
                SendTable::Delayed(start) => (None, std::slice::from_ref(start)),
                SendTable::InTurn { paths, .. } => (None, &paths[..]),
                SendTable::Train { .. } | SendTable::WithoutServer(_) => (None, &[][..]),
            };
            at_once.into_iter().chain(others.iter().map(|start| start.hop))
        })
    }

    /// Whether all messages of a stream end at the server that it leads to, no source waits for them,
    /// and they come from a server. Index: stream.
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

    /// Whether all messages of a server come from servers of its zone and leave the zone, passing only
    /// such servers, and no source waits for them there. Index: server.
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
            let stays_inside = |hop: &&Hop| {
                let to = streams[hop.stream as usize].to;
                to != NONE && !outbound[to as usize] && outbound[hop.server as usize]
            };
            let wrong = hops.iter().filter(|hop| hop.next != NONE).find(stays_inside);
            let Some(wrong) = wrong else { return outbound };
            outbound[wrong.server as usize] = false;
        }
    }

    /// Joins successive sends whose first hops are equal and lead into an outbound stream to trains.
    fn join_trains(&mut self) {
        let Network { hops, streams, sources, train_hops, .. } = &mut self.network;
        let start = |send: &SendTable| match send {
            SendTable::Single(hop) => {
                let hop = &hops[*hop as usize];
                let outbound = hop.next != NONE
                    && matches!(streams[hop.stream as usize].lane, Lane::Outbound { .. });
                outbound.then_some((hop.server, hop.service, hop.stream))
            }
            _ => None,
        };
        for source in sources {
            let equal = |a: &SendTable, b: &SendTable| start(a).is_some() && start(a) == start(b);
            let mut joined = Vec::new();
            for group in source.sends.chunk_by(equal) {
                let first = train_hops.len() as u32;
                match group {
                    [SendTable::Single(hop), _, ..] => {
                        for send in group {
                            if let SendTable::Single(hop) = send {
                                train_hops.push(hops[*hop as usize].next);
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
