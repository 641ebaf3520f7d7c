//! Programs that start another program, before the launcher: `nice -n 5 mpirun -np 4 ./app`.

use std::path::Path;

use super::options::words_of_letters;
use crate::output::exit_code::NotStarted;

/// The command line of a program that starts the program behind its options.
#[derive(Debug)]
struct Wrapper {
    name: &'static str,
    /// Option letters with a value, which may follow at once: `-n5` or `-n 5`.
    letters: &'static str,
    /// Long options with a value, if not written with `=`.
    long: &'static [&'static str],
    /// Words between the options and the program, such as the time limit of `timeout`.
    words: usize,
}

/// From the manuals of GNU coreutils, util-linux, numactl and GNU time.
const WRAPPERS: [Wrapper; 11] = [
    Wrapper { name: "chrt", letters: "TPD", long: DEADLINES, words: 1 },
    Wrapper { name: "env", letters: "uCa", long: &["unset", "chdir", "argv0"], words: 0 },
    Wrapper { name: "ionice", letters: "cn", long: &["class", "classdata"], words: 0 },
    Wrapper { name: "nice", letters: "n", long: &["adjustment"], words: 0 },
    Wrapper { name: "nohup", letters: "", long: &[], words: 0 },
    Wrapper { name: "numactl", letters: "iwNcCmpP", long: NUMACTL, words: 0 },
    Wrapper { name: "setsid", letters: "", long: &[], words: 0 },
    Wrapper { name: "stdbuf", letters: "ioe", long: &["input", "output", "error"], words: 0 },
    // Without `-c` too, one word says which PUs.
    Wrapper { name: "taskset", letters: "", long: &[], words: 1 },
    Wrapper { name: "time", letters: "fo", long: &["format", "output"], words: 0 },
    Wrapper { name: "timeout", letters: "ks", long: &["kill-after", "signal"], words: 1 },
];

const DEADLINES: &[&str] = &["sched-runtime", "sched-period", "sched-deadline"];

const NUMACTL: &[&str] = &[
    "interleave",
    "weighted-interleave",
    "cpunodebind",
    "cpubind",
    "physcpubind",
    "membind",
    "preferred",
    "preferred-many",
];

/// Programs that start the launcher as another user, who may not write what `profile` reads.
const OTHER_USERS: [&str; 4] = ["sudo", "doas", "su", "runuser"];

/// Their names, for messages.
pub(super) fn names() -> String {
    WRAPPERS.map(|wrapper| wrapper.name).join(", ")
}

/// The number of words before the launcher: those of wrappers, their options and values.
///
/// # Errors
/// If a wrapper starts the launcher as another user, or would not wait for it.
pub(super) fn words_before_launcher(command: &[String]) -> Result<usize, NotStarted> {
    let mut place = 0;
    while let Some(word) = command.get(place) {
        let name = Path::new(word).file_name().unwrap_or_default().to_string_lossy();
        if OTHER_USERS.contains(&name.as_ref()) {
            return Err(refused(format!(
                "{word} starts the launcher as another user, who may not write the records beside \
                 the profile; put {word} before rankwright"
            )));
        }
        let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) else { break };
        match wrapper.program(&command[place + 1..])? {
            Some(words) => place += 1 + words,
            None => break,
        }
    }
    Ok(place)
}

fn refused(why: String) -> NotStarted {
    NotStarted { code: 125, why }
}

impl Wrapper {
    /// The index of the program in the words behind the wrapper's name; `None` if there is none.
    fn program(&self, words: &[String]) -> Result<Option<usize>, NotStarted> {
        let mut place = 0;
        while let Some(option) = words.get(place).and_then(|word| word.strip_prefix('-')) {
            self.check(option)?;
            place += match option.strip_prefix('-') {
                Some("") => {
                    place += 1;
                    break;
                }
                Some(long) if self.long.contains(&long) => 2,
                Some(_) => 1,
                None => words_of_letters(self.letters, option),
            };
        }
        let is_variable = |word: &String| self.name == "env" && word.contains('=');
        let variables = words.iter().skip(place).take_while(|word| is_variable(word)).count();
        let program = place + variables + self.words;
        Ok((program < words.len()).then_some(program))
    }

    /// Refuses options that put the launcher out of reach.
    fn check(&self, option: &str) -> Result<(), NotStarted> {
        let letter = |letter| !option.starts_with('-') && option.contains(letter);
        match self.name {
            "setsid" if letter('f') || option == "-fork" => Err(refused(
                "setsid --fork does not wait for the launcher, so its end would be unknown; leave \
                 --fork out"
                    .to_owned(),
            )),
            "env" if option.starts_with('S') || option.starts_with("-split-string") => {
                Err(refused(
                    "env -S hides the launcher in one word; write its words without -S".to_owned(),
                ))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launcher(line: &str) -> Option<String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        words_before_launcher(&words).ok().and_then(|place| words.get(place).cloned())
    }

    #[test]
    fn the_launcher_is_found_behind_wrappers_and_their_options() {
        for wrapper in [
            "env A=1 B=",
            "env -i -u C --unset D -C /tmp A=1",
            "env -uC -- A=1",
            "/usr/bin/time -v",
            "time -f %e -o times --append",
            "numactl -N 0 --membind 0",
            "numactl -N0 --membind=0 -l --",
            "nice -n 5",
            "nice -n5",
            "nice -5",
            "nice",
            "ionice -c 2 -n7 -t",
            "taskset -c 0-3",
            "taskset 0xf",
            "chrt -f 10",
            "stdbuf -oL -e 0",
            "timeout -k 5 --signal KILL --foreground 60",
            "setsid -w",
            "nohup",
            "env A=1 nice -n 5 timeout 60 taskset -c 0,1",
        ] {
            let line = format!("{wrapper} mpirun -n 4 ./app");
            assert_eq!(launcher(&line).as_deref(), Some("mpirun"), "{line}");
        }
        assert_eq!(launcher("mpirun -n 4 env A=1 ./app").as_deref(), Some("mpirun"));
    }

    #[test]
    fn a_wrapper_without_a_program_stays_the_first_word() {
        for line in ["nice -n 5", "timeout 60", "env A=1", "taskset -c 0"] {
            assert_eq!(launcher(line).as_deref(), line.split(' ').next(), "{line}");
        }
    }

    #[test]
    fn what_puts_the_launcher_out_of_reach_is_refused() {
        for line in [
            "sudo -u root mpirun ./app",
            "nice sudo mpirun ./app",
            "setsid -f mpirun ./app",
            "setsid --fork mpirun ./app",
            "env -S mpirun ./app",
        ] {
            assert_eq!(launcher(line), None, "{line}");
        }
    }
}
