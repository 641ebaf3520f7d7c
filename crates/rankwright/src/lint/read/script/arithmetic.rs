//! Arithmetic of the shell: 64-bit whole numbers.

use std::collections::BTreeMap;

/// The variables that an expression reads and sets.
pub(in crate::lint) trait Numbers {
    /// The text of a variable, or of an element of an array; empty if it is not set.
    fn text(&self, name: &str, index: Option<i64>) -> Result<String, String>;
    /// Sets a variable.
    fn set(&mut self, name: &str, value: i64);
}

/// The operators with two operands, by their rank: higher ones bind stronger.
const BINARY: [(&str, u8); 18] = [
    ("||", 1),
    ("&&", 2),
    ("<<", 8),
    (">>", 8),
    ("<=", 7),
    (">=", 7),
    ("==", 6),
    ("!=", 6),
    ("**", 11),
    ("|", 3),
    ("^", 4),
    ("&", 5),
    ("<", 7),
    (">", 7),
    ("+", 9),
    ("-", 9),
    ("*", 10),
    ("%", 10),
];

/// The value of an expression.
///
/// # Errors
/// What is wrong, or not known.
pub(in crate::lint) fn evaluate(text: &str, variables: &mut dyn Numbers) -> Result<i64, String> {
    // As a shell: an expression of blanks is 0.
    if text.trim().is_empty() {
        return Ok(0);
    }
    let mut expression = Expression { text: text.as_bytes(), at: 0, depth: 0, variables };
    let value = expression.comma()?;
    expression.skip();
    match text.get(expression.at..) {
        Some("") => Ok(value),
        rest => Err(format!("`{}` in $(({text}))", rest.unwrap_or_default())),
    }
}

struct Expression<'a, 'v> {
    text: &'a [u8],
    at: usize,
    depth: usize,
    variables: &'v mut dyn Numbers,
}

