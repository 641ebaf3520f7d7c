//! The commands of a script that start ranks, with the variables that are known without a shell.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::lexer::{Command, Piece, Word, is_variable};
use super::mpi::{self, Change, Loaded};
use crate::lint::program_of;
use crate::lint::read::script::arithmetic::{Numbers, evaluate};
use crate::lint::read::script::is_mpi_launcher;

/// Words before a command.
const BEFORE: [&str; 12] =
    ["if", "then", "else", "elif", "while", "until", "do", "!", "{", "time", "exec", "nohup"];

/// Programs beside those of MPI libraries that start ranks.
const STARTERS: [&str; 4] = ["srun", "flux", "aprun", "jsrun"];

/// The value of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::lint) enum Value {
    Known(String),
    /// Slurm does not set it in this job.
    Unset,
    Unknown,
}

/// A word whose variables are replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::lint) struct Expanded {
    pub(in crate::lint) text: String,
    /// What only a shell knows, if the word has such a part.
    pub(in crate::lint) unknown: Option<String>,
}

/// A command that starts ranks.
#[derive(Debug)]
pub(in crate::lint) struct Launch {
    pub(in crate::lint) line: usize,
    /// The program's name without its folder.
    pub(in crate::lint) launcher: String,
    /// The words behind it.
    pub(in crate::lint) words: Vec<Expanded>,
    /// Exported variables with their lines; `None` as value if it is unknown.
    pub(in crate::lint) exported: BTreeMap<String, (Option<String>, usize)>,
    /// The MPI library that the script has loaded.
    pub(in crate::lint) loaded: Option<Loaded>,
}

/// The variables while the commands are read.
pub(in crate::lint) struct Shell {
    variables: BTreeMap<String, Value>,
    /// Arrays whose elements are known.
    arrays: BTreeMap<String, Vec<String>>,
    /// Variables of `declare -i`, whose values are expressions.
    integers: BTreeSet<String>,
    /// Variables whose values the user gave, whatever the script does.
    given: BTreeSet<String>,
    exported: BTreeMap<String, usize>,
    /// What commands in `$(..)` print, by their plain form.
    outputs: BTreeMap<String, String>,
    loaded: Option<Loaded>,
    /// The number of `if`, loops and functions that are open.
    depth: usize,
}

impl Shell {
    pub(in crate::lint) fn new(variables: BTreeMap<String, Value>) -> Self {
        Self {
            variables,
            arrays: BTreeMap::new(),
            integers: BTreeSet::new(),
            given: BTreeSet::new(),
            exported: BTreeMap::new(),
            outputs: BTreeMap::new(),
            loaded: None,
            depth: 0,
        }
    }

    /// With the outputs of commands in `$(..)`: without quotes and braces, with no blank around `|` and `<`.
    pub(in crate::lint) fn with_outputs(
        mut self,
        outputs: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        self.outputs.extend(outputs);
        self
    }

    /// The output of `$(..)`, if it is known.
    fn output(&self, text: &str) -> Option<String> {
        let inside = text.strip_prefix("$(").and_then(|text| text.strip_suffix(')'));
        let inside = inside.or_else(|| text.strip_prefix('`')?.strip_suffix('`'))?;
        let plain: String = inside.chars().filter(|letter| !"\"'{}".contains(*letter)).collect();
        let mut plain = plain.split_whitespace().collect::<Vec<&str>>().join(" ");
        for sign in ["|", "<"] {
            let parts: Vec<&str> = plain.split(sign).map(str::trim).collect();
            plain = parts.join(sign);
        }
        self.outputs.get(&plain).cloned()
    }

    /// With values that the user gave; the script does not change them.
    pub(in crate::lint) fn with_given(mut self, given: Vec<(String, String)>) -> Self {
        for (name, value) in given {
            self.variables.insert(name.clone(), Value::Known(value));
            self.given.insert(name);
        }
        self
    }

    fn set(&mut self, name: &str, value: Value) {
        if !self.given.contains(name) {
            self.variables.insert(name.to_owned(), value);
        }
    }

