//! Tests of the command line: the program as users start it.

mod broken;
mod cluster;
mod command;
mod placing;
mod profile;
mod traffic;
