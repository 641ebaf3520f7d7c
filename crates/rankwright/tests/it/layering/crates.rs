//! The crates: their manifests name only those crates of ours that the table allows.

use std::collections::BTreeSet;
use std::fs;

use super::{architecture, read, repository};

/// The heading of the table.
const HEADING: &str = "Which crate may use which";

/// The crates of ours that a manifest names under `[dependencies]`.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let lines = manifest.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    let lines = lines.take_while(|line| !line.starts_with('['));
    let name = |line: &str| Some(line.split_once('=')?.0.trim().to_owned());
    lines.filter_map(name).filter(|name| name.starts_with("rankwright")).collect()
}

#[test]
fn crates_depend_only_on_those_of_their_row() {
    let table = architecture(HEADING);
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(repository().join("crates")).expect("a folder") {
        let folder = entry.expect("an entry").path();
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let allowed = table.get(&name).unwrap_or_else(|| panic!("{HEADING}: no row of {name}"));
        let used = dependencies(&read(&folder.join("Cargo.toml")));
        let wrong: Vec<&String> = used.difference(allowed).collect();
        assert!(wrong.is_empty(), "{name} depends on {wrong:?}, may use {allowed:?}");
        found.insert(name);
    }
    assert_eq!(found, table.keys().cloned().collect(), "{HEADING}: rows without a crate");
}

#[test]
fn dependencies_of_tests_and_of_others_do_not_count() {
    let manifest = "[package]\nname = \"rankwright-x\"\n[dependencies]\nrankwright = { path = \"..\" }\n\
                    serde = \"1\"\n\n[dev-dependencies]\nrankwright-y = \"1\"\n";
    assert_eq!(dependencies(manifest), BTreeSet::from(["rankwright".to_owned()]));
}
