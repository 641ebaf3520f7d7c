//! hwloc's synthetic strings: `pack:2 numa:1 core:8 pu:2`.
//!
//! Each word has a type and the number of objects of this type in each object of the word before; the
//! last word is the PUs. Plain numbers (`2 4 2`) get hwloc's default types. Attributes are in
//! parentheses (`numa:1(memory=64GB)`, `pu:2(indexes=0,4,1,5)`), attached NUMA nodes in brackets
//! (`pack:2 [numa(memory=64GB)] core:4`). An `indexes=` that does not fit, which hwloc ignores with a
//! warning, is an error here.

mod indexes;
mod parse;

use indexes::resolve;
use parse::{Attached, Level, LevelKind};

use super::tree::{self, Kind, Object};
use crate::cluster::{Machine, NumaNode};
use crate::ids::LARGEST_INDEX;

/// Why a text is not a synthetic string.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("found {found}, expected {expected}")]
pub struct SyntheticError {
    /// The wrong part.
    pub found: String,
    /// What may stand there.
    pub expected: String,
}

fn error(actual: impl Into<String>, expected: impl Into<String>) -> SyntheticError {
    SyntheticError { found: actual.into(), expected: expected.into() }
}

/// The machine of a synthetic string, with the same objects, L# and P# as in hwloc 2.9.
///
/// # Errors
/// If the text is not a synthetic string, or a level has more than [`LARGEST_INDEX`] + 1 objects.
pub fn parse(text: &str) -> Result<Machine, SyntheticError> {
    let (levels, root_memories) = parse::levels(text)?;
    check_size(&levels)?;
    let mut builder = Builder::new(&levels, &root_memories)?;
    let mut root = Object::new(Kind::Other);
    builder.fill(&mut root, 0, &root_memories);
    if builder.levels.iter().all(|level| level.kind != LevelKind::Numa)
        && builder.attached_numbers.is_empty()
    {
        root.memories.push(NumaNode::new(0));
    }
    tree::machine(&root).map_err(|(actual, expected)| error(actual, expected))
}

fn check_size(levels: &[Level]) -> Result<(), SyntheticError> {
    let most = u64::from(LARGEST_INDEX) + 1;
    let mut width = 1_u64;
    for level in levels {
        width = width.saturating_mul(level.count);
        // NUMA nodes attached to every object multiply like a level.
        let memories = width.saturating_mul(level.attached.len() as u64);
        if width > most || memories > most {
            return Err(error("a node too large", format!("at most {most} objects of each type")));
        }
    }
    Ok(())
}

/// Builds and numbers the objects, level by level.
struct Builder<'a> {
    levels: &'a [Level],
    /// By level, then object: its P#. `None` for a level without `indexes=`.
    numbers: Vec<Option<Vec<u32>>>,
    /// By level: the number of objects so far.
    built: Vec<usize>,
    /// The P# of the attached NUMA nodes, in the order in which they are built.
    attached_numbers: Vec<u32>,
    /// The number of attached NUMA nodes so far.
    attached_built: usize,
}

impl<'a> Builder<'a> {
    fn new(levels: &'a [Level], root: &[Attached]) -> Result<Self, SyntheticError> {
        let mut widths = Vec::with_capacity(levels.len());
        let mut width = 1;
        let mut memories = root.len();
        for level in levels {
            width *= usize::try_from(level.count).unwrap_or(usize::MAX);
            widths.push((level.kind, width));
            memories += width * level.attached.len();
        }
        let mut numbers = Vec::with_capacity(levels.len());
        for (index, level) in levels.iter().enumerate() {
            let text = level.indexes.as_deref();
            numbers.push(text.map(|text| resolve(text, &widths[..=index])).transpose()?);
        }
        let attached = root.iter().chain(levels.iter().flat_map(|level| &level.attached));
        let explicit = attached.filter_map(|memory| memory.indexes.as_deref()).next_back();
        let attached_numbers = match explicit {
            Some(text) => resolve(text, &[(LevelKind::Numa, memories)])?,
            None => (0..memories).map(|index| u32::try_from(index).unwrap_or(u32::MAX)).collect(),
        };
        let built = vec![0; levels.len()];
        Ok(Self { levels, numbers, built, attached_numbers, attached_built: 0 })
    }

    /// Adds the objects of `level` and below to `parent`, then the NUMA nodes attached to `parent`.
    /// Returns the lowest P# of its PUs.
    fn fill(&mut self, parent: &mut Object, level: usize, attached: &[Attached]) -> u32 {
        let levels = self.levels;
        let mut children = Vec::new();
        if let Some(description) = levels.get(level) {
            for _ in 0..description.count {
                children.push(self.object(level, description));
            }
        }
        // hwloc sorts siblings by their first PU.
        children.sort_by_key(|(first_pu, _)| *first_pu);
        let own_pu = if let Kind::Pu(number) = parent.kind { number } else { u32::MAX };
        let first_pu = children.first().map_or(own_pu, |(first_pu, _)| *first_pu);
        parent.children = children.into_iter().map(|(_, object)| object).collect();
        for memory in attached {
            let os_index = self.attached_numbers[self.attached_built];
            self.attached_built += 1;
            parent.memories.push(NumaNode { memory: memory.memory, ..NumaNode::new(os_index) });
        }
        parent.memories.sort_by_key(|memory| memory.os_index);
        first_pu
    }

    fn object(&mut self, level: usize, description: &Level) -> (u32, Object) {
        let position = self.built[level];
        self.built[level] += 1;
        let number = match &self.numbers[level] {
            Some(numbers) => numbers[position],
            None => u32::try_from(position).unwrap_or(u32::MAX),
        };
        let kind = match description.kind {
            LevelKind::Package => Kind::Package,
            LevelKind::Cache => Kind::Cache(description.cache_level),
            LevelKind::Core => Kind::Core,
            LevelKind::Pu => Kind::Pu(number),
            LevelKind::Numa | LevelKind::Die | LevelKind::Group => Kind::Other,
        };
        let mut object = Object::new(kind);
        if description.kind == LevelKind::Numa {
            let memory = description.memory;
            object.memories.push(NumaNode { memory, ..NumaNode::new(number) });
        }
        let first_pu = self.fill(&mut object, level + 1, &description.attached);
        (first_pu, object)
    }
}

#[cfg(test)]
mod tests;
