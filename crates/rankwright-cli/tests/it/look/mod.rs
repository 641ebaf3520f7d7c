//! Commands that look at traffic and clusters.

mod cluster;
mod discover;
mod otf2;
mod report;
mod timeline;
mod traffic;
