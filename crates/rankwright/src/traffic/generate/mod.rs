//! Generated traffic: patterns, the NAS benchmarks, and the workloads of the papers.

pub mod built_in;
pub mod nas;
pub mod pattern;
