//! The output of `ibnetdiscover` (infiniband-diags): the switches and channel adapters of an
//! InfiniBand fabric, with their links.
//!
//! A fabric may be any graph; a [`Cluster`] has a tree of switches. [`FabricTree::losses`] lists what
//! the conversion loses.

mod adapters;
mod fabric;
mod reduction;
mod switch_names;

use std::collections::{BTreeMap, BTreeSet};

use self::fabric::{Fabric, Kind};
use crate::cluster::read::hostfile::HostsError;
use crate::cluster::{Cluster, Node, SwitchTree, hostlist};
use crate::files::InputError;
use crate::units::BytesPerSecond;

/// What a file must be, for error messages.
pub const EXPECTED: &str = "the output of ibnetdiscover (without -l or -p)";

/// Hosts and switches of a fabric as a tree.
#[derive(Debug, Clone, PartialEq)]
pub struct FabricTree {
    /// The switches, and the hosts sorted by the numbers in their names.
    pub tree: SwitchTree,
    /// Properties of the fabric that the tree cannot express, a sentence each.
    pub losses: Vec<String>,
    /// By host: its channel adapters.
    adapters: BTreeMap<String, Vec<Adapter>>,
}

/// A channel adapter of a host.
#[derive(Debug, Clone, PartialEq)]
struct Adapter {
    /// The device name on the host: `mlx5_0`, `HCA-1`.
    device: String,
    /// The ports with a link: number, and bandwidth each way where known.
    ports: Vec<(u32, Option<BytesPerSecond>)>,
}

impl Adapter {
    /// Bandwidth of all its links together, each way, where known.
    fn rate(&self) -> Option<BytesPerSecond> {
        let rates = self.ports.iter().map(|(_, rate)| rate.map(|rate| rate.0));
        rates.sum::<Option<f64>>().filter(|sum| *sum > 0.0).map(BytesPerSecond)
    }
}

/// Whether a text is the output of ibnetdiscover.
#[must_use]
pub fn sniff(text: &str) -> bool {
    let is_typical = |line: &str| {
        let header = line.strip_prefix("Switch").or_else(|| line.strip_prefix("Ca"));
        line.starts_with("# Topology file: generated on")
            || line.starts_with("vendid=0x")
            || header.is_some_and(|rest| rest.starts_with([' ', '\t']) && rest.contains("\"S-"))
    };
    text.lines().take(50).any(is_typical)
}

/// Reads the text of a file; `file` names it in errors. Keeps the hosts in `only`, or all if it is
/// empty; drops adapters of switches (aggregation nodes) and routers.
///
/// # Errors
/// If a line is not one of ibnetdiscover, a link has only one end (the file is cut off), the
/// description of an adapter has no host name, or no link connects some of the hosts with the others;
/// the error has the line.
pub fn parse(text: &str, file: &str, only: &[String]) -> Result<FabricTree, InputError> {
    let fabric = fabric::parse(text, file)?;
    let mut losses = Vec::new();
    let hosts = hosts(&fabric, file, only, &mut losses)?;
    let adapters = hosts.iter().map(|(name, host)| (name.clone(), host.adapters(&fabric)));
    let adapters = adapters.collect();
    let tree = reduction::reduce(&fabric, &hosts, file, &mut losses)?;
    Ok(FabricTree { tree, losses, adapters })
}

impl FabricTree {
    /// The cluster of the hosts, as [`SwitchTree::cluster`] makes it. Network devices that `like`
    /// does not have, and the state and rate of ports, are taken from the fabric; devices that the fabric
    /// does not have carry no MPI.
    ///
    /// # Errors
    /// As [`SwitchTree::cluster`].
    pub fn cluster(&self, like: &Cluster) -> Result<Cluster, HostsError> {
        let cluster = self.tree.clone().cluster(like)?;
        Ok(cluster.edit(|description| adapters::add_devices(description, &self.adapters))?)
    }

    /// The hosts with network devices in `cluster`, made by [`FabricTree::cluster`], of which none can
    /// be an adapter of this fabric: none has its name, and none is an InfiniBand or Omni-Path device.
    #[must_use]
    pub fn hosts_without_device<'a>(&self, cluster: &'a Cluster) -> Vec<&'a str> {
        let without = |node: &&Node| {
            let nics = &cluster.groups[node.group].machine.nics;
            let adapters = self.adapters.get(&node.name).map_or(&[][..], Vec::as_slice);
            !nics.is_empty() && !nics.iter().any(|nic| adapters::may_be_of_fabric(nic, adapters))
        };
        cluster.nodes.iter().filter(without).map(|node| node.name.as_str()).collect()
    }
}

