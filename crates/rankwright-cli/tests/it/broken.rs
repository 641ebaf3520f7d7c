//! Bad input: every case of `testdata/broken/` with the message it must cause, as a snapshot in
//! `testdata/golden/broken/`. Nothing may be written.

use crate::command::{rankwright, repository, transcript};

/// What is wrong (the name of the case and of its file), and the command that meets it.
#[rustfmt::skip]
const CASES: &[(&str, &[&str])] = &[
    ("missing-profile", &["traffic", "show", "testdata/no-such.rwp"]),
    ("truncated-profile", &["traffic", "show", "testdata/broken/truncated-profile.rwp"]),
    ("newer-profile", &["traffic", "show", "testdata/broken/newer-profile.rwp"]),
    ("other-database", &["traffic", "show", "testdata/broken/other-database.rwp"]),
    ("no-ranks", &["traffic", "export", "testdata/broken/no-ranks.rwp"]),
    ("rank-out-of-range", &["traffic", "show", "testdata/broken/rank-out-of-range.rwp"]),
    ("text-profile", &["traffic", "show", "testdata/broken/text-profile.rwp"]),
    ("missing-cell", &["traffic", "import", "testdata/broken/missing-cell.csv"]),
    ("negative-bytes", &["traffic", "import", "testdata/broken/negative-bytes.csv"]),
    ("unknown-columns", &["traffic", "import", "testdata/broken/unknown-columns.csv"]),
    ("asymmetric-graph", &["traffic", "show", "testdata/broken/asymmetric-graph.graph"]),
    ("missing-vertex", &["traffic", "show", "testdata/broken/missing-vertex.graph"]),
    ("not-square", &["traffic", "show", "testdata/broken/not-square.mtx"]),
    ("unknown-format", &["traffic", "import", "testdata/broken/unknown-format.txt"]),
    ("unknown-shape", &["traffic", "generate", "star", "--ranks", "8"]),
    ("zero-ranks", &["traffic", "generate", "ring", "--ranks", "0"]),
    ("wrong-grid", &["traffic", "generate", "halo-2d", "--ranks", "8", "--grid", "3x3"]),
    ("unknown-expansion", &["traffic", "export", "pattern:ring:4", "--collectives", "magic"]),
];

#[test]
fn bad_input_is_named_with_file_place_and_way_out() {
    let before = files();
    for (name, arguments) in CASES {
        let output = rankwright(arguments).output().expect("the program starts");
        let code = output.status.code().unwrap_or_default();
        assert!((2..=5).contains(&code), "{name}: exit code {code}");
        assert!(output.stdout.is_empty(), "{name}: wrote to standard output");
        insta::with_settings!({snapshot_path => repository().join("testdata/golden/broken"), prepend_module_to_snapshot => false}, {
            insta::assert_snapshot!(*name, transcript(arguments, &output));
        });
    }
    assert_eq!(files(), before, "a command that failed wrote a file");
}

#[test]
fn every_broken_file_has_a_case() {
    let named =
        |file: &str| CASES.iter().any(|(_, arguments)| arguments.iter().any(|a| a.contains(file)));
    for file in files() {
        assert!(named(&file), "testdata/broken/{file} is in no case");
    }
}

fn files() -> Vec<String> {
    let folder = std::fs::read_dir(repository().join("testdata/broken")).expect("it exists");
    let mut names: Vec<String> = folder
        .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into())
        .collect();
    names.sort();
    names
}
