//! The commands of a shell script, split into words. Nothing is run.

use std::iter::Peekable;
use std::str::Chars;

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::lint) enum Piece {
    /// As it is.
    Text(String),
    /// `$NAME`, `${NAME}` or `${NAME:-DEFAULT}`; `quoted` ones are not split at blanks.
    Variable { name: String, default: Option<String>, quoted: bool },
    /// `${NAME[INDEX]}`; without an index `${NAME[@]}`, which is a word for each element.
    Element { name: String, index: Option<String>, quoted: bool },
    /// `(a b)` behind `NAME=`.
    Array(Vec<Word>),
    /// What only a shell knows, such as `$(..)` and `$1`.
    Unknown(String),
}

pub(in crate::lint) type Word = Vec<Piece>;

/// A simple command.
#[derive(Debug, Default)]
pub(in crate::lint) struct Command {
    /// Its first line, from 1.
    pub(in crate::lint) line: usize,
    pub(in crate::lint) words: Vec<Word>,
    /// Whether it depends on the command before it (`&&`, `||`) or runs in a process of its own (`|`).
    pub(in crate::lint) conditional: bool,
}

/// A script that no shell can read: the line, and what is wrong there.
pub(in crate::lint) type Damage = (usize, String);

/// Splits a script.
pub(in crate::lint) fn commands(text: &str) -> Result<Vec<Command>, Damage> {
    let mut lexer = Lexer {
        characters: text.chars().peekable(),
        line: 1,
        word: None,
        command: Command::default(),
        commands: Vec::new(),
        target: Target::None,
        documents: Vec::new(),
    };
    lexer.run()?;
    Ok(lexer.commands)
}

/// What the next word is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    None,
    /// A file behind `>` or `<`.
    Redirection,
    /// The end of a here-document.
    Document,
}

struct Lexer<'a> {
    characters: Peekable<Chars<'a>>,
    line: usize,
    word: Option<Word>,
    command: Command,
    commands: Vec<Command>,
    target: Target,
    /// The ends of the here-documents that begin behind this line.
    documents: Vec<String>,
}

