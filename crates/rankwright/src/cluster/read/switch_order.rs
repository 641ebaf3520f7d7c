//! The order in which a [`Cluster`](crate::cluster::Cluster) has its switches.

use std::collections::BTreeSet;

/// The most switches above each other: no network has more.
pub(in crate::cluster) const MOST_LEVELS: usize = 64;

/// Why switches are no tree that can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cluster) enum NoTree {
    /// The position of a switch that is below itself.
    Circle(usize),
    /// The position of one with too many above it.
    TooDeep(usize),
}

impl NoTree {
    /// The position, and what is wrong with the switch of this name there.
    pub(in crate::cluster) fn described(
        self,
        name: impl Fn(usize) -> String,
    ) -> (usize, String, String) {
        match self {
            Self::Circle(index) => {
                let found = format!("`{}` below itself", name(index));
                (index, found, "a tree of switches without a circle".to_owned())
            }
            Self::TooDeep(index) => {
                let found =
                    format!("`{}` with more than {MOST_LEVELS} switches above", name(index));
                (index, found, format!("a tree of at most {MOST_LEVELS} levels"))
            }
        }
    }
}

/// The positions of the switches with every parent behind its children, otherwise ascending.
/// `parents` has the switch above each.
///
/// # Errors
/// If a switch is below itself or too far below the top.
pub(in crate::cluster) fn children_first(parents: &[Option<usize>]) -> Result<Vec<usize>, NoTree> {
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
        // Following the parents from any switch that is left ends in the circle.
        let inside = |inside: usize, _| parents[inside].unwrap_or(inside);
        return Err(NoTree::Circle((0..parents.len()).fold(left, inside)));
    }
    let mut above = vec![0; parents.len()];
    for &index in order.iter().rev() {
        above[index] = parents[index].map_or(0, |parent| above[parent] + 1);
        if above[index] >= MOST_LEVELS {
            return Err(NoTree::TooDeep(index));
        }
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_stand_behind_their_children() {
        assert_eq!(children_first(&[None, Some(0), Some(3), Some(0)]), Ok(vec![1, 2, 3, 0]));
        assert_eq!(children_first(&[]), Ok(vec![]));
        let circle = children_first(&[Some(1), Some(2), Some(1)]);
        assert!(matches!(circle, Err(NoTree::Circle(1 | 2))));
    }

    #[test]
    fn no_tree_is_deeper_than_any_network() {
        let chain = |count: usize| -> Vec<Option<usize>> {
            (0..count).map(|index| Some(index + 1).filter(|next| *next < count)).collect()
        };
        assert!(children_first(&chain(MOST_LEVELS)).is_ok());
        assert_eq!(children_first(&chain(MOST_LEVELS + 1)), Err(NoTree::TooDeep(0)));
    }
}
