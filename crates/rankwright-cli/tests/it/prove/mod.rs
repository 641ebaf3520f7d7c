//! Commands that prove what the others promise.

mod lab;
mod reproduce;
