//! A script as one rank runs it, as far as it can be known: its variables when it starts the program.

use std::collections::{BTreeMap, BTreeSet};

use super::arithmetic::number;
use super::conditions;
use super::expansion::DEEPEST;
use super::syntax::{Command, Item, Join, List, Part, Word};
use crate::lint::program_of;

/// What a rank has when its script starts the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Started {
    /// The line that starts it.
    pub(super) line: usize,
    /// The words before the program: programs that bind, and their options.
    pub(super) before: Vec<String>,
    /// The exported variables; `None` if the value is not known.
    pub(super) exported: BTreeMap<String, Result<String, String>>,
}

/// What was not evaluated: the line and why.
pub(super) type Unevaluated = (usize, String);

/// The most commands of one rank.
const MOST_COMMANDS: usize = 20_000;

/// The variables and what else is known of a rank.
pub(super) struct Shell {
    /// What is not known has a reason.
    pub(super) variables: BTreeMap<String, Result<String, String>>,
    pub(super) arrays: BTreeMap<String, Vec<String>>,
    /// Associative arrays, which are not followed.
    keyed: BTreeSet<String>,
    /// Variables of `declare -i`, whose values are expressions.
    integers: BTreeSet<String>,
    functions: BTreeMap<String, List>,
    /// Scripts that are read by others, with the lines that name them.
    pub(super) sourced: BTreeSet<(usize, String)>,
    exported: BTreeSet<String>,
    /// `$1` and so on: the program and its arguments.
    pub(super) arguments: Vec<String>,
    /// What some commands print.
    pub(super) printed: BTreeMap<&'static str, String>,
    line: usize,
    commands: usize,
    /// How many scripts are inside each other: `$(..)` and default values.
    pub(super) depth: usize,
}

/// How a list of commands ended.
enum Flow {
    /// With this status; `None` if it is not known.
    Done(Option<bool>),
    Started(Started),
    /// By `exit`.
    Exit,
}

impl Shell {
    /// A shell with variables of the environment.
    pub(super) fn new(environment: BTreeMap<String, Result<String, String>>) -> Self {
        Self {
            exported: environment.keys().cloned().collect(),
            variables: environment,
            arrays: BTreeMap::new(),
            keyed: BTreeSet::new(),
            integers: BTreeSet::new(),
            functions: BTreeMap::new(),
            sourced: BTreeSet::new(),
            arguments: Vec::new(),
            printed: BTreeMap::new(),
            line: 1,
            commands: 0,
            depth: 0,
        }
    }

    /// Runs the script until it starts the program; `None` if it does not.
    pub(super) fn run(&mut self, script: &List) -> Result<Option<Started>, Unevaluated> {
        match self.list(script) {
            Ok(Flow::Started(started)) => Ok(Some(started)),
            Ok(Flow::Done(_) | Flow::Exit) => Ok(None),
            Err(why) => Err((self.line, why)),
        }
    }

    fn list(&mut self, list: &List) -> Result<Flow, String> {
        let (mut status, mut join) = (Some(true), Join::Always);
        for (position, item) in list.iter().enumerate() {
            let skipped = match (join, status) {
                (Join::And, Some(status)) => !status,
                (Join::Or, Some(status)) => status,
                (Join::And | Join::Or, None) => {
                    return Err("a command behind && or || whose condition is not known".to_owned());
                }
                (Join::Always | Join::Pipe, _) => false,
            };
            let in_pipe =
                item.join == Join::Pipe || position > 0 && list[position - 1].join == Join::Pipe;
            if !skipped {
                match self.item(item, in_pipe)? {
                    Flow::Done(done) => status = done.map(|done| done != item.negated),
                    ended => return Ok(ended),
                }
            }
            join = item.join;
        }
        Ok(Flow::Done(status))
    }

