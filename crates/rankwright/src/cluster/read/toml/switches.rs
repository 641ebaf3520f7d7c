//! The tables `[[switch]]`: the tree of switches above the nodes.

use std::collections::BTreeMap;

use ::toml::Spanned;

use super::schema::Text;
use super::{TomlText, expand, schema};
use crate::cluster::read::switch_order::children_first;
use crate::cluster::{Cluster, Switch};
use crate::files::InputError;

/// Adds the switches to a cluster whose nodes are complete; parents stand behind their children,
/// otherwise the order of the file is kept.
pub(super) fn add(
    source: &TomlText<'_>,
    cluster: &mut Cluster,
    tables: &[Spanned<schema::Switch>],
) -> Result<(), InputError> {
    let mut positions = BTreeMap::new();
    for (index, table) in tables.iter().enumerate() {
        let name = &table.get_ref().name;
        if positions.insert(name.get_ref().as_str(), index).is_some() {
            let found = format!("a second switch `{}`", name.get_ref());
            return Err(source.error(name.span(), "switch.name", found, "every switch once"));
        }
    }
    let parents = parents(source, tables, &positions)?;
    let order = children_first(&parents).map_err(|no_tree| {
        let name = |index: usize| tables[index].get_ref().name.get_ref().clone();
        let (index, found, expected) = no_tree.described(name);
        let field = format!("switch \"{}\".switches", name(index));
        let place = tables[index].get_ref().name.span();
        source.error(place, &field, format!("switch {found}"), expected)
    })?;
    let mut place = vec![0; tables.len()];
    for (position, &index) in order.iter().enumerate() {
        place[index] = position;
    }
    for &index in &order {
        let table = tables[index].get_ref();
        let field = format!("switch \"{}\".uplink", table.name.get_ref());
        let uplink = table.uplink.as_ref().map(|text| source.quantity(text, &field)).transpose()?;
        let parent = parents[index].map(|parent| place[parent]);
        cluster.switches.push(Switch { name: table.name.get_ref().clone(), parent, uplink });
    }
    attach_nodes(source, cluster, tables, &place)
}

/// The switch above each, as positions in the file.
fn parents(
    source: &TomlText<'_>,
    tables: &[Spanned<schema::Switch>],
    positions: &BTreeMap<&str, usize>,
) -> Result<Vec<Option<usize>>, InputError> {
    let mut parents: Vec<Option<usize>> = vec![None; tables.len()];
    for (index, table) in tables.iter().enumerate() {
        let Some((names, text)) = names(source, table, |table| table.switches.as_ref())? else {
            continue;
        };
        let name = |index: usize| tables[index].get_ref().name.get_ref();
        let field = format!("switch \"{}\".switches", name(index));
        for child in names {
            let Some(&position) = positions.get(child.as_str()) else {
                let found = format!("`{child}`, which is no switch");
                let expected = "names of other tables [[switch]]";
                return Err(source.error(text.span(), &field, found, expected));
            };
            if let Some(first) = parents[position].replace(index) {
                let found =
                    format!("`{child}` below `{}` and below `{}`", name(first), name(index));
                let expected = "at most one switch above each";
                return Err(source.error(text.span(), &field, found, expected));
            }
        }
    }
    Ok(parents)
}

fn attach_nodes(
    source: &TomlText<'_>,
    cluster: &mut Cluster,
    tables: &[Spanned<schema::Switch>],
    place: &[usize],
) -> Result<(), InputError> {
    let by_name: BTreeMap<String, usize> =
        cluster.nodes.iter().enumerate().map(|(index, node)| (node.name.clone(), index)).collect();
    for (index, table) in tables.iter().enumerate() {
        let Some((names, text)) = names(source, table, |table| table.nodes.as_ref())? else {
            continue;
        };
        let field = format!("switch \"{}\".nodes", table.get_ref().name.get_ref());
        for name in names {
            let Some(&node) = by_name.get(&name) else {
                let found = format!("`{name}`, which is no node");
                let expected = "names from the tables [[node]]";
                return Err(source.error(text.span(), &field, found, expected));
            };
            if let Some(first) = cluster.nodes[node].switch.replace(place[index]) {
                let first = &cluster.switches[first].name;
                let found = format!("node `{name}`, which is at switch `{first}` already");
                return Err(source.error(text.span(), &field, found, "every node at one switch"));
            }
        }
    }
    Ok(())
}

/// The expanded names of a field, with its text.
fn names<'a>(
    source: &TomlText<'_>,
    table: &'a Spanned<schema::Switch>,
    field: impl Fn(&'a schema::Switch) -> Option<&'a Text>,
) -> Result<Option<(Vec<String>, &'a Text)>, InputError> {
    let Some(text) = field(table.get_ref()) else {
        return Ok(None);
    };
    let field = format!("switch \"{}\"", table.get_ref().name.get_ref());
    Ok(Some((expand(source, text, &field)?, text)))
}
