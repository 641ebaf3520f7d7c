//! How long a message takes along its path: Eqs. 1-4, Soryani 2013.

use crate::network::{Path, ServerKind, ServerPart, Servers};
use crate::units::Seconds;

use super::server_loads::ServerLoads;

/// The mean time of a message, T of Eq. (1), by where it is spent; or a mean over messages.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MessageTime {
    /// T_src, Eq. (2): from the sender to the end of service at the port of the network device. The
    /// whole time of a message that stays in its node.
    pub source: Seconds,
    /// T_sw, Eq. (3): between the network devices.
    pub switches: Seconds,
    /// T_dst, Eq. (4): from the port of the receiver's network device into its memory.
    pub destination: Seconds,
    /// The part of this time that is waiting.
    pub waiting: MessageWaiting,
}

/// The mean waiting of a message, by the part of the machine that is waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MessageWaiting {
    /// Network devices, both directions.
    pub nic: Seconds,
    /// Memories.
    pub memory: Seconds,
    /// Links between switches, queue pairs and their processing hardware.
    pub other: Seconds,
}

/// The mean time of the messages of one class on this path: the residence times R = W + S (Eq. 5) at
/// its servers, and the latencies between them. `cv` is the coefficient of variation of the gaps
/// between the messages, taken to be the same at all servers, as in the paper. `None` if a server of
/// the path is saturated.
#[must_use]
pub(crate) fn message_time(
    servers: &Servers,
    loads: &ServerLoads,
    path: &Path,
    cv: f64,
) -> Option<MessageTime> {
    let mut time = MessageTime { source: path.latency, ..MessageTime::default() };
    let mut arrived = false;
    for hop in &path.hops {
        let kind = servers.kinds()[hop.server.index()];
        let waiting = loads.waiting_time(hop, cv)?;
        time.waiting.add(kind, waiting.0);
        arrived |= matches!(kind, ServerKind::NicIn { .. });
        let part = match kind {
            ServerKind::LinkUp { .. } | ServerKind::LinkDown { .. } => &mut time.switches,
            _ if arrived => &mut time.destination,
            _ => &mut time.source,
        };
        part.0 += waiting.0 + hop.service.0;
        let between = if arrived { &mut time.destination } else { &mut time.switches };
        between.0 += hop.latency.0;
    }
    Some(time)
}

impl MessageTime {
    /// T, Eq. (1).
    #[must_use]
    pub fn total(&self) -> Seconds {
        Seconds(self.source.0 + self.switches.0 + self.destination.0)
    }

    /// Adds a share of another time, for a mean.
    pub(in crate::estimate) fn add_share(&mut self, other: &Self, share: f64) {
        let add = |sum: &mut Seconds, part: Seconds| sum.0 += share * part.0;
        add(&mut self.source, other.source);
        add(&mut self.switches, other.switches);
        add(&mut self.destination, other.destination);
        add(&mut self.waiting.nic, other.waiting.nic);
        add(&mut self.waiting.memory, other.waiting.memory);
        add(&mut self.waiting.other, other.waiting.other);
    }
}

impl MessageWaiting {
    /// The sum.
    #[must_use]
    pub fn total(&self) -> Seconds {
        Seconds(self.nic.0 + self.memory.0 + self.other.0)
    }

    pub(in crate::estimate) fn add(&mut self, kind: ServerKind, seconds: f64) {
        let sum = match kind.part() {
            ServerPart::Nic => &mut self.nic,
            ServerPart::Memory => &mut self.memory,
            ServerPart::Link | ServerPart::QueuePair => &mut self.other,
        };
        sum.0 += seconds;
    }
}
