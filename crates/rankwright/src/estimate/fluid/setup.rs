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
}

impl Setup {
    pub(super) fn new(model: SiteModel) -> Self {
        let SiteModel { clocks, sites, lengths } = model;
        Self { links: Links::new(&sites), clocks, sites, lengths }
    }

    /// The number of kinds of messages, padded to a power of two: the row length of tables by kind.
    /// The inner loops are then compiled for 1, 2, 4 and 8 kinds only.
    pub(super) fn padded_kinds(&self) -> usize {
        self.clocks.kinds.len().next_power_of_two()
    }
}

/// Kinds of messages that are distinguished; a power of two.
pub(super) const MOST_KINDS: usize = 8;
