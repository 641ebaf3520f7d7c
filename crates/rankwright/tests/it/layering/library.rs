//! The library: the table "Who may use whom", and the rule that only the command line meets the
//! environment, the clock and other programs.

use std::path::Path;

use super::rust_paths::{UsedPath, used_paths};
use super::{Sources, architecture, module_path, unmatched, violations};

/// The heading of the table.
const HEADING: &str = "Who may use whom";

/// What the library never uses, and the files that are the exception.
const FORBIDDEN: [(&str, &[&str]); 7] = [
    ("std::env", &[]),
    ("std::process", &[]),
    ("std::net", &[]),
    ("std::time::Instant", &[]),
    ("std::time::SystemTime", &[]),
    ("std::io::stdin", &[]),
    // SQLite opens profiles without the module `files`; network devices of this machine are in /sys.
    (
        "std::fs",
        &[
            "foundation/files/mod.rs",
            "traffic/read/profile_file/read.rs",
            "cluster/read/live/links.rs",
            "cluster/read/live/sysfs/tree.rs",
        ],
    ),
];

fn library() -> Sources {
    super::sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

#[test]
fn modules_use_only_what_the_table_allows() {
    let wrong = violations(&architecture(HEADING), &library());
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn every_module_has_a_row_and_every_row_a_module() {
    let unmatched = unmatched(&architecture(HEADING), &library());
    assert!(unmatched.is_empty(), "ARCHITECTURE.md, \"{HEADING}\": {unmatched:?}");
}

#[test]
fn the_library_meets_neither_environment_nor_clock_nor_other_programs() {
    let mut wrong = Vec::new();
    for (file, text) in library() {
        wrong.extend(impure(&file, &text));
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// One line per path in a file that reaches out of the library; test modules are exempt.
fn impure(file: &str, text: &str) -> Vec<String> {
    let matches = |used: &UsedPath, forbidden: &str| {
        let forbidden: Vec<&str> = forbidden.split("::").collect();
        used.segments.len() >= forbidden.len()
            && used.segments.iter().zip(&forbidden).all(|(segment, wanted)| segment == wanted)
    };
    let mut wrong = Vec::new();
    for used in used_paths(text, &module_path(file)) {
        if used.in_crate || used.in_tests {
            continue;
        }
        for (forbidden, exceptions) in FORBIDDEN {
            if matches(&used, forbidden) && !exceptions.contains(&file) {
                wrong.push(format!("src/{file}:{}: uses {forbidden}", used.line));
            }
        }
    }
    wrong
}

#[test]
fn reaching_out_of_the_library_is_named() {
    let source = "use std::{env, time::{Duration, Instant}};\nmod tests { use std::env; }\n";
    assert_eq!(
        impure("cluster/live.rs", source),
        ["src/cluster/live.rs:1: uses std::env", "src/cluster/live.rs:1: uses std::time::Instant"]
    );
    assert!(impure("foundation/files/mod.rs", "use std::fs;").is_empty());
    assert_eq!(impure("ids.rs", "fn f() { std::fs::read(p); }").len(), 1);
}
