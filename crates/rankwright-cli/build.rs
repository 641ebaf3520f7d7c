//! Collects the tracer's sources, so that an installed rankwright can build it for any MPI.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tracer");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut names: Vec<String> = fs::read_dir(&folder)
        .expect("the folder tracer/ stands beside crates/")
        .map(|entry| entry.expect("it can be listed").file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".c") || name.ends_with(".h"))
        .collect();
    names.sort();
    let mut text = String::from("&[\n");
    for name in names {
        let path = folder.join(&name);
        writeln!(text, "({name:?}, include_str!({path:?})),").expect("a string takes all");
    }
    text.push_str("]\n");
    let out = env::var_os("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join("tracer_sources.rs"), text).expect("cargo's folder is writable");
}
