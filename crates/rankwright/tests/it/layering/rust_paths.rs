//! The paths that a piece of Rust source names: a small reader of its tokens, good for `use` trees
//! and for paths in expressions and types, blind to comments and to text in quotes.

/// A path as the source names it, made absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UsedPath {
    /// The line it begins on, from 1.
    pub(crate) line: usize,
    /// Below the crate's own root; otherwise below the other crates' names (`std`, ...).
    pub(crate) in_crate: bool,
    /// Within a module called `tests`.
    pub(crate) in_tests: bool,
    /// The names; `*` for all names of a module.
    pub(crate) segments: Vec<String>,
}

/// All paths that a file names through `crate`, `super`, `self` or another crate's name, in the
/// order of the text. `module` is the file's own module path.
pub(crate) fn used_paths(text: &str, module: &[String]) -> Vec<UsedPath> {
    let tokens = tokens(text);
    let mut paths = Vec::new();
    let mut current = module.to_vec();
    let mut depth = 0_usize;
    // The brace depths at which inline modules began.
    let mut inline: Vec<usize> = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                if inline.last() == Some(&depth) {
                    inline.pop();
                    current.pop();
                }
            }
            "mod" if text_at(&tokens, at + 2) == "{" => {
                current.push(text_at(&tokens, at + 1).to_owned());
                inline.push(depth);
                depth += 1;
                at += 3;
                continue;
            }
            _ if begins_path(&tokens, at) => {
                let mut segments_of_paths = Vec::new();
                let next = read_tree(&tokens, at, &[], &mut segments_of_paths);
                let in_tests = current.iter().any(|name| name == "tests");
                let line = token.line;
                paths.extend(segments_of_paths.into_iter().map(|segments| {
                    let (in_crate, segments) = absolute(&current, segments);
                    UsedPath { line, in_crate, in_tests, segments }
                }));
                at = next;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    paths
}

/// Whether a path of at least two names begins here.
fn begins_path(tokens: &[Token], at: usize) -> bool {
    let continues = at > 0 && text_at(tokens, at - 1) == "::";
    let inside = text_at(tokens, at + 1) == "::";
    is_name(text_at(tokens, at)) && !continues && inside
}

/// Reads a `use` tree (`a::{b, c::d}`) or a plain path; adds each full path to `found` and returns
/// the index after it.
fn read_tree(
    tokens: &[Token],
    mut at: usize,
    prefix: &[String],
    found: &mut Vec<Vec<String>>,
) -> usize {
    let mut path = prefix.to_vec();
    loop {
        match text_at(tokens, at) {
            "{" if !path.is_empty() => {
                at += 1;
                while !matches!(text_at(tokens, at), "}" | "") {
                    let next = read_tree(tokens, at, &path, found);
                    at = next.max(at + 1);
                }
                return at + 1;
            }
            name if is_name(name) || (name == "*" && !path.is_empty()) => {
                path.push(name.to_owned());
                at += 1;
            }
            // `Vec::<T>::new` and `<T as Trait>::name`: what stands in the brackets is a path of
            // its own.
            _ => break,
        }
        if text_at(tokens, at) != "::" {
            break;
        }
        at += 1;
    }
    if path.len() > prefix.len() {
        found.push(path);
    }
    // `NodeId as N`
    if text_at(tokens, at) == "as" && !prefix.is_empty() { at + 2 } else { at }
}

/// Resolves `crate`, `self` and `super` at the start of a path.
fn absolute(current: &[String], segments: Vec<String>) -> (bool, Vec<String>) {
    let mut base = match segments[0].as_str() {
        "crate" => Vec::new(),
        "self" | "super" => current.to_vec(),
        _ => return (false, segments),
    };
    for segment in segments {
        match segment.as_str() {
            "crate" | "self" => {}
            "super" => {
                base.pop();
            }
            _ => base.push(segment),
        }
    }
    (true, base)
}

#[derive(Debug)]
struct Token {
    text: String,
    line: usize,
}

