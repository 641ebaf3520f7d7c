//! Which streams are merged where, and which messages travel as trains.

use super::{Builder, Hop, Lane, NONE, Network, SendTable, Stream};
use crate::sim::Service;

impl Builder<'_> {
    /// Sorts the streams into lanes.
    pub(super) fn finish(mut self) -> Network {
        let outbound = self.outbound_servers();
        let ending = self.ending_streams();
        for stream in self.known_streams.values() {
            let Stream { zone, to, lane, .. } = &mut self.network.streams[*stream];
            let zone = &mut self.network.zones[*zone];
            *lane = if *to == NONE {
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

    /// Per stream, whether all its messages end at the next server and no source waits for them.
    fn ending_streams(&self) -> Vec<bool> {
        let Network { hops, ends, streams, hop_releases, .. } = &self.network;
        let mut ending = vec![true; streams.len()];
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
        for send in self.network.sources.iter().flat_map(|source| &source.sends) {
            let first = match send {
                SendTable::Single(hop) => std::slice::from_ref(hop),
                SendTable::InTurn { hops, .. } => hops,
                _ => &[],
            };
            first.iter().for_each(|hop| outbound[hops[*hop as usize].server as usize] = false);
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
