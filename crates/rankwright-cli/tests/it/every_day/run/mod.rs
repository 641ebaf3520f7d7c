//! `rankwright run`.

mod batch_systems;
mod granted;
mod programs;
