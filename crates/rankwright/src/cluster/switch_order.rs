//! The order in which a [`Cluster`](super::Cluster) has its switches.

use std::collections::BTreeSet;

/// The positions of the switches with every parent behind its children, otherwise ascending.
/// `parents` has the switch above each.
///
/// # Errors
/// The position of a switch that is below itself.
pub(super) fn children_first(parents: &[Option<usize>]) -> Result<Vec<usize>, usize> {
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
    let Some(left) = (0..parents.len()).find(|index| waiting_for[*index] > 0) else {
        return Ok(order);
    };
    // Following the parents from any switch that is left ends in the circle.
    Err((0..parents.len()).fold(left, |inside, _| parents[inside].unwrap_or(inside)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_stand_behind_their_children() {
        assert_eq!(children_first(&[None, Some(0), Some(3), Some(0)]), Ok(vec![1, 2, 3, 0]));
        assert_eq!(children_first(&[]), Ok(vec![]));
        assert!(matches!(children_first(&[Some(1), Some(2), Some(1)]), Err(1 | 2)));
    }
}
