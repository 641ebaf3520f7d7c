//! Random clusters and placements for the property tests of all launchers.

pub(crate) mod random_cluster;
pub(crate) mod random_placement;