    fn item(&mut self, item: &Item, in_pipe: bool) -> Result<Flow, String> {
        self.line = item.line;
        self.commands += 1;
        if self.commands > MOST_COMMANDS {
            return Err("a script that does not end".to_owned());
        }
        match &item.command {
            Command::Simple(words) => self.simple(words, in_pipe),
            Command::Arithmetic(text) => {
                let value = self.arithmetic(text)?;
                Ok(Flow::Done(Some(value != 0)))
            }
            Command::Test(words) => {
                let status = conditions::double(self, words)?;
                Ok(Flow::Done(Some(status)))
            }
            Command::If(arms, otherwise) => {
                for (condition, then) in arms {
                    match self.list(condition)? {
                        Flow::Done(Some(true)) => return self.list(then),
                        Flow::Done(Some(false)) => {}
                        Flow::Done(None) => {
                            self.line = item.line;
                            return Err("a condition that is not known".to_owned());
                        }
                        ended => return Ok(ended),
                    }
                }
                self.list(otherwise)
            }
            Command::Case(subject, arms) => {
                let subject = self.joined(subject)?;
                for (patterns, list) in arms {
                    for pattern in patterns {
                        if conditions::matches(&self.pattern(pattern)?, &subject) {
                            return self.list(list);
                        }
                    }
                }
                Ok(Flow::Done(Some(true)))
            }
            Command::For(name, words, list) => {
                for value in self.expand_all(words)? {
                    self.variables.insert(name.clone(), Ok(value));
                    match self.list(list)? {
                        Flow::Done(_) => {}
                        ended => return Ok(ended),
                    }
                }
                Ok(Flow::Done(Some(true)))
            }
            Command::Group(list) => self.list(list),
            Command::Function(name, body) => {
                self.functions.insert(name.clone(), body.clone());
                Ok(Flow::Done(Some(true)))
            }
            Command::Unknown(what) => Err(format!("`{what}`")),
        }
    }

