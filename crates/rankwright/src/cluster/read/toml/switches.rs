//! The `[[switch]]` tables: the tree of switches above the nodes.

use std::collections::BTreeMap;

use ::toml::Spanned;

use super::schema::Text;
use super::{TomlText, expand, schema};
use crate::cluster::read::switch_order::children_first;
use crate::cluster::{ClusterDescription, Switch};
use crate::files::InputError;

/// Adds the switches to a description whose nodes are complete: each before its parent, otherwise in
/// the order of the file.
pub(super) fn add(
    source: &TomlText<'_>,
    description: &mut ClusterDescription,
    tables: &[Spanned<schema::Switch>],
) -> Result<(), InputError> {
    let mut positions = BTreeMap::new();
    for (index, table) in tables.iter().enumerate() {
        let name = &table.get_ref().name;
        if positions.insert(name.get_ref().as_str(), index).is_some() {
            let actual = format!("a second switch `{}`", name.get_ref());
            return Err(source.error(name.span(), "switch.name", actual, "every switch once"));
        }
    }
    let parents = parents(source, tables, &positions)?;
    let order = children_first(&parents).map_err(|error| {
        let name = |index: usize| tables[index].get_ref().name.get_ref().clone();
        let (index, actual, expected) = error.described(name);
        let field = format!("switch \"{}\".switches", name(index));
        let span = tables[index].get_ref().name.span();
        source.error(span, &field, format!("switch {actual}"), expected)
    })?;
    let mut new_position = vec![0; tables.len()];
    for (position, &index) in order.iter().enumerate() {
        new_position[index] = position;
    }
    for &index in &order {
        let table = tables[index].get_ref();
        let field = format!("switch \"{}\".uplink", table.name.get_ref());
        let uplink = table.uplink.as_ref().map(|text| source.quantity(text, &field)).transpose()?;
        let parent = parents[index].map(|parent| new_position[parent]);
        description.switches.push(Switch { name: table.name.get_ref().clone(), parent, uplink });
    }
    attach_nodes(source, description, tables, &new_position)
}

/// The switch above each; positions in `tables`.
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
                let actual = format!("`{child}`, which is not a switch");
                let expected = "names of other [[switch]] tables";
                return Err(source.error(text.span(), &field, actual, expected));
            };
            if let Some(first) = parents[position].replace(index) {
                let actual =
                    format!("`{child}` below `{}` and below `{}`", name(first), name(index));
                let expected = "at most one switch above each";
                return Err(source.error(text.span(), &field, actual, expected));
            }
        }
    }
    Ok(parents)
}

/// Attaches nodes to their switches; `new_position` is by position in `tables`.
fn attach_nodes(
    source: &TomlText<'_>,
    description: &mut ClusterDescription,
    tables: &[Spanned<schema::Switch>],
    new_position: &[usize],
) -> Result<(), InputError> {
    let by_name: BTreeMap<String, usize> = description
        .nodes
        .iter()
        .enumerate()
        .map(|(index, node)| (node.name.clone(), index))
        .collect();
    for (index, table) in tables.iter().enumerate() {
        let Some((names, text)) = names(source, table, |table| table.nodes.as_ref())? else {
            continue;
        };
        let field = format!("switch \"{}\".nodes", table.get_ref().name.get_ref());
        for name in names {
            let Some(&node) = by_name.get(&name) else {
                let actual = format!("`{name}`, which is not a node");
                let expected = "names of nodes in the [[node]] tables";
                return Err(source.error(text.span(), &field, actual, expected));
            };
            if let Some(first) = description.nodes[node].switch.replace(new_position[index]) {
                let first = &description.switches[first].name;
                let actual = format!("node `{name}`, which is at switch `{first}` already");
                return Err(source.error(text.span(), &field, actual, "every node at one switch"));
            }
        }
    }
    Ok(())
}

/// The names of the hostlist in a field, with its text.
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
