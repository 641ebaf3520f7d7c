//! How busy each server is: Eqs. 7-12, Soryani 2013, for any number of message classes.

use std::collections::BTreeSet;

use crate::cluster::Cluster;
use crate::ids::{CoreId, NodeId, ServerId};
use crate::network::{Hop, Path, ServerKind, Servers};
use crate::placement::Placement;
use crate::traffic::Workload;
use crate::traffic::source::OUTSIDE;
use crate::units::{Bytes, PerSecond, Seconds};

use super::queue;

/// What is asked of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ServerLoad {
    /// λ: messages that come, per second, over all classes. One that passes the server twice counts
    /// twice.
    pub messages: PerSecond,
    /// ρ = λS, summed over all classes of messages and the normal accesses to a memory. From 1 on
    /// the server is saturated: more is asked of it than it can do.
    pub utilisation: f64,
}

/// The load of all servers.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerLoads(Vec<ServerLoad>);

/// A message class: what one clock sends to one destination. Ranks are counted over all jobs.
#[derive(Debug, Clone, Copy)]
pub(in crate::estimate) struct Class {
    pub(in crate::estimate) job: usize,
    pub(in crate::estimate) from: usize,
    /// `None` for messages that leave the cluster.
    pub(in crate::estimate) to: Option<usize>,
    pub(in crate::estimate) length: Bytes,
    pub(in crate::estimate) rate: PerSecond,
    pub(in crate::estimate) cv: f64,
}

impl ServerLoads {
    /// The load that the clocks of a workload put on the servers of its placement. Jobs without
    /// clocks ask nothing. Where a message has several paths, each takes its share of the rate.
    ///
    /// Each core that holds a rank also makes the normal accesses of
    /// [`Rates::memory_accesses`](crate::cluster::Rates::memory_accesses), to the memory beside it;
    /// free cores run nothing.
    #[must_use]
    pub fn new(
        cluster: &Cluster,
        servers: &Servers,
        workload: &Workload,
        placement: &Placement,
    ) -> Self {
        let mut loads = vec![ServerLoad::default(); servers.kinds().len()];
        for class in classes(workload) {
            let paths = class.paths(servers);
            let share = class.rate.0 / paths.len() as f64;
            for hop in paths.iter().flat_map(|path| &path.hops) {
                let load = &mut loads[hop.server.index()];
                load.messages.0 += share;
                load.utilisation += share * hop.service.0;
            }
        }
        if let Some(rate) = cluster.rates.memory_accesses {
            let cores: BTreeSet<(NodeId, CoreId)> = placement
                .ranks()
                .flat_map(|place| place.cores.iter().map(|core| (place.node, *core)))
                .collect();
            for (node, core) in cores {
                let access = servers.memory_access(node, core, cluster.rates.memory_access_length);
                loads[access.server.index()].utilisation += rate.0 * access.service.0;
            }
        }
        Self(loads)
    }

    /// The load of a server.
    #[must_use]
    pub fn of(&self, server: ServerId) -> ServerLoad {
        self.0[server.index()]
    }

    /// The loads of all servers; position is [`ServerId`].
    #[must_use]
    pub fn as_slice(&self) -> &[ServerLoad] {
        &self.0
    }

    /// How long messages of a class wait at a server of their path, Eq. (6): by the variation of the
    /// class, its own service time, and the utilisation by all. `None` if the server is saturated.
    #[must_use]
    pub fn waiting_time(&self, hop: &Hop, cv: f64) -> Option<Seconds> {
        queue::waiting_time(cv, self.of(hop.server).utilisation, hop.service)
    }
}

impl Class {
    /// The ways of its messages, taken in turn.
    pub(in crate::estimate) fn paths(&self, servers: &Servers) -> Vec<Path> {
        match self.to {
            Some(to) => servers.paths(self.from, to, self.length),
            None => servers.paths_outside(self.from, self.length),
        }
    }
}

impl ServerLoad {
    /// Whether more is asked of the server than it can do: there is no mean waiting time then.
    #[must_use]
    pub fn is_saturated(&self) -> bool {
        self.utilisation >= 1.0
    }
}

/// Which part of the cluster a message waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::estimate) enum Part {
    Nic,
    Memory,
    Other,
}

impl Part {
    pub(in crate::estimate) fn of(kind: ServerKind) -> Self {
        match kind {
            ServerKind::NicOut { .. } | ServerKind::NicIn { .. } => Self::Nic,
            ServerKind::Memory { .. } => Self::Memory,
            ServerKind::LinkUp { .. }
            | ServerKind::LinkDown { .. }
            | ServerKind::QueuePairOut { .. }
            | ServerKind::QueuePairIn { .. }
            | ServerKind::ProcessingOut { .. }
            | ServerKind::ProcessingIn { .. } => Self::Other,
        }
    }
}

/// All message classes of a workload, in the order of its jobs, clocks and sends.
pub(in crate::estimate) fn classes(workload: &Workload) -> impl Iterator<Item = Class> {
    let jobs = workload.jobs.iter().zip(workload.rank_offsets()).enumerate();
    jobs.flat_map(|(job, (content, first))| {
        content.sources.iter().flat_map(move |source| {
            source.sends.iter().map(move |send| Class {
                job,
                from: first + source.rank.index(),
                to: (send.destination != OUTSIDE).then(|| first + send.destination.index()),
                length: send.length,
                rate: source.rate,
                cv: source.cv,
            })
        })
    })
}
