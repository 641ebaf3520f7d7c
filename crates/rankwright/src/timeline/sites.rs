//! Where ranks are, and through which network devices they send.

use std::collections::BTreeMap;

use super::curve::Curve;
use crate::cluster::Cluster;
use crate::ids::{GlobalRank, NodeId, Rank};
use crate::network::Servers;
use crate::placement::Placement;
use crate::units::BytesPerSecond;

/// A network device of a node with ranks.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceSite {
    /// The node.
    pub node: String,
    /// The device; empty if it is not known which.
    pub device: String,
    /// What it sends per second.
    pub curve: Curve,
}

/// The nodes and network devices of the ranks of a job.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sites {
    /// All devices that ranks use, node by node.
    pub devices: Vec<DeviceSite>,
    /// By rank: the number of its node.
    nodes: Vec<u32>,
    /// By rank: the devices that it uses in turn, positions in `devices`.
    of_rank: Vec<Vec<u32>>,
}

impl Sites {
    /// The ranks of the only job of a placement.
    #[must_use]
    pub fn placed(cluster: &Cluster, placement: &Placement) -> Self {
        let servers = Servers::new(cluster, placement);
        let at = |rank: usize| {
            let rank = GlobalRank::from_index(rank);
            (servers.node(rank), servers.devices(rank))
        };
        Self::on(cluster, (0..servers.rank_count()).map(at))
    }

    /// The ranks on the hosts where they ran. The error is the first host that the cluster does not have.
    ///
    /// # Errors
    /// If the cluster lacks a host.
    pub fn recorded_on(cluster: &Cluster, hosts: &[String]) -> Result<Self, String> {
        let mut at = Vec::with_capacity(hosts.len());
        for host in hosts {
            let node = cluster.find_node(host).ok_or_else(|| host.clone())?;
            let nics = cluster.machine(node).mpi_nics().map(|(nic, _)| nic as u32).collect();
            at.push((node, nics));
        }
        Ok(Self::on(cluster, at.into_iter()))
    }

    /// The ranks on the hosts where they ran, each with one device of this bandwidth.
    #[must_use]
    pub fn recorded(hosts: &[String], bandwidth: BytesPerSecond) -> Self {
        let mut sites = Self::default();
        let mut known: BTreeMap<&str, u32> = BTreeMap::new();
        for host in hosts {
            let next = known.len() as u32;
            let node = *known.entry(host).or_insert_with(|| {
                let (node, curve) = (host.clone(), Curve::flat(bandwidth));
                sites.devices.push(DeviceSite { node, device: String::new(), curve });
                next
            });
            sites.nodes.push(node);
            sites.of_rank.push(vec![node]);
        }
        sites
    }

    fn on(cluster: &Cluster, ranks: impl Iterator<Item = (NodeId, Vec<u32>)>) -> Self {
        let mut sites = Self::default();
        let mut known: BTreeMap<(NodeId, u32), u32> = BTreeMap::new();
        for (node, mut nics) in ranks {
            if nics.is_empty() {
                nics.push(0);
            }
            let devices = nics.into_iter().map(|nic| {
                let next = known.len() as u32;
                *known.entry((node, nic)).or_insert_with(|| {
                    let name = cluster.machine(node).nics.get(nic as usize);
                    sites.devices.push(DeviceSite {
                        node: cluster.node(node).name.clone(),
                        device: name.map_or(String::new(), |nic| nic.name.clone()),
                        curve: Curve::of_device(cluster, node, nic as usize),
                    });
                    next
                })
            });
            sites.of_rank.push(devices.collect());
            sites.nodes.push(node.0);
        }
        sites.in_order_of_nodes(&known.into_values().collect::<Vec<u32>>());
        sites
    }

    /// Numbers the devices anew: `order` has the present numbers in the wanted order.
    fn in_order_of_nodes(&mut self, order: &[u32]) {
        let mut number = vec![0; order.len()];
        for (new, old) in (0..).zip(order) {
            number[*old as usize] = new;
        }
        self.devices = order.iter().map(|old| self.devices[*old as usize].clone()).collect();
        self.of_rank.iter_mut().flatten().for_each(|device| *device = number[*device as usize]);
    }

    /// The number of ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.nodes.len()
    }

    /// The number of the node of a rank.
    #[must_use]
    pub fn node(&self, rank: Rank) -> u32 {
        self.nodes[rank.index()]
    }

    /// The devices that a rank uses in turn.
    #[must_use]
    pub fn devices_of(&self, rank: Rank) -> &[u32] {
        &self.of_rank[rank.index()]
    }
}
