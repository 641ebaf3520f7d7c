//! Nodes described by hwloc's synthetic strings: `pack:2 numa:1 core:8 pu:2`.
//!
//! Each word says how many objects of a type stand in each object of the word before; the last
//! word counts PUs. Plain numbers (`2 4 2`) get the types that hwloc gives them. Attributes stand
//! in parentheses (`numa:1(memory=64GB)`, `pu:2(indexes=0,4,1,5)`), memories attached to objects
//! in brackets (`pack:2 [numa(memory=64GB)] core:4`). What hwloc ignores with a warning (an
//! `indexes=` that does not fit) is an error here.

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
    /// The part that is wrong.
    pub found: String,
    /// What could stand there.
    pub expected: String,
}

fn error(found: impl Into<String>, expected: impl Into<String>) -> SyntheticError {
    SyntheticError { found: found.into(), expected: expected.into() }
}

/// Makes the node that a synthetic string describes; its counts and numbers are those that hwloc
/// 2.9 gives it.
///
/// # Errors
/// If the text is no synthetic string, or the node has more PUs than [`LARGEST_INDEX`] allows.
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
    tree::machine(&root).map_err(|(found, expected)| error(found, expected))
}

fn check_size(levels: &[Level]) -> Result<(), SyntheticError> {
    let most = u64::from(LARGEST_INDEX) + 1;
    let mut width = 1_u64;
    for level in levels {
        width = width.saturating_mul(level.count);
        // Memories attached to every object multiply like a level does.
        let memories = width.saturating_mul(level.attached.len() as u64);
        if width > most || memories > most {
            return Err(error("a node too large", format!("at most {most} objects of each type")));
        }
    }
    Ok(())
}

/// Makes objects level by level below each other and numbers them.
struct Builder<'a> {
    levels: &'a [Level],
    /// The P# of the objects of each level, where the string gives them.
    numbers: Vec<Option<Vec<u32>>>,
    /// How many objects of each level there are already.
    made: Vec<usize>,
    /// The P# of the attached memories, in the order they are made.
    attached_numbers: Vec<u32>,
    attached_made: usize,
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
        let made = vec![0; levels.len()];
        Ok(Self { levels, numbers, made, attached_numbers, attached_made: 0 })
    }

    /// Puts the objects of `level` and below into `parent`, then its own attached memories.
    /// Returns the lowest P# of its PUs.
    fn fill(&mut self, parent: &mut Object, level: usize, attached: &[Attached]) -> u32 {
        let levels = self.levels;
        let mut children = Vec::new();
        if let Some(description) = levels.get(level) {
            for _ in 0..description.count {
                children.push(self.object(level, description));
            }
        }
        // hwloc orders the objects in each other by their first PU.
        children.sort_by_key(|(first_pu, _)| *first_pu);
        let own = if let Kind::Pu(number) = parent.kind { number } else { u32::MAX };
        let first_pu = children.first().map_or(own, |(first_pu, _)| *first_pu);
        parent.children = children.into_iter().map(|(_, object)| object).collect();
        for memory in attached {
            let os_index = self.attached_numbers[self.attached_made];
            self.attached_made += 1;
            parent.memories.push(NumaNode { memory: memory.memory, ..NumaNode::new(os_index) });
        }
        parent.memories.sort_by_key(|memory| memory.os_index);
        first_pu
    }

    fn object(&mut self, level: usize, description: &Level) -> (u32, Object) {
        let position = self.made[level];
        self.made[level] += 1;
        let number = match &self.numbers[level] {
            Some(numbers) => numbers[position],
            None => u32::try_from(position).unwrap_or(u32::MAX),
        };
        let kind = match description.kind {
            LevelKind::Package => Kind::Package,
            LevelKind::Cache => Kind::Cache,
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
mod tests {
    use super::*;
    use crate::ids::{NumaId, PuId};
    use crate::units::Bytes;

    fn shape(text: &str) -> String {
        parse(text).unwrap().to_string()
    }

    #[test]
    fn typed_levels_multiply() {
        let machine = parse("pack:2 numa:2 l3:1 core:4 pu:2").unwrap();
        assert_eq!(machine.to_string(), "2 packages, 4 NUMA nodes, 16 cores, 32 PUs, 0 NICs");
        let core = &machine.cores[5];
        assert_eq!((core.package, core.numa, core.cache), (0, NumaId(1), Some(1)));
        assert_eq!(core.pus, [PuId(10), PuId(11)]);
    }

    #[test]
    fn plain_numbers_get_the_types_of_hwloc() {
        assert_eq!(shape("4"), "1 package, 1 NUMA node, 4 cores, 4 PUs, 0 NICs");
        assert_eq!(shape("2 4 2"), "2 packages, 8 NUMA nodes, 16 cores, 16 PUs, 0 NICs");
        assert_eq!(shape("2 1 4 2"), "2 packages, 2 NUMA nodes, 8 cores, 16 PUs, 0 NICs");
    }

    #[test]
    fn attached_memories_are_numbered_from_the_inside() {
        let machine = parse("[numa] pack:2 [numa(memory=16GB)] core:2 pu:1").unwrap();
        let memories: Vec<_> = machine.numa_nodes.iter().map(|numa| numa.memory).collect();
        let sixteen = Some(Bytes(16_000_000_000));
        assert_eq!(memories, [sixteen, sixteen, None]);
        assert_eq!(machine.cores[3].numa, NumaId(1));
    }

    #[test]
    fn pu_numbers_follow_the_indexes() {
        let numbers = |text: &str| -> Vec<u32> {
            parse(text).unwrap().pus.iter().map(|pu| pu.id.0).collect()
        };
        let wanted = [0, 4, 2, 6, 1, 5, 3, 7];
        assert_eq!(numbers("pack:2 core:2 pu:2(indexes=pack:core)"), wanted);
        assert_eq!(numbers("pack:2 core:2 pu:2(indexes=4*2:2*2:1*2)"), wanted);
        assert_eq!(numbers("pack:2 core:2 pu:2(indexes=0,4,2,6,1,5,3,7)"), wanted);
        // Siblings stand in the order of their first PU.
        assert_eq!(numbers("pu:4(indexes=7,9,2,100)"), [2, 7, 9, 100]);
    }

    #[test]
    fn what_is_no_synthetic_string_is_named() {
        for (text, part) in [
            ("", "nothing"),
            ("pack:2", "`pack` as the last level"),
            ("pack:2 core:x pu:1", "`x`"),
            ("pack core:2", "`pack`"),
            ("tile:2 pu:2", "`tile`"),
            ("pack:0 pu:2", "0"),
            ("2 core:2 pu:1", "`2`"),
            ("pack:2 pack:2 pu:1", "`pack` twice"),
            ("core:2 pack:2 pu:1", "`pack` inside `core`"),
            ("pack:2(memory=1GB pu:2", "`(`"),
            ("pack:2(speed=3) pu:2", "`speed=3`"),
            ("pu:4(indexes=0,1)", "2 numbers"),
            ("pu:4(indexes=0,1,1,2)", "two PUs P#1"),
            ("pu:4(indexes=3*2)", "`3*2`"),
            ("pack:60000 core:60000 pu:1", "too large"),
            ("[numa pu:2", "`[`"),
            ("numa:2 [numa] pu:2", "both"),
        ] {
            let message = parse(text).expect_err(text).to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
