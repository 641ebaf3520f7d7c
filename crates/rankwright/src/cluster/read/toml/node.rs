//! A `[[node]]` table: the hardware of nodes of one type.

use std::ops::{Range, RangeInclusive};

use ::toml::Spanned;

use super::{TomlText, devices, memories, schema};
use crate::cluster::read::{hwloc_xml, synthetic};
use crate::cluster::{Core, Machine, NodeGroup, NumaNode, Pu, SPEEDS};
use crate::files::InputError;
use crate::ids::{CoreId, NumaId, PuId, parse_index_list};

type Text = Spanned<String>;

/// hwloc knows no others.
const CACHE_LEVELS: RangeInclusive<u8> = 1..=5;

/// The node type that a table describes.
pub(super) fn group(
    source: &TomlText<'_>,
    table: &schema::Node,
    span: Range<usize>,
) -> Result<NodeGroup, InputError> {
    let at = Place { source, node: table.names.get_ref() };
    let NodeGroup { mut machine, mut free, .. } = hardware(&at, table, span)?;
    machine.processor = table.processor.clone().or(machine.processor);
    if let Some(level) = &table.cache_level {
        machine.cache_level = Some(cache_level(&at, level)?);
    }
    memories::add(&at, table, &mut machine)?;
    if let Some(distance) = &table.numa_distance {
        let nodes = machine.numa_nodes.len();
        let rows = distance.get_ref();
        if rows.len() != nodes || rows.iter().any(|row| row.len() != nodes) {
            let actual = format!("{} rows of {:?} numbers", rows.len(), lengths(rows));
            let expected = format!("{nodes} rows of {nodes}, one for each NUMA node");
            return Err(at.error(distance.span(), "numa_distance", actual, expected));
        }
        machine.numa_distance = Some(rows.clone());
    }
    devices::add(&at, table, &mut machine)?;
    if let Some(list) = &table.free {
        free = free_pus(&at, list, &machine)?;
    }
    Ok(NodeGroup { machine, free, speed: speed(&at, table)? })
}

fn speed(at: &Place<'_>, table: &schema::Node) -> Result<f64, InputError> {
    let Some(given) = &table.speed else { return Ok(1.0) };
    let speed = *given.get_ref();
    if SPEEDS.contains(&speed) {
        return Ok(speed);
    }
    let expected = format!("a number from {} to {}", SPEEDS.start(), SPEEDS.end());
    Err(at.error(given.span(), "speed", speed.to_string(), expected))
}

fn cache_level(at: &Place<'_>, given: &Spanned<u8>) -> Result<u8, InputError> {
    let level = *given.get_ref();
    if CACHE_LEVELS.contains(&level) {
        return Ok(level);
    }
    let expected = format!("a level from {} to {}", CACHE_LEVELS.start(), CACHE_LEVELS.end());
    Err(at.error(given.span(), "cache_level", level.to_string(), expected))
}

fn lengths(rows: &[Vec<u32>]) -> Vec<usize> {
    let mut lengths: Vec<usize> = rows.iter().map(Vec::len).collect();
    lengths.dedup();
    lengths
}

/// A `[[node]]` table, for errors.
pub(super) struct Place<'a> {
    pub(super) source: &'a TomlText<'a>,
    /// The hostlist in `names`.
    node: &'a str,
}

impl Place<'_> {
    /// `node "n[0-7]".topology`.
    pub(super) fn field(&self, field: &str) -> String {
        format!("node \"{}\".{field}", self.node)
    }

    pub(super) fn error(
        &self,
        span: Range<usize>,
        field: &str,
        actual: impl Into<String>,
        expected: impl Into<String>,
    ) -> InputError {
        self.source.error(span, &self.field(field), actual, expected)
    }
}

