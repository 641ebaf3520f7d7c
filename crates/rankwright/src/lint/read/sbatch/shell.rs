//! The commands of a script that start ranks, with the variables that are known without a shell.

use std::collections::BTreeMap;

use super::lexer::{Command, Piece, Word, is_variable};

/// The programs that start ranks.
const LAUNCHERS: [&str; 6] = ["srun", "mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun"];

/// Words before a command.
const BEFORE: [&str; 12] =
    ["if", "then", "else", "elif", "while", "until", "do", "!", "{", "time", "exec", "nohup"];

/// The value of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Known(String),
    /// Slurm does not set it in this job.
    Unset,
    Unknown,
}

/// A word whose variables are replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Expanded {
    pub(super) text: String,
    /// What only a shell knows, if the word has such a part.
    pub(super) unknown: Option<String>,
}

/// A command that starts ranks.
#[derive(Debug)]
pub(super) struct Launch {
    pub(super) line: usize,
    /// The program's name without its folder.
    pub(super) launcher: String,
    /// The words behind it.
    pub(super) words: Vec<Expanded>,
    /// Exported variables with their lines; `None` as value if it is unknown.
    pub(super) exported: BTreeMap<String, (Option<String>, usize)>,
}

/// The variables while the commands are read.
pub(super) struct Shell {
    variables: BTreeMap<String, Value>,
    exported: BTreeMap<String, usize>,
    /// The number of `if`, loops and functions that are open.
    depth: usize,
}

impl Shell {
    pub(super) fn new(variables: BTreeMap<String, Value>) -> Self {
        Self { variables, exported: BTreeMap::new(), depth: 0 }
    }

    /// The commands that start ranks.
    pub(super) fn launches(&mut self, commands: &[Command]) -> Vec<Launch> {
        commands.iter().filter_map(|command| self.command(command)).collect()
    }

    fn command(&mut self, command: &Command) -> Option<Launch> {
        let mut words: &[Word] = &command.words;
        while let Some(word) = words.first().and_then(literal) {
            match word {
                "if" | "while" | "until" | "{" | "case" => self.depth += 1,
                "fi" | "done" | "esac" | "}" => self.depth = self.depth.saturating_sub(1),
                "for" | "select" => {
                    self.depth += 1;
                    let name = words.get(1).and_then(literal)?;
                    self.variables.insert(name.to_owned(), Value::Unknown);
                    return None;
                }
                _ => {}
            }
            if !BEFORE.contains(&word) {
                break;
            }
            words = &words[1..];
        }
        let certain = self.depth == 0 && !command.conditional;
        let before = words.iter().take_while(|word| assignment(word).is_some()).count();
        let (assignments, mut words) = words.split_at(before);
        if words.first().and_then(literal) == Some("env") {
            words = &words[1..];
        }
        let Some(first) = words.first() else {
            for word in assignments {
                self.assign(word, certain, false, command.line);
            }
            return None;
        };
        match literal(first) {
            Some("export" | "declare" | "typeset" | "readonly" | "local") => {
                let exports = literal(first) == Some("export");
                for word in &words[1..] {
                    self.assign(word, certain, exports, command.line);
                }
                None
            }
            Some("unset" | "read") => {
                for name in words[1..].iter().filter_map(literal) {
                    self.variables.insert(name.to_owned(), Value::Unknown);
                    self.exported.remove(name);
                }
                None
            }
            _ => self.launch(assignments, words, command.line),
        }
    }

    fn launch(&self, assignments: &[Word], words: &[Word], line: usize) -> Option<Launch> {
        let more = words.iter().take_while(|word| assignment(word).is_some()).count();
        let (also, words) = words.split_at(more);
        let first = self.expand(words.first()?).into_iter().next()?;
        let launcher = first.text.rsplit('/').next()?.to_owned();
        if first.unknown.is_some() && !first.text.contains('/') || !LAUNCHERS.contains(&&*launcher)
        {
            return None;
        }
        let value = |name: &String| match self.variables.get(name) {
            Some(Value::Known(value)) => Some(value.clone()),
            _ => None,
        };
        let mut exported: BTreeMap<String, (Option<String>, usize)> =
            self.exported.iter().map(|(name, line)| (name.clone(), (value(name), *line))).collect();
        for (name, text) in assignments.iter().chain(also).filter_map(assignment) {
            exported.insert(name.to_owned(), (self.joined(&text), line));
        }
        let words = words[1..].iter().flat_map(|word| self.expand(word)).collect();
        Some(Launch { line, launcher, words, exported })
    }

    /// `NAME=VALUE`, or `NAME` behind `export`.
    fn assign(&mut self, word: &Word, certain: bool, exports: bool, line: usize) {
        let name = if let Some((name, value)) = assignment(word) {
            let value = self.joined(&value).filter(|_| certain);
            self.variables.insert(name.to_owned(), value.map_or(Value::Unknown, Value::Known));
            name
        } else {
            let Some(name) = literal(word).filter(|name| is_variable(name)) else { return };
            name
        };
        if exports || self.exported.contains_key(name) {
            self.exported.insert(name.to_owned(), line);
        }
    }

