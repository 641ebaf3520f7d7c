//! Splits a synthetic string into levels.

use super::{SyntheticError, error};
use crate::units::Bytes;

/// A word of the string: a level of the tree.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Level {
    pub(super) kind: LevelKind,
    /// The level of a cache, where the text has it.
    pub(super) cache_level: Option<u8>,
    /// Number of objects in each object of the level above, from 1.
    pub(super) count: u64,
    /// Size of each NUMA node, for a NUMA level.
    pub(super) memory: Option<Bytes>,
    /// The value of `indexes=`.
    pub(super) indexes: Option<String>,
    /// The NUMA nodes attached to each of the objects.
    pub(super) attached: Vec<Attached>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LevelKind {
    Group,
    Package,
    Die,
    Numa,
    Cache,
    Core,
    Pu,
}

/// An attached NUMA node, in brackets.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Attached {
    pub(super) memory: Option<Bytes>,
    pub(super) indexes: Option<String>,
}

const TYPES: &str =
    "one of `group`, `pack`, `die`, `numa`, `l1` to `l5`, `core`, `pu`, with a number: `core:8`";

/// hwloc's own limit is 128 levels.
const MOST_LEVELS: usize = 100;

/// The levels below the machine, and the NUMA nodes attached to the machine.
pub(super) fn levels(text: &str) -> Result<(Vec<Level>, Vec<Attached>), SyntheticError> {
    let mut levels: Vec<(Level, String, bool)> = Vec::new();
    let mut root = Vec::new();
    let mut rest = text.trim_start();
    if let Some(attributes) = rest.strip_prefix('(') {
        // Attributes of the machine are not used, but must be well-formed.
        rest = attributes_of(attributes)?.1.trim_start();
    }
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let (memory, after) = attached(inside)?;
            levels.last_mut().map_or(&mut root, |(level, ..)| &mut level.attached).push(memory);
            rest = after.trim_start();
            continue;
        }
        let (level, name, after) = word(rest)?;
        let typed = level.is_some();
        let (kind, count, attributes) = name;
        let level = Level {
            kind: level.unwrap_or(LevelKind::Group),
            cache_level: cache_level(&kind),
            count,
            memory: attributes.memory,
            indexes: attributes.indexes,
            attached: Vec::new(),
        };
        levels.push((level, kind, typed));
        if levels.len() > MOST_LEVELS {
            return Err(error("too many levels", format!("at most {MOST_LEVELS}")));
        }
        rest = after.trim_start();
    }
    assign_kinds(&mut levels, !root.is_empty())?;
    check_order(&levels, !root.is_empty())?;
    Ok((levels.into_iter().map(|(level, ..)| level).collect(), root))
}

/// The name, count and attributes of a word.
type Word = (String, u64, Attached);

/// Reads `core:8(..)` or `8`.
fn word(text: &str) -> Result<(Option<LevelKind>, Word, &str), SyntheticError> {
    let end = text.find([' ', '(', '[', '\t', '\n']).unwrap_or(text.len());
    let (head, mut rest) = text.split_at(end);
    let (kind, name, count) = match head.split_once(':') {
        Some((name, count)) => (Some(level_kind(name)?), name, count),
        None if head.starts_with(|c: char| c.is_ascii_digit()) => (None, head, head),
        None => return Err(error(format!("`{head}`"), TYPES)),
    };
    let number = count.parse::<u64>().ok().filter(|number| *number > 0);
    let number = number.ok_or_else(|| {
        error(format!("`{count}` as the count in `{head}`"), "a number from 1 up")
    })?;
    let mut attributes = Attached::default();
    if let Some(inside) = rest.strip_prefix('(') {
        (attributes, rest) = attributes_of(inside)?;
    }
    Ok((kind, (name.to_owned(), number, attributes), rest))
}

/// The type with this name, or with an abbreviation of it of at least two letters. The level of a
/// cache may be followed by `d`, `i` or `u`, and by `cache`.
pub(super) fn level_kind(name: &str) -> Result<LevelKind, SyntheticError> {
    let lower = name.to_ascii_lowercase();
    let short_for = |long: &str| lower.len() >= 2 && long.starts_with(&lower);
    let is_cache = || {
        let level = lower.strip_prefix('l')?;
        let kind = level.strip_prefix(['1', '2', '3', '4', '5'])?;
        let kind = kind.strip_suffix("cache").unwrap_or(kind);
        matches!(kind, "" | "d" | "i" | "u").then_some(())
    };
    let is_group = || {
        let name = lower.trim_end_matches(|c: char| c.is_ascii_digit());
        name.len() >= 2 && "group".starts_with(name)
    };
    const NAMES: [(&str, LevelKind); 7] = [
        ("package", LevelKind::Package),
        ("socket", LevelKind::Package),
        ("numanode", LevelKind::Numa),
        ("node", LevelKind::Numa),
        ("die", LevelKind::Die),
        ("core", LevelKind::Core),
        ("pu", LevelKind::Pu),
    ];
    if let Some((_, kind)) = NAMES.iter().find(|(long, _)| short_for(long)) {
        Ok(*kind)
    } else if is_cache().is_some() {
        Ok(LevelKind::Cache)
    } else if is_group() {
        Ok(LevelKind::Group)
    } else {
        Err(error(format!("the type `{name}`"), TYPES))
    }
}

/// The level in the name of a cache: 3 of `l3`, `L3Cache`.
fn cache_level(name: &str) -> Option<u8> {
    let level = name.strip_prefix(['l', 'L'])?.chars().next()?;
    level.to_digit(10).and_then(|level| u8::try_from(level).ok())
}