    /// The commands that start ranks.
    pub(in crate::lint) fn launches(&mut self, commands: &[Command]) -> Vec<Launch> {
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
                    self.set(name, Value::Unknown);
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
                let options =
                    || words[1..].iter().filter_map(literal).filter(|it| it.starts_with('-'));
                let exports = exports || options().any(|it| it.contains('x'));
                for word in &words[1..] {
                    self.assign(word, certain, exports, command.line);
                    if options().any(|it| it.contains(['i', 'A'])) {
                        self.evaluate_value(word, options().any(|it| it.contains('A')));
                    }
                }
                None
            }
            Some("unset" | "read" | "mapfile" | "readarray" | "getopts" | "let") => {
                words[1..].iter().filter_map(literal).for_each(|name| self.forget(name));
                None
            }
            Some("cd" | "pushd" | "popd") => {
                self.set("PWD", Value::Unknown);
                None
            }
            Some("module" | "ml" | "spack") => {
                self.load(words, command.line);
                None
            }
            _ => self.launch(assignments, words, command.line),
        }
    }

    /// What `module` and the like do to the MPI library that is loaded. It is not known behind a condition
    /// or a loop that changes it.
    fn load(&mut self, words: &[Word], line: usize) {
        let words: Vec<String> =
            words.iter().flat_map(|word| self.expand(word)).map(|word| word.text).collect();
        let loaded = match mpi::change(&words) {
            None => return,
            Some(Change::Unloads) => None,
            Some(Change::Loads(mpi, word)) => Some(Loaded { mpi, word, line }),
        };
        let is_same = |new: &Loaded| self.loaded.as_ref().is_some_and(|old| old.mpi == new.mpi);
        self.loaded = loaded.filter(|new| self.depth == 0 || is_same(new));
    }

    /// A variable that a command sets or unsets.
    fn forget(&mut self, name: &str) {
        let name = name.split(['=', '+', '-']).next().unwrap_or_default();
        self.set(name, Value::Unknown);
        self.arrays.remove(name);
        self.exported.remove(name);
    }

    fn launch(&self, assignments: &[Word], words: &[Word], line: usize) -> Option<Launch> {
        let more = words.iter().take_while(|word| assignment(word).is_some()).count();
        let (also, words) = words.split_at(more);
        let mut all = words.iter().flat_map(|word| self.expand(word));
        let first = all.next()?;
        let launcher = program_of(&first.text).to_owned();
        let starts_ranks = STARTERS.contains(&&*launcher) || is_mpi_launcher(&launcher);
        if first.unknown.is_some() && !first.text.contains('/') || !starts_ranks {
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
        let words = all.collect();
        Some(Launch { line, launcher, words, exported, loaded: self.loaded.clone() })
    }

    /// `NAME=VALUE`, or `NAME` behind `export`.
    fn assign(&mut self, word: &Word, certain: bool, exports: bool, line: usize) {
        let name = if let Some((name, elements, adds)) = array(word) {
            self.assign_array(name, elements, (certain, adds));
            name
        } else if let Some((name, value)) = assignment(word) {
            self.arrays.remove(name);
            let value = self.joined(&value).filter(|_| certain);
            let is_number = self.integers.contains(name);
            let value = match (adds(word), self.variables.get(name)) {
                (true, Some(Value::Known(old))) if is_number => {
                    value.map(|more| format!("({old})+({more})"))
                }
                (false, _) => value,
                (true, Some(Value::Known(old))) => value.map(|more| old.clone() + &more),
                (true, Some(Value::Unset)) => value,
                (true, _) => None,
            };
            self.set(name, value.map_or(Value::Unknown, Value::Known));
            if is_number {
                self.evaluate_value(word, false);
            }
            name
        } else {
            let Some(name) = literal(word).filter(|name| is_variable(name)) else { return };
            name
        };
        if exports || self.exported.contains_key(name) {
            self.exported.insert(name.to_owned(), line);
        }
    }

    /// `NAME=(a b)` or `NAME+=(a b)`.
    fn assign_array(&mut self, name: &str, elements: &[Word], (certain, adds): (bool, bool)) {
        let words = elements.iter().flat_map(|word| self.expand(word));
        // An element with an index of its own, as in ([2]=a).
        let known = |word: Expanded| {
            (word.unknown.is_none() && !word.text.starts_with('[')).then_some(word.text)
        };
        let words: Option<Vec<String>> = words.map(known).collect();
        let before = if adds { self.arrays.get(name).cloned() } else { Some(Vec::new()) };
        let all = words.zip(before).filter(|_| certain).map(|(more, mut all)| {
            all.extend(more);
            all
        });
        self.arrays.remove(name);
        let first = all.as_ref().map(|all| all.first().cloned().unwrap_or_default());
        self.set(name, first.map_or(Value::Unknown, Value::Known));
        if let Some(all) = all {
            self.arrays.insert(name.to_owned(), all);
        }
    }

    /// Behind `declare -i`: the value is an expression. Behind `declare -A` it is not known.
    fn evaluate_value(&mut self, word: &Word, unknown: bool) {
        let name = array(word).map(|(name, ..)| name).or(assignment(word).map(|(name, _)| name));
        let Some(name) = name else { return };
        if !unknown {
            self.integers.insert(name.to_owned());
        }
        let value = match self.variables.get(name) {
            Some(Value::Known(text)) if !unknown => {
                evaluate(text, &mut Known(&self.variables)).ok()
            }
            _ => None,
        };
        let value = value.map_or(Value::Unknown, |value| Value::Known(value.to_string()));
        self.arrays.remove(name);
        self.set(name, value);
    }

    /// The value of `$((..))`; `None` if a part is unknown.
    fn arithmetic(&self, text: &str) -> Option<String> {
        let inside = text.strip_prefix("$((")?.strip_suffix("))")?;
        // Names need no `$` there.
        let plain = inside.replace("${", "").replace(['}', '$'], "");
        if inside.contains("$(") || plain.contains(['#', ':', '[']) {
            return None;
        }
        evaluate(&plain, &mut Known(&self.variables)).ok().map(|value| value.to_string())
    }

    /// The elements of `${NAME[@]}` or `${NAME[N]}`; `None` if they are unknown.
    fn elements(&self, name: &str, index: Option<&str>) -> Option<Vec<String>> {
        let all = self.arrays.get(name)?;
        let Some(index) = index else { return Some(all.clone()) };
        let index = self.arithmetic(&format!("$(({index}))"))?.parse::<usize>().ok()?;
        Some(vec![all.get(index).cloned().unwrap_or_default()])
    }

    /// The text of a word that a shell does not split; `None` if a part is unknown.
    fn joined(&self, word: &[Piece]) -> Option<String> {
        word.iter().map(|piece| self.piece(piece).ok()).collect()
    }

    fn piece(&self, piece: &Piece) -> Result<String, String> {
        match piece {
            Piece::Text(text) => Ok(text.clone()),
            Piece::Unknown(text) => {
                let known = self.arithmetic(text).or_else(|| self.output(text));
                known.ok_or_else(|| text.clone())
            }
            Piece::Array(_) => Err("an array".to_owned()),
            Piece::Element { name, index, .. } => match self.elements(name, index.as_deref()) {
                Some(words) => Ok(words.join(" ")),
                None => Err(format!("${{{name}[{}]}}", index.as_deref().unwrap_or("@"))),
            },
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
            if let Piece::Element { name, index: None, .. } = piece
                && let Some(elements) = self.elements(name, None)
            {
                for element in elements {
                    extend(&mut words, &mut open, &element, None);
                    open = false;
                }
                continue;
            }
            let split = matches!(
                piece,
                Piece::Variable { quoted: false, .. } | Piece::Element { quoted: false, .. }
            );
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

/// The variables that are known, as numbers.
struct Known<'a>(&'a BTreeMap<String, Value>);

impl Numbers for Known<'_> {
    fn text(&self, name: &str, index: Option<i64>) -> Result<String, String> {
        match self.0.get(name) {
            Some(Value::Known(text)) if index.is_none() => Ok(text.clone()),
            Some(Value::Unset) => Ok(String::new()),
            _ => Err(format!("${name}")),
        }
    }

    /// Assignments inside expressions are not followed.
    fn set(&mut self, _: &str, _: i64) {}
}

/// The name and the elements of `NAME=(a b)`, and whether it is `+=`.
fn array(word: &Word) -> Option<(&str, &[Word], bool)> {
    let [Piece::Text(name), Piece::Array(elements)] = word.as_slice() else { return None };
    let name = name.strip_suffix('=')?;
    Some((name.strip_suffix('+').unwrap_or(name), elements, name.ends_with('+')))
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

/// The name and the value of `NAME=VALUE` or `NAME+=VALUE`; the value of `NAME[N]=VALUE` is not known.
fn assignment(word: &Word) -> Option<(&str, Word)> {
    let Some(Piece::Text(first)) = word.first() else { return None };
    if let Some((name, _)) = first.split_once('[').filter(|(name, _)| is_variable(name)) {
        let sets = |piece: &Piece| matches!(piece, Piece::Text(text) if text.contains("]="));
        return word.iter().any(sets).then(|| (name, vec![Piece::Unknown(first.clone())]));
    }
    let (name, value) = first.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    if !is_variable(name) {
        return None;
    }
    let mut rest = vec![Piece::Text(value.to_owned())];
    rest.extend_from_slice(&word[1..]);
    Some((name, rest))
}

/// Whether an assignment is `NAME+=VALUE`.
fn adds(word: &Word) -> bool {
    let Some(Piece::Text(first)) = word.first() else { return false };
    first.split_once('=').is_some_and(|(name, _)| name.ends_with('+'))
}
