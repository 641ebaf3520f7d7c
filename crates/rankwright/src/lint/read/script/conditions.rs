//! Conditions of the shell: `[ .. ]` and `[[ .. ]]`, and patterns.

use super::arithmetic::number;
use super::run::{Shell, literal};
use super::syntax::Word;

/// The value of `[ .. ]`, without its brackets.
pub(super) fn single(shell: &mut Shell, words: &[Word]) -> Result<bool, String> {
    let words: Vec<&Word> = words.iter().filter(|word| literal(word) != Some("]")).collect();
    Test { shell, words: &words, at: 0, depth: 0, double: false }.whole()
}

/// The value of `[[ .. ]]`, without its brackets.
pub(super) fn double(shell: &mut Shell, words: &[Word]) -> Result<bool, String> {
    let words: Vec<&Word> = words.iter().collect();
    Test { shell, words: &words, at: 0, depth: 0, double: true }.whole()
}

struct Test<'a, 's> {
    shell: &'s mut Shell,
    words: &'a [&'a Word],
    at: usize,
    depth: usize,
    /// Whether it is `[[ .. ]]`, where the right of == is a pattern.
    double: bool,
}

impl Test<'_, '_> {
    fn whole(&mut self) -> Result<bool, String> {
        let value = self.either()?;
        match self.words.get(self.at) {
            None => Ok(value),
            Some(_) => Err("a condition that is not evaluated".to_owned()),
        }
    }

    fn take(&mut self, signs: &[&str]) -> bool {
        let found = self.words.get(self.at).and_then(|word| literal(word));
        let found = found.is_some_and(|word| signs.contains(&word));
        self.at += usize::from(found);
        found
    }

    fn either(&mut self) -> Result<bool, String> {
        self.depth += 1;
        if self.depth > 50 {
            return Err("a condition that is too deep".to_owned());
        }
        let mut value = self.both()?;
        while self.take(&["||", "-o"]) {
            value |= self.both()?;
        }
        self.depth -= 1;
        Ok(value)
    }

    fn both(&mut self) -> Result<bool, String> {
        let mut value = self.one()?;
        while self.take(&["&&", "-a"]) {
            value &= self.one()?;
        }
        Ok(value)
    }

