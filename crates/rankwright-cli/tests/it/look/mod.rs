//! Commands that look at traffic and clusters.

mod cluster;
mod otf2;
mod traffic;