impl Expression<'_, '_> {
    fn skip(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn take(&mut self, text: &str) -> bool {
        self.skip();
        let found = self.text[self.at..].starts_with(text.as_bytes());
        self.at += if found { text.len() } else { 0 };
        found
    }

    fn comma(&mut self) -> Result<i64, String> {
        self.depth += 1;
        if self.depth > 50 {
            return Err("brackets inside each other, too deep".to_owned());
        }
        let mut value = self.choice()?;
        while self.take(",") {
            value = self.choice()?;
        }
        self.depth -= 1;
        Ok(value)
    }

    fn choice(&mut self) -> Result<i64, String> {
        let condition = self.binary(0)?;
        if !self.take("?") {
            return Ok(condition);
        }
        let first = self.comma()?;
        if !self.take(":") {
            return Err("`?` without `:`".to_owned());
        }
        let second = self.choice()?;
        Ok(if condition != 0 { first } else { second })
    }

    fn binary(&mut self, least: u8) -> Result<i64, String> {
        let mut left = self.operand()?;
        loop {
            self.skip();
            let rest = &self.text[self.at..];
            let slash = rest.starts_with(b"/").then_some(("/", 10));
            let known = BINARY.iter().copied().find(|(sign, _)| rest.starts_with(sign.as_bytes()));
            let Some((sign, rank)) = slash.or(known).filter(|(_, rank)| *rank > least) else {
                return Ok(left);
            };
            self.at += sign.len();
            let right = self.binary(if sign == "**" { rank - 1 } else { rank })?;
            left = apply(sign, left, right)?;
        }
    }

    fn operand(&mut self) -> Result<i64, String> {
        for (sign, of) in [
            ("!", (|value| i64::from(value == 0)) as fn(i64) -> i64),
            ("~", |value| !value),
            ("-", i64::wrapping_neg),
            ("+", |value| value),
        ] {
            if self.take(sign) {
                self.depth += 1;
                let value =
                    if self.depth > 50 { Err("too many signs".to_owned()) } else { self.operand() };
                self.depth -= 1;
                return value.map(of);
            }
        }
        if self.take("(") {
            let value = self.comma()?;
            return if self.take(")") { Ok(value) } else { Err("( without )".to_owned()) };
        }
        self.skip();
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let length = self.text[self.at..].iter().take_while(|byte| is_name(byte)).count();
        let word = String::from_utf8_lossy(&self.text[self.at..self.at + length]).into_owned();
        self.at += length;
        if word.is_empty() {
            let rest = String::from_utf8_lossy(&self.text[self.at..]).into_owned();
            return Err(match rest.as_str() {
                "" => "an arithmetic expression that ends where a number must follow".to_owned(),
                rest => format!("`{rest}` in an arithmetic expression, where a number must be,"),
            });
        }
        if word.starts_with(|first: char| first.is_ascii_digit()) {
            return number(&word);
        }
        self.variable(&word)
    }

    fn variable(&mut self, name: &str) -> Result<i64, String> {
        let mut index = None;
        if self.take("[") {
            index = Some(self.comma()?);
            if !self.take("]") {
                return Err("[ without ]".to_owned());
            }
        }
        let text = self.variables.text(name, index);
        self.skip();
        let rest = &self.text[self.at..];
        let signs = ["=", "+=", "-=", "*=", "%=", "/="];
        let sign = signs.into_iter().find(|sign| rest.starts_with(sign.as_bytes()));
        if let Some(sign) = sign.filter(|sign| *sign != "=" || !rest.starts_with(b"==")) {
            self.at += sign.len();
            let right = self.choice()?;
            let value = match sign {
                "=" => right,
                _ => apply(&sign[..1], number(&text?)?, right)?,
            };
            self.variables.set(name, value);
            return Ok(value);
        }
        let value = number(&text?)?;
        for (sign, change) in [("++", 1), ("--", -1)] {
            if self.take(sign) {
                self.variables.set(name, value.wrapping_add(change));
            }
        }
        Ok(value)
    }
}

/// A number as the shell reads it: 0x is hexadecimal, a leading 0 octal; nothing is 0.
pub(super) fn number(text: &str) -> Result<i64, String> {
    let text = text.trim();
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let value = match digits {
        "" => Ok(0),
        hex if hex.starts_with("0x") || hex.starts_with("0X") => i64::from_str_radix(&hex[2..], 16),
        octal if octal.starts_with('0') => i64::from_str_radix(octal, 8),
        decimal => decimal.parse(),
    };
    value.map(|value: i64| sign * value).map_err(|_| format!("`{text}`, which is no number"))
}

fn apply(sign: &str, a: i64, b: i64) -> Result<i64, String> {
    let truth = |is: bool| Ok(i64::from(is));
    match sign {
        "||" => truth(a != 0 || b != 0),
        "&&" => truth(a != 0 && b != 0),
        "<=" => truth(a <= b),
        ">=" => truth(a >= b),
        "==" => truth(a == b),
        "!=" => truth(a != b),
        "<" => truth(a < b),
        ">" => truth(a > b),
        "|" => Ok(a | b),
        "^" => Ok(a ^ b),
        "&" => Ok(a & b),
        "<<" => Ok(a.wrapping_shl(b as u32)),
        ">>" => Ok(a.wrapping_shr(b as u32)),
        "+" => Ok(a.wrapping_add(b)),
        "-" => Ok(a.wrapping_sub(b)),
        "*" => Ok(a.wrapping_mul(b)),
        "**" => {
            u32::try_from(b).map(|b| a.wrapping_pow(b)).map_err(|_| "a negative power".to_owned())
        }
        _ if b == 0 => Err("a division by zero".to_owned()),
        "/" => Ok(a.wrapping_div(b)),
        _ => Ok(a.wrapping_rem(b)),
    }
}

impl Numbers for BTreeMap<String, i64> {
    fn text(&self, name: &str, _: Option<i64>) -> Result<String, String> {
        Ok(self.get(name).map(ToString::to_string).unwrap_or_default())
    }

    fn set(&mut self, name: &str, value: i64) {
        self.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_have_the_values_that_a_shell_gives_them() {
        let mut variables = BTreeMap::from([("rank".to_owned(), 7)]);
        for (text, value) in [
            ("rank % 4", 3),
            ("rank/2*2+1", 7),
            ("(rank + 1) / 4", 2),
            ("2 ** 3 ** 2", 512),
            ("1 << 3 | 1", 9),
            ("rank > 3 ? 10 : 20", 10),
            ("!rank", 0),
            ("-rank + 8", 1),
            ("0x10 + 010", 24),
            ("unset + 1", 1),
            ("7 - 2 - 1", 4),
            ("rank == 7 && 3 < 2", 0),
            ("other = rank * 2, other + 1", 15),
            ("~0", -1),
            ("", 0),
        ] {
            let text = if text.is_empty() { "0" } else { text };
            assert_eq!(evaluate(text, &mut variables), Ok(value), "{text}");
        }
        assert_eq!(variables["other"], 14);
        for wrong in ["1 +", "1 / 0", "(1", "08", "1 2", "a[1", "$x"] {
            assert!(evaluate(wrong, &mut variables).is_err(), "{wrong}");
        }
    }
}
