//! Commands for other programs.

pub(crate) mod completion;
pub(crate) mod exec;
pub(crate) mod man;
