//! Tests of the library as a whole.

mod choose;
mod clusters;
mod contention;
mod contention_at_random;
mod fluid;
mod layering;
mod load;
mod mappers;
mod model;
mod nas;
mod offered_load;
mod rust_paths;
mod settling;
mod sim_against_theory;
mod sim_devices;
mod sim_reference;
mod workloads;
