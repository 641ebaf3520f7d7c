//! The arguments and variables of a launcher that change the meaning of its file.

use super::job_script::lexer::is_variable;
use super::launch_options::words_of_option;
use super::rankfile::slot_list::Version;
use super::script::is_mpi_launcher;
use crate::lint::program_of;

/// The arguments of a launcher, and the variables before them.
#[derive(Debug, Clone, Copy)]
pub(in crate::lint) struct Arguments<'a> {
    words: &'a [String],
}

impl<'a> Arguments<'a> {
    pub(in crate::lint) fn new(words: &'a [String]) -> Self {
        Self { words }
    }

    pub(in crate::lint) fn words(self) -> impl Iterator<Item = &'a str> {
        self.words.iter().map(String::as_str)
    }

    /// All words but those of programs, which stand between `--` and the next `:`.
    pub(in crate::lint) fn options(self) -> impl Iterator<Item = &'a str> {
        self.parts().flat_map(Self::words)
    }

    fn parts(self) -> impl Iterator<Item = Self> {
        let parts = self.words.split(|word| word == ":");
        parts.filter_map(|part| Some(Self { words: part.split(|word| word == "--").next()? }))
    }

    /// The words without programs and what follows these: of a whole command line of `mpirun` or `mpiexec`, or
    /// of its options alone. Variables (`NAME=VALUE`) may be anywhere before a program.
    pub(in crate::lint) fn without_programs(self) -> Vec<String> {
        let mut all = Vec::new();
        for (number, part) in self.words.split(|word| word == ":").enumerate() {
            if number > 0 {
                all.push(":".to_owned());
            }
            // What starts mpirun (`time`, `env`) is before it.
            let launcher = part.iter().position(|word| is_mpirun(word)).filter(|_| number == 0);
            let mut at = launcher.map_or(0, |launcher| launcher + 1);
            all.extend(part[..at].iter().filter(|word| is_assignment(word)).cloned());
            while let Some(word) = part.get(at) {
                let count = match word.as_str() {
                    "--" => break,
                    option if option.starts_with('-') => words_of_option(&part[at..]),
                    other if is_assignment(other) => 1,
                    _ => break,
                };
                all.extend_from_slice(&part[at..at + count]);
                at += count;
            }
        }
        all
    }

    /// The options of `mpirun` or `mpiexec` with their values, each as its words; other words alone.
    pub(in crate::lint) fn with_values(self) -> impl Iterator<Item = &'a [String]> {
        let words = self.words;
        let mut at = 0;
        std::iter::from_fn(move || {
            let left = words.get(at..).filter(|left| !left.is_empty())?;
            let count = if left[0].starts_with('-') { words_of_option(left) } else { 1 };
            at += count;
            Some(&left[..count])
        })
    }

    /// The values of these options in order, from `--name VALUE` or `--name=VALUE`.
    pub(in crate::lint) fn values(self, names: &[&str]) -> impl Iterator<Item = &'a str> {
        let words = self.words;
        (0..words.len()).filter_map(move |index| {
            let word = words[index].as_str();
            if names.contains(&word) {
                return words.get(index + 1).map(String::as_str);
            }
            let (name, value) = word.split_once('=')?;
            names.contains(&name).then_some(value)
        })
    }

    /// The last value of these options.
    pub(in crate::lint) fn value(self, names: &[&str]) -> Option<&'a str> {
        self.values(names).last()
    }

    /// Whether this word is among them.
    pub(in crate::lint) fn has(self, word: &str) -> bool {
        self.words().any(|other| other == word)
    }

    /// A variable of the launcher or of its ranks: `NAME=VALUE`, alone or behind `-env`, `-genv`,
    /// `-x` or `--export=ALL`, or `NAME VALUE` behind `-genv` or `-env`.
    pub(in crate::lint) fn variable(self, name: &str) -> Option<&'a str> {
        let words = self.words;
        let value = |index: usize| {
            let word = words[index].as_str();
            if ["-genv", "-env"].contains(&word) && words.get(index + 1)? == name {
                return words.get(index + 2).map(String::as_str);
            }
            word.strip_prefix(name)?.strip_prefix('=')
        };
        (0..words.len()).rev().find_map(value)
    }

    /// The number of ranks to start, summed over all programs; of each the last number that is given.
    pub(in crate::lint) fn ranks(self) -> Option<usize> {
        self.sum(|part| part.value(&["-n", "-np", "--np", "--n", "--ntasks"]))
    }

    /// The number of ranks that Open MPI starts: if `-np` is repeated for a program, 4.1 takes the last value and 5.0
    /// the first.
    pub(in crate::lint) fn ranks_of_open_mpi(self, version: Version) -> Option<usize> {
        let names = ["-n", "-np", "--np", "--n", "-c", "--c"];
        self.sum(|part| match version {
            Version::Four => part.value(&names),
            Version::Five => part.values(&names).next(),
        })
    }

    /// The sum over all programs of a number of each.
    fn sum(self, number: impl Fn(Self) -> Option<&'a str>) -> Option<usize> {
        let numbers = self.parts().filter_map(|part| number(part)?.parse::<usize>().ok());
        numbers.reduce(usize::saturating_add).filter(|count| *count > 0)
    }
}

