//! Ranks of jobs that run on this host, as `/proc` shows them.

mod identity;
mod process;
mod ranks;
mod system;
#[cfg(test)]
mod tests;

pub(crate) use process::Process;
pub(crate) use ranks::Running;
pub(crate) use system::System;
