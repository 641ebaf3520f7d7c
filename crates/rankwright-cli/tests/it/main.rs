//! Tests of the command line: the program as users start it.

mod broken;
mod command;
mod lab;
