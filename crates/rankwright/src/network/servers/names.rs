//! The names of servers in tables and messages.

use super::{ServerKind, Servers};
use crate::ids::{NodeId, ServerId};

impl Servers<'_> {
    /// The name of a server in output: `node3 nic0 out`, `node3 NUMA L#1`.
    #[must_use]
    pub fn name(&self, server: ServerId) -> String {
        let node = |id: NodeId| &self.cluster.node(id).name;
        let nic = |id: NodeId, nic: u32| {
            let nics = &self.cluster.machine(id).nics;
            nics.get(nic as usize).map_or("network", |nic| nic.name.as_str())
        };
        let switch = |switch: u32| &self.cluster.switches[switch as usize].name;
        match self.kinds[server.index()] {
            ServerKind::Memory { node: id, numa } => format!("{} NUMA L#{numa}", node(id)),
            ServerKind::NicOut { node: id, nic: n } => format!("{} {} out", node(id), nic(id, n)),
            ServerKind::NicIn { node: id, nic: n } => format!("{} {} in", node(id), nic(id, n)),
            ServerKind::LinkUp { switch: number } => format!("{} up", switch(number)),
            ServerKind::LinkDown { switch: number } => format!("{} down", switch(number)),
            ServerKind::QueuePairOut { rank } => format!("rank {rank} queue pair out"),
            ServerKind::QueuePairIn { rank } => format!("rank {rank} queue pair in"),
            ServerKind::ProcessingOut { rank } => format!("rank {rank} processing out"),
            ServerKind::ProcessingIn { rank } => format!("rank {rank} processing in"),
        }
    }
}
