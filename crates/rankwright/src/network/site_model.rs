//! What the estimators for searches are built from: the clocks of a workload, and the sites that its
//! ranks can take.

use super::clock_groups::ClockGroups;
use super::sites::Sites;
use crate::cluster::Cluster;
use crate::placement::{PlacementError, RankPlacement, Slot};
use crate::traffic::Workload;

/// A workload and the sites of the slots that its ranks can take.
#[derive(Debug, Clone)]
pub(crate) struct SiteModel {
    pub(crate) clocks: ClockGroups,
    pub(crate) sites: Sites,
    /// Bytes. Index: as [`ClockGroups::lengths`].
    pub(crate) lengths: Vec<f64>,
}

impl SiteModel {
    /// For mappings to these slots, with at most `most_kinds` kinds of messages and as many ends of
    /// clocks.
    ///
    /// # Errors
    /// If a slot does not exist in the cluster.
    pub(crate) fn new(
        cluster: &Cluster,
        workload: &Workload,
        slots: &[Slot],
        most_kinds: usize,
    ) -> Result<Self, PlacementError> {
        let places: Vec<RankPlacement> = slots.iter().map(Slot::place).collect();
        Self::at_places(cluster, workload, &places, most_kinds)
    }

    /// As [`SiteModel::new`], where slot n is `places[n]`.
    ///
    /// # Errors
    /// If a place does not exist in the cluster.
    pub(crate) fn at_places(
        cluster: &Cluster,
        workload: &Workload,
        places: &[RankPlacement],
        most_kinds: usize,
    ) -> Result<Self, PlacementError> {
        let clocks = ClockGroups::new(workload, most_kinds);
        let sites = Sites::new(cluster, places, &clocks.lengths)?;
        let lengths = clocks.lengths.iter().map(|length| *length as f64).collect();
        Ok(Self { clocks, sites, lengths })
    }
}
