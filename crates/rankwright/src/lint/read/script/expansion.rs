//! What a shell makes of words: `$NAME`, `${NAME:-..}`, `$(..)`, `$((..))`.

use super::arithmetic::{Numbers, evaluate, number};
use super::conditions;
use super::run::Shell;
use super::syntax::{Command, Item, Join, List, Part, Word, parse};

/// The most scripts inside each other.
pub(super) const DEEPEST: usize = 10;

impl Shell {
    pub(super) fn arithmetic(&mut self, text: &str) -> Result<i64, String> {
        let text = self.replaced(text)?;
        evaluate(&text, self)
    }

    /// An expression whose `$NAME` and `${NAME}` are replaced.
    fn replaced(&mut self, text: &str) -> Result<String, String> {
        let (mut done, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once('$') {
            done += before;
            let (name, next) = match after.strip_prefix('{').and_then(|it| it.split_once('}')) {
                Some(parts) => parts,
                None => {
                    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '#';
                    after.split_at(after.find(|c| !is_name(c)).unwrap_or(after.len()))
                }
            };
            if name.is_empty() {
                return Err(format!("`${after}` in $(({text}))"));
            }
            done += &self.parameter(name)?;
            rest = next;
        }
        Ok((done + rest).replace('"', ""))
    }

    /// The text of a word that is not split.
    pub(super) fn joined(&mut self, word: &Word) -> Result<String, String> {
        word.iter().map(|part| self.part(part)).collect()
    }

    /// A word as a pattern: what is quoted stands for itself.
    pub(super) fn pattern(&mut self, word: &Word) -> Result<String, String> {
        let escaped = |text: &str| text.chars().flat_map(|c| ['\\', c]).collect::<String>();
        let part = |part: &Part| match part {
            Part::Text { text, quoted: false } => Ok(text.clone()),
            Part::Parameter { quoted: false, .. } => self.part(part),
            _ => self.part(part).map(|text| escaped(&text)),
        };
        word.iter().map(part).collect()
    }

    /// The words that a shell makes of words.
    pub(super) fn expand_all(&mut self, words: &[Word]) -> Result<Vec<String>, String> {
        let mut all = Vec::new();
        for word in words {
            if let [Part::Parameter { text, .. }] = word.as_slice()
                && let Some(name) = text.strip_suffix("[@]").or(text.strip_suffix("[*]"))
                && !name.starts_with('#')
            {
                all.extend(self.elements(name)?);
                continue;
            }
            let text = self.joined(word)?;
            let splits = |part: &Part| match part {
                Part::Parameter { quoted, .. } => !quoted,
                Part::Command(_) | Part::Arithmetic(_) => true,
                Part::Text { .. } => false,
            };
            let quoted = word.iter().any(|part| matches!(part, Part::Text { quoted: true, .. }));
            if word.iter().any(splits) && !quoted {
                all.extend(text.split_whitespace().map(str::to_owned));
            } else {
                all.push(text);
            }
        }
        Ok(all)
    }

    fn part(&mut self, part: &Part) -> Result<String, String> {
        match part {
            Part::Text { text, .. } => Ok(text.clone()),
            Part::Parameter { text, .. } => self.parameter(text),
            Part::Arithmetic(text) => Ok(self.arithmetic(text)?.to_string()),
            Part::Command(text) => self.output(text),
        }
    }

    /// What stands for `${..}`.
    fn parameter(&mut self, text: &str) -> Result<String, String> {
        if text == "@" || text == "*" {
            return Ok(self.arguments.join(" "));
        }
        if text == "#" {
            return Ok(self.arguments.len().to_string());
        }
        if let Ok(position) = text.parse::<usize>() {
            let argument = position.checked_sub(1).and_then(|at| self.arguments.get(at));
            return Ok(argument.cloned().unwrap_or_default());
        }
        if let Some(name) = text.strip_prefix('#') {
            let array = name.strip_suffix("[@]").or(name.strip_suffix("[*]"));
            return match array {
                Some(array) => Ok(self.elements(array)?.len().to_string()),
                None => Ok(self.parameter(name)?.chars().count().to_string()),
            };
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, rest) = text.split_at(text.find(|c| !is_name(c)).unwrap_or(text.len()));
        if name.is_empty() {
            return Err(format!("`${{{text}}}`"));
        }
        if let Some(index) = rest.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            if index == "@" || index == "*" {
                return Ok(self.elements(name)?.join(" "));
            }
            let index = self.arithmetic(index)?;
            return self.text(name, Some(index));
        }
        self.with_operator(name, rest).unwrap_or_else(|| Err(format!("`${{{text}}}`")))
    }

