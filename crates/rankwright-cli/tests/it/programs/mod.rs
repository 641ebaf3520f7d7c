//! Commands for other programs.

mod exec;
