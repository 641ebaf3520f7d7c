//! How busy each server is: Eqs. 7-12, Soryani 2013, for any number of message classes.

use std::collections::BTreeSet;

use crate::cluster::Cluster;
use crate::ids::{CoreId, GlobalRank, NodeId, ServerId};
use crate::network::{Hop, Path, Servers};
use crate::placement::Placement;
use crate::traffic::OUTSIDE;
use crate::traffic::Workload;
use crate::units::{Bytes, PerSecond, Seconds};

use super::queue;

/// The load of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct ServerLoad {
    /// λ: arrivals of messages of all classes, per second. A message that passes the server twice
    /// counts twice.
    pub(crate) messages: PerSecond,
    /// ρ = λS, summed over all classes of messages and the normal accesses to a memory. From 1 on
    /// the server is saturated.
    pub(crate) utilisation: f64,
}

/// The loads of all servers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ServerLoads(Vec<ServerLoad>);

/// A message class: what one clock sends to one destination.
#[derive(Debug, Clone, Copy)]
pub(in crate::estimate) struct Class {
    /// Index in [`Workload::jobs`].
    pub(in crate::estimate) job: usize,
    pub(in crate::estimate) from: GlobalRank,
    /// `None` for messages that leave the cluster.
    pub(in crate::estimate) to: Option<GlobalRank>,
    pub(in crate::estimate) length: Bytes,
    pub(in crate::estimate) rate: PerSecond,
    /// The coefficient of variation of the gaps between messages.
    pub(in crate::estimate) cv: f64,
}

impl ServerLoads {
    /// The load that the clocks of a workload put on the servers of its placement. Jobs without
    /// clocks put none. Where a message has several paths, each has its share of the rate.
    ///
    /// Each core that holds a rank also makes the normal accesses of
    /// [`Rates::memory_accesses`](crate::cluster::Rates::memory_accesses), to the memory beside it;
    /// free cores run nothing.
    #[must_use]
    pub(crate) fn new(
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
    pub(crate) fn of(&self, server: ServerId) -> ServerLoad {
        self.0[server.index()]
    }

    /// The loads of all servers. Index: [`ServerId`].
    #[must_use]
    pub(crate) fn as_slice(&self) -> &[ServerLoad] {
        &self.0
    }

    /// The mean waiting time of the messages of a class at a server of their path, Eq. (6): by the
    /// `cv` and the service time of the class, and the utilisation by all classes. `None` if the
    /// server is saturated.
    #[must_use]
    pub(crate) fn waiting_time(&self, hop: &Hop, cv: f64) -> Option<Seconds> {
        queue::waiting_time(cv, self.of(hop.server).utilisation, hop.service)
    }
}

impl Class {
    /// The paths of its messages, used in turn.
    pub(in crate::estimate) fn paths(&self, servers: &Servers) -> Vec<Path> {
        match self.to {
            Some(to) => servers.paths(self.from, to, self.length),
            None => servers.paths_outside(self.from, self.length),
        }
    }
}

impl ServerLoad {
    /// Whether more work arrives than the server can do: there is no mean waiting time then.
    #[must_use]
    pub(crate) fn is_saturated(&self) -> bool {
        self.utilisation >= 1.0
    }
}

/// All message classes of a workload, in the order of its jobs, clocks and sends.
pub(in crate::estimate) fn classes(workload: &Workload) -> impl Iterator<Item = Class> {
    let jobs = workload.jobs.iter().zip(workload.rank_offsets()).enumerate();
    jobs.flat_map(|(number, (job, first))| {
        job.sources.iter().flat_map(move |source| {
            source.sends.iter().map(move |send| Class {
                job: number,
                from: source.rank.global(first),
                to: (send.destination != OUTSIDE).then(|| send.destination.global(first)),
                length: send.length,
                rate: source.rate,
                cv: source.cv,
            })
        })
    })
}
