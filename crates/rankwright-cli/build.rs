//! Collects the tracer's sources, so that an installed rankwright can build it for any MPI.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let tracer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tracer");
    let mut files = Vec::new();
    for part in ["src", "generated"] {
        println!("cargo::rerun-if-changed={}", tracer.join(part).display());
        collect(&tracer.join(part), &mut files);
    }
    files.sort();
    let mut text = String::from("&[\n");
    for path in files {
        let name = path.strip_prefix(&tracer).expect("it was found below tracer/");
        writeln!(text, "({name:?}, include_str!({path:?})),").expect("a string takes all");
    }
    text.push_str("]\n");
    let out = env::var_os("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join("tracer_sources.rs"), text).expect("cargo's folder is writable");
}

/// The C files of a folder and of the folders in it.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder tracer/ stands beside crates/") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "c" || extension == "h") {
            files.push(path);
        }
    }
}
