//! Collects the sources of the tracer and of the probe, so that an installed rankwright can build them
//! for any MPI.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Folders beside crates/, and their parts with sources.
const SOURCES: [(&str, &[&str]); 2] = [("tracer", &["src", "generated"]), ("probe", &["src"])];

fn main() {
    let out = env::var_os("OUT_DIR").expect("cargo sets it");
    for (name, parts) in SOURCES {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
        let file = Path::new(&out).join(format!("{name}_sources.rs"));
        fs::write(file, listed(&folder, parts)).expect("cargo's folder is writable");
    }
}

/// The sources as a list in Rust: path below the folder, and contents.
fn listed(folder: &Path, parts: &[&str]) -> String {
    let mut files = Vec::new();
    for part in parts {
        println!("cargo::rerun-if-changed={}", folder.join(part).display());
        collect(&folder.join(part), &mut files);
    }
    files.sort();
    let mut text = String::from("&[\n");
    for path in files {
        let name = path.strip_prefix(folder).expect("it was found below the folder");
        writeln!(text, "({name:?}, include_str!({path:?})),").expect("a string takes all");
    }
    text + "]\n"
}

/// The C files of a folder and of the folders in it.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("tracer/ and probe/ stand beside crates/") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "c" || extension == "h") {
            files.push(path);
        }
    }
}
