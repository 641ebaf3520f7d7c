//! What to call switches.

use std::collections::{BTreeMap, BTreeSet};

use super::fabric::{Fabric, Kind};
use crate::cluster::hostlist;

/// A name for each switch, another one for each: what it calls itself, without what the
/// vendor puts around it where that is enough; else its GUID.
pub(super) fn names(fabric: &Fabric) -> BTreeMap<usize, String> {
    let switches = fabric.devices.iter().enumerate().filter(|(_, d)| d.kind == Kind::Switch);
    let switches: Vec<usize> = switches.map(|(index, _)| index).collect();
    let forms: [fn(&str) -> Option<String>; 3] = [
        |text| Some(text.to_owned()),
        |text| vendors(text).map(|(name, _)| name.to_owned()),
        inside,
    ];
    let mut names = BTreeMap::new();
    let mut taken = BTreeSet::new();
    for form in forms {
        let left = switches.iter().filter(|switch| !names.contains_key(*switch));
        let name = |switch: &usize| {
            let name = form(&fabric.devices[*switch].description)?;
            hostlist::is_host_name(&name).then_some((*switch, name))
        };
        let made: Vec<(usize, String)> = left.filter_map(name).collect();
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        made.iter().for_each(|(_, name)| *count.entry(name).or_default() += 1);
        let only: Vec<(usize, String)> = made
            .iter()
            .filter(|(_, name)| count[name.as_str()] == 1 && !taken.contains(name))
            .cloned()
            .collect();
        taken.extend(only.iter().map(|(_, name)| name.clone()));
        names.extend(only);
    }
    for switch in &switches {
        names.entry(*switch).or_insert_with(|| fabric.devices[*switch].id.clone());
    }
    names
}

/// `leaf1` and `MQM8700/U1` of `MF0;leaf1:MQM8700/U1`, as switches of Mellanox call themselves.
fn vendors(description: &str) -> Option<(&str, &str)> {
    description.split_once(';')?.1.rsplit_once(':')
}

/// `director-L01-U1` of `MF0;director:CS7500/L01/U1`: one of the chips of a chassis.
fn inside(description: &str) -> Option<String> {
    let (name, model) = vendors(description)?;
    Some(format!("{name}-{}", model.split_once('/')?.1.replace('/', "-")))
}
