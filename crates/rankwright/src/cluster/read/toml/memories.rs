//! The NUMA nodes of a `[[node]]` table.

use ::toml::Spanned;

use super::node::Place;
use super::schema;
use crate::cluster::{Machine, MemoryAccess};
use crate::files::InputError;
use crate::ids::{CoreId, parse_index_list};
use crate::units::Bytes;

/// `memory = ".."` (for each NUMA node) and `[[node.numa]]` (a table per NUMA node).
pub(super) fn add(
    at: &Place<'_>,
    table: &schema::Node,
    machine: &mut Machine,
) -> Result<(), InputError> {
    let (cores, packages) = (machine.cores.len(), machine.packages);
    if let Some(text) = &table.memory {
        let memory: Bytes = at.source.quantity(text, &at.field("memory"))?;
        machine.numa_nodes.iter_mut().for_each(|node| node.memory = Some(memory));
    }
    let Some(tables) = &table.numa else {
        return Ok(());
    };
    if tables.get_ref().len() != machine.numa_nodes.len() {
        let actual = format!("{} tables", tables.get_ref().len());
        let nodes = machine.numa_nodes.len();
        let expected = format!("{nodes}, one for each NUMA node in the order of their L#");
        return Err(at.error(tables.span(), "numa", actual, expected));
    }
    for (node, table) in machine.numa_nodes.iter_mut().zip(tables.get_ref()) {
        node.os_index = table.os_index.unwrap_or(node.os_index);
        if let Some(text) = &table.memory {
            node.memory = Some(at.source.quantity(text, &at.field("numa.memory"))?);
        }
        if let Some(package) = &table.package {
            node.package = Some(*package.get_ref());
            if *package.get_ref() >= packages {
                let actual = package.get_ref().to_string();
                let expected = format!("a package (L#) from 0 to {}", packages.saturating_sub(1));
                return Err(at.error(package.span(), "numa.package", actual, expected));
            }
        }
        if let Some(all) = &table.package_numa_nodes {
            node.package_numa_nodes = Some(*all.get_ref());
            if *all.get_ref() == 0 {
                let expected = "a number from 1, also of those that are hidden";
                return Err(at.error(all.span(), "numa.package_numa_nodes", "0", expected));
            }
        }
        if let Some(kind) = &table.kind {
            node.kind = Some(kind.clone());
        }
        if !table.access.is_empty() {
            let access = table.access.iter().map(|access| self::access(at, access, cores));
            node.access = access.collect::<Result<_, _>>()?;
        }
    }
    let mut numbers: Vec<u32> = machine.numa_nodes.iter().map(|node| node.os_index).collect();
    numbers.sort_unstable();
    if let Some(pair) = numbers.windows(2).find(|pair| pair[0] == pair[1]) {
        let actual = format!("two NUMA nodes P#{}", pair[0]);
        return Err(at.error(tables.span(), "numa.os_index", actual, "unique numbers"));
    }
    Ok(())
}

/// `[[node.numa.access]]`; without `cores`, for all cores.
fn access(
    at: &Place<'_>,
    table: &Spanned<schema::Access>,
    cores: usize,
) -> Result<MemoryAccess, InputError> {
    let span = table.span();
    let table = table.get_ref();
    let indices = match &table.cores {
        None => (0..cores).map(CoreId::from_index).collect(),
        Some(text) => {
            let list = parse_index_list(text.get_ref()).ok().filter(|list| !list.is_empty());
            let mut list = list.unwrap_or_else(|| vec![u32::MAX]);
            list.sort_unstable();
            list.dedup();
            if list.last().is_none_or(|last| *last as usize >= cores) {
                let expected = format!("cores (L#) from 0 to {}, like 0-3,8", cores - 1);
                let actual = format!("`{}`", text.get_ref());
                return Err(at.error(text.span(), "numa.access.cores", actual, expected));
            }
            list.into_iter().map(CoreId).collect()
        }
    };
    let bandwidth = table.bandwidth.as_ref();
    let latency = table.latency.as_ref();
    if bandwidth.is_none() && latency.is_none() {
        return Err(at.error(span, "numa.access", "neither", "`bandwidth` or `latency`"));
    }
    let field = |field: &str| at.field(&format!("numa.access.{field}"));
    Ok(MemoryAccess {
        cores: indices,
        bandwidth: bandwidth
            .map(|text| at.source.quantity(text, &field("bandwidth")))
            .transpose()?,
        latency: latency.map(|text| at.source.quantity(text, &field("latency"))).transpose()?,
    })
}
