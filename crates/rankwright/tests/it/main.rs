//! Tests of the library as a whole.

mod choose;
mod clusters;
mod collectives;
mod contention;
mod contention_at_random;
mod evaluation;
mod fluid;
mod layering;
mod load;
mod mapper_battery;
mod mappers;
mod model;
mod nas;
mod node_groups;
mod offered_load;
mod outside;
mod populations;
mod random_problems;
mod random_settings;
mod round_trips;
mod sim_against_theory;
mod sim_devices;
mod sim_reference;
mod workloads;
