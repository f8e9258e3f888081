//! Lines of syslog: RFC 5424, RFC 3164, and what daemons write to files.

use memchr::memchr;

use super::escapes::{closing_quote, unescaped};
use super::times;
use super::writer::Writer;
use crate::error::{Error, Result};

/// The largest priority: 23 facilities with 8 severities each, from 0.
const MAX_PRIORITY: u32 = 191;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Writes the fields of a line; gives whether its year was guessed.
pub(super) fn parse(line: &[u8], reference: i64, writer: &mut Writer) -> Result<bool> {
    let (priority, text) = priority(line)?;
    if let Some(priority) = priority {
        writer.int(b"facility", i64::from(priority / 8));
        writer.int(b"severity", i64::from(priority % 8));
    }
    let at = line.len() - text.len();
    if let (Some(_), Some(rest)) = (priority, text.strip_prefix(b"1 ")) {
        return modern(rest, writer).map(|()| false).map_err(|error| error.shifted(at as u64 + 2));
    }
    let (rest, is_guessed) = if let Some(time) = times::bsd(text, reference) {
        writer.local_time(b"time", time.us);
        (time.rest, time.is_guessed)
    } else {
        let (word, rest) = split(text);
        let Some(us) = writer.moment(word) else {
            return Err(Error::syntax(at, "no time such as Oct 11 22:14:15 or 2003-10-11T22:14:15Z"));
        };
        writer.time(b"time", us);
        (rest, false)
    };
    body(rest.strip_prefix(b":").unwrap_or(rest).trim_ascii_start(), writer);
    Ok(is_guessed)
}

/// The number in `<34>` at the front of a line, if there is one, and what is behind it.
fn priority(line: &[u8]) -> Result<(Option<u32>, &[u8])> {
    let Some(rest) = line.strip_prefix(b"<") else { return Ok((None, line)) };
    let length = memchr(b'>', rest).filter(|length| (1..=3).contains(length));
    let digits = length.and_then(|length| std::str::from_utf8(&rest[..length]).ok());
    let number = digits.and_then(|digits| digits.parse::<u32>().ok()).filter(|&it| it <= MAX_PRIORITY);
    match (number, length) {
        (Some(number), Some(length)) => Ok((Some(number), &rest[length + 1..])),
        _ => Err(Error::syntax(0, "no priority such as <34>")),
    }
}

/// What is behind the time in RFC 3164: `host tag[pid]: message`, of which each part may be missing.
fn body(text: &[u8], writer: &mut Writer) {
    let (first, rest) = split(text);
    // Local daemons leave the host out.
    let text = if first.ends_with(b":") || rest.is_empty() {
        text
    } else {
        writer.text(b"host", first);
        rest
    };
    let end = text.iter().position(|byte| matches!(byte, b'[' | b':' | b' ')).unwrap_or(text.len());
    let (tag, mut rest) = text.split_at(end);
    let mut pid = b"".as_slice();
    if let Some(inner) = rest.strip_prefix(b"[")
        && let Some(length) = memchr(b']', inner)
    {
        (pid, rest) = (&inner[..length], &inner[length + 1..]);
    }
    let message = match rest.strip_prefix(b":") {
        Some(message) if !tag.is_empty() => {
            writer.text(b"app", tag);
            if !pid.is_empty() {
                writer.guess(b"pid", pid);
            }
            message.strip_prefix(b" ").unwrap_or(message)
        }
        _ => text,
    };
    writer.text(b"message", message);
}

/// RFC 5424 behind its version: `time host app pid msgid data message`.
fn modern(text: &[u8], writer: &mut Writer) -> Result<()> {
    let (time, mut rest) = split(text);
    if time != b"-" {
        let us = writer.moment(time);
        writer.time(b"time", us.ok_or_else(|| Error::syntax(0, "no time such as 2003-10-11T22:14:15Z"))?);
    }
    for name in [b"host".as_slice(), b"app", b"pid", b"msgid"] {
        let (word, behind) = split(rest);
        if word.is_empty() {
            let at = text.len() - rest.len();
            return Err(Error::syntax(at, "host, app, pid and msgid were expected behind the time"));
        }
        if word != b"-" {
            if name == b"pid" { writer.guess(name, word) } else { writer.text(name, word) }
        }
        rest = behind;
    }
    let at = text.len() - rest.len();
    let rest = match rest {
        [b'-'] => b"",
        [b'-', b' ', rest @ ..] => rest,
        [b'[', ..] => {
            let mut left = rest;
            writer
                .nested(b"data", |data| {
                    while let Some(inner) = left.strip_prefix(b"[") {
                        left = element(inner, data).ok_or_else(malformed)?;
                    }
                    Ok(())
                })
                .map_err(|error: Error| error.shifted(at as u64))?;
            match left {
                [] => b"",
                [b' ', message @ ..] => message,
                _ => return Err(malformed().shifted((text.len() - left.len()) as u64)),
            }
        }
        _ => return Err(malformed().shifted(at as u64)),
    };
    if !rest.is_empty() {
        writer.text(b"message", rest.strip_prefix(BYTE_ORDER_MARK).unwrap_or(rest));
    }
    Ok(())
}

#[cold]
fn malformed() -> Error {
    Error::syntax(0, "structured data was expected: - or [id name=\"value\"]")
}

/// Writes an element of structured data behind its bracket; gives what is behind it, None where it is malformed.
fn element<'a>(text: &'a [u8], data: &mut Writer) -> Option<&'a [u8]> {
    let end = text.iter().position(|byte| matches!(byte, b' ' | b']'))?;
    let (id, mut rest) = text.split_at(end);
    if id.is_empty() {
        return None;
    }
    data.nested(id, |params| {
        while let Some(param) = rest.strip_prefix(b" ") {
            let equals = memchr(b'=', param).filter(|&length| length > 0).ok_or(())?;
            let value = param[equals + 1..].strip_prefix(b"\"").ok_or(())?;
            let length = closing_quote(value).ok_or(())?;
            params.text(&param[..equals], &unescaped(&value[..length], b"]"));
            rest = &value[length + 1..];
        }
        Ok::<(), ()>(())
    })
    .ok()?;
    rest.strip_prefix(b"]")
}

/// The first word, and what is behind the space that ends it.
fn split(text: &[u8]) -> (&[u8], &[u8]) {
    match memchr(b' ', text) {
        Some(end) => (&text[..end], &text[end + 1..]),
        None => (text, b""),
    }
}
