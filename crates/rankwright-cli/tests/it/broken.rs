//! Bad input: every case of `testdata/broken/` with the message it must cause, as a snapshot in
//! `testdata/golden/broken/`. Nothing may be written.

use rankwright::launch::shell;

use crate::command::{rankwright, repository, transcript};

/// What is wrong (the name of the case and of its file), and the command that meets it.
fn cases() -> Vec<(String, Vec<String>)> {
    let text = std::fs::read_to_string(repository().join("testdata/broken.cases"));
    let text = text.expect("the list of cases");
    let case = |line: &str| {
        let (name, command) = line.split_once(' ').expect("a name and a command");
        (name.to_owned(), shell::split(command).expect("closed quotes"))
    };
    text.lines().filter(|line| !line.starts_with('#')).map(case).collect()
}

#[test]
fn bad_input_is_named_with_file_place_and_way_out() {
    let before = files();
    for (name, words) in cases() {
        let (variables, arguments) = words.split_at(words.iter().take_while(is_variable).count());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let variables = variables.iter().filter_map(|word| word.split_once('='));
        let output = rankwright(&arguments).envs(variables).output().expect("the program starts");
        let code = output.status.code().unwrap_or_default();
        assert!((2..=5).contains(&code), "{name}: exit code {code}");
        assert!(output.stdout.is_empty(), "{name}: wrote to standard output");
        insta::with_settings!({snapshot_path => repository().join("testdata/golden/broken"), prepend_module_to_snapshot => false}, {
            insta::assert_snapshot!(name, transcript(&arguments, &output));
        });
    }
    assert_eq!(files(), before, "a command that failed wrote a file");
}

/// `SLURM_JOB_ID=7` in front of a command.
fn is_variable(word: &&String) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

#[test]
fn every_broken_file_has_a_case() {
    let cases = cases();
    let named =
        |file: &str| cases.iter().any(|(_, arguments)| arguments.iter().any(|a| a.contains(file)));
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
