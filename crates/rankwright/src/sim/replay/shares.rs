//! Messages of a replay that pass all their servers at once ([`Discipline::MaxMin`]).
//!
//! [`Discipline::MaxMin`]: super::Discipline::MaxMin

use super::engine::Replay;
use crate::sim::time::Time;

impl Replay<'_> {
    /// A message begins to pass all its servers at once.
    pub(super) fn begin_share(&mut self, number: u32, now: Time) {
        let Self { messages, routes, queues, sharing, agenda, .. } = self;
        let message = &mut messages[number as usize];
        let (mut legs, mut latency, mut slowest) = (Vec::with_capacity(8), 0, 0);
        for (place, part) in message.parts.iter().enumerate() {
            for leg in (part.next..part.end).map(|leg| routes.leg(leg)) {
                let service = routes.service(leg, message.bytes);
                queues[leg.server as usize].share(service);
                slowest = slowest.max(service);
                let (per_byte, fixed) = routes.linear(leg);
                latency += fixed + if place == 0 { 0 } else { leg.latency };
                if per_byte > 0.0 && message.bytes.0 > 0 {
                    legs.push((leg.server, per_byte));
                }
            }
        }
        if message.leaves_node {
            message.flight += latency;
        }
        // Until its end: the time that it takes alone.
        message.waited = slowest;
        message.tail = now;
        match sharing {
            Some(sharing) if !legs.is_empty() => {
                sharing.begin(number, message.bytes.0 as f64, &legs, now, agenda);
            }
            _ => self.end_share(number, now),
        }
    }

    /// Messages of a class may have passed their servers.
    pub(super) fn end_shares(&mut self, class: u32, now: Time) {
        let Some(sharing) = &mut self.sharing else { return };
        let mut ended = Vec::new();
        sharing.end(class, now, &mut ended, &mut self.agenda);
        for number in ended {
            self.end_share(number, now);
        }
    }

    fn end_share(&mut self, number: u32, now: Time) {
        let message = &mut self.messages[number as usize];
        message.waited = (now - message.tail).saturating_sub(message.waited);
        message.tail = if message.leaves_node { now.saturating_add(message.flight) } else { now };
        let part = message.parts.iter().find(|part| !part.is_over());
        if let Some(part) = part {
            let server = self.routes.leg(part.end - 1).server;
            self.queues[server as usize].waited(message.waited);
        }
        if message.is_awaited {
            self.departed(number, now);
        }
        self.arrive(number);
    }
}
