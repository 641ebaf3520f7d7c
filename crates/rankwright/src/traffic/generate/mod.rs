//! Generated traffic: [`pattern`] has stencils, rings and other shapes, [`nas`] the NAS benchmarks,
//! [`built_in`] the workloads of the papers (`jobs.toml` files beside it).

pub mod built_in;
pub mod nas;
pub mod pattern;