    fn one(&mut self) -> Result<bool, String> {
        let mut negated = false;
        while self.words.len() > self.at + 1 && self.take(&["!"]) {
            negated = !negated;
        }
        if self.take(&["("]) {
            let value = self.either()?;
            return if self.take(&[")"]) {
                Ok(value != negated)
            } else {
                Err("( without )".to_owned())
            };
        }
        let left = *self.words.get(self.at).ok_or("an empty condition")?;
        let sign = self.words.get(self.at + 1).and_then(|word| literal(word)).unwrap_or_default();
        let signs = ["=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "<", ">", "=~"];
        if let (Some(right), true) = (self.words.get(self.at + 2), signs.contains(&sign)) {
            let right = *right;
            self.at += 3;
            return Ok(self.compared(left, sign, right)? != negated);
        }
        if let Some(kind) = literal(left).filter(|it| it.starts_with('-') && it.len() == 2)
            && let Some(operand) = self.words.get(self.at + 1)
        {
            let operand = *operand;
            self.at += 2;
            let text = self.shell.joined(operand)?;
            return match kind {
                "-z" => Ok(text.is_empty() != negated),
                "-n" => Ok(text.is_empty() == negated),
                _ => Err(format!("`{kind} {text}`, which asks the node")),
            };
        }
        self.at += 1;
        Ok(self.shell.joined(left)?.is_empty() == negated)
    }

    fn compared(&mut self, left: &Word, sign: &str, right: &Word) -> Result<bool, String> {
        let left = self.shell.joined(left)?;
        if let "=" | "==" | "!=" = sign {
            let equal = match self.double {
                true => matches(&self.shell.pattern(right)?, &left),
                false => self.shell.joined(right)? == left,
            };
            return Ok(equal == (sign != "!="));
        }
        let right = self.shell.joined(right)?;
        let mut numbers = || -> Result<(i64, i64), String> {
            match self.double {
                true => Ok((self.shell.arithmetic(&left)?, self.shell.arithmetic(&right)?)),
                false if left.is_empty() || right.is_empty() => {
                    Err(format!("[ {left} {sign} {right} ] without a number"))
                }
                // Not octal there.
                false => Ok((decimal(&left)?, decimal(&right)?)),
            }
        };
        match sign {
            "-eq" => numbers().map(|(a, b)| a == b),
            "-ne" => numbers().map(|(a, b)| a != b),
            "-lt" => numbers().map(|(a, b)| a < b),
            "-le" => numbers().map(|(a, b)| a <= b),
            "-gt" => numbers().map(|(a, b)| a > b),
            "-ge" => numbers().map(|(a, b)| a >= b),
            "<" => Ok(left < right),
            ">" => Ok(left > right),
            _ => Err(format!("`{sign}`")),
        }
    }
}

fn decimal(text: &str) -> Result<i64, String> {
    text.trim().parse().or_else(|_| number(text))
}

/// Whether a pattern with `*`, `?`, `[..]` and `\` matches the whole text.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    // The position behind the last `*`, and of the text that it was tried with.
    let (mut p, mut t, mut star) = (0, 0, None);
    loop {
        if t == text.len() && p == pattern.len() {
            return true;
        }
        let step = pattern.get(p).and_then(|first| match first {
            '*' => None,
            '?' => (t < text.len()).then_some(1),
            '[' => in_brackets(&pattern[p..], *text.get(t)?),
            '\\' => (pattern.get(p + 1) == text.get(t) && t < text.len()).then_some(2),
            other => (text.get(t) == Some(other)).then_some(1),
        });
        if let Some(length) = step {
            (p, t) = (p + length, t + 1);
        } else if pattern.get(p) == Some(&'*') {
            star = Some((p + 1, t));
            p += 1;
        } else if let Some((behind, tried)) = star.filter(|(_, tried)| *tried < text.len()) {
            star = Some((behind, tried + 1));
            (p, t) = (behind, tried + 1);
        } else {
            return false;
        }
    }
}

/// The length of `[..]` if it has the character.
fn in_brackets(pattern: &[char], character: char) -> Option<usize> {
    let end = 2 + pattern.iter().skip(2).position(|c| *c == ']')?;
    let inside = &pattern[1..end];
    let (negated, inside) = match inside.first() {
        Some('!' | '^') => (true, &inside[1..]),
        _ => (false, inside),
    };
    let mut has = false;
    let mut at = 0;
    while at < inside.len() {
        if inside.get(at + 1) == Some(&'-') && at + 2 < inside.len() {
            has |= (inside[at]..=inside[at + 2]).contains(&character);
            at += 3;
        } else {
            has |= inside[at] == character;
            at += 1;
        }
    }
    (has != negated).then_some(end + 1)
}

/// The text without the shortest or longest part at its front or end that a pattern matches.
pub(super) fn without(text: &str, pattern: &str, front: bool, longest: bool) -> String {
    let mut cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    if longest == front {
        cuts.reverse();
    }
    for cut in cuts {
        let (head, tail) = text.split_at(cut);
        let (removed, kept) = if front { (head, tail) } else { (tail, head) };
        if matches(pattern, removed) {
            return kept.to_owned();
        }
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_a_shell() {
        for (pattern, text) in
            [("*", ""), ("a*c", "abbc"), ("[0-3]", "2"), ("[!a]?", "bc"), ("\\*", "*")]
        {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("a*c", "abcd"), ("[0-3]", "4"), ("?", ""), ("\\*", "a"), ("[", "a")]
        {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
        assert_eq!(without("n12.site", ".*", false, true), "n12");
        assert_eq!(without("/a/b/c", "*/", true, true), "c");
        assert_eq!(without("/a/b/c", "*/", true, false), "a/b/c");
    }
}
