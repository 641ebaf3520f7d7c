//! Sorts switches as a [`Cluster`](crate::cluster::Cluster) has them: each before its parent.

use std::collections::BTreeSet;

use crate::cluster::MOST_SWITCH_LEVELS;

/// Why switches are not a tree, or not a usable one. Holds the position of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cluster) enum NotATree {
    /// The switch is below itself.
    Cycle(usize),
    /// The switch has more than [`MOST_SWITCH_LEVELS`] switches above it.
    TooDeep(usize),
}

impl NotATree {
    /// The position, what was found there, and what was expected. `name` gives the name of a switch.
    pub(in crate::cluster) fn described(
        self,
        name: impl Fn(usize) -> String,
    ) -> (usize, String, String) {
        match self {
            Self::Cycle(index) => {
                let actual = format!("`{}` below itself", name(index));
                (index, actual, "a tree of switches without a cycle".to_owned())
            }
            Self::TooDeep(index) => {
                let actual =
                    format!("`{}` with more than {MOST_SWITCH_LEVELS} switches above", name(index));
                (index, actual, format!("a tree of at most {MOST_SWITCH_LEVELS} levels"))
            }
        }
    }
}

/// The positions of the switches, sorted: each before its parent, otherwise ascending. `parents` has
/// the position of the switch above each.
///
/// # Errors
/// If a switch is below itself or too far below the top.
pub(in crate::cluster) fn children_first(
    parents: &[Option<usize>],
) -> Result<Vec<usize>, NotATree> {
    let mut waiting_for = vec![0_usize; parents.len()];
    parents.iter().flatten().for_each(|&parent| waiting_for[parent] += 1);
    let mut ready: BTreeSet<usize> =
        (0..parents.len()).filter(|index| waiting_for[*index] == 0).collect();
    let mut order = Vec::with_capacity(parents.len());
    while let Some(index) = ready.pop_first() {
        order.push(index);
        if let Some(parent) = parents[index] {
            waiting_for[parent] -= 1;
            if waiting_for[parent] == 0 {
                ready.insert(parent);
            }
        }
    }
    if let Some(left) = (0..parents.len()).find(|index| waiting_for[*index] > 0) {
        // Following the parents from any switch that is left leads into the cycle.
        let inside = |inside: usize, _| parents[inside].unwrap_or(inside);
        return Err(NotATree::Cycle((0..parents.len()).fold(left, inside)));
    }
    let mut above = vec![0; parents.len()];
    for &index in order.iter().rev() {
        above[index] = parents[index].map_or(0, |parent| above[parent] + 1);
        if above[index] >= MOST_SWITCH_LEVELS {
            return Err(NotATree::TooDeep(index));
        }
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_stand_before_their_parents() {
        assert_eq!(children_first(&[None, Some(0), Some(3), Some(0)]), Ok(vec![1, 2, 3, 0]));
        assert_eq!(children_first(&[]), Ok(vec![]));
        let cycle = children_first(&[Some(1), Some(2), Some(1)]);
        assert!(matches!(cycle, Err(NotATree::Cycle(1 | 2))));
    }

    #[test]
    fn trees_have_at_most_64_levels() {
        let chain = |count: usize| -> Vec<Option<usize>> {
            (0..count).map(|index| Some(index + 1).filter(|next| *next < count)).collect()
        };
        assert!(children_first(&chain(MOST_SWITCH_LEVELS)).is_ok());
        assert_eq!(children_first(&chain(MOST_SWITCH_LEVELS + 1)), Err(NotATree::TooDeep(0)));
    }
}
