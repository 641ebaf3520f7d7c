//! The part of a fluid that does not depend on the mapping.

use super::links::Links;
use crate::network::{ClockGroups, SiteModel, Sites};

/// A workload, its sites, and the links between them in the order of passing.
#[derive(Debug, Clone)]
pub(super) struct Setup {
    pub(super) clocks: ClockGroups,
    pub(super) sites: Sites,
    /// Bytes. Index: as [`ClockGroups::lengths`].
    pub(super) lengths: Vec<f64>,
    pub(super) links: Links,
    /// For tests: whether nodes without ranks and pairs of nodes without messages are walked too, which
    /// must not change any time.
    pub(super) walks_all: bool,
}

impl Setup {
    pub(super) fn new(model: SiteModel) -> Self {
        let SiteModel { clocks, sites, lengths } = model;
        Self { links: Links::new(&sites), clocks, sites, lengths, walks_all: false }
    }

    /// The number of kinds of messages, padded to a power of two: the row length of tables by kind.
    /// The inner loops are then compiled for 1, 2, 4 and 8 kinds only.
    pub(super) fn padded_kinds(&self) -> usize {
        self.clocks.kinds.len().next_power_of_two()
    }
}

/// Kinds of messages that are distinguished; a power of two.
pub(super) const MOST_KINDS: usize = 8;
