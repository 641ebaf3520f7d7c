//! From strategies to a winner.

mod answers;
mod by_bytes;
mod evaluation;
mod gpus;
mod limits;
mod populations;
mod random_settings;
