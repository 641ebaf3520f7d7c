//! Names of switches.

use std::collections::{BTreeMap, BTreeSet};

use super::fabric::{Fabric, Kind};
use crate::cluster::hostlist;

/// A unique name for each switch, by its position in [`Fabric::devices`]: its node description, or
/// the name within the vendor's form of it, if that is a host name and unique; otherwise its id.
pub(super) fn names(fabric: &Fabric) -> BTreeMap<usize, String> {
    let switches = fabric.devices.iter().enumerate().filter(|(_, d)| d.kind == Kind::Switch);
    let switches: Vec<usize> = switches.map(|(index, _)| index).collect();
    let forms: [fn(&str) -> Option<String>; 3] = [
        |text| Some(text.to_owned()),
        |text| vendors(text).map(|(name, _)| name.to_owned()),
        inside,
    ];
    let mut names = BTreeMap::new();
    // Ids are taken from the start: a switch without another name has its id.
    let mut taken: BTreeSet<String> =
        switches.iter().map(|switch| fabric.devices[*switch].id.clone()).collect();
    for form in forms {
        let left = switches.iter().filter(|switch| !names.contains_key(*switch));
        let name = |switch: &usize| {
            let name = form(&fabric.devices[*switch].description)?;
            hostlist::is_host_name(&name).then_some((*switch, name))
        };
        let proposed: Vec<(usize, String)> = left.filter_map(name).collect();
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        proposed.iter().for_each(|(_, name)| *count.entry(name).or_default() += 1);
        let unique: Vec<(usize, String)> = proposed
            .iter()
            .filter(|(_, name)| count[name.as_str()] == 1 && !taken.contains(name))
            .cloned()
            .collect();
        taken.extend(unique.iter().map(|(_, name)| name.clone()));
        names.extend(unique);
    }
    for switch in &switches {
        names.entry(*switch).or_insert_with(|| fabric.devices[*switch].id.clone());
    }
    names
}

/// `leaf1` and `MQM8700/U1` of `MF0;leaf1:MQM8700/U1`, the node description of Mellanox switches.
fn vendors(description: &str) -> Option<(&str, &str)> {
    description.split_once(';')?.1.rsplit_once(':')
}

/// `director-L01-U1` of `MF0;director:CS7500/L01/U1`: a chip of a chassis.
fn inside(description: &str) -> Option<String> {
    let (name, model) = vendors(description)?;
    Some(format!("{name}-{}", model.split_once('/')?.1.replace('/', "-")))
}
