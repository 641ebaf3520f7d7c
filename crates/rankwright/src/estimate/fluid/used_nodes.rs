//! The nodes that a mapping uses.

use super::setup::Setup;

/// The nodes that messages pass: those with ranks. Tables by node have a row for each of these, so that an
/// evaluation does not grow with the cluster.
#[derive(Debug, Clone, Default)]
pub(super) struct UsedNodes {
    /// Positions in [`Sites::nodes`](crate::network::Sites::nodes), ascending.
    nodes: Vec<usize>,
    /// Positions in `nodes`. Index: position in `Sites::nodes`.
    positions: Vec<Option<u32>>,
}

impl UsedNodes {
    /// Index of `site_of`: [`GlobalRank`](crate::ids::GlobalRank).
    pub(super) fn find(&mut self, setup: &Setup, site_of: &[u32]) {
        let all = setup.sites.nodes.len();
        self.nodes.clear();
        self.positions.clear();
        self.positions.resize(all, None);
        let mut position = 0;
        for site in site_of {
            self.positions[setup.sites.sites[*site as usize].node] = Some(0);
        }
        if setup.walks_all {
            self.positions.fill(Some(0));
        }
        for (node, used) in self.positions.iter_mut().enumerate() {
            if let Some(at) = used {
                *at = position;
                position += 1;
                self.nodes.push(node);
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The row of a node in tables by node.
    ///
    /// # Panics
    /// If the node is not used.
    pub(super) fn row(&self, node: usize) -> usize {
        self.positions[node].expect("a node with ranks") as usize
    }

    /// Positions in `Sites::nodes`, ascending. The index is the row in tables by node.
    pub(super) fn nodes(&self) -> &[usize] {
        &self.nodes
    }
}

/// A set of rows of tables by node.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    /// A bit for each row.
    words: Vec<u64>,
}

impl Rows {
    /// Removes all rows; there may be `count` then.
    pub(super) fn clear(&mut self, count: usize) {
        self.words.clear();
        self.words.resize(count.div_ceil(64), 0);
    }

    /// Adds a row. Returns whether it is new.
    pub(super) fn insert(&mut self, row: usize) -> bool {
        let (word, bit) = (&mut self.words[row / 64], 1 << (row % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// In ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(number, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
                rest &= rest - 1;
                Some(64 * number + bit)
            })
        })
    }
}
