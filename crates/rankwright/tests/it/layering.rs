//! Holds the library against `ARCHITECTURE.md`: the table "Who may use whom", and the rule that
//! only the command line meets the environment, the clock and other programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::rust_paths::{UsedPath, used_paths};

/// Each module with the modules it may use.
type Table = BTreeMap<String, BTreeSet<String>>;

/// The heading of the table.
const HEADING: &str = "Who may use whom";

/// What the library never uses, and the files that are the exception.
const FORBIDDEN: [(&str, &[&str]); 7] = [
    ("std::env", &[]),
    // The number of this process makes the name of a temporary file its own.
    ("std::process", &["foundation/files/mod.rs"]),
    ("std::net", &[]),
    ("std::time::Instant", &[]),
    ("std::time::SystemTime", &[]),
    ("std::io::stdin", &[]),
    // SQLite opens a profile by itself; the network devices of this machine stand in /sys.
    (
        "std::fs",
        &["foundation/files/mod.rs", "traffic/read/profile_file/read.rs", "cluster/read/live.rs"],
    ),
];

#[test]
fn modules_use_only_what_the_table_allows() {
    let table = table(&read(&repository().join("ARCHITECTURE.md"))).expect("a table");
    let mut wrong = Vec::new();
    for (file, text) in sources() {
        wrong.extend(not_allowed(&table, &file, &text));
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn every_module_has_a_row_and_every_row_a_module() {
    let table = table(&read(&repository().join("ARCHITECTURE.md"))).expect("a table");
    let modules: BTreeSet<String> =
        sources().iter().filter_map(|(file, _)| module_path(file).first().cloned()).collect();
    let rows: BTreeSet<String> = table.into_keys().collect();
    let without_row: Vec<_> = modules.difference(&rows).collect();
    let without_module: Vec<_> = rows.difference(&modules).collect();
    assert!(
        without_row.is_empty() && without_module.is_empty(),
        "ARCHITECTURE.md, \"{HEADING}\": modules without a row {without_row:?}, rows without a \
         module {without_module:?}"
    );
}

#[test]
fn the_library_meets_neither_environment_nor_clock_nor_other_programs() {
    let mut wrong = Vec::new();
    for (file, text) in sources() {
        wrong.extend(impure(&file, &text));
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// The rows of the table. A row may only name modules of the rows above it: that is what makes
/// the street one-way.
fn table(text: &str) -> Result<Table, String> {
    let mut lines = text.lines();
    lines
        .find(|line| line.starts_with('#') && line.contains(HEADING))
        .ok_or_else(|| format!("no heading \"{HEADING}\""))?;
    let rows = lines
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .skip(2);
    let mut table = Table::new();
    for row in rows {
        let cells: Vec<&str> = row.trim().trim_matches('|').split('|').map(str::trim).collect();
        let [modules, allowed] = cells[..] else {
            return Err(format!("found the row `{row}`, expected two cells"));
        };
        let allowed: BTreeSet<String> = names(allowed).collect();
        if let Some(unknown) = allowed.iter().find(|name| !table.contains_key(*name)) {
            return Err(format!("the row of {modules} names `{unknown}`, which has no row above"));
        }
        for module in names(modules) {
            if table.insert(module.clone(), allowed.clone()).is_some() {
                return Err(format!("`{module}` has two rows"));
            }
        }
    }
    if table.is_empty() { Err(format!("no rows under \"{HEADING}\"")) } else { Ok(table) }
}

/// `a, b` as names; `-` is none.
fn names(cell: &str) -> impl Iterator<Item = String> {
    cell.split(',')
        .map(|name| name.trim().trim_matches('`').to_owned())
        .filter(|name| !name.is_empty() && name != "-")
}

/// One line per path in a file that the table does not allow.
fn not_allowed(table: &Table, file: &str, text: &str) -> Vec<String> {
    let path = module_path(file);
    let Some(module) = path.first() else {
        return Vec::new(); // lib.rs only names the modules
    };
    let allowed = table.get(module).cloned().unwrap_or_default();
    let leaves = |used: &UsedPath| {
        used.segments.first().is_some_and(|first| first != module && !allowed.contains(first))
    };
    used_paths(text, &path)
        .into_iter()
        .filter(|used| used.in_crate && leaves(used))
        .map(|used| {
            let line = used.line;
            let other = &used.segments[0];
            format!("src/{file}:{line}: uses `{other}`; `{module}` may use {allowed:?}")
        })
        .collect()
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

/// `placement/file.rs` is the module `placement::file`; `lib.rs` is the root. The root re-exports the
/// modules of `foundation/`, so they count as modules of the root.
fn module_path(file: &str) -> Vec<String> {
    let file = file.strip_prefix("foundation/").unwrap_or(file);
    let mut path: Vec<String> =
        file.trim_end_matches(".rs").split('/').map(ToOwned::to_owned).collect();
    if path.last().is_some_and(|last| last == "mod" || last == "lib") {
        path.pop();
    }
    path
}

/// Every source file of the library: its path below `src/` and its text.
fn sources() -> Vec<(String, String)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![source.clone()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&source).expect("below src").to_string_lossy();
                files.push((name.into_owned(), read(&path)));
            }
        }
    }
    files.sort();
    files
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_table_is_read_and_its_order_enforced() {
    let text = "# A\n| no | table |\n## Who may use whom\n\ntext\n\n| module | may use |\n|---|---|\n\
                | units, ids | - |\n| `model` | units, `ids` |\n\nend | of |\n";
    let table = super::layering::table(text).expect("a table");
    assert_eq!(table.keys().collect::<Vec<_>>(), ["ids", "model", "units"]);
    assert!(table["units"].is_empty());
    assert_eq!(table["model"].iter().collect::<Vec<_>>(), ["ids", "units"]);

    let upwards = text.replace("| units, ids | - |", "| units, ids | model |");
    let message = super::layering::table(&upwards).expect_err("an upward use");
    assert_eq!(message, "the row of units, ids names `model`, which has no row above");
    assert_eq!(super::layering::table("# A").expect_err("none"), "no heading \"Who may use whom\"");
}

#[test]
fn a_use_that_the_table_does_not_allow_is_named() {
    let text = "## Who may use whom\n| m | u |\n|---|---|\n| ids | - |\n| cluster | ids |\n\
                | traffic | ids |\n";
    let table = super::layering::table(text).expect("a table");
    let source = "use crate::ids::Rank;\nuse crate::{traffic::Job, cluster};\n";
    assert_eq!(
        not_allowed(&table, "cluster/toml.rs", source),
        ["src/cluster/toml.rs:2: uses `traffic`; `cluster` may use {\"ids\"}"]
    );
    assert!(not_allowed(&table, "lib.rs", "pub use crate::ids::Rank;").is_empty());
    assert_eq!(not_allowed(&table, "ids.rs", "fn f() { super::cluster::g() }").len(), 1);
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
