//! Access logs of Apache and nginx: the common and the combined form, with or without the name of the server first.

use memchr::{memchr, memmem, memrchr};

use super::escapes::{closing_quote, unescaped};
use super::writer::Writer;
use crate::error::{Error, Result};

/// Writes the fields of a line; those that are `-` are missing.
pub(super) fn parse(line: &[u8], writer: &mut Writer) -> Result<()> {
    let Some(bracket) = memmem::find(line, b" [") else {
        return Err(Error::syntax(0, "no time in brackets, as in [10/Oct/2000:13:55:36 -0700]"));
    };
    let start = bracket + 2;
    let time = memchr(b']', &line[start..]).map(|length| &line[start..start + length]);
    let Some((us, length)) = time.and_then(|time| writer.moment(time).map(|us| (us, time.len()))) else {
        return Err(Error::syntax(start, "no time such as 10/Oct/2000:13:55:36 -0700 in the brackets"));
    };
    client(&line[..bracket], writer)?;
    writer.time(b"time", us);
    let mut at = start + length + 1;
    request(quoted(line, &mut at, "the request in quotes")?, writer);
    for (name, what) in [(b"status".as_slice(), "the status"), (b"bytes", "the number of bytes")] {
        let text = word(line, &mut at);
        if text != b"-" {
            let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<i64>().ok());
            let Some(number) = number.filter(|_| text[0].is_ascii_digit()) else {
                return Err(Error::syntax(at - text.len(), format!("{what} was expected, a number or -")));
            };
            writer.int(name, number);
        }
    }
    for name in [b"referer".as_slice(), b"agent"] {
        if !line[at..].starts_with(b" \"") {
            break;
        }
        let text = quoted(line, &mut at, "a text in quotes")?;
        if text != b"-" && !text.is_empty() {
            writer.text(name, &unescaped(text, b""));
        }
    }
    let rest = line[at..].trim_ascii();
    if !rest.is_empty() {
        writer.text(b"rest", rest);
    }
    Ok(())
}

/// Writes who asked: `host identity user`, perhaps behind `server:port`. A user may have spaces in its name.
fn client(text: &[u8], writer: &mut Writer) -> Result<()> {
    let mut words = text.splitn(4, |&byte| byte == b' ');
    let mut parts = [b"".as_slice(); 4];
    let mut count = 0;
    for (part, word) in parts.iter_mut().zip(&mut words) {
        *part = word;
        count += 1;
    }
    if count < 3 || parts[0].is_empty() {
        return Err(Error::syntax(0, "a host, an identity and a user were expected before the time"));
    }
    let mut rest = text;
    if count == 4 && is_server(parts[0]) {
        writer.text(b"vhost", parts[0]);
        rest = &text[parts[0].len() + 1..];
    }
    let mut names = rest.splitn(3, |&byte| byte == b' ');
    for name in [b"host".as_slice(), b"identity", b"user"] {
        let value = names.next().unwrap_or_default();
        if !value.is_empty() && value != b"-" && value != b"\"\"" {
            writer.text(name, value);
        }
    }
    Ok(())
}

/// Whether a word is a name with a port.
fn is_server(word: &[u8]) -> bool {
    let Some(colon) = memrchr(b':', word) else { return false };
    let port = &word[colon + 1..];
    memchr(b':', &word[..colon]).is_none() && !port.is_empty() && port.iter().all(u8::is_ascii_digit)
}

/// Writes the request: method, path and protocol, or all of it where it is no such thing.
pub(super) fn request(text: &[u8], writer: &mut Writer) {
    // Load balancers write `- - -` of a connection without a request.
    if text.iter().all(|byte| matches!(byte, b'-' | b' ')) {
        return;
    }
    let method = memchr(b' ', text).map(|end| &text[..end]).unwrap_or_default();
    if method.is_empty() || !method.iter().all(|&byte| byte.is_ascii_uppercase() || byte == b'-') {
        writer.text(b"request", &unescaped(text, b""));
        return;
    }
    let rest = &text[method.len() + 1..];
    let protocol = memrchr(b' ', rest).map(|space| &rest[space + 1..]).unwrap_or_default();
    let has_protocol = protocol.starts_with(b"HTTP/");
    let path = if has_protocol { &rest[..rest.len() - protocol.len() - 1] } else { rest };
    writer.text(b"method", method);
    writer.text(b"path", &unescaped(path, b""));
    if has_protocol {
        writer.text(b"protocol", protocol);
    }
}

/// The text in quotes behind a space at `at`, which is moved behind it.
fn quoted<'a>(line: &'a [u8], at: &mut usize, what: &str) -> Result<&'a [u8]> {
    let text = line[*at..].strip_prefix(b" \"");
    let Some((text, length)) = text.and_then(|text| closing_quote(text).map(|length| (text, length))) else {
        return Err(Error::syntax(*at, format!("{what} was expected")));
    };
    *at += length + 3;
    Ok(&text[..length])
}

/// The word behind a space at `at`, which is moved behind it.
fn word<'a>(line: &'a [u8], at: &mut usize) -> &'a [u8] {
    let rest = &line[*at..];
    let Some(rest) = rest.strip_prefix(b" ") else { return b"" };
    let length = memchr(b' ', rest).unwrap_or(rest.len());
    *at += 1 + length;
    &rest[..length]
}
