//! `cluster.toml`: the description of a cluster that people write and `rankwright cluster` makes.
//! `docs/src/formats.md` has the schema.

mod devices;
mod memories;
mod node;
mod rates;
mod schema;
mod switches;
mod write;

use std::collections::BTreeMap;
use std::path::Path;

use ::toml::Spanned;

use crate::cluster::{Cluster, Node, NodeGroup, hostlist};
use crate::files::{InputError, TomlText, read_text};
use crate::units::UnitError;

pub use write::write;

/// What a file must be, for error messages.
pub const EXPECTED: &str = "a cluster description (cluster.toml)";

/// Reads a `cluster.toml`; an `xml = ".."` in it is looked for beside it.
///
/// # Errors
/// If the file, or an XML file it names, cannot be read, does not follow the schema or contradicts
/// itself; the error has the line and the field.
pub fn read(path: &Path) -> Result<Cluster, InputError> {
    let text = read_text(path, EXPECTED)?;
    parse(&text, &path.display().to_string(), path.parent().unwrap_or(Path::new("")))
}

/// Reads the text of a `cluster.toml`. `file` names it in errors; `folder` is where an
/// `xml = ".."` is looked for.
///
/// # Errors
/// As [`read`].
pub fn parse(text: &str, file: &str, folder: &Path) -> Result<Cluster, InputError> {
    let source = TomlText { file, text, folder };
    let tables: schema::File =
        ::toml::from_str(text).map_err(|error| source.syntax(&error, EXPECTED))?;
    let rates = rates::read(&source, tables.rates.as_ref())?;
    let mut cluster = Cluster {
        name: tables.name.unwrap_or_else(|| "cluster".to_owned()),
        emulated: tables.emulated,
        rates,
        groups: Vec::new(),
        nodes: Vec::new(),
        switches: Vec::new(),
    };
    let mut defined = BTreeMap::new();
    for table in &tables.node {
        let group = node::group(&source, table.get_ref(), table.span())?;
        add_nodes(&source, &mut cluster, &mut defined, &table.get_ref().names, group)?;
    }
    if cluster.nodes.is_empty() {
        let expected = "at least one table [[node]]";
        return Err(InputError::new(file, "no node", expected).in_field("node"));
    }
    switches::add(&source, &mut cluster, &tables.switch)?;
    Ok(cluster)
}

/// Adds the nodes of one table; a group that is equal to an earlier one is the same group.
fn add_nodes(
    source: &TomlText<'_>,
    cluster: &mut Cluster,
    defined: &mut BTreeMap<String, usize>,
    names: &Spanned<String>,
    group: NodeGroup,
) -> Result<(), InputError> {
    let field = "node.names";
    let expanded = expand(source, names, field)?;
    if cluster.nodes.len() + expanded.len() > hostlist::MOST_NAMES {
        let found = format!("{} nodes so far", cluster.nodes.len() + expanded.len());
        let expected = format!("at most {} nodes in a cluster", hostlist::MOST_NAMES);
        return Err(source.error(names.span(), field, found, expected));
    }
    let index = cluster.groups.iter().position(|known| *known == group).unwrap_or_else(|| {
        cluster.groups.push(group);
        cluster.groups.len() - 1
    });
    for name in expanded {
        let line = source.line(names.span());
        if let Some(first) = defined.insert(name.clone(), line) {
            let found = format!("a second node `{name}`");
            let expected = "every node once".to_owned();
            let advice = format!("the first one is named in line {first}");
            return Err(source.error(names.span(), field, found, expected).with_advice(advice));
        }
        cluster.nodes.push(Node { name, group: index, switch: None });
    }
    Ok(())
}

/// The names of a hostlist in a field.
fn expand(
    source: &TomlText<'_>,
    text: &Spanned<String>,
    field: &str,
) -> Result<Vec<String>, InputError> {
    hostlist::expand(text.get_ref())
        .map_err(|error| source.error(text.span(), field, error.found, error.expected))
}

/// Replaces `target` by a quantity that is given.
fn quantity_into<T: std::str::FromStr<Err = UnitError>>(
    source: &TomlText<'_>,
    text: &Option<Spanned<String>>,
    field: &str,
    target: &mut T,
) -> Result<(), InputError> {
    if let Some(text) = text {
        *target = source.quantity(text, field)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
