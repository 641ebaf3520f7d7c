//! The ranks of running jobs on this host, from `/proc`.

mod identity;
mod process;
mod ranks;
mod system;
#[cfg(test)]
mod tests;

pub(crate) use process::Process;
pub(crate) use ranks::{Running, Shared};
pub(crate) use system::System;