    /// The elements of an array; none if it is not set.
    fn elements(&self, name: &str) -> Result<Vec<String>, String> {
        match (self.arrays.get(name), self.variables.get(name)) {
            (Some(elements), _) => Ok(elements.clone()),
            (None, Some(Err(why))) => Err(why.clone()),
            (None, Some(Ok(value))) => Ok(vec![value.clone()]),
            (None, None) => Ok(Vec::new()),
        }
    }

    /// `${NAME}` with what may follow the name; `None` if that is not evaluated.
    fn with_operator(&mut self, name: &str, rest: &str) -> Option<Result<String, String>> {
        let value = self.text(name, None);
        let is_set = self.variables.contains_key(name);
        let filled = |value: &Result<String, String>| value.as_ref().is_ok_and(String::is_empty);
        for (sign, missing) in [(":-", filled(&value)), ("-", !is_set), (":=", filled(&value))] {
            if let Some(default) = rest.strip_prefix(sign) {
                return Some(if missing { self.quoted(default) } else { value });
            }
        }
        if let Some(range) = rest.strip_prefix(':') {
            let mut bounds = range.split(':').map(|bound| number(bound).ok()?.try_into().ok());
            let first: usize = bounds.next()??;
            let count: usize = bounds.next().unwrap_or(Some(usize::MAX))?;
            return Some(value.map(|value| value.chars().skip(first).take(count).collect()));
        }
        for (sign, front, longest) in
            [("##", true, true), ("#", true, false), ("%%", false, true), ("%", false, false)]
        {
            if let Some(pattern) = rest.strip_prefix(sign) {
                return Some(value.map(|it| conditions::without(&it, pattern, front, longest)));
            }
        }
        rest.is_empty().then_some(value)
    }

    /// A default value, which may have variables of its own.
    fn quoted(&mut self, text: &str) -> Result<String, String> {
        let text = text.trim_matches('"');
        if !text.contains(['$', '`']) {
            return Ok(text.to_owned());
        }
        let word = self.inner(&format!("\"{text}\"")).map_err(|()| format!("`{text}`"))?;
        let value = match word.first().map(|item| &item.command) {
            Some(Command::Simple(words)) if words.len() == 1 => self.joined(&words[0].0),
            _ => Err(format!("`{text}`")),
        };
        self.depth -= 1;
        value
    }

    /// What `$(..)` prints, of the few commands that are known.
    fn output(&mut self, text: &str) -> Result<String, String> {
        let unknown = || format!("`$({text})`");
        if let Some(printed) = self.printed.get(text.trim()) {
            return Ok(printed.clone());
        }
        let list = self.inner(text).map_err(|()| unknown())?;
        let printed = self.printed_by(&list, unknown);
        self.depth -= 1;
        printed
    }

    /// A script inside this one, which must end with `depth` as it was.
    fn inner(&mut self, text: &str) -> Result<List, ()> {
        if self.depth >= DEEPEST {
            return Err(());
        }
        let list = parse(text).map_err(|_| ())?;
        self.depth += 1;
        Ok(list)
    }

    fn printed_by(&mut self, list: &List, unknown: impl Fn() -> String) -> Result<String, String> {
        let [Item { command: Command::Simple(words), join: Join::Always, .. }] = list.as_slice()
        else {
            return Err(unknown());
        };
        let words: Vec<Word> = words.iter().map(|(word, _)| word.clone()).collect();
        let words = self.expand_all(&words)?;
        let mut operands = words.iter().skip(1).map(String::as_str);
        match words.first().map(String::as_str) {
            Some("echo") => Ok(operands.collect::<Vec<_>>().join(" ")),
            Some("expr") => {
                let text: Vec<&str> = operands.by_ref().collect();
                evaluate(&text.join(" "), self).map(|value| value.to_string())
            }
            _ => Err(unknown()),
        }
    }
}

impl Numbers for Shell {
    fn text(&self, name: &str, index: Option<i64>) -> Result<String, String> {
        if let Some(index) = index {
            let array = self.elements(name)?;
            let index = if index < 0 { index + array.len() as i64 } else { index };
            let element = usize::try_from(index).ok().and_then(|index| array.get(index));
            return Ok(element.cloned().unwrap_or_default());
        }
        match (self.variables.get(name), self.arrays.get(name)) {
            (Some(value), _) => value.clone(),
            (None, Some(array)) => Ok(array.first().cloned().unwrap_or_default()),
            (None, None) => Ok(String::new()),
        }
    }

    fn set(&mut self, name: &str, value: i64) {
        self.variables.insert(name.to_owned(), Ok(value.to_string()));
    }
}
