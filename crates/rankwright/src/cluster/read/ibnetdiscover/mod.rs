//! The output of `ibnetdiscover` (infiniband-diags): all switches and channel adapters of an
//! InfiniBand fabric with their links.
//!
//! A fabric is any graph, our description a tree: what that loses is told in words.

mod adapters;
mod fabric;
mod reduction;
mod switch_names;

use std::collections::{BTreeMap, BTreeSet};

use self::fabric::{Fabric, Kind};
use crate::cluster::{Cluster, SwitchTree, hostlist};
use crate::files::InputError;
use crate::units::BytesPerSecond;

/// What a file must be, for error messages.
pub const EXPECTED: &str = "the output of ibnetdiscover (without -l or -p)";

/// Hosts and switches of a fabric as a tree.
#[derive(Debug, Clone, PartialEq)]
pub struct FabricTree {
    /// The switches, and the hosts in the order of the numbers in their names.
    pub tree: SwitchTree,
    /// What the fabric has and the tree has not: a sentence each.
    pub losses: Vec<String>,
    /// The channel adapters of each host.
    adapters: BTreeMap<String, Vec<Adapter>>,
}

/// A channel adapter of a host.
#[derive(Debug, Clone, PartialEq)]
struct Adapter {
    /// Its name on the host: `mlx5_0`, `HCA-1`.
    device: String,
    /// All its links together, each way, where that is known.
    rate: Option<BytesPerSecond>,
}

/// Whether a text is the output of ibnetdiscover.
#[must_use]
pub fn sniff(text: &str) -> bool {
    let is_told = |line: &str| {
        let header = line.strip_prefix("Switch").or_else(|| line.strip_prefix("Ca"));
        line.starts_with("# Topology file: generated on")
            || line.starts_with("vendid=0x")
            || header.is_some_and(|rest| rest.starts_with([' ', '\t']) && rest.contains("\"S-"))
    };
    text.lines().take(50).any(is_told)
}

/// Reads the text of a file; `file` names it in errors. Only the hosts of `only`, if there are any,
/// are kept; adapters of switches (aggregation nodes) and routers never are.
///
/// # Errors
/// If a line is none of ibnetdiscover's, a link has one end only (the file is cut off), an adapter
/// does not tell its host, or the hosts are in several fabrics that nothing connects; the error has
/// the line.
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
    /// The cluster of the hosts, as [`SwitchTree::cluster`] makes it. Network devices that the
    /// description does not know, or knows no bandwidth of, are as the fabric tells.
    ///
    /// # Errors
    /// As there: the first host of unknown type.
    pub fn cluster(self, description: &Cluster) -> Result<Cluster, String> {
        let mut cluster = self.tree.cluster(description)?;
        adapters::add_devices(&mut cluster, &self.adapters);
        Ok(cluster)
    }
}

/// A host: positions in [`Fabric::devices`] of its adapters.
struct Host {
    adapters: Vec<usize>,
}

impl Host {
    /// The switches that it has links to.
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
            let rates = device.ports.values().map(|port| port.rate.map(|rate| rate.0));
            Adapter {
                device: if named { name.to_owned() } else { format!("hca{number}") },
                rate: rates.sum::<Option<f64>>().filter(|sum| *sum > 0.0).map(BytesPerSecond),
            }
        };
        let mut adapters: Vec<Adapter> = self.adapters.iter().enumerate().map(adapter).collect();
        adapters.sort_by(|a, b| {
            hostlist::numeric_order(&a.device).cmp(&hostlist::numeric_order(&b.device))
        });
        adapters
    }
}

/// What adapters inside switches call themselves (SHARP).
const AGGREGATION: &str = "Aggregation Node";

/// Words of descriptions that name a product instead of a host.
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
        let found = format!("the adapter {} called `{}`", device.id, device.description);
        let error = InputError::new(file, found, "a description like `node01 mlx5_0`");
        let advice = "give ibnetdiscover a --node-name-map, or name the hosts here with --only";
        return Err(error.at_line(device.line).with_advice(advice));
    }
    if let Some(missing) = only.iter().find(|name| !hosts.contains_key(*name)) {
        let found = format!("no adapter of the host `{missing}`");
        return Err(InputError::new(file, found, "all hosts of --only"));
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
