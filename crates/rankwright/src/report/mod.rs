//! Results as text for people.

pub mod traffic;
