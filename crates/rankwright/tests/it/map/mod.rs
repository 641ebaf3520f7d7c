//! The strategies.

mod contention;
mod contention_at_random;
mod mapper_battery;
mod mappers;
mod node_groups;
