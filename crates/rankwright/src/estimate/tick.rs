//! The messages of one tick of a clock: they are sent at once and wait for each other.

use crate::network::{LocalCost, Port, Site};

/// The messages of one tick of a clock from one site; or the sum of several ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Tick {
    /// First accesses to the memory.
    pub(super) first: f64,
    /// Seconds of service of the first accesses.
    pub(super) first_work: f64,
    /// Later accesses to the memory.
    pub(super) rest: f64,
    /// Seconds of service of the later accesses.
    pub(super) rest_work: f64,
    /// Messages to ranks of the node that pass the memory.
    local: f64,
    /// Messages to other nodes.
    pub(super) remote: f64,
    pub(super) remote_bytes: f64,
}

impl Tick {
    /// Adds messages to other nodes, with their bytes in all; `memory_time`: seconds per byte.
    pub(super) fn add_remote(&mut self, messages: f64, bytes: f64, memory_time: f64) {
        self.first += messages;
        self.first_work += bytes * memory_time;
        self.remote += messages;
        self.remote_bytes += bytes;
    }

    /// Adds messages to ranks of the node.
    pub(super) fn add_local(&mut self, messages: f64, local: LocalCost) {
        if local.first > 0.0 {
            self.first += messages;
            self.first_work += messages * local.first;
            self.rest += messages * local.rest_count;
            self.rest_work += messages * local.rest;
            self.local += messages;
        }
    }

    /// Adds as many of these ticks; takes them away if the number is negative.
    pub(super) fn add_times(&mut self, ticks: f64, other: &Self) {
        self.first += ticks * other.first;
        self.first_work += ticks * other.first_work;
        self.rest += ticks * other.rest;
        self.rest_work += ticks * other.rest_work;
        self.local += ticks * other.local;
        self.remote += ticks * other.remote;
        self.remote_bytes += ticks * other.remote_bytes;
    }

    /// Seconds that the messages wait for each other at the memory. First accesses wait for those of
    /// earlier messages; the others for the first accesses of later messages and the others of earlier
    /// ones.
    pub(super) fn waiting_at_memory(&self) -> f64 {
        if self.first <= 1.0 {
            return 0.0;
        }
        let others = 0.5 * (self.first - 1.0);
        let waiting = (1.0 + self.rest / self.first) * self.first_work * others;
        waiting + 0.5 * self.rest_work * (self.local - 1.0).max(0.0)
    }

    /// Seconds that the messages wait for each other at a network device out of the site: as long as
    /// that is slower than the memory before it.
    pub(super) fn waiting_at_port(&self, site: &Site, port: &Port) -> f64 {
        let count = self.remote * port.share;
        if count <= 1.0 {
            return 0.0;
        }
        let spacing = self.remote_bytes / self.remote * site.memory_time;
        let gap = self.remote_bytes * port.share * port.time / count - spacing;
        gap.max(0.0) * 0.5 * count * (count - 1.0)
    }

    /// Seconds that the messages wait for each other at the site.
    pub(super) fn waiting(&self, site: &Site) -> f64 {
        let ports = site.ports.iter().map(|port| self.waiting_at_port(site, port));
        self.waiting_at_memory() + ports.sum::<f64>()
    }
}