fn text_at(tokens: &[Token], at: usize) -> &str {
    tokens.get(at).map_or("", |token| &token.text)
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Names, `::` and single punctuation marks; comments, texts and characters in quotes are left
/// out.
fn tokens(text: &str) -> Vec<Token> {
    let characters: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut line = 1;
    let mut at = 0;
    while at < characters.len() {
        let rest = &characters[at..];
        let length = if let Some(length) = length_of_comment(rest).or_else(|| length_of_quote(rest))
        {
            length
        } else {
            let name = rest.iter().take_while(|c| c.is_alphanumeric() || **c == '_').count();
            let length = if rest.starts_with(&[':', ':']) { 2 } else { name.max(1) };
            if !rest[0].is_whitespace() {
                tokens.push(Token { text: rest[..length].iter().collect(), line });
            }
            length
        };
        line += rest[..length].iter().filter(|c| **c == '\n').count();
        at += length;
    }
    tokens
}

/// The length of the comment that begins here, if one does.
fn length_of_comment(rest: &[char]) -> Option<usize> {
    if rest.starts_with(&['/', '/']) {
        return Some(rest.iter().take_while(|c| **c != '\n').count());
    }
    if !rest.starts_with(&['/', '*']) {
        return None;
    }
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let here = &rest[at..];
        if here.starts_with(&['/', '*']) {
            depth += 1;
            at += 2;
        } else if here.starts_with(&['*', '/']) {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    Some(at)
}

/// The length of the text or character in quotes that begins here, if one does; `'a` of a lifetime
/// is none.
fn length_of_quote(rest: &[char]) -> Option<usize> {
    let prefix = rest.iter().take_while(|c| matches!(c, 'b' | 'c' | 'r')).count();
    let hashes = rest[prefix..].iter().take_while(|c| **c == '#').count();
    let raw = rest[..prefix].contains(&'r');
    let open = prefix + hashes;
    if raw && prefix <= 2 && rest.get(open) == Some(&'"') {
        let mut end: Vec<char> = vec!['"'];
        end.resize(hashes + 1, '#');
        let close = rest[open + 1..].windows(end.len()).position(|window| window == end);
        return Some(close.map_or(rest.len(), |close| open + 1 + close + end.len()));
    }
    if rest[0] == '"' {
        return Some(length_until(rest, '"'));
    }
    let character = rest[0] == '\'' && (rest.get(1) == Some(&'\\') || rest.get(2) == Some(&'\''));
    character.then(|| length_until(rest, '\''))
}

/// The length of a quoted text with backslash escapes, both quotes included.
fn length_until(rest: &[char], quote: char) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paths in a text within the module `map::drb`: `crate::` before those of the crate.
    fn paths(text: &str) -> Vec<String> {
        let module = ["map".to_owned(), "drb".to_owned()];
        let show = |used: UsedPath| {
            let prefix = if used.in_crate { "crate::" } else { "" };
            format!("{prefix}{}", used.segments.join("::"))
        };
        used_paths(text, &module).into_iter().map(show).collect()
    }

    #[test]
    fn use_trees_are_unfolded() {
        assert_eq!(
            paths("use crate::{ids::{Rank, NodeId as N}, cluster, units::*};"),
            ["crate::ids::Rank", "crate::ids::NodeId", "crate::cluster", "crate::units::*"]
                .map(ToOwned::to_owned)
                .as_slice()
        );
        assert_eq!(paths("pub(crate) use crate::ids::Rank;"), ["crate::ids::Rank"]);
        assert_eq!(paths("use std::{fs, io::{self, Read}};").len(), 3);
    }

    #[test]
    fn super_is_followed_to_the_root() {
        assert_eq!(paths("use super::Mapper;"), ["crate::map::Mapper"]);
        assert_eq!(paths("use super::super::launch::X;"), ["crate::launch::X"]);
        assert_eq!(paths("use super::{super::launch, Y};"), ["crate::launch", "crate::map::Y"]);
        assert_eq!(paths("use self::inner::X;"), ["crate::map::drb::inner::X"]);
        let nested =
            "mod tests { use super::*; use super::super::super::ids; } use super::super::b;";
        assert_eq!(paths(nested), ["crate::map::drb::*", "crate::ids", "crate::b"]);
    }

    #[test]
    fn paths_in_code_count_as_uses_do() {
        assert_eq!(paths("fn f(x: &crate::ids::Rank) {}"), ["crate::ids::Rank"]);
        assert_eq!(paths("$crate::cluster::load(x)"), ["crate::cluster::load"]);
        assert_eq!(paths("Vec::<crate::ids::Rank>::new()"), ["Vec", "crate::ids::Rank"]);
        assert_eq!(paths("if a { crate :: ids :: f() }"), ["crate::ids::f"]);
    }

    #[test]
    fn comments_and_quotes_are_not_code() {
        assert!(paths("// crate::a\n/* crate::b /* crate::c */ crate::d */").is_empty());
        assert!(paths(r##"let s = "crate::a \" crate::b"; let r = r#"crate::"c"#;"##).is_empty());
        assert!(paths(r"let c = ['{', '\'', '\u{7f}']; let b = b'}';").is_empty());
        let lifetime = "fn f<'a>(x: &'a str) -> crate::ids::Rank<'a> {}";
        assert_eq!(paths(lifetime), ["crate::ids::Rank"]);
        assert_eq!(paths("let raw = crate::r; for r in x { br }"), ["crate::r"]);
    }

    #[test]
    fn lines_and_test_modules_are_known() {
        let used =
            used_paths("\n\"two\nlines\";\nuse std::env;\nmod tests {\nuse std::fs;\n}", &[]);
        let facts: Vec<(usize, bool)> = used.iter().map(|u| (u.line, u.in_tests)).collect();
        assert_eq!(facts, [(4, false), (6, true)]);
    }
}