/// A host.
struct Host {
    /// Its adapters: positions in [`Fabric::devices`].
    adapters: Vec<usize>,
}

impl Host {
    /// The switches that it has links to: positions in [`Fabric::devices`].
    fn switches(&self, fabric: &Fabric) -> BTreeSet<usize> {
        let peers = self.adapters.iter().flat_map(|adapter| fabric.peers(*adapter));
        peers.filter(|peer| fabric.devices[*peer].kind == Kind::Switch).collect()
    }

    fn adapters(&self, fabric: &Fabric) -> Vec<Adapter> {
        let adapter = |(number, index): (usize, &usize)| {
            let device = &fabric.devices[*index];
            let name = device.description.split_whitespace().nth(1).unwrap_or_default();
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            let named = !name.is_empty() && name.chars().all(plain);
            Adapter {
                device: if named { name.to_owned() } else { format!("hca{number}") },
                ports: device.ports.iter().map(|(number, port)| (*number, port.rate)).collect(),
            }
        };
        let mut adapters: Vec<Adapter> = self.adapters.iter().enumerate().map(adapter).collect();
        adapters.sort_by(|a, b| {
            hostlist::numeric_order(&a.device).cmp(&hostlist::numeric_order(&b.device))
        });
        adapters
    }
}

/// In the description of adapters inside switches (SHARP).
const AGGREGATION: &str = "Aggregation Node";

/// Words in descriptions with a product name instead of a host name.
const PRODUCTS: [&str; 5] = ["Mellanox", "Technologies", "InfiniHost", "ConnectX", "MT"];

/// The hosts by name.
fn hosts(
    fabric: &Fabric,
    file: &str,
    only: &[String],
    losses: &mut Vec<String>,
) -> Result<BTreeMap<String, Host>, InputError> {
    let wanted: BTreeSet<&str> = only.iter().map(String::as_str).collect();
    let mut hosts: BTreeMap<String, Host> = BTreeMap::new();
    let mut left_out = BTreeSet::new();
    let mut nameless = None;
    let mut others = 0;
    for (index, device) in fabric.devices.iter().enumerate() {
        match device.kind {
            Kind::Switch => continue,
            Kind::Adapter if !device.description.contains(AGGREGATION) => {}
            Kind::Adapter | Kind::Router => {
                others += 1;
                continue;
            }
        }
        match host_name(&device.description) {
            Some(name) if wanted.is_empty() || wanted.contains(name) => {
                let host = hosts.entry(name.to_owned());
                host.or_insert(Host { adapters: Vec::new() }).adapters.push(index);
            }
            Some(name) => {
                left_out.insert(name);
            }
            None => nameless = nameless.or(Some(device)),
        }
    }
    if let (Some(device), true) = (nameless, wanted.is_empty()) {
        let actual = format!("the adapter {} called `{}`", device.id, device.description);
        let error = InputError::new(file, actual, "a description like `node01 mlx5_0`");
        let advice = "give ibnetdiscover a --node-name-map, or name the hosts here with --only";
        return Err(error.at_line(device.line).with_advice(advice));
    }
    if let Some(missing) = only.iter().find(|name| !hosts.contains_key(*name)) {
        let actual = format!("no adapter of the host `{missing}`");
        return Err(InputError::new(file, actual, "all hosts of --only"));
    }
    if hosts.is_empty() || hosts.len() > hostlist::MOST_NAMES {
        let expected = format!("1 to {} of them with their adapters", hostlist::MOST_NAMES);
        return Err(InputError::new(file, format!("{} hosts", hosts.len()), expected));
    }
    if others > 0 {
        losses.push(format!("aggregation nodes and routers are left out: {others}"));
    }
    if !left_out.is_empty() {
        losses.push(format!("hosts that --only does not name are left out: {}", left_out.len()));
    }
    Ok(hosts)
}

/// The host in the description of an adapter, `node01 mlx5_0` or `node01 HCA-1`.
fn host_name(description: &str) -> Option<&str> {
    let first = description.split_whitespace().next()?;
    let number = first.strip_prefix("MT").unwrap_or_default();
    let chip = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let product = description.split_whitespace().any(|word| PRODUCTS.contains(&word));
    (hostlist::is_host_name(first) && !chip && !product).then_some(first)
}

#[cfg(test)]
mod tests;
