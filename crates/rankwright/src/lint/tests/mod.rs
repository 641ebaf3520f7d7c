//! Properties of all formats.

mod never_panics;
mod round_trip;