/// Reads `numa(memory=16GB)]` after an opening bracket. Returns the rest of the text, too.
fn attached(text: &str) -> Result<(Attached, &str), SyntheticError> {
    let wrong =
        || error(format!("`[` in `[{text}`"), "an attached memory like [numa(memory=16GB)]");
    let (inside, after) = text.split_once(']').ok_or_else(wrong)?;
    let (name, attributes) = match inside.split_once('(') {
        Some((name, attributes)) => (name, attributes_of(attributes)?.0),
        None => (inside, Attached::default()),
    };
    match level_kind(name.trim()) {
        Ok(LevelKind::Numa) => Ok((attributes, after)),
        _ => Err(wrong()),
    }
}

/// Reads `memory=16GB indexes=0,1)` after an opening parenthesis. Returns the rest of the text, too.
fn attributes_of(text: &str) -> Result<(Attached, &str), SyntheticError> {
    let Some((inside, after)) = text.split_once(')') else {
        return Err(error(format!("`(` without `)` before `{text}`"), "a closing parenthesis"));
    };
    let mut attributes = Attached::default();
    for attribute in inside.split_whitespace() {
        match attribute.split_once('=') {
            Some(("memory", size)) => attributes.memory = Some(memory_size(size)?),
            Some(("indexes", list)) => attributes.indexes = Some(list.to_owned()),
            // Cache sizes have no meaning for a placement.
            Some(("size" | "memorysidecachesize", size)) => drop(memory_size(size)?),
            _ => {
                let expected = "one of `memory=`, `size=`, `memorysidecachesize=`, `indexes=`";
                return Err(error(format!("the attribute `{attribute}`"), expected));
            }
        }
    }
    Ok((attributes, after))
}

fn memory_size(text: &str) -> Result<Bytes, SyntheticError> {
    let wrong = || error(format!("the size `{text}`"), "a size like 16GB or 64GiB");
    let with_unit = if text.ends_with(['B', 'b']) { text.to_owned() } else { format!("{text} B") };
    let bytes = with_unit.replace(['b'], "B").parse::<Bytes>().map_err(|_| wrong())?;
    if bytes.0 == 0 { Err(wrong()) } else { Ok(bytes) }
}

/// Gives untyped levels hwloc's default types.
fn assign_kinds(
    levels: &mut [(Level, String, bool)],
    root_memory: bool,
) -> Result<(), SyntheticError> {
    let Some(((last, name, last_typed), above)) = levels.split_last_mut() else {
        return Err(error("nothing", "a synthetic string like pack:2 numa:1 core:8 pu:1"));
    };
    if *last_typed && last.kind != LevelKind::Pu {
        return Err(error(format!("`{name}` as the last level"), "`pu`, like in core:8 pu:1"));
    }
    last.kind = LevelKind::Pu;
    if above.iter().all(|(.., typed)| *typed) {
        return Ok(());
    }
    if let Some((_, name, _)) = above.iter().find(|(.., typed)| *typed) {
        let untyped = above.iter().find(|(.., typed)| !*typed);
        let untyped = untyped.map_or("", |(_, name, _)| name);
        let actual = format!("`{untyped}` without a type beside `{name}` with one");
        return Err(error(actual, "types for all levels or for none"));
    }
    if root_memory || above.iter().any(|(level, ..)| !level.attached.is_empty()) {
        return Err(error("an attached NUMA node among plain numbers", "types for all levels"));
    }
    let mut kinds = vec![LevelKind::Numa];
    let count = above.len();
    if count >= 2 {
        kinds.insert(0, LevelKind::Package);
    }
    let caches = count.saturating_sub(3).min(4);
    kinds.extend(vec![LevelKind::Cache; caches]);
    // The first one is the outermost: L2 alone or above L1, else L3.
    let mut cache_levels = if caches > 2 { 1..=3 } else { 1..=2 }.rev();
    if count >= 3 {
        kinds.push(LevelKind::Core);
    }
    let mut all = vec![LevelKind::Group; count - kinds.len()];
    all.append(&mut kinds);
    for ((level, ..), kind) in above.iter_mut().zip(all) {
        level.kind = kind;
        level.cache_level =
            if kind == LevelKind::Cache { cache_levels.next().or(Some(1)) } else { None };
    }
    Ok(())
}

fn check_order(levels: &[(Level, String, bool)], root_memory: bool) -> Result<(), SyntheticError> {
    let position = |kind| levels.iter().position(|(level, ..)| level.kind == kind);
    for kind in
        [LevelKind::Package, LevelKind::Die, LevelKind::Numa, LevelKind::Core, LevelKind::Pu]
    {
        if let Some((_, name, _)) = levels.iter().filter(|(level, ..)| level.kind == kind).nth(1) {
            return Err(error(format!("`{name}` twice"), "one level of this type"));
        }
    }
    if let (Some(core), Some(package)) = (position(LevelKind::Core), position(LevelKind::Package))
        && core < package
    {
        let actual = format!("`{}` inside `{}`", levels[package].1, levels[core].1);
        return Err(error(actual, "packages above cores"));
    }
    let attached = root_memory || levels.iter().any(|(level, ..)| !level.attached.is_empty());
    if attached && position(LevelKind::Numa).is_some() {
        let actual = "NUMA nodes both as a level and attached in brackets";
        return Err(error(actual, "one of the two"));
    }
    Ok(())
}