/// The hardware from the source in the table: `topology`, `xml` or `cores`.
fn hardware(
    at: &Place<'_>,
    table: &schema::Node,
    span: Range<usize>,
) -> Result<NodeGroup, InputError> {
    let expected = "one of `topology` (a synthetic string), `xml` (a file) and `cores` (a list)";
    let given = [
        table.topology.as_ref().map(Spanned::span),
        table.xml.as_ref().map(Spanned::span),
        table.cores.as_ref().map(Spanned::span),
    ];
    let mut given: Vec<_> = given.into_iter().flatten().collect();
    given.sort_by_key(|span| span.start);
    if given.len() > 1 {
        return Err(at.error(given[1].clone(), "topology", "a second source", expected));
    }
    if let Some(text) = &table.topology {
        let machine = synthetic::parse(text.get_ref())
            .map_err(|error| at.error(text.span(), "topology", error.found, error.expected))?;
        Ok(NodeGroup::all_free(machine))
    } else if let Some(path) = &table.xml {
        hwloc_xml::read(&at.source.folder.join(path.get_ref())).map_err(|error| {
            let named =
                format!("it is named in {}:{}", at.source.file, at.source.line(path.span()));
            error.with_advice(named)
        })
    } else if let Some(lines) = &table.cores {
        Ok(NodeGroup::all_free(listed_cores(at, lines, table.numa.as_ref())?))
    } else {
        Err(at.error(span, "topology", "no source of the hardware", expected))
    }
}

/// A list of cores: `"package:0 numa:0 cache:0 pus:0,64"`.
fn listed_cores(
    at: &Place<'_>,
    lines: &Spanned<Vec<Text>>,
    numa: Option<&Spanned<Vec<schema::Numa>>>,
) -> Result<Machine, InputError> {
    let numa_nodes = numa.map_or(1, |numa| numa.get_ref().len().max(1));
    let mut machine = Machine::default();
    for index in 0..numa_nodes {
        let os_index = u32::try_from(index).unwrap_or(u32::MAX);
        machine.numa_nodes.push(NumaNode::new(os_index));
    }
    for line in lines.get_ref() {
        let core = listed_core(line.get_ref()).filter(|core| core.numa.index() < numa_nodes);
        let core = core.ok_or_else(|| {
            let expected = "a core like \"package:0 numa:0 cache:0 pus:0,64\", with numa below";
            let expected = format!("{expected} {numa_nodes} (the number of [[node.numa]] tables)");
            at.error(line.span(), "cores", format!("`{}`", line.get_ref()), expected)
        })?;
        machine.packages = machine.packages.max(core.package + 1);
        let id = CoreId::from_index(machine.cores.len());
        for pu in &core.pus {
            if machine.pus.iter().any(|other| other.id == *pu) {
                let actual = format!("PU P#{pu} in a second core");
                return Err(at.error(line.span(), "cores", actual, "every PU in one core"));
            }
            machine.pus.push(Pu { id: *pu, core: id });
        }
        machine.cores.push(core);
    }
    if machine.cores.is_empty() {
        return Err(at.error(lines.span(), "cores", "no core", "at least one"));
    }
    Ok(machine)
}

fn listed_core(text: &str) -> Option<Core> {
    let mut core = Core { package: 0, numa: NumaId(0), cache: None, pus: Vec::new() };
    for part in text.split_whitespace() {
        let (name, value) = part.split_once(':')?;
        match name {
            "package" => core.package = usize::from(value.parse::<u16>().ok()?),
            "numa" => core.numa = NumaId(value.parse().ok()?),
            "cache" => core.cache = Some(value.parse().ok()?),
            "pus" => core.pus = parse_index_list(value).ok()?.into_iter().map(PuId).collect(),
            _ => return None,
        }
    }
    (!core.pus.is_empty()).then_some(core)
}

/// `free = "0-11"`: the PUs (L#) that jobs may use.
fn free_pus(at: &Place<'_>, list: &Text, machine: &Machine) -> Result<Vec<bool>, InputError> {
    let pus = machine.pus.len();
    let wrong = |actual: String, expected: String| at.error(list.span(), "free", actual, expected);
    let indices = parse_index_list(list.get_ref()).map_err(|error| {
        let expected = format!("PUs (L#) from 0 to {}, like 0-3,8", pus - 1);
        wrong(format!("`{}`", error.found), expected)
    })?;
    let mut free = vec![false; pus];
    for index in indices {
        let Some(entry) = free.get_mut(index as usize) else {
            return Err(wrong(format!("PU L#{index}"), format!("PUs L#0 to L#{}", pus - 1)));
        };
        *entry = true;
    }
    Ok(free)
}
