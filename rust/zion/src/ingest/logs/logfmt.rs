//! Lines of `key=value` pairs: `level=info msg="it works" retry`.

use memchr::memchr;

use super::escapes::{closing_quote, unescaped};
use super::writer::Writer;
use crate::error::{Error, Result};

/// Writes the pairs of a line. A key alone is true; a value in quotes is a text, or an instant.
pub(super) fn parse(line: &[u8], writer: &mut Writer) -> Result<()> {
    if memchr(b'=', line).is_none() {
        return Err(Error::syntax(0, "no key=value in the line"));
    }
    let mut at = 0;
    while let Some(skipped) = line[at..].iter().position(|byte| !byte.is_ascii_whitespace()) {
        at += skipped;
        let length = line[at..].iter().position(|&byte| byte == b'=' || byte.is_ascii_whitespace());
        let end = length.map_or(line.len(), |length| at + length);
        let key = &line[at..end];
        if key.is_empty() || key.contains(&b'"') {
            return Err(Error::syntax(at, "a key was expected, as in key=value"));
        }
        if line.get(end) != Some(&b'=') {
            writer.flag(key);
            at = end;
            continue;
        }
        at = value(line, end + 1, key, writer)?;
    }
    Ok(())
}

/// Writes the value at `at`; gives the place behind it.
fn value(line: &[u8], at: usize, key: &[u8], writer: &mut Writer) -> Result<usize> {
    let rest = &line[at..];
    if let [b'"', quoted @ ..] = rest {
        let Some(length) = closing_quote(quoted) else {
            return Err(Error::syntax(at, "a quote that is not closed"));
        };
        writer.text_or_time(key, &unescaped(&quoted[..length], b""));
        let end = at + length + 2;
        return match line.get(end) {
            Some(byte) if !byte.is_ascii_whitespace() => {
                Err(Error::syntax(end, "a space was expected behind the quote"))
            }
            _ => Ok(end),
        };
    }
    let length = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
    writer.guess(key, &rest[..length]);
    Ok(at + length)
}
