//! Commands that look at traffic and clusters.

mod cluster;
mod discover;
mod otf2;
mod timeline;
mod traffic;
