//! Commands that prove what the others promise.

pub(crate) mod lab;
pub(crate) mod reproduce;
