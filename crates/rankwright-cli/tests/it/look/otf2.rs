//! OTF2 archives through the installed `otf2-print`.

use std::path::Path;
use std::process::Command;

use crate::command::{rankwright, repository, say, transcript};

/// Whether `otf2-print` is there.
fn has_printer() -> bool {
    let there = Command::new("otf2-print").arg("--version").output().is_ok();
    if !there {
        say("SKIPPED: otf2-print is missing");
    }
    there
}

/// What `rankwright traffic` prints with these arguments, and whether it succeeded.
fn traffic(arguments: &[&str]) -> (String, bool) {
    let arguments = [&["traffic"], arguments].concat();
    let output = rankwright(&arguments).output().expect("the program starts");
    (transcript(&arguments, &output), output.status.success())
}

/// A copy of the archive that may be damaged.
fn copy(to: &Path) {
    let from = repository().join("testdata/otf2/halo");
    std::fs::create_dir(to.join("traces")).unwrap();
    for name in ["traces.otf2", "traces.def"] {
        std::fs::copy(from.join(name), to.join(name)).unwrap();
    }
    for entry in std::fs::read_dir(from.join("traces")).unwrap() {
        let name = entry.unwrap().file_name();
        std::fs::copy(from.join("traces").join(&name), to.join("traces").join(&name)).unwrap();
    }
}

#[test]
fn an_archive_is_read_as_otf2_print_prints_it() {
    if !has_printer() {
        return;
    }
    let export = |file: &str| {
        let arguments = ["traffic", "export", file, "--collectives", "linear", "--self"];
        let output = rankwright(&arguments).output().expect("the program starts");
        assert!(output.status.success(), "{}", transcript(&arguments, &output));
        String::from_utf8(output.stdout).unwrap()
    };
    let printed = export("testdata/otf2/halo.txt");
    assert!(printed.contains("\nhalo,3,0,"), "{printed}");
    for archive in ["testdata/otf2/halo/traces.otf2", "testdata/otf2/halo"] {
        assert_eq!(export(archive), printed, "{archive}");
    }
}

#[test]
fn damaged_archives_are_errors() {
    if !has_printer() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    copy(folder.path());
    let archive = folder.path().join("traces.otf2").display().to_string();
    let events = folder.path().join("traces/0.evt");
    // otf2-print ends as if nothing were missing.
    std::fs::File::options().write(true).open(&events).unwrap().set_len(200).unwrap();
    let (text, success) = traffic(&["import", &archive]);
    assert!(!success && text.contains("events of location 0: it was cut off"), "{text}");
    std::fs::remove_file(&events).unwrap();
    let (text, success) = traffic(&["import", &archive]);
    assert!(!success && text.contains("`otf2-print` prints: "), "{text}");
    assert!(text.contains("exit code: 3"), "{text}");
}

#[test]
fn without_otf2_print_the_package_is_named() {
    let arguments = ["traffic", "import", "testdata/otf2/halo"];
    let output = rankwright(&arguments).env("PATH", "/nowhere").output().unwrap();
    let text = transcript(&arguments, &output);
    assert!(text.contains("exit code: 3") && text.contains("otf2-tools"), "{text}");
}
