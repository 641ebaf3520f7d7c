//! The tokens of a rankfile, as Open MPI 4.1 and 5 split them: always the longest match.

/// A token of a rankfile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Newline,
    Equal,
    /// The word `rank`.
    Rank,
    /// The word `slot` or `slots`.
    Slot,
    /// Digits.
    Number(&'a str),
    /// Letters, digits and `-_,:;*@`: a host or a slot list.
    Text(&'a str),
    /// A host with dots, an address, or `+n` and digits.
    Host(&'a str),
    /// The text between quotes.
    Quoted(&'a str),
    /// A comment at the end of a file without a line end.
    OpenComment,
    /// The carriage return of a Windows line end, which is not a token of Open MPI.
    CarriageReturn,
    /// Anything else.
    Other(char),
}

/// The tokens of a text, each with its line, from 1.
pub(super) struct Tokens<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text, line: 1 }
    }

    /// Takes the next `length` bytes.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        self.line += taken.bytes().filter(|byte| *byte == b'\n').count();
        taken
    }

    /// A comment up to the end of its line.
    fn comment(&mut self) -> Token<'a> {
        if let Some(end) = self.rest.find('\n') {
            self.take(end + 1);
            return Token::Newline;
        }
        self.take(self.rest.len());
        Token::OpenComment
    }

    /// A comment of several lines; without its end it reaches to the end of the file.
    fn long_comment(&mut self) -> Token<'a> {
        let end = self.rest[2..].find("*/").map_or(self.rest.len(), |end| end + 4);
        self.take(end);
        Token::Newline
    }

    fn next_token(&mut self) -> Option<Token<'a>> {
        let blanks = prefix(self.rest, |byte| b" \t\x0b\x0c".contains(&byte));
        self.take(blanks);
        let first = self.rest.chars().next()?;
        if first == '#' || self.rest.starts_with("//") {
            return Some(self.comment());
        }
        if self.rest.starts_with("/*") {
            return Some(self.long_comment());
        }
        if first == '"'
            && let Some(end) = self.rest[1..].find('"')
        {
            let quoted = self.take(end + 2);
            return Some(Token::Quoted(&quoted[1..=end]));
        }
        let text =
            prefix(self.rest, |byte| byte.is_ascii_alphanumeric() || b"-_,:;*@".contains(&byte));
        let host = host(self.rest);
        if text == 0 && host == 0 {
            self.take(first.len_utf8());
            return Some(match first {
                '\n' => Token::Newline,
                '=' => Token::Equal,
                '\r' => Token::CarriageReturn,
                other => Token::Other(other),
            });
        }
        if host > text {
            return Some(Token::Host(self.take(host)));
        }
        Some(match self.take(text) {
            "rank" => Token::Rank,
            "slot" | "slots" => Token::Slot,
            digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => Token::Number(digits),
            text => Token::Text(text),
        })
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = (usize, Token<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        // A comment belongs to the line where it begins.
        let blanks = prefix(self.rest, |byte| b" \t\x0b\x0c".contains(&byte));
        self.take(blanks);
        let line = self.line;
        Some((line, self.next_token()?))
    }
}

/// The number of leading bytes for which the condition holds.
fn prefix(text: &str, is_such: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|byte| is_such(*byte)).count()
}

/// The length of a name with dots, an IPv4 address (both with or without `user@`) or `+n7`.
fn host(text: &str) -> usize {
    if let Some(number) = text.strip_prefix("+n") {
        let digits = prefix(number, |byte| byte.is_ascii_digit());
        return if digits > 0 { digits + 2 } else { 0 };
    }
    let user = prefix(text, |byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let user = if user > 0 && text[user..].starts_with('@') { user + 1 } else { 0 };
    [0, user].into_iter().map(|start| start + name_or_address(&text[start..])).max().unwrap_or(0)
}

fn name_or_address(text: &str) -> usize {
    let letter = text.starts_with(|first: char| first.is_ascii_alphabetic());
    if letter {
        return prefix(text, |byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    }
    let mut length = 0;
    for part in 0..4 {
        let digits = prefix(&text[length..], |byte| byte.is_ascii_digit()).min(3);
        let dot = usize::from(part < 3);
        if digits == 0 || dot == 1 && !text[length + digits..].starts_with('.') {
            return 0;
        }
        length += digits + dot;
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        Tokens::new(text).map(|(_, token)| token).collect()
    }

    #[test]
    fn the_longest_word_counts() {
        use Token::{Equal, Host, Number, Other, Rank, Slot, Text};
        let line = [Rank, Number("0"), Equal, Text("n-0"), Slot, Equal, Text("0:1;2")];
        assert_eq!(tokens("rank 0 = n-0 slots=0:1;2"), line);
        assert_eq!(
            tokens("n0.x.org me@10.0.0.1 +n3"),
            [Host("n0.x.org"), Host("me@10.0.0.1"), Host("+n3")]
        );
        assert_eq!(
            tokens("0n.x ranks 1,2"),
            [Text("0n"), Other('.'), Text("x"), Text("ranks"), Text("1,2")]
        );
    }

    #[test]
    fn comments_and_quotes_are_told() {
        use Token::{CarriageReturn, Newline, Number, OpenComment, Quoted};
        assert_eq!(
            tokens("1 # a\n// b\n/* c\n */2"),
            [Number("1"), Newline, Newline, Newline, Number("2")]
        );
        assert_eq!(tokens("\"1,2\"\r\n# x"), [Quoted("1,2"), CarriageReturn, Newline, OpenComment]);
        let lines: Vec<usize> = Tokens::new("1\n2 /* \n\n */ 3").map(|(line, _)| line).collect();
        assert_eq!(lines, [1, 1, 2, 2, 4]);
    }
}
