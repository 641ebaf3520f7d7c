//! The command line and the crates around it: the table of its layers, and no two files that import
//! each other, by however many others.

use std::collections::{BTreeMap, BTreeSet};

use super::rust_paths::used_paths;
use super::{Sources, architecture, module_path, repository, unmatched, violations};

/// The heading of the table.
const HEADING: &str = "Layers of the command line";

/// The folder of the shim, a program of its own in the package of the command line.
const SHIM: &str = "exec.rs";

/// Modules by their paths, each with those that it names.
type Imports = BTreeMap<Vec<String>, BTreeSet<Vec<String>>>;

fn sources(folder: &str) -> Sources {
    super::sources(&repository().join("crates").join(folder))
}

fn command_line() -> Sources {
    let mut sources = sources("rankwright-cli/src");
    sources.retain(|(file, _)| !file.starts_with(SHIM));
    sources
}

#[test]
fn layers_use_only_those_below() {
    let wrong = violations(&architecture(HEADING), &command_line());
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn every_layer_has_a_row_and_every_row_a_layer() {
    let unmatched = unmatched(&architecture(HEADING), &command_line());
    assert!(unmatched.is_empty(), "ARCHITECTURE.md, \"{HEADING}\": {unmatched:?}");
}

#[test]
fn no_file_imports_one_that_imports_it() {
    let crates = [
        ("rankwright", command_line()),
        ("rankwright-shim", sources("rankwright-shim/src")),
        ("rankwright-lab", sources("rankwright-lab/src")),
        ("rankwright-py", sources("rankwright-py/src")),
        ("rankwright-shim-format", sources("rankwright-shim-format/src")),
    ];
    for (name, sources) in crates {
        let cycle = cycle(&imports(&sources));
        assert_eq!(cycle, None, "{name}");
    }
}

/// Which module names which, outside of tests.
fn imports(sources: &Sources) -> Imports {
    let modules: BTreeSet<Vec<String>> =
        sources.iter().map(|(file, _)| module_path(file)).collect();
    let mut imports = Imports::new();
    for (file, text) in sources {
        let module = module_path(file);
        let named = used_paths(text, &module).into_iter().filter(|used| !used.in_tests);
        let named = named.filter_map(|used| {
            // A path may begin with a module below this one.
            let below = [&module[..], &used.segments[..1]].concat();
            let path = match used.in_crate {
                true => used.segments,
                false if modules.contains(&below) => [&module[..], &used.segments].concat(),
                false => return None,
            };
            (1..=path.len())
                .rev()
                .map(|length| path[..length].to_vec())
                .find(|m| modules.contains(m))
        });
        imports.insert(module.clone(), named.filter(|other| *other != module).collect());
    }
    imports
}

/// Modules each of which names the next, and the last the first.
fn cycle(imports: &Imports) -> Option<String> {
    let mut acyclic = BTreeSet::new();
    imports.keys().find_map(|module| cycle_from(imports, module, &mut Vec::new(), &mut acyclic))
}

fn cycle_from<'a>(
    imports: &'a Imports,
    module: &'a Vec<String>,
    path: &mut Vec<&'a Vec<String>>,
    acyclic: &mut BTreeSet<&'a Vec<String>>,
) -> Option<String> {
    if let Some(start) = path.iter().position(|above| *above == module) {
        let names: Vec<String> = path[start..].iter().map(|module| module.join("::")).collect();
        return Some(names.join(" -> "));
    }
    if acyclic.contains(module) {
        return None;
    }
    path.push(module);
    let named = imports.get(module).into_iter().flatten();
    let cycle = named.into_iter().find_map(|next| cycle_from(imports, next, path, acyclic));
    path.pop();
    acyclic.insert(module);
    cycle
}

#[test]
fn cycles_are_found_through_all_kinds_of_paths() {
    let files = |texts: [(&str, &str); 3]| -> Sources {
        texts.into_iter().map(|(file, text)| (file.to_owned(), text.to_owned())).collect()
    };
    let main = "mod a; mod b; use a::x; fn main() { b::y() }";
    let cycle_of =
        |a, b| cycle(&imports(&files([("main.rs", main), ("a/mod.rs", a), ("b.rs", b)])));
    assert_eq!(cycle_of("use crate::b::y;", "fn y() {}"), None);
    assert_eq!(cycle_of("use crate::b::y;", "use super::a;").as_deref(), Some("a -> b"));
    assert_eq!(cycle_of("use crate::b::y;", "fn y() { crate::a::x() }").as_deref(), Some("a -> b"));
    assert_eq!(cycle_of("use crate::b::y;", "mod tests { use crate::a::x; }"), None);
    let texts =
        [("a/mod.rs", "mod b; fn x() { b::y() }"), ("a/b.rs", "use super::X;"), ("c.rs", "")];
    assert_eq!(cycle(&imports(&files(texts))).as_deref(), Some("a -> a::b"));
}
