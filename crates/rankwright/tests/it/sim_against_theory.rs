//! The simulator against queueing theory.
