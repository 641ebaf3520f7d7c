//! The options of sbatch and srun that decide where ranks run.

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

/// Long options without a value, or with one only behind `=`.
const FLAGS: [&str; 29] = [
    "contiguous",
    "disable-status",
    "exact",
    "exclusive",
    "external-launcher",
    "get-user-env",
    "help",
    "hold",
    "ignore-pbs",
    "immediate",
    "kill-on-bad-exit",
    "label",
    "multi-prog",
    "no-allocate",
    "no-kill",
    "no-requeue",
    "overcommit",
    "overlap",
    "oversubscribe",
    "parsable",
    "preserve-env",
    "propagate",
    "pty",
    "quiet",
    "requeue",
    "spread-job",
    "unbuffered",
    "use-min-nodes",
    "verbose",
];

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
}

impl Options {
    /// Reads the options at the start of these words, and returns the position behind them.
    pub(super) fn read(&mut self, words: &[String], line: usize) -> usize {
        let mut index = 0;
        while let Some(word) = words.get(index).map(String::as_str) {
            if word == "--" {
                return index + 1;
            }
            let (name, value) = if let Some(long) = word.strip_prefix("--") {
                let (name, value) =
                    long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
                let name = match name.replace('_', "-") {
                    tasks if tasks == "tasks-per-node" => "ntasks-per-node".to_owned(),
                    name => name,
                };
                let separate = value.is_none() && !FLAGS.contains(&&*name);
                let value =
                    value.or_else(|| words.get(index + 1).filter(|_| separate).map(|v| &**v));
                index += usize::from(separate);
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
        let end = options.read(&words, 3);
        assert_eq!(words[end], "./a");
        let value = |name| options.value(name);
        assert_eq!(
            [value("nodes"), value("ntasks"), value("cpus-per-task")],
            [Some("2"), Some("4"), Some("2")]
        );
        assert_eq!([value("cpu-bind"), value("nodelist")], [Some("none"), Some("n[0-1]")]);
        assert_eq!(value("exclusive"), None);
    }
}
