//! Tests of the library as a whole.

mod choose;
mod clusters;
mod load;
mod mappers;
mod workloads;
mod layering;
mod rust_paths;
