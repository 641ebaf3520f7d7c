//! Commands to verify results: emulated clusters and published numbers.

pub(crate) mod lab;
pub(crate) mod reproduce;
