//! The examples on the pages of the launchers and of the network stacks: every line behind `$ ` in
//! their `console` blocks is run, and must print what stands below it. The user's folder is `/home/me`
//! there, the shim lies in `/usr/bin`.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use rankwright::ids::{CoreId, PuId};

use crate::command::{rankwright, repository};
use crate::placements::placement;

/// The placements that the pages speak of, in a folder.
fn write_placements(folder: &Path) {
    let write = |name: &str, file: &rankwright::placement::PlacementFile| {
        file.write(&folder.join(name)).expect("the folder is writable");
    };
    let mixed = [("n1", 1), ("n0", 0), ("n0", 1), ("n1", 0)];
    write("placement.json", &placement(2, false, &mixed));
    write("same.json", &placement(2, false, &[("n1", 1), ("n0", 1), ("n0", 0), ("n1", 0)]));
    let mut blocks = placement(2, false, &[("n1", 1), ("n1", 0), ("n0", 0), ("n0", 1)]);
    blocks.jobs[0].mpi_library = "Open MPI v5.0.11".to_owned();
    write("blocks.json", &blocks);
    let mut hybrid = placement(2, false, &[("n0", 0), ("n1", 0)]);
    for entry in &mut hybrid.jobs[0].ranks {
        (entry.cores, entry.pus) = (vec![CoreId(0), CoreId(1)], vec![PuId(0), PuId(1)]);
    }
    write("hybrid.json", &hybrid);
}

/// What a command of a page prints.
fn printed(line: &str, folder: &Path) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_rankwright"));
    let mut command = Command::new("/bin/sh");
    command.args(["-c", line]).current_dir(folder);
    for (name, value) in rankwright(&[]).get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let bin = program.parent().expect("it lies in a folder");
    // Without the launchers of this machine, whose names would stand in command lines.
    let tools = tempfile::tempdir().expect("a folder");
    for tool in ["cat", "grep", "tail"] {
        symlink(Path::new("/bin").join(tool), tools.path().join(tool)).expect("it is writable");
    }
    let path = std::env::join_paths([bin, tools.path()]).expect("no folder has a colon");
    command.env("PATH", path);
    let output = command.output().expect("sh is everywhere");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    (lines.join("\n") + "\n")
        .replace(folder.to_str().expect("it is UTF-8"), "/home/me")
        .replace(bin.to_str().expect("it is UTF-8"), "/usr/bin")
}

/// The commands of a page, with what stands below each.
fn examples(page: &str) -> Vec<(String, String)> {
    let mut examples: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match (inside, line) {
            (false, "```console") => inside = true,
            (true, "```") => inside = false,
            (true, line) => match (line.strip_prefix("$ "), examples.last_mut()) {
                (Some(command), _) => examples.push((command.to_owned(), String::new())),
                (None, Some((_, below))) => *below += &format!("{line}\n"),
                (None, None) => {}
            },
            (false, _) => {}
        }
    }
    examples
}

/// Runs the examples of all pages in a folder, each page in a working directory of its own that is
/// `prepared`.
fn hold_true(pages: &str, prepare: impl Fn(&Path)) {
    let pages = std::fs::read_dir(repository().join(pages)).expect("it is there");
    let mut pages: Vec<_> = pages.map(|page| page.expect("readable").path()).collect();
    pages.sort();
    let mut wrong = String::new();
    for page in pages {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().canonicalize().expect("it is there");
        prepare(&folder);
        let name = page.file_name().unwrap_or_default().display();
        let examples = examples(&std::fs::read_to_string(&page).expect("readable"));
        if examples.is_empty() {
            wrong += &format!("{name}: no example\n");
        }
        for (line, below) in examples {
            let printed = printed(&line, &folder);
            if printed.trim_end() != below.trim_end() {
                wrong += &format!("{name}: $ {line}\n{printed}instead of\n{below}\n");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_examples_of_the_launchers_are_true() {
    hold_true("docs/src/launchers", write_placements);
}

#[test]
fn the_examples_of_the_network_stacks_are_true() {
    hold_true("docs/src/nics", |folder| {
        for entry in std::fs::read_dir(repository().join("testdata/nics")).expect("it is there") {
            let file = entry.expect("readable");
            std::fs::copy(file.path(), folder.join(file.file_name())).expect("it is copied");
        }
    });
}
