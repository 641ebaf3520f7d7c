//! Tests of the library as a whole.

mod layering;
mod rust_paths;
