//! Tests of the command line: the program as users start it.

mod broken;
mod cluster;
mod command;
mod profile;
mod traffic;
