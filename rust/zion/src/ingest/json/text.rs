//! Strings of JSON text.

use crate::error::{Error, Result};

/// Appends the text between two quotes with its escapes resolved. `at` is its offset, for errors.
///
/// Two escaped surrogates that belong together become one character; one alone becomes U+FFFD.
pub fn unescape(raw: &[u8], at: usize, out: &mut Vec<u8>) -> Result<()> {
    let mut rest = raw;
    while let Some(position) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..position]);
        let offset = at + raw.len() - rest.len() + position;
        let escape = &rest[position + 1..];
        let plain = match escape.first() {
            Some(byte @ (b'"' | b'\\' | b'/')) => *byte,
            Some(b'b') => 0x08,
            Some(b'f') => 0x0C,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'a') => 0x07,
            Some(b'v') => 0x0B,
            Some(b'u') => {
                let used = unicode(&escape[1..], offset, out)?;
                rest = &escape[1 + used..];
                continue;
            }
            _ => return Err(Error::syntax(offset, "an unknown escape in a string")),
        };
        out.push(plain);
        rest = &escape[1..];
    }
    out.extend_from_slice(rest);
    Ok(())
}

/// Appends the character of one `\u` escape, or of two that make a pair; gives the bytes used after `\u`.
fn unicode(digits: &[u8], offset: usize, out: &mut Vec<u8>) -> Result<usize> {
    let unit = |digits: &[u8]| -> Option<u32> {
        let digits = digits.first_chunk::<4>()?;
        digits.iter().try_fold(0, |value, &digit| Some(value << 4 | (digit as char).to_digit(16)?))
    };
    let Some(first) = unit(digits) else {
        return Err(Error::syntax(offset, "four hexadecimal digits were expected after \\u"));
    };
    let mut used = 4;
    let mut code = first;
    if (0xD800..0xDC00).contains(&first)
        && let Some(low) = digits[4..].strip_prefix(b"\\u").and_then(unit)
        && (0xDC00..0xE000).contains(&low)
    {
        code = 0x10000 + ((first - 0xD800) << 10) + (low - 0xDC00);
        used = 10;
    }
    let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    Ok(used)
}
