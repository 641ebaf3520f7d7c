//! Bindings to the graph partitioners METIS and Scotch.

pub(crate) mod metis;
#[cfg(feature = "scotch")]
pub(crate) mod scotch;