impl Lexer<'_> {
    fn run(&mut self) -> Result<(), Damage> {
        while let Some(character) = self.next() {
            match character {
                '\\' => match self.next() {
                    None => {
                        return Err((self.line, "a backslash, and no line behind it".to_owned()));
                    }
                    Some('\n') => {}
                    Some(other) => self.push(other),
                },
                '\'' => {
                    let text = self.until('\'')?;
                    self.add(Piece::Text(text));
                }
                '"' => self.double_quoted()?,
                '$' => {
                    let piece = self.variable(false)?;
                    self.add(piece);
                }
                '`' => {
                    let text = self.until('`')?;
                    self.add(Piece::Unknown(format!("`{text}`")));
                }
                '#' if self.word.is_none() => {
                    while self.characters.peek().is_some_and(|next| *next != '\n') {
                        self.next();
                    }
                }
                '\n' => {
                    self.end_command(false);
                    self.skip_documents();
                }
                '(' if self.is_behind_name() => {
                    let words = self.array()?;
                    self.add(Piece::Array(words));
                }
                ';' | '(' | ')' => self.end_command(false),
                '&' | '|' => {
                    let twice = self.characters.next_if_eq(&character).is_some();
                    self.end_command(twice || character == '|');
                }
                '<' | '>' if self.characters.peek() == Some(&'(') => {
                    let text = self.brackets('(', ')')?;
                    self.add(Piece::Unknown(format!("{character}({text})")));
                }
                '<' | '>' => self.redirection(character),
                blank if blank.is_whitespace() => self.end_word(),
                other => self.push(other),
            }
        }
        self.end_command(false);
        Ok(())
    }

    /// Whether the word is `NAME=` or `NAME+=`.
    fn is_behind_name(&self) -> bool {
        let Some([Piece::Text(text)]) = self.word.as_deref() else { return false };
        let name = text.strip_suffix('=').map(|name| name.strip_suffix('+').unwrap_or(name));
        name.is_some_and(is_variable)
    }

    /// Behind `NAME=(`: the elements.
    fn array(&mut self) -> Result<Vec<Word>, Damage> {
        let first = self.line;
        let (mut text, mut open, mut quote) = (String::new(), 1_usize, None);
        while open > 0 {
            let next = self.next().ok_or((first, "( without )".to_owned()))?;
            if next == '#' && quote.is_none() && text.ends_with([' ', '\t', '\n']) {
                while self.characters.peek().is_some_and(|next| *next != '\n') {
                    self.next();
                }
                continue;
            }
            match (quote, next) {
                (Some(end), next) if end == next => quote = None,
                (None, '\'' | '"') => quote = Some(next),
                (None, '(') => open += 1,
                (None, ')') => open -= 1,
                _ => {}
            }
            text.push(next);
        }
        text.pop();
        let inside = commands(&text).map_err(|(_, found)| (first, found))?;
        Ok(inside.into_iter().flat_map(|command| command.words).collect())
    }

    fn next(&mut self) -> Option<char> {
        let next = self.characters.next()?;
        self.line += usize::from(next == '\n');
        Some(next)
    }

    fn start(&mut self) -> &mut Word {
        if self.command.words.is_empty() && self.word.is_none() {
            self.command.line = self.line;
        }
        self.word.get_or_insert_default()
    }

    fn add(&mut self, piece: Piece) {
        self.start().push(piece);
    }

    fn push(&mut self, character: char) {
        let word = self.start();
        if let Some(Piece::Text(text)) = word.last_mut() {
            text.push(character);
        } else {
            word.push(Piece::Text(character.to_string()));
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match std::mem::replace(&mut self.target, Target::None) {
            Target::None => self.command.words.push(word),
            Target::Redirection => {}
            Target::Document => {
                let text = |piece: &Piece| match piece {
                    Piece::Text(text) | Piece::Unknown(text) => text.clone(),
                    Piece::Variable { name, .. } | Piece::Element { name, .. } => {
                        format!("${name}")
                    }
                    Piece::Array(_) => "()".to_owned(),
                };
                self.documents.push(word.iter().map(text).collect());
            }
        }
    }

    fn end_command(&mut self, next_is_conditional: bool) {
        self.end_word();
        self.target = Target::None;
        let next = Command { conditional: next_is_conditional, ..Command::default() };
        if !self.command.words.is_empty() {
            self.commands.push(std::mem::replace(&mut self.command, next));
        }
    }

    fn redirection(&mut self, character: char) {
        // The number of a stream: 2>file.
        let is_number = |piece: &Piece| matches!(piece, Piece::Text(text) if text.bytes().all(|b| b.is_ascii_digit()));
        if self.word.as_ref().is_some_and(|word| word.iter().all(is_number)) {
            self.word = None;
        }
        self.end_word();
        self.target = Target::Redirection;
        let twice = self.characters.next_if_eq(&character).is_some();
        if character == '<' && twice && self.characters.next_if_eq(&'<').is_none() {
            self.characters.next_if_eq(&'-');
            self.target = Target::Document;
        } else {
            self.characters.next_if(|next| "&|>".contains(*next));
        }
    }

    /// Skips the here-documents of the line that has just ended.
    fn skip_documents(&mut self) {
        for end in std::mem::take(&mut self.documents) {
            while self.characters.peek().is_some() {
                let mut line = String::new();
                while let Some(character) = self.next().filter(|character| *character != '\n') {
                    line.push(character);
                }
                if line.trim_start_matches('\t') == end {
                    break;
                }
            }
        }
    }

    /// The text up to the closing quote.
    fn until(&mut self, quote: char) -> Result<String, Damage> {
        let open = self.open(quote);
        let mut text = String::new();
        loop {
            match self.next().ok_or_else(|| open.clone())? {
                end if end == quote => return Ok(text),
                other => text.push(other),
            }
        }
    }

    fn open(&self, quote: char) -> Damage {
        (self.line, format!("{quote} without a closing quote"))
    }

    fn double_quoted(&mut self) -> Result<(), Damage> {
        let open = self.open('"');
        self.add(Piece::Text(String::new()));
        loop {
            match self.next().ok_or_else(|| open.clone())? {
                '"' => return Ok(()),
                '\\' => match self.next().ok_or_else(|| open.clone())? {
                    '\n' => {}
                    escaped @ ('"' | '\\' | '$' | '`') => self.push(escaped),
                    other => {
                        self.push('\\');
                        self.push(other);
                    }
                },
                '$' => {
                    let piece = self.variable(true)?;
                    self.add(piece);
                }
                '`' => {
                    let text = self.until('`')?;
                    self.add(Piece::Unknown(format!("`{text}`")));
                }
                other => self.push(other),
            }
        }
    }

    /// Behind `$`.
    fn variable(&mut self, quoted: bool) -> Result<Piece, Damage> {
        let is_name = |next: &char| next.is_ascii_alphanumeric() || *next == '_';
        match self.characters.peek().copied() {
            Some('(') => {
                let text = self.brackets('(', ')')?;
                Ok(Piece::Unknown(format!("$({text})")))
            }
            Some('{') => {
                let text = self.brackets('{', '}')?;
                let end = text.find(|c: char| !is_name(&c)).unwrap_or(text.len());
                let (name, rest) = text.split_at(end);
                let index = rest.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
                if let Some(index) = index.filter(|_| is_variable(name)) {
                    let index = Some(index).filter(|index| !["@", "*"].contains(index));
                    let (name, index) = (name.to_owned(), index.map(str::to_owned));
                    return Ok(Piece::Element { name, index, quoted });
                }
                let default = rest.strip_prefix(":-").or_else(|| rest.strip_prefix('-'));
                let plain = default.is_none_or(|text| !text.contains(['$', '`', '"', '\'', '\\']));
                if !is_variable(name) || !plain || (default.is_none() && !rest.is_empty()) {
                    return Ok(Piece::Unknown(format!("${{{text}}}")));
                }
                let default = default.map(str::to_owned);
                Ok(Piece::Variable { name: name.to_owned(), default, quoted })
            }
            Some(first) if is_name(&first) && !first.is_ascii_digit() => {
                let mut name = String::new();
                while let Some(next) = self.characters.next_if(is_name) {
                    name.push(next);
                }
                Ok(Piece::Variable { name, default: None, quoted })
            }
            Some(special) if special.is_ascii_digit() || "@*#?$!-".contains(special) => {
                self.next();
                Ok(Piece::Unknown(format!("${special}")))
            }
            _ => Ok(Piece::Text("$".to_owned())),
        }
    }

    /// The text between brackets, which may be nested.
    fn brackets(&mut self, open: char, close: char) -> Result<String, Damage> {
        let missing = (self.line, format!("${open} without {close}"));
        self.next();
        let mut depth = 1_usize;
        let mut text = String::new();
        loop {
            let next = self.next().ok_or_else(|| missing.clone())?;
            if next == '\'' && open == '(' {
                text += &self.until('\'')?;
                continue;
            }
            depth += usize::from(next == open);
            depth -= usize::from(next == close);
            if depth == 0 {
                return Ok(text);
            }
            text.push(next);
        }
    }
}

/// Whether this can be the name of a variable.
pub(in crate::lint) fn is_variable(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
