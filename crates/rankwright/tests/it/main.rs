//! Tests of the library as a whole: a folder per module of the library, clusters and workloads for
//! all of them.

mod choose;
mod clusters;
mod collectives;
mod estimate;
mod layering;
mod map;
mod nas;
mod random_problems;
mod sim;
mod workloads;
