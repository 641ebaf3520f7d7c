//! Tests of the library as a whole.

mod choose;
mod clusters;
mod contention;
mod contention_at_random;
mod layering;
mod load;
mod mappers;
mod rust_paths;
mod workloads;