    fn simple(
        &mut self,
        words: &[(Word, Option<Vec<Word>>)],
        in_pipe: bool,
    ) -> Result<Flow, String> {
        let first = words.iter().position(|(word, _)| assignment(word).is_none());
        let (set, rest) = words.split_at(first.unwrap_or(words.len()));
        let name = rest.first().and_then(|(word, _)| literal(word)).unwrap_or_default();
        if rest.is_empty() {
            for (word, array) in set {
                self.assign(word, array.as_deref(), false);
            }
            return Ok(Flow::Done(Some(true)));
        }
        match name {
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                self.declaration(name, rest);
                Ok(Flow::Done(Some(true)))
            }
            "mapfile" | "readarray" => {
                let mut names = rest[1..].iter().filter_map(|(word, _)| literal(word));
                let array = names.next_back().filter(|name| !name.starts_with('-'));
                self.forget(array.unwrap_or("MAPFILE"), format!("what `{name}` reads"));
                Ok(Flow::Done(None))
            }
            "unset" => {
                let names = rest[1..].iter().filter_map(|(word, _)| literal(word));
                names.for_each(|name| self.unset(name));
                Ok(Flow::Done(Some(true)))
            }
            "let" => {
                for (word, _) in &rest[1..] {
                    let text = self.joined(word)?;
                    self.arithmetic(&text)?;
                }
                Ok(Flow::Done(Some(true)))
            }
            "[" | "test" => {
                let words: Vec<Word> = rest[1..].iter().map(|(word, _)| word.clone()).collect();
                Ok(Flow::Done(Some(conditions::single(self, &words)?)))
            }
            "true" | ":" | "false" => Ok(Flow::Done(Some(name != "false"))),
            "exit" => Ok(Flow::Exit),
            "read" => {
                for name in rest[1..].iter().filter_map(|(word, _)| literal(word)) {
                    self.variables.insert(name.to_owned(), Err("what `read` reads".to_owned()));
                }
                Ok(Flow::Done(None))
            }
            _ if self.functions.contains_key(name) => self.call(name, &rest[1..]),
            "source" | "." => {
                let words: Vec<Word> = rest[1..].iter().map(|(word, _)| word.clone()).collect();
                let file = self.expand_all(&words).unwrap_or_default();
                self.sourced.insert((self.line, file.join(" ")));
                Ok(Flow::Done(None))
            }
            _ if in_pipe => Ok(Flow::Done(None)),
            _ => self.program(set, rest),
        }
    }

    fn unset(&mut self, name: &str) {
        self.variables.remove(name);
        self.arrays.remove(name);
        self.exported.remove(name);
    }

    /// `export`, `declare` and the like.
    fn declaration(&mut self, name: &str, rest: &[(Word, Option<Vec<Word>>)]) {
        let exports = name == "export"
            || rest.iter().any(|(word, _)| literal(word).is_some_and(|it| it.starts_with("-x")));
        let options = rest.iter().filter_map(|(word, _)| literal(word));
        let options: String = options.filter(|it| it.starts_with('-')).collect();
        for (word, array) in &rest[1..] {
            self.declare(word, &options);
            self.assign(word, array.as_deref(), exports);
        }
    }

    /// Options of `declare`: -i makes a number of the value, and the elements of -A are not known.
    fn declare(&mut self, word: &Word, options: &str) {
        let plain = |name: &str| name.trim_end_matches('+').to_owned();
        let name = assignment(word).map(|(name, _)| plain(name));
        let Some(name) = name.or_else(|| literal(word).map(str::to_owned)) else { return };
        if options.contains('i') {
            self.integers.insert(name);
        } else if options.contains('A') {
            self.forget(&name, format!("the associative array {name}"));
            self.keyed.insert(name);
        }
    }

    /// A variable whose value is not known from here on.
    fn forget(&mut self, name: &str, why: String) {
        self.arrays.remove(name);
        self.variables.insert(name.to_owned(), Err(why));
    }

    /// Runs a function.
    fn call(&mut self, name: &str, words: &[(Word, Option<Vec<Word>>)]) -> Result<Flow, String> {
        if self.depth >= DEEPEST {
            return Err(format!("the function `{name}`, which calls itself"));
        }
        let body = self.functions.get(name).cloned().unwrap_or_default();
        let words: Vec<Word> = words.iter().map(|(word, _)| word.clone()).collect();
        let inside = self.expand_all(&words)?;
        let outside = std::mem::replace(&mut self.arguments, inside);
        self.depth += 1;
        let flow = self.list(&body);
        self.depth -= 1;
        self.arguments = outside;
        flow
    }

    /// A command that is no part of the shell: the program if it has `"$@"`, or follows `exec`.
    fn program(
        &mut self,
        set: &[(Word, Option<Vec<Word>>)],
        rest: &[(Word, Option<Vec<Word>>)],
    ) -> Result<Flow, String> {
        let is_all = |part: &Part| matches!(part, Part::Parameter { text, .. } if text == "@" || text == "*");
        let all = rest.iter().position(|(word, _)| word.iter().any(is_all));
        let exec = rest.first().and_then(|(word, _)| literal(word)) == Some("exec");
        let harmless = ["echo", "printf", "set", "ulimit", "module", "shift"];
        let name = rest.first().and_then(|(word, _)| literal(word)).unwrap_or_default();
        if name == "set" && rest.get(1).and_then(|(word, _)| literal(word)) == Some("--") {
            let words: Vec<Word> = rest[2..].iter().map(|(word, _)| word.clone()).collect();
            self.arguments = self.expand_all(&words)?;
            return Ok(Flow::Done(Some(true)));
        }
        if harmless.contains(&name) {
            if name == "shift" && !self.arguments.is_empty() {
                self.arguments.remove(0);
            }
            return Ok(Flow::Done(Some(true)));
        }
        if all.is_none() && !exec && !binds(name) {
            // Its status, and what `source` sets, is not known.
            return Ok(Flow::Done(None));
        }
        for (word, array) in set {
            self.assign(word, array.as_deref(), true);
        }
        let words: Vec<Word> = rest[usize::from(exec)..all.unwrap_or(rest.len())]
            .iter()
            .map(|(word, _)| word.clone())
            .collect();
        let mut before = self.expand_all(&words)?;
        if before.first().map(String::as_str) == Some("env") {
            let variables = before[1..].iter().take_while(|word| word.contains('=')).count();
            for word in before.drain(..=variables).skip(1) {
                let (name, value) = word.split_once('=').unwrap_or_default();
                self.exported.insert(name.to_owned());
                self.variables.insert(name.to_owned(), Ok(value.to_owned()));
            }
        }
        let exported = self.variables.iter().filter(|(name, _)| self.exported.contains(*name));
        let exported = exported.map(|(name, value)| (name.clone(), value.clone())).collect();
        Ok(Flow::Started(Started { line: self.line, before, exported }))
    }

    /// `NAME=VALUE`, `NAME+=VALUE`, `NAME[N]=VALUE`, `NAME=(..)` or `NAME`.
    fn assign(&mut self, word: &Word, array: Option<&[Word]>, exports: bool) {
        let Some((name, value)) = assignment(word) else {
            if let Some(name) = literal(word).filter(|_| exports) {
                self.exported.insert(name.to_owned());
            }
            return;
        };
        let (name, adds) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
        if exports {
            self.exported.insert(name.to_owned());
        }
        let plain = name.split('[').next().unwrap_or_default();
        if self.keyed.contains(plain) {
            return;
        }
        if let Some(words) = array {
            self.assign_array(name, words, adds);
            return;
        }
        let mut value = self.joined(&value);
        if self.integers.contains(plain) {
            value = value.and_then(|text| self.arithmetic(&text)).map(|value| value.to_string());
        }
        if let Some((array, index)) = name.strip_suffix(']').and_then(|name| name.split_once('[')) {
            let index = self.arithmetic(index).ok().and_then(|index| usize::try_from(index).ok());
            match (index.filter(|index| *index < 4096), value) {
                (Some(index), Ok(value)) => {
                    let elements = self.arrays.entry(array.to_owned()).or_default();
                    elements.resize(elements.len().max(index + 1), String::new());
                    elements[index] = value;
                }
                (_, Err(why)) => self.forget(array, why),
                (None, Ok(_)) => self.forget(array, format!("an element of {array}")),
            }
            return;
        }
        let before = self.variables.get(name).cloned().unwrap_or_else(|| Ok(String::new()));
        let is_number = self.integers.contains(name);
        let value = match (adds, is_number) {
            (false, _) => value,
            (true, false) => before.and_then(|old| Ok(old + &value?)),
            (true, true) => before.and_then(|old| {
                let sum = number(&old)?.wrapping_add(number(&value?)?);
                Ok(sum.to_string())
            }),
        };
        self.variables.insert(name.to_owned(), value);
    }

    /// `NAME=(..)` or `NAME+=(..)`.
    fn assign_array(&mut self, name: &str, words: &[Word], adds: bool) {
        let is_known = !adds || !matches!(self.variables.get(name), Some(Err(_)));
        match self.expand_all(words) {
            Ok(words) if words.iter().any(|word| word.starts_with('[')) => {
                self.forget(name, format!("the array {name}, whose elements have indices"));
            }
            Ok(words) if adds && is_known => {
                self.arrays.entry(name.to_owned()).or_default().extend(words);
            }
            Ok(_) if adds => {}
            Ok(words) => {
                self.variables.remove(name);
                self.arrays.insert(name.to_owned(), words);
            }
            Err(why) => self.forget(name, why),
        }
    }
}

/// Programs that bind and start another.
pub(super) fn binds(name: &str) -> bool {
    matches!(program_of(name), "numactl" | "taskset" | "hwloc-bind")
}

/// The text of a word without expansions.
pub(super) fn literal(word: &Word) -> Option<&str> {
    match word.as_slice() {
        [Part::Text { text, .. }] => Some(text),
        _ => None,
    }
}

/// The name (with `+` or `[..]` behind it) and the value of an assignment.
fn assignment(word: &Word) -> Option<(&str, Word)> {
    let Some(Part::Text { text, quoted: false }) = word.first() else { return None };
    let (name, value) = text.split_once('=')?;
    let plain = name.split(['[', '+']).next().unwrap_or_default();
    let starts = plain.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if !starts || !plain.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return None;
    }
    let mut rest = vec![Part::Text { text: value.to_owned(), quoted: false }];
    rest.extend_from_slice(&word[1..]);
    Some((name, rest))
}
