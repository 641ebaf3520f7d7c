//! Commands that look at traffic, placements and clusters.

pub(crate) mod cluster;
pub(crate) mod compare;
pub(crate) mod report;
pub(crate) mod timeline;
pub(crate) mod traffic;
