//! The rows of each paper, as the command line prints them.

mod rows;
