//! The per-rank shim.

fn main() {}
