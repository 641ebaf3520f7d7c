//! A script that becomes the program of its rank, for launchers that start one command for all
//! ranks. It takes any argument; `srun --multi-prog` keeps quotes as characters and cannot express
//! an empty word.

use std::fmt::Write;

use crate::launch::{LaunchFile, Program, rank_variables, shell};

/// The script for these programs, which take the ranks in order.
pub(in crate::launch) fn script(programs: &[Program<'_>]) -> LaunchFile {
    let mut text = format!(
        "#!/bin/sh\n# Becomes the program of its rank.\nrank={}\ncase $rank in\n\
         '' | *[!0-9]*) echo \"programs.sh: no launcher has set a rank variable\" >&2; exit 125 \
         ;;\nesac\n",
        rank_variables::in_shell()
    );
    let mut end = 0;
    for program in programs {
        end += program.ranks;
        let words = shell::join(program.words);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "[ \"$rank\" -ge {end} ] || exec {words}");
    }
    text += "echo \"programs.sh: rank $rank is not in the placement\" >&2\nexit 125\n";
    LaunchFile { name: "programs.sh", contents: text, executable: true }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::ProgramLine;

    #[test]
    fn every_program_takes_its_ranks_with_its_own_words() {
        let words = ["-n", "2", "./ocean", "a b", "", ":", "./air"].map(str::to_owned);
        let line = ProgramLine::parse(&words).unwrap();
        let script = script(&line.for_ranks(8).unwrap());
        assert!(script.executable);
        assert!(script.contents.contains("[ \"$rank\" -ge 2 ] || exec ./ocean 'a b' ''\n"));
        assert!(script.contents.contains("[ \"$rank\" -ge 8 ] || exec ./air\n"));
    }
}
