//! `cluster.toml`: cluster descriptions written by users and by `rankwright cluster`.
//! `docs/src/formats.md` has the schema.

mod calibration;
mod devices;
mod edit;
mod memories;
mod node;
mod rates;
mod schema;
mod switches;
mod write;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use ::toml::Spanned;
use serde::Deserialize;

use crate::cluster::{Cluster, ClusterDescription, Node, NodeGroup, Rates, hostlist};
use crate::files::{InputError, TomlText, read_text};
use crate::units::UnitError;

pub use edit::{with_rates, xml_files};
pub use write::write;

/// A field `rates` as written, here or in another file.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct WrittenRates(Spanned<schema::RatesField>);

impl WrittenRates {
    /// The position in the file.
    pub(crate) fn span(&self) -> Range<usize> {
        self.0.span()
    }

    /// The rates that it stands for.
    ///
    /// # Errors
    /// If a name or a value is wrong; the error has the line and the field.
    pub(crate) fn read(&self, source: &TomlText<'_>) -> Result<Rates, InputError> {
        rates::read(source, Some(&self.0))
    }
}

/// What a file must be, for error messages.
pub const EXPECTED: &str = "a cluster description (cluster.toml)";

/// The newest version of the format: since 2, `processor`, `pci_id` and `pci_bandwidth`.
const FORMAT: u32 = 2;

/// Reads a `cluster.toml`. Paths in `xml = ".."` are relative to its folder.
///
/// # Errors
/// If the file, or an XML file that it names, cannot be read, does not follow the schema or
/// contradicts itself; the error has the line and the field.
pub fn read(path: &Path) -> Result<Cluster, InputError> {
    let text = read_text(path, EXPECTED)?;
    parse(&text, &path.display().to_string(), path.parent().unwrap_or(Path::new("")))
}

/// Reads the text of a `cluster.toml`. `file` names it in errors; paths in `xml = ".."` are relative
/// to `folder`.
///
/// # Errors
/// As [`read`].
pub fn parse(text: &str, file: &str, folder: &Path) -> Result<Cluster, InputError> {
    if text.trim_start().starts_with('{') {
        let found = match text.contains("\"workload_digest\"") {
            true => "a placement, which is made for a cluster",
            false => "JSON",
        };
        return Err(InputError::new(file, found, EXPECTED));
    }
    let source = TomlText { file, text, folder };
    let tables: schema::File =
        ::toml::from_str(text).map_err(|error| source.syntax(&error, EXPECTED))?;
    if let Some(format) = tables.format.filter(|format| !(1..=FORMAT).contains(format.get_ref())) {
        let expected = format!("1 or {FORMAT}; a newer rankwright may read this file");
        return Err(source.error(format.span(), "format", format.get_ref().to_string(), expected));
    }
    let rates = rates::read(&source, tables.rates.as_ref())?;
    let mut description = ClusterDescription {
        name: tables.name.unwrap_or_else(|| "cluster".to_owned()),
        emulated: tables.emulated,
        invented: false,
        rates,
        groups: Vec::new(),
        nodes: Vec::new(),
        switches: Vec::new(),
    };
    let mut defined = BTreeMap::new();
    for table in &tables.node {
        let group = node::group(&source, table.get_ref(), table.span())?;
        add_nodes(&source, &mut description, &mut defined, &table.get_ref().names, group)?;
    }
    if description.nodes.is_empty() {
        let expected = "at least one table [[node]]";
        return Err(InputError::new(file, "no node", expected).in_field("node"));
    }
    switches::add(&source, &mut description, &tables.switch)?;
    description.build().map_err(|error| error.in_source(file))
}

/// Adds the nodes of a table; equal groups become one. `defined` has the line of each node so far.
fn add_nodes(
    source: &TomlText<'_>,
    description: &mut ClusterDescription,
    defined: &mut BTreeMap<String, usize>,
    names: &Spanned<String>,
    group: NodeGroup,
) -> Result<(), InputError> {
    let field = "node.names";
    let expanded = expand(source, names, field)?;
    if description.nodes.len() + expanded.len() > hostlist::MOST_NAMES {
        let actual = format!("{} nodes so far", description.nodes.len() + expanded.len());
        let expected = format!("at most {} nodes in a cluster", hostlist::MOST_NAMES);
        return Err(source.error(names.span(), field, actual, expected));
    }
    let index = description.group_index(group);
    for name in expanded {
        let line = source.line(names.span());
        if let Some(first) = defined.insert(name.clone(), line) {
            let actual = format!("a second node `{name}`");
            let expected = "every node once".to_owned();
            let advice = format!("the first one is named in line {first}");
            return Err(source.error(names.span(), field, actual, expected).with_advice(advice));
        }
        description.nodes.push(Node { name, group: index, switch: None });
    }
    Ok(())
}

/// The names of the hostlist in a field.
fn expand(
    source: &TomlText<'_>,
    text: &Spanned<String>,
    field: &str,
) -> Result<Vec<String>, InputError> {
    hostlist::expand(text.get_ref())
        .map_err(|error| source.error(text.span(), field, error.found, error.expected))
}

/// Replaces `target` by the quantity in a field, if there is one.
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
