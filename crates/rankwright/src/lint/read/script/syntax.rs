//! The statements of a shell script: the part of the language that wrapper scripts use.

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// As it is; quoted text is no pattern.
    Text { text: String, quoted: bool },
    /// `$NAME` or what stands in `${..}`; unquoted ones are split at blanks.
    Parameter { text: String, quoted: bool },
    /// `$((..))`.
    Arithmetic(String),
    /// `$(..)`.
    Command(String),
}

pub(super) type Word = Vec<Part>;

/// What a command is followed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Join {
    Always,
    And,
    Or,
    Pipe,
}

/// A command with its line, from 1.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) line: usize,
    /// Behind `!`.
    pub(super) negated: bool,
    pub(super) command: Command,
    /// How the next one depends on it.
    pub(super) join: Join,
}

pub(super) type List = Vec<Item>;

#[derive(Debug, Clone)]
pub(super) enum Command {
    /// Words; an array has its elements beside the word `NAME=`.
    Simple(Vec<(Word, Option<Vec<Word>>)>),
    /// `((..))`.
    Arithmetic(String),
    /// `[[ .. ]]`.
    Test(Vec<Word>),
    /// Conditions with what follows them; the last condition may be missing.
    If(Vec<(List, List)>, List),
    Case(Word, Vec<(Vec<Word>, List)>),
    For(String, Vec<Word>, List),
    Group(List),
    /// A function with its name.
    Function(String, List),
    /// What is not evaluated.
    Unknown(String),
}

/// A script that no shell can read: the line, and what is wrong there.
pub(super) type Damage = (usize, String);

/// The most statements inside each other.
const DEEPEST: usize = 50;

/// Reads a script.
pub(super) fn parse(text: &str) -> Result<List, Damage> {
    let mut parser = Parser { text: text.chars().collect(), at: 0, line: 1, depth: 0 };
    let list = parser.list(&[])?;
    match parser.peek() {
        None => Ok(list),
        Some(other) => Err((parser.line, format!("`{other}`"))),
    }
}

