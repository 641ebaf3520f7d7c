//! Commands for other programs, and what all commands have in common.

mod exec;

use crate::command::rankwright;

#[test]
fn help_that_cannot_be_written_is_an_error() {
    for option in ["--help", "--version"] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = rankwright(&[option]).stdout(full).output().expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && said.contains("No space left"), "{said}");
    }
}
