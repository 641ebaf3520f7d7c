//! The simulator, against a second one and against theory.

mod against_theory;
mod devices;
mod outside;
mod reference;