    /// The text of a word that a shell does not split; `None` if a part is unknown.
    fn joined(&self, word: &[Piece]) -> Option<String> {
        word.iter().map(|piece| self.piece(piece).ok()).collect()
    }

    fn piece(&self, piece: &Piece) -> Result<String, String> {
        match piece {
            Piece::Text(text) => Ok(text.clone()),
            Piece::Unknown(text) => Err(text.clone()),
            Piece::Variable { name, default, .. } => match (self.variables.get(name), default) {
                (Some(Value::Known(value)), None) => Ok(value.clone()),
                (Some(Value::Known(value)), Some(_)) if !value.is_empty() => Ok(value.clone()),
                (Some(Value::Known(_) | Value::Unset), Some(default)) => Ok(default.clone()),
                (Some(Value::Unset), None) => Ok(String::new()),
                _ => Err(format!("${name}")),
            },
        }
    }

    /// The words that a shell makes of a word; unquoted variables are split at blanks.
    fn expand(&self, word: &Word) -> Vec<Expanded> {
        let mut words: Vec<Expanded> = Vec::new();
        let mut open = false;
        for piece in word {
            let split = matches!(piece, Piece::Variable { quoted: false, .. });
            let (text, unknown) = match self.piece(piece) {
                Ok(text) => (text, None),
                Err(unknown) => (unknown.clone(), Some(unknown)),
            };
            if split && unknown.is_none() {
                open &= !text.starts_with(char::is_whitespace);
                for part in text.split_whitespace() {
                    extend(&mut words, &mut open, part, None);
                    open = false;
                }
                open = !text.is_empty() && !text.ends_with(char::is_whitespace);
            } else {
                extend(&mut words, &mut open, &text, unknown);
            }
        }
        words
    }
}

/// Adds to the last word if it is open, or else starts one.
fn extend(words: &mut Vec<Expanded>, open: &mut bool, text: &str, unknown: Option<String>) {
    match words.last_mut().filter(|_| *open) {
        Some(last) => {
            last.text += text;
            last.unknown = last.unknown.take().or(unknown);
        }
        None => words.push(Expanded { text: text.to_owned(), unknown }),
    }
    *open = true;
}

/// The text of a word without variables.
fn literal(word: &Word) -> Option<&str> {
    match word.as_slice() {
        [Piece::Text(text)] => Some(text),
        _ => None,
    }
}

/// The name and the value of `NAME=VALUE`.
fn assignment(word: &Word) -> Option<(&str, Word)> {
    let Some(Piece::Text(first)) = word.first() else { return None };
    let (name, value) = first.split_once('=').filter(|(name, _)| is_variable(name))?;
    let mut rest = vec![Piece::Text(value.to_owned())];
    rest.extend_from_slice(&word[1..]);
    Some((name, rest))
}

#[cfg(test)]
mod tests {
    use super::super::lexer::commands;
    use super::*;

    fn launches(text: &str) -> Vec<(usize, Vec<String>)> {
        let known = [("SLURM_NTASKS".to_owned(), Value::Known("8".to_owned()))];
        let commands = commands(text).unwrap();
        let launches = Shell::new(known.into()).launches(&commands);
        let text = |word: Expanded| word.unknown.map_or(word.text, |unknown| format!("?{unknown}"));
        launches.into_iter().map(|l| (l.line, l.words.into_iter().map(text).collect())).collect()
    }

    #[test]
    fn words_are_those_of_a_shell() {
        let text = "cat <<END\nsrun it's -n 3\nEND\nA='-n 2 ' # it's\nif test \"$A\"; then\n  B=1; fi\n\
                    X=1 /usr/bin/srun ${A}--label \\\n \"-c$A\" $B ${C:-3} $SLURM_NTASKS > o 2>&1 || exit\n\
                    echo srun; time srun $(nproc) 'a b'\n";
        let first =
            ["-n", "2", "--label", "-c-n 2 ", "?$B", "?$C", "8"].map(str::to_owned).to_vec();
        let second = ["?$(nproc)", "a b"].map(str::to_owned).to_vec();
        assert_eq!(launches(text), [(7, first), (9, second)]);
    }

    #[test]
    fn open_quotes_and_continuations_are_damage() {
        assert_eq!(commands("a\n'b\nc").unwrap_err(), (2, "' without a closing quote".to_owned()));
        assert_eq!(commands("a\n\"b").unwrap_err(), (2, "\" without a closing quote".to_owned()));
        assert_eq!(commands("a $(b").unwrap_err(), (1, "$( without )".to_owned()));
        assert_eq!(commands("srun \\").unwrap_err().0, 1);
    }
}
