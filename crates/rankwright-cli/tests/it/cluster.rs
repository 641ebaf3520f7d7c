//! `rankwright cluster`: what it shows of the recorded machines and the examples, and that what it
//! writes it reads.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::command::{rankwright, repository, say, transcript};

/// The snapshot of a command that must succeed, in `testdata/golden/cluster/`.
fn golden(name: &str, arguments: &[&str]) {
    let output = rankwright(arguments).output().expect("the program starts");
    assert!(output.status.success(), "{}", transcript(arguments, &output));
    insta::with_settings!({snapshot_path => repository().join("testdata/golden/cluster"), prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!(name, transcript(arguments, &output));
    });
}

#[test]
fn show_tells_recorded_machines() {
    let folder = std::fs::read_dir(repository().join("testdata/machines")).expect("it exists");
    let mut names: Vec<String> =
        folder.map(|entry| entry.expect("readable").file_name().to_string_lossy().into()).collect();
    names.sort();
    assert!(!names.is_empty());
    for name in names {
        let path = format!("testdata/machines/{name}");
        golden(&format!("show-{}", name.replace('.', "-")), &["cluster", "show", &path]);
    }
}

#[test]
fn show_tells_example_clusters() {
    for name in ["four-nodes", "dual-rail", "epyc-slingshot", "mixed-tree"] {
        let path = format!("examples/clusters/{name}.toml");
        golden(&format!("show-{name}"), &["cluster", "show", &path]);
    }
    golden(
        "show-mixed-tree-csv",
        &["cluster", "show", "examples/clusters/mixed-tree.toml", "--format", "csv"],
    );
    golden(
        "show-four-nodes-json",
        &["cluster", "show", "examples/clusters/four-nodes.toml", "--format", "json"],
    );
}

#[test]
fn show_prints_the_machine_matrix_of_the_2009_paper() {
    golden("matrix-of-2009", &["cluster", "show", "paper:2009-placement", "--matrix"]);
}

#[test]
fn check_says_what_was_read_and_what_is_doubtful() {
    golden("check-mixed-tree", &["cluster", "check", "examples/clusters/mixed-tree.toml"]);
    golden("check-sparse", &["cluster", "check", "testdata/machines/sparse-numbers.xml"]);
}

#[test]
fn imported_descriptions_read_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("c.toml");
    let path = path.to_str().expect("plain text");
    let machine = "testdata/machines/infiniband-2s-8ports.xml";
    let arguments = ["cluster", "import", machine, "--nodes", "n[00-15]", "-o", path];
    let output = rankwright(&arguments).output().expect("the program starts");
    assert!(output.status.success(), "{}", transcript(&arguments, &output));
    let shown = |arguments: &[&str]| {
        let output = rankwright(arguments).output().expect("the program starts");
        assert!(output.status.success(), "{}", transcript(arguments, &output));
        let text = String::from_utf8(output.stdout).expect("text");
        // The header and the line with the names differ.
        text.lines().skip(4).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(shown(&["cluster", "show", path]), shown(&["cluster", "show", machine]));
    golden("import-infiniband", &["cluster", "import", machine, "--nodes", "n[00-15]"]);
}

#[test]
fn a_description_is_read_from_standard_input() {
    let written = rankwright(&["cluster", "import", "--synthetic", "pack:2 numa:1 core:2 pu:2"])
        .output()
        .expect("the program starts");
    let mut show = rankwright(&["cluster", "check", "-q", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    show.stdin.take().expect("piped").write_all(&written.stdout).expect("written");
    let output = show.wait_with_output().expect("it ends");
    let line = "node0: 1 node of 2 packages, 2 NUMA nodes, 4 cores, 8 PUs, 0 NICs; all PUs free\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), line);
}

#[test]
fn this_machine_is_discovered_and_agrees_with_lstopo() {
    let output = rankwright(&["cluster", "discover"]).output().expect("the program starts");
    assert!(output.status.success(), "{output:?}");
    let Ok(lstopo) = Command::new("lstopo-no-graphics").args(["--of", "xml"]).output() else {
        say("SKIPPED: lstopo-no-graphics is not installed");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let count = |name: &str, contents: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, contents).expect("written");
        let path = path.to_str().expect("plain text");
        let arguments = ["cluster", "show", path, "--format", "csv"];
        let output = rankwright(&arguments).output().expect("the program starts");
        assert!(output.status.success(), "{}", transcript(&arguments, &output));
        let text = String::from_utf8(output.stdout).expect("text");
        // Without the names, and without what depends on which PUs are allowed here.
        let row: Vec<&str> = text.lines().nth(1).expect("a row").rsplit(',').collect();
        [row[6].to_owned(), row[5].to_owned(), row[1].to_owned(), row[0].to_owned()]
    };
    assert_eq!(count("ours.toml", &output.stdout), count("theirs.xml", &lstopo.stdout));
}
