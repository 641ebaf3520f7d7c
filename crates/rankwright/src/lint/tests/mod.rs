//! Properties of all formats.

mod mappings;
mod never_panics;
mod round_trip;
