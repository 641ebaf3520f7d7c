//! The strategies, one file or folder each.

pub(super) mod auto;
pub(super) mod blocked;
pub(super) mod contention;
pub(super) mod cyclic;
#[cfg(feature = "scotch")]
pub(super) mod drb;
pub(super) mod kway;
pub(super) mod mercier_2009;
pub(super) mod multisection;
pub(super) mod random;
pub(super) mod soryani;
pub(super) mod treematch;
