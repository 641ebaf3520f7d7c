//! Tests of the library as a whole.

mod choose;
mod clusters;
mod layering;
mod load;
mod mappers;
mod nas;
mod rust_paths;
mod workloads;
