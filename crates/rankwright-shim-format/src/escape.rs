//! Escapes for text within one word of a line: `%20` for a blank.

/// Escapes blanks, line ends, `%`, everything but ASCII, and these `others`.
pub(crate) fn escaped(text: &[u8], others: &[u8]) -> String {
    let byte = |byte: &u8| match *byte {
        byte @ b'!'..=b'~' if byte != b'%' && !others.contains(&byte) => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    text.iter().map(byte).collect()
}

/// The bytes of an escaped text; `None` if a `%` is not followed by two hexadecimal digits.
pub(crate) fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (code, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    Some(bytes)
}
