//! The estimators, against the simulator and against theory.

mod collectives;
mod fluid;
mod load;
mod model;
mod offered_load;
mod round_trips;
