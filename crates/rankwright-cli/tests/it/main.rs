//! Tests of the command line: the program as users start it, in folders as `--help` groups its
//! commands.

mod broken;
mod command;
mod every_day;
mod invented_hosts;
mod look;
mod pages;
mod placements;
mod plan;
mod programs;
mod prove;
