//! The arguments and variables of a launcher that change the meaning of its file.

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

    /// The number of ranks to start, summed over all programs.
    pub(in crate::lint) fn ranks(self) -> Option<usize> {
        let names = ["-n", "-np", "--np", "--n", "--ntasks"];
        let counts = self.parts().flat_map(|part| part.values(&names));
        counts
            .filter_map(|count| count.parse::<usize>().ok())
            .reduce(usize::saturating_add)
            .filter(|count| *count > 0)
    }
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
}
