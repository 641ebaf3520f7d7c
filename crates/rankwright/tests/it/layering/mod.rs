//! Holds the code against `ARCHITECTURE.md`: its tables say which module may use which.

mod command_line;
mod crates;
mod library;
mod rust_paths;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rust_paths::{UsedPath, used_paths};

/// Each module with the modules it may use.
type Table = BTreeMap<String, BTreeSet<String>>;

/// The source files of a crate: path below the folder of its root, and text.
type Sources = Vec<(String, String)>;

/// The table under a heading of `ARCHITECTURE.md`.
fn architecture(heading: &str) -> Table {
    table(&read(&repository().join("ARCHITECTURE.md")), heading).expect("a table")
}

/// The rows of a table. A row may only name modules of the rows above it: so there is no cycle.
fn table(text: &str, heading: &str) -> Result<Table, String> {
    let mut lines = text.lines();
    lines
        .find(|line| line.starts_with('#') && line.trim_start_matches('#').trim() == heading)
        .ok_or_else(|| format!("no heading \"{heading}\""))?;
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
    if table.is_empty() { Err(format!("no rows under \"{heading}\"")) } else { Ok(table) }
}

/// `a, b` as names; `-` is none.
fn names(cell: &str) -> impl Iterator<Item = String> {
    cell.split(',')
        .map(|name| name.trim().trim_matches('`').to_owned())
        .filter(|name| !name.is_empty() && name != "-")
}

/// One line per path in the sources that the table does not allow.
fn violations(table: &Table, sources: &Sources) -> Vec<String> {
    sources.iter().flat_map(|(file, text)| not_allowed(table, file, text)).collect()
}

/// Modules without a row, and rows without a module.
fn unmatched(table: &Table, sources: &Sources) -> Vec<String> {
    let modules: BTreeSet<String> =
        sources.iter().filter_map(|(file, _)| module_path(file).first().cloned()).collect();
    let rows: BTreeSet<String> = table.keys().cloned().collect();
    modules.symmetric_difference(&rows).cloned().collect()
}

/// One line per path in a file that the table does not allow.
fn not_allowed(table: &Table, file: &str, text: &str) -> Vec<String> {
    let path = module_path(file);
    let Some(module) = path.first() else {
        return Vec::new(); // the root names all modules
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

/// `placement/file.rs` is the module `placement::file`; `lib.rs` and `main.rs` are the root. The root re-exports the
/// modules of `foundation/`, so they count as modules of the root.
fn module_path(file: &str) -> Vec<String> {
    let file = file.strip_prefix("foundation/").unwrap_or(file);
    let mut path: Vec<String> =
        file.trim_end_matches(".rs").split('/').map(ToOwned::to_owned).collect();
    if path.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        path.pop();
    }
    path
}

/// Every source file below the folder of a crate's root.
fn sources(folder: &Path) -> Sources {
    let mut folders = vec![folder.to_owned()];
    let mut files = Vec::new();
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(folder).expect("below it").to_string_lossy();
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
    let read = table(text, "Who may use whom").expect("a table");
    assert_eq!(read.keys().collect::<Vec<_>>(), ["ids", "model", "units"]);
    assert!(read["units"].is_empty());
    assert_eq!(read["model"].iter().collect::<Vec<_>>(), ["ids", "units"]);

    let upwards = text.replace("| units, ids | - |", "| units, ids | model |");
    let message = table(&upwards, "Who may use whom").expect_err("an upward use");
    assert_eq!(message, "the row of units, ids names `model`, which has no row above");
    assert_eq!(
        table("# A", "Who may use whom").expect_err("none"),
        "no heading \"Who may use whom\""
    );
}

#[test]
fn a_use_that_the_table_does_not_allow_is_named() {
    let text = "## Who may use whom\n| m | u |\n|---|---|\n| ids | - |\n| cluster | ids |\n\
                | traffic | ids |\n";
    let read = table(text, "Who may use whom").expect("a table");
    let source = "use crate::ids::Rank;\nuse crate::{traffic::Job, cluster};\n";
    assert_eq!(
        not_allowed(&read, "cluster/toml.rs", source),
        ["src/cluster/toml.rs:2: uses `traffic`; `cluster` may use {\"ids\"}"]
    );
    assert!(not_allowed(&read, "lib.rs", "pub use crate::ids::Rank;").is_empty());
    assert_eq!(not_allowed(&read, "ids.rs", "fn f() { super::cluster::g() }").len(), 1);
}
