//! The placement policies of Mercier and Clet-Ortega 2009.

#[cfg(feature = "scotch")]
pub(crate) mod placed;
pub(crate) mod round_robin;
