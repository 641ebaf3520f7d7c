//! `rankwright run`.

mod batch_systems;
mod comparisons;
mod full_disk;
mod granted;
mod launcher_names;
mod programs;
mod site;
mod site_defaults;
