//! The options of sbatch and srun that decide where ranks run.

use super::option_names::{Found, Program};

/// An option, by its long name; short forms are those of Slurm 22.05.
const READ: [(&str, char); 12] = [
    ("nodes", 'N'),
    ("ntasks", 'n'),
    ("cpus-per-task", 'c'),
    ("ntasks-per-node", '\0'),
    ("distribution", 'm'),
    ("cpu-bind", '\0'),
    ("hint", '\0'),
    ("exclusive", '\0'),
    ("nodelist", 'w'),
    ("exact", '\0'),
    ("export", '\0'),
    ("multi-prog", '\0'),
];

/// Options whose effect on the PUs or nodes is not predicted.
const NOT_PREDICTED: [(&str, char); 12] = [
    ("ntasks-per-core", '\0'),
    ("ntasks-per-socket", '\0'),
    ("threads-per-core", '\0'),
    ("extra-node-info", 'B'),
    ("core-spec", 'S'),
    ("thread-spec", '\0'),
    ("ntasks-per-gpu", '\0'),
    ("gpus-per-task", '\0'),
    ("gpu-bind", '\0'),
    ("sockets-per-node", '\0'),
    ("cores-per-socket", '\0'),
    ("overcommit", 'O'),
];

/// Options that change which nodes the ranks are on, in ways that are not predicted.
pub(super) const NODES_NOT_PREDICTED: [(&str, char); 4] =
    [("relative", 'r'), ("exclude", 'x'), ("nodefile", 'F'), ("het-group", '\0')];

/// Short options with a value.
const SHORT_WITH_VALUE: &str = "ABCDFGJLMNPSTWabcdegimnopqrtwx";

/// An option with its value and line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) line: usize,
}

/// Options in the order in which they are given.
#[derive(Debug, Clone, Default)]
pub(super) struct Options {
    given: Vec<Given>,
    /// Long options that Slurm does not have, and their lines.
    pub(super) unknown: Vec<(Unknown, usize)>,
}

/// A long option that Slurm does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unknown {
    /// As it is written, without `--`.
    pub(super) name: String,
    pub(super) program: Program,
    /// The options that begin like this.
    pub(super) begins: Vec<&'static str>,
}

impl Options {
    /// Reads the options of a program at the start of these words, and returns the position behind them.
    pub(super) fn read(&mut self, words: &[String], line: usize, program: Program) -> usize {
        let mut index = 0;
        while let Some(word) = words.get(index).map(String::as_str) {
            if word == "--" {
                return index + 1;
            }
            let (name, value) = if let Some(long) = word.strip_prefix("--") {
                let (written, value) =
                    long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
                let found = program.option(written);
                let separate = value.is_none() && !matches!(found, Found::Flag(_));
                let value =
                    value.or_else(|| words.get(index + 1).filter(|_| separate).map(|v| &**v));
                index += usize::from(separate);
                let name = match found {
                    Found::Flag("tasks-per-node") | Found::WithValue("tasks-per-node") => {
                        "ntasks-per-node"
                    }
                    Found::Flag(name) | Found::WithValue(name) => name,
                    Found::None { begins } => {
                        let name = written.to_owned();
                        self.unknown.push((Unknown { name, program, begins }, line));
                        ""
                    }
                };
                (known(|(long, _)| long == name), value)
            } else if word.len() > 1 && word.starts_with('-') {
                let letter =
                    word.char_indices().skip(1).find(|(_, c)| SHORT_WITH_VALUE.contains(*c));
                let Some((at, letter)) = letter else {
                    let overcommit = word.contains('O').then_some("overcommit");
                    self.given.extend(overcommit.map(|name| Given {
                        name,
                        value: String::new(),
                        line,
                    }));
                    index += 1;
                    continue;
                };
                let value = Some(&word[at + 1..]).filter(|value| !value.is_empty());
                let separate = value.is_none();
                let value = value.or_else(|| words.get(index + 1).map(|v| &**v));
                index += usize::from(separate);
                (known(|(_, short)| short == letter), value)
            } else {
                return index;
            };
            index += 1;
            if let Some(name) = name {
                self.given.push(Given { name, value: value.unwrap_or_default().to_owned(), line });
            }
        }
        index.min(words.len())
    }

    /// The last one given of this name.
    pub(super) fn get(&self, name: &str) -> Option<&Given> {
        self.given.iter().rev().find(|given| given.name == name)
    }

    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.get(name).map(|given| given.value.as_str())
    }

    /// An option whose effect on PUs is not predicted.
    pub(super) fn not_predicted(&self) -> Option<&'static str> {
        NOT_PREDICTED.iter().map(|(name, _)| *name).find(|name| self.get(name).is_some())
    }
}

fn known(is: impl Fn((&str, char)) -> bool) -> Option<&'static str> {
    let all = READ.iter().chain(&NOT_PREDICTED).chain(&NODES_NOT_PREDICTED);
    all.copied().find(|option| is(*option)).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_forms_are_read_up_to_the_program() {
        let words = "-N2 -ln 4 --cpus-per-task 2 -J x --label --cpu_bind=none -w n[0-1] ./a -n 7";
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let mut options = Options::default();
        let end = options.read(&words, 3, Program::Srun);
        assert_eq!(words[end], "./a");
        let value = |name| options.value(name);
        assert_eq!(
            [value("nodes"), value("ntasks"), value("cpus-per-task")],
            [Some("2"), Some("4"), Some("2")]
        );
        assert_eq!([value("cpu-bind"), value("nodelist")], [Some("none"), Some("n[0-1]")]);
        assert_eq!(value("exclusive"), None);
        assert!(options.unknown.is_empty());
    }

    #[test]
    fn long_options_may_be_shortened_and_unknown_ones_are_kept() {
        let words = "--cpus-per-t=2 --wait --ntask 4 --foobar=1 --exclusiv";
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let mut options = Options::default();
        options.read(&words, 7, Program::Sbatch);
        assert_eq!(options.value("cpus-per-task"), Some("2"));
        assert_eq!(options.value("exclusive"), Some(""));
        let unknown: Vec<(&str, usize)> = (options.unknown.iter())
            .map(|(unknown, line)| (unknown.name.as_str(), unknown.begins.len().min(2) + line))
            .collect();
        assert_eq!(unknown, [("ntask", 9), ("foobar", 7)]);
    }
}
