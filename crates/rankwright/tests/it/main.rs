//! Tests of the library as a whole.

mod choose;
mod clusters;
mod fluid;
mod layering;
mod load;
mod mappers;
mod offered_load;
mod rust_paths;
mod synthetic;
mod workloads;
