//! Nests sets of PUs into a tree of objects.

use super::memories::Memories;
use super::processors::Processors;
use super::set::Set;
use crate::cluster::read::tree::{Kind, Object};

/// A set of PUs on its way into the tree.
struct Part {
    object: Object,
    pus: Set,
    children: Vec<Part>,
}

impl Part {
    fn new(kind: Kind, pus: Set) -> Self {
        Self { object: Object::new(kind), pus, children: Vec::new() }
    }

    /// Puts a part below the innermost part that includes it. Parts come from the outside in, so what has
    /// the same PUs goes below.
    fn insert(&mut self, part: Self) {
        match self.children.iter_mut().find(|child| child.pus.includes(&part.pus)) {
            Some(child) => child.insert(part),
            None => self.children.push(part),
        }
    }

    /// The innermost object around PUs; the outermost of those with exactly these.
    fn around(&mut self, pus: &Set) -> &mut Object {
        let inner = self.children.iter().position(|child| child.pus.includes(pus));
        match inner {
            Some(at) if self.pus != *pus => self.children[at].around(pus),
            _ => &mut self.object,
        }
    }

    /// The tree, children in the order of their first PU.
    fn finished(self) -> Object {
        let Self { mut object, mut children, .. } = self;
        children.sort_by_key(|child| child.pus.first());
        object.children = children.into_iter().map(Self::finished).collect();
        object
    }
}

/// The tree of a machine: from the outside in, parts that cut through another one are left out, as libhwloc
/// does.
pub(super) fn nested(processors: &Processors, memories: &Memories) -> Object {
    let all = &processors.online;
    let mut parts: Vec<(Kind, Set)> = Vec::new();
    let groups = memories.list.iter().map(|memory| (Kind::Other, memory.pus.clone()));
    let groups = groups.filter(|(_, pus)| !pus.is_empty() && pus != all);
    for (kind, pus) in groups.chain(processors.parts.iter().cloned()) {
        let cuts =
            |other: &Set| pus.intersects(other) && !pus.includes(other) && !other.includes(&pus);
        let is_double = kind == Kind::Other && parts.iter().any(|(_, other)| *other == pus);
        if !is_double && !parts.iter().any(|(_, other)| cuts(other)) {
            parts.push((kind, pus));
        }
    }
    // A group for a memory is not needed where a package or cache has the same PUs.
    let named: Vec<Set> =
        parts.iter().filter(|(kind, _)| *kind != Kind::Other).map(|(_, pus)| pus.clone()).collect();
    parts.retain(|(kind, pus)| *kind != Kind::Other || !named.contains(pus));
    // Stable: parts with the same PUs keep their order.
    parts.sort_by_key(|(_, pus)| std::cmp::Reverse(pus.len()));
    let mut root = Part::new(Kind::Other, all.clone());
    for (kind, pus) in parts {
        root.insert(Part::new(kind, pus));
    }
    for pu in all.iter() {
        root.insert(Part::new(Kind::Pu(pu), Set::only(pu)));
    }
    for memory in &memories.list {
        let object = match memory.pus.is_empty() {
            true => &mut root.object,
            // A package, if it is the whole machine.
            false if memory.pus == *all && root.children.len() == 1 => &mut root.children[0].object,
            false => root.around(&memory.pus),
        };
        object.memories.push(memory.node.clone());
    }
    root.finished()
}
