//! `rankwright run`.

mod batch_systems;
mod full_disk;
mod granted;
mod programs;
mod site_defaults;