/// Whether the word names `mpirun` or `mpiexec`, also that of one MPI (`mpirun.openmpi`).
fn is_mpirun(word: &str) -> bool {
    is_mpi_launcher(program_of(word).split('.').next().unwrap_or_default())
}

/// Whether the word is `NAME=VALUE`.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| is_variable(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_variables_are_found() {
        let words = "A=1 mpirun -n 2 --bind-to=none -genv B 2 ./a : -np 3 -env C=3 ./b";
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let arguments = Arguments::new(&words);
        assert_eq!(arguments.ranks(), Some(5));
        let exec = "mpirun -np 2 rankwright-exec -- ./a -n 7 : -np 1 rankwright-exec -- ./b -n 7";
        let exec: Vec<String> = exec.split(' ').map(str::to_owned).collect();
        assert_eq!(Arguments::new(&exec).ranks(), Some(3));
        assert_eq!(arguments.value(&["--bind-to"]), Some("none"));
        assert_eq!(
            ["A", "B", "C", "D"].map(|name| arguments.variable(name)),
            [Some("1"), Some("2"), Some("3"), None]
        );
        assert!(arguments.has("./b") && !arguments.has("n"));
    }

    #[test]
    fn options_end_where_the_program_begins() {
        for (line, expected) in [
            ("mpirun -np 4 ./solver -n 100", "-np 4"),
            ("-np 4 --map-by numa", "-np 4 --map-by numa"),
            (
                "A=1 time /opt/bin/mpirun.openmpi --mca pml ucx -np 2 B=2 ./a -N 1 : -np 3 ./b -np 9",
                "A=1 --mca pml ucx -np 2 B=2 : -np 3",
            ),
            ("mpiexec -env C 3 -n 2 -l ./a -n 3", "-env C 3 -n 2 -l"),
            ("mpirun -np 2 -- ./a -np 3", "-np 2"),
            ("mpirun --map-by", "--map-by"),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(Arguments::new(&words).without_programs().join(" "), expected, "{line}");
        }
    }

    #[test]
    fn each_program_has_a_number_of_ranks_of_its_own() {
        let words: Vec<String> = "-np 4 -n 2 : -c 3".split(' ').map(str::to_owned).collect();
        let arguments = Arguments::new(&words);
        assert_eq!(arguments.ranks_of_open_mpi(Version::Four), Some(5));
        assert_eq!(arguments.ranks_of_open_mpi(Version::Five), Some(7));
        assert_eq!(arguments.ranks(), Some(2));
    }
}