struct Parser {
    text: Vec<char>,
    at: usize,
    line: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn starts_with(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(i, c)| self.text.get(self.at + i) == Some(&c))
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += 1;
        self.line += usize::from(next == '\n');
        Some(next)
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self.starts_with(text);
        if found {
            text.chars().for_each(|_| {
                self.next();
            });
        }
        found
    }

    fn damage<T>(&self, what: &str) -> Result<T, Damage> {
        Err((self.line, what.to_owned()))
    }

    /// Skips blanks, continued lines and comments; with `lines`, line ends and `;` too.
    fn skip(&mut self, lines: bool) {
        loop {
            match self.peek() {
                Some('\\') if self.starts_with("\\\n") => {
                    self.next();
                }
                Some('#') => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.next();
                    }
                    continue;
                }
                Some('\n') if lines => {}
                Some(';') if lines && !self.starts_with(";;") => {}
                Some(blank) if blank != '\n' && blank.is_whitespace() => {}
                _ => return,
            }
            self.next();
        }
    }

    /// The word that begins here, if it is only letters: perhaps a reserved one.
    fn reserved(&self) -> String {
        let end = |c: &char| c.is_whitespace() || ";&|()<>\"'$`\\".contains(*c);
        self.text[self.at..].iter().take_while(|c| !end(c)).collect()
    }

    fn deeper(&mut self) -> Result<(), Damage> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.damage("statements inside each other, too deep");
        }
        Ok(())
    }

    /// Commands up to one of these words, or to `)` or the end.
    fn list(&mut self, ends: &[&str]) -> Result<List, Damage> {
        self.deeper()?;
        let mut list = List::new();
        loop {
            self.skip(true);
            let word = self.reserved();
            if self.peek().is_none()
                || self.peek() == Some(')')
                || ends.contains(&word.as_str())
                || self.starts_with(";;")
            {
                self.depth -= 1;
                return Ok(list);
            }
            let begin = self.at;
            list.push(self.item()?);
            if self.at == begin {
                return self.damage(&format!("`{}`", self.text[begin]));
            }
        }
    }

    fn item(&mut self) -> Result<Item, Damage> {
        let line = self.line;
        let mut negated = false;
        while self.reserved() == "!" {
            self.take("!");
            self.skip(false);
            negated = !negated;
        }
        let command = self.command()?;
        self.redirections()?;
        let join = if self.take("&&") {
            Join::And
        } else if self.take("||") {
            Join::Or
        } else if self.take("|") {
            Join::Pipe
        } else {
            self.take("&");
            Join::Always
        };
        Ok(Item { line, negated, command, join })
    }

    fn command(&mut self) -> Result<Command, Damage> {
        if self.take("((") {
            return Ok(Command::Arithmetic(self.until_brackets(2)?));
        }
        if self.take("(") {
            let list = self.list(&[])?;
            return if self.take(")") {
                Ok(Command::Group(list))
            } else {
                self.damage("( without )")
            };
        }
        match self.reserved().as_str() {
            "if" => self.if_command(),
            "case" => self.case_command(),
            "for" => self.for_command(),
            "while" | "until" => {
                let what = self.reserved();
                self.take(&what);
                self.list(&["do"])?;
                self.body()?;
                Ok(Command::Unknown(what))
            }
            "{" => {
                self.take("{");
                let list = self.list(&["}"])?;
                self.expect("}")?;
                Ok(Command::Group(list))
            }
            "function" => {
                self.take("function");
                self.skip(false);
                let name = self.reserved();
                self.take(&name);
                self.skip(false);
                let _ = self.take("()");
                self.function(name)
            }
            "[[" => {
                self.take("[[");
                Ok(Command::Test(self.test_words()?))
            }
            _ => self.simple(),
        }
    }

    /// The body of a function.
    fn function(&mut self, name: String) -> Result<Command, Damage> {
        self.skip(true);
        self.deeper()?;
        let (line, command) = (self.line, self.command()?);
        self.depth -= 1;
        let body = Item { line, negated: false, command, join: Join::Always };
        Ok(Command::Function(name, vec![body]))
    }

    fn expect(&mut self, word: &str) -> Result<(), Damage> {
        self.skip(true);
        if self.reserved() == word {
            self.take(word);
            return Ok(());
        }
        self.damage(&format!("no `{word}`"))
    }

    fn if_command(&mut self) -> Result<Command, Damage> {
        let (mut arms, mut otherwise) = (Vec::new(), List::new());
        self.take("if");
        loop {
            let condition = self.list(&["then"])?;
            self.expect("then")?;
            arms.push((condition, self.list(&["elif", "else", "fi"])?));
            if self.reserved() != "elif" {
                break;
            }
            self.take("elif");
        }
        if self.reserved() == "else" {
            self.take("else");
            otherwise = self.list(&["fi"])?;
        }
        self.expect("fi")?;
        Ok(Command::If(arms, otherwise))
    }

    fn case_command(&mut self) -> Result<Command, Damage> {
        self.take("case");
        self.skip(false);
        let subject = self.word()?;
        self.expect("in")?;
        let mut arms = Vec::new();
        loop {
            self.skip(true);
            if self.reserved() == "esac" {
                self.take("esac");
                return Ok(Command::Case(subject, arms));
            }
            self.take("(");
            let mut patterns = Vec::new();
            loop {
                self.skip(false);
                patterns.push(self.word()?);
                self.skip(false);
                if !self.take("|") {
                    break;
                }
            }
            if !self.take(")") {
                return self.damage("a pattern of `case` without )");
            }
            arms.push((patterns, self.list(&["esac"])?));
            let _ = self.take(";;&") || self.take(";;");
        }
    }

    fn for_command(&mut self) -> Result<Command, Damage> {
        self.take("for");
        self.skip(false);
        if self.take("((") {
            self.until_brackets(2)?;
            self.body()?;
            return Ok(Command::Unknown("for ((..))".to_owned()));
        }
        let name = self.reserved();
        self.take(&name);
        self.skip(false);
        let mut words = Vec::new();
        if self.reserved() == "in" {
            self.take("in");
            words = self.words()?;
        }
        Ok(Command::For(name, words, self.body()?))
    }

    /// `do .. done`.
    fn body(&mut self) -> Result<List, Damage> {
        self.expect("do")?;
        let list = self.list(&["done"])?;
        self.expect("done")?;
        Ok(list)
    }

    /// The words up to the end of a line or a `;`.
    fn words(&mut self) -> Result<Vec<Word>, Damage> {
        let mut words = Vec::new();
        loop {
            self.skip(false);
            match self.peek() {
                None | Some('\n' | ';' | '&' | '|' | ')') => return Ok(words),
                Some('(') => return self.damage("`(`"),
                _ => words.push(self.word()?),
            }
        }
    }

    /// The words up to `]]`.
    fn test_words(&mut self) -> Result<Vec<Word>, Damage> {
        let mut words = Vec::new();
        loop {
            self.skip(true);
            let operator = ["&&", "||", "(", ")", "<", ">"].into_iter().find(|it| self.take(it));
            if let Some(text) = operator {
                words.push(vec![Part::Text { text: text.to_owned(), quoted: false }]);
            } else if self.reserved() == "]]" {
                self.take("]]");
                return Ok(words);
            } else if self.peek().is_none() {
                return self.damage("[[ without ]]");
            } else {
                words.push(self.word()?);
            }
        }
    }

    fn simple(&mut self) -> Result<Command, Damage> {
        let mut words: Vec<(Word, Option<Vec<Word>>)> = Vec::new();
        loop {
            self.skip(false);
            self.redirections()?;
            match self.peek() {
                None | Some('\n' | ';' | '&' | '|' | ')') => break,
                Some('(') if words.len() == 1 => {
                    self.take("(");
                    self.skip(false);
                    if !self.take(")") {
                        return self.damage("`(`");
                    }
                    let name = match words[0].0.as_slice() {
                        [Part::Text { text, .. }] => text.clone(),
                        _ => return self.damage("a function without a name"),
                    };
                    return self.function(name);
                }
                Some('(') => return self.damage("`(`"),
                _ => {
                    let word = self.word()?;
                    let last = word.last();
                    let opens = matches!(last, Some(Part::Text { text, quoted: false }) if text.ends_with('='));
                    let array = if opens && self.take("(") { Some(self.array()?) } else { None };
                    words.push((word, array));
                }
            }
        }
        Ok(Command::Simple(words))
    }

    fn array(&mut self) -> Result<Vec<Word>, Damage> {
        let mut words = Vec::new();
        loop {
            self.skip(true);
            match self.peek() {
                Some(')') => {
                    self.next();
                    return Ok(words);
                }
                None | Some(';' | '&' | '|' | '(') => return self.damage("an array without )"),
                _ => words.push(self.word()?),
            }
        }
    }

    /// Skips `> file`, `2>&1` and the like, and here-documents.
    fn redirections(&mut self) -> Result<(), Damage> {
        loop {
            self.skip(false);
            let digits = self.text[self.at..].iter().take_while(|c| c.is_ascii_digit()).count();
            if !matches!(self.text.get(self.at + digits), Some('<' | '>'))
                && !self.starts_with("&>")
            {
                return Ok(());
            }
            self.at += digits;
            if self.starts_with("<<") && !self.starts_with("<<<") {
                return self.damage("a here-document, which is not read");
            }
            while self.peek().is_some_and(|c| "<>&|".contains(c)) {
                self.next();
            }
            self.skip(false);
            if self.starts_with("<(") || self.starts_with(">(") {
                self.next();
            }
            if self.take("(") {
                // The input is what commands print, which is not known.
                self.until_brackets(1)?;
            } else if self.peek().is_some_and(|c| c != '\n') {
                self.word()?;
            }
        }
    }

    fn word(&mut self) -> Result<Word, Damage> {
        let begin = self.at;
        let mut word = Word::new();
        while let Some(next) = self.peek() {
            match next {
                '\'' => {
                    self.next();
                    let text = self.until('\'')?;
                    word.push(Part::Text { text, quoted: true });
                }
                '"' => self.double_quoted(&mut word)?,
                '$' | '`' => word.push(self.expansion(false)?),
                '\\' => {
                    self.next();
                    let text = self.next().map(String::from).unwrap_or_default();
                    word.push(Part::Text { text, quoted: true });
                }
                end if end.is_whitespace() || ";&|()<>".contains(end) => break,
                other => {
                    self.next();
                    match word.last_mut() {
                        Some(Part::Text { text, quoted: false }) => text.push(other),
                        _ => word.push(Part::Text { text: other.to_string(), quoted: false }),
                    }
                }
            }
        }
        if self.at == begin {
            return self.damage(&self.peek().map_or("the end".to_owned(), |c| format!("`{c}`")));
        }
        Ok(word)
    }

    fn double_quoted(&mut self, word: &mut Word) -> Result<(), Damage> {
        let line = self.line;
        self.next();
        let mut text = String::new();
        loop {
            match self.peek() {
                None => return Err((line, "\" without a closing quote".to_owned())),
                Some('"') => {
                    self.next();
                    word.push(Part::Text { text, quoted: true });
                    return Ok(());
                }
                Some('$' | '`') => {
                    let before = std::mem::take(&mut text);
                    word.push(Part::Text { text: before, quoted: true });
                    word.push(self.expansion(true)?);
                }
                Some('\\') => {
                    self.next();
                    let escaped = self.next().unwrap_or('\\');
                    if !"\"\\$`\n".contains(escaped) {
                        text.push('\\');
                    }
                    text.extend((escaped != '\n').then_some(escaped));
                }
                Some(other) => {
                    self.next();
                    text.push(other);
                }
            }
        }
    }

    /// Behind `$`, or in backquotes.
    fn expansion(&mut self, quoted: bool) -> Result<Part, Damage> {
        if self.take("`") {
            return Ok(Part::Command(self.until('`')?));
        }
        self.take("$");
        if self.take("((") {
            return Ok(Part::Arithmetic(self.until_brackets(2)?));
        }
        if self.take("(") {
            return Ok(Part::Command(self.until_brackets(1)?));
        }
        if self.take("{") {
            let text = self.until('}')?;
            return Ok(Part::Parameter { text, quoted });
        }
        let is_name = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        let name: String = match self.peek() {
            Some(special) if special.is_ascii_digit() || "@*#?$!-".contains(special) => {
                self.next();
                special.to_string()
            }
            _ => self.text[self.at..].iter().take_while(|c| is_name(c)).collect(),
        };
        if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            self.take(&name);
        }
        if name.is_empty() {
            return Ok(Part::Text { text: "$".to_owned(), quoted: true });
        }
        Ok(Part::Parameter { text: name, quoted })
    }

    /// The text up to a quote or bracket.
    fn until(&mut self, end: char) -> Result<String, Damage> {
        let missing = (self.line, format!("no closing {end}"));
        let (mut text, mut open) = (String::new(), 0_usize);
        loop {
            let next = self.next().ok_or_else(|| missing.clone())?;
            if next == end && open == 0 {
                return Ok(text);
            }
            if end == '}' {
                open += usize::from(next == '{');
                open -= usize::from(next == '}');
            }
            text.push(next);
        }
    }

    /// The text up to this many closing brackets, with those that it opens itself.
    fn until_brackets(&mut self, count: usize) -> Result<String, Damage> {
        let missing = (self.line, "( without )".to_owned());
        let (mut text, mut open) = (String::new(), 0_usize);
        loop {
            let next = self.next().ok_or_else(|| missing.clone())?;
            if next == ')' && open == 0 {
                let rest = ")".repeat(count - 1);
                return if self.take(&rest) { Ok(text) } else { Err(missing) };
            }
            open += usize::from(next == '(');
            open -= usize::from(next == ')');
            text.push(next);
        }
    }
}
