//! Tests of the command line: the program as users start it.

mod broken;
mod command;
mod exec;
mod launch;
mod placements;
mod real_launchers;
