//! The tracer as a part in C.

use super::built::Part;

/// The tracer. It is not linked with the MPI library of the compiler: it uses the program's.
pub(crate) const TRACER: Part = Part {
    name: "tracer",
    file_name: "librankwright_tracer.so",
    folder: "lib/rankwright/tracers",
    sources: include!(concat!(env!("OUT_DIR"), "/tracer_sources.rs")),
    compile: &["-c", "-fPIC", "-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra"],
    link: &["-shared", "-Wl,--as-needed", "-Wl,-z,lazy"],
    libraries: &["-ldl", "-lpthread", "-lm"],
};
