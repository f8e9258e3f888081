//! Events of security tools: CEF and LEEF, with a header of syslog before them or not, and auditd.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memmem};

use super::times;
use super::writer::Writer;
use crate::error::{Error, Result};
use crate::ingest::xsv::convert::Convert;
use crate::times::{Form, Unit};

/// Keys of CEF and LEEF whose values are times: milliseconds since 1970, or texts.
const TIMES: &[&[u8]] = &[
    b"rt",
    b"start",
    b"end",
    b"art",
    b"mrt",
    b"devTime",
    b"deviceReceiptTime",
    b"startTime",
    b"endTime",
    b"managerReceiptTime",
    b"deviceCustomDate1",
    b"deviceCustomDate2",
    b"flexDate1",
    b"fileCreateTime",
    b"fileModificationTime",
    b"oldFileCreateTime",
    b"oldFileModificationTime",
];

/// Keys of auditd whose values are whole numbers; all others are texts, since many are hexadecimal.
const NUMBERS: &[&[u8]] = &[
    b"syscall",
    b"exit",
    b"items",
    b"item",
    b"ppid",
    b"pid",
    b"auid",
    b"uid",
    b"gid",
    b"euid",
    b"suid",
    b"fsuid",
    b"egid",
    b"sgid",
    b"fsgid",
    b"ouid",
    b"ogid",
    b"ses",
    b"inode",
    b"argc",
    b"opid",
    b"oauid",
    b"oses",
    b"lport",
    b"rport",
    b"spid",
    b"sauid",
    b"old-auid",
    b"old-ses",
    b"sig",
    b"entries",
];

/// Writes `CEF:0|vendor|product|version|signature|name|severity|key=value ...`; gives whether a year was guessed.
pub(super) fn cef(line: &[u8], reference: i64, writer: &mut Writer) -> Result<bool> {
    let (is_guessed, text) = header(line, b"CEF:", reference, writer)?;
    let names =
        [&b"version"[..], b"vendor", b"product", b"device_version", b"signature", b"name", b"severity"];
    let rest = columns(text, &names, line.len() - text.len(), writer)?;
    let mut is_yearless = false;
    let mut pairs = keys(rest).into_iter().peekable();
    while let Some((key, start)) = pairs.next() {
        let end = pairs.peek().map_or(rest.len(), |(next, _)| next.start);
        let value = unescaped(rest[start..end].trim_ascii());
        is_yearless |= pair(&rest[key], &value, reference, writer);
    }
    Ok(is_guessed || is_yearless)
}

/// Writes `LEEF:1.0|vendor|product|version|event|` and pairs between tabs, or between what version 2.0 names.
pub(super) fn leef(line: &[u8], reference: i64, writer: &mut Writer) -> Result<bool> {
    let (is_guessed, text) = header(line, b"LEEF:", reference, writer)?;
    let names = [&b"version"[..], b"vendor", b"product", b"device_version", b"event_id"];
    let mut rest = columns(text, &names, line.len() - text.len(), writer)?;
    let mut delimiter = b'\t';
    if text.starts_with(b"2")
        && let Some(bar) = memchr(b'|', rest).filter(|&bar| bar <= 4)
    {
        delimiter = named_byte(&rest[..bar]).unwrap_or(b'\t');
        rest = &rest[bar + 1..];
    }
    let mut is_yearless = false;
    for item in rest.split(|&byte| byte == delimiter) {
        if let Some(equals) = memchr(b'=', item) {
            is_yearless |= pair(item[..equals].trim_ascii(), &item[equals + 1..], reference, writer);
        }
    }
    Ok(is_guessed || is_yearless)
}

/// The byte that `^`, `x5E` or `0x5E` names.
fn named_byte(text: &[u8]) -> Option<u8> {
    if let [byte] = text {
        return Some(*byte);
    }
    let text = text.strip_prefix(b"0").unwrap_or(text);
    let digits = text.strip_prefix(b"x").or_else(|| text.strip_prefix(b"X"))?;
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Writes what syslog puts before an event; gives whether its year was guessed, and the text behind the mark.
fn header<'a>(line: &'a [u8], mark: &[u8], reference: i64, writer: &mut Writer) -> Result<(bool, &'a [u8])> {
    let Some(at) = memmem::find(line, mark) else {
        return Err(Error::syntax(0, format!("no {}", String::from_utf8_lossy(mark))));
    };
    let mut rest = line[..at].trim_ascii();
    if let (Some(b'<'), Some(end)) = (rest.first(), memchr(b'>', rest)) {
        rest = rest[end + 1..].trim_ascii_start();
        rest = rest.strip_prefix(b"1 ").unwrap_or(rest);
    }
    let mut is_guessed = false;
    if let Some(time) = times::bsd(rest, reference) {
        writer.local_time(b"time", time.us);
        (rest, is_guessed) = (time.rest, time.is_guessed);
    } else {
        let word = memchr(b' ', rest).map_or(rest, |end| &rest[..end]);
        if let Some(us) = writer.moment(word) {
            writer.time(b"time", us);
            rest = &rest[word.len()..];
        }
    }
    let host = rest.trim_ascii();
    let host = memchr(b' ', host).map_or(host, |end| &host[..end]);
    if !host.is_empty() {
        writer.text(b"host", host);
    }
    Ok((is_guessed, &line[at + mark.len()..]))
}

/// Writes the columns at the front, each of which a bar ends; gives what is behind them.
fn columns<'a>(text: &'a [u8], names: &[&[u8]], at: usize, writer: &mut Writer) -> Result<&'a [u8]> {
    let mut rest = text;
    for name in names {
        let end = memchr_iter(b'|', rest).find(|&bar| !is_escaped(rest, bar));
        let Some(end) = end else {
            let message = format!("no column {} between bars", String::from_utf8_lossy(name));
            return Err(Error::syntax(at + text.len() - rest.len(), message));
        };
        let value = unescaped(&rest[..end]);
        if !value.is_empty() {
            writer.text(name, &value);
        }
        rest = &rest[end + 1..];
    }
    Ok(rest)
}

/// Where the keys of a text are, and where their values begin: values may have spaces, and signs with a backslash.
fn keys(text: &[u8]) -> Vec<(std::ops::Range<usize>, usize)> {
    let is_part =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'[' | b']');
    memchr_iter(b'=', text)
        .filter_map(|equals| {
            let length = text[..equals].iter().rev().take_while(|byte| is_part(byte)).count();
            let start = equals - length;
            let is_key = length > 0 && (start == 0 || text[start - 1] == b' ');
            is_key.then_some((start..equals, equals + 1))
        })
        .collect()
}

fn is_escaped(text: &[u8], at: usize) -> bool {
    text[..at].iter().rev().take_while(|&&byte| byte == b'\\').count() % 2 == 1
}

/// The text that is meant: backslashes stand before bars, equals signs, backslashes and the letters of line ends.
fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr(b'\\', text).is_none() {
        return Cow::Borrowed(text);
    }
    let (mut out, mut rest) = (vec![], text);
    while let Some((&byte, after)) = rest.split_first() {
        let (kept, length) = match (byte, after.first()) {
            (b'\\', Some(&next @ (b'|' | b'=' | b'\\'))) => (next, 2),
            (b'\\', Some(b'n')) => (b'\n', 2),
            (b'\\', Some(b'r')) => (b'\r', 2),
            _ => (byte, 1),
        };
        out.push(kept);
        rest = &rest[length..];
    }
    Cow::Owned(out)
}

/// Writes a pair; gives whether its year was guessed.
fn pair(key: &[u8], value: &[u8], reference: i64, writer: &mut Writer) -> bool {
    if key.is_empty() || value.is_empty() {
        return false;
    }
    if !TIMES.contains(&key) {
        writer.guess(key, value);
        return false;
    }
    if value.iter().all(u8::is_ascii_digit) {
        writer.told_time(key, value, &Form::Unix(Unit::Milliseconds));
    } else if let Some(us) = writer.moment(value) {
        writer.time(key, us);
    } else if let Some(time) =
        times::bsd(value, reference).filter(|time| matches!(time.rest, b"" | b" UTC" | b" GMT"))
    {
        if time.rest.is_empty() {
            writer.local_time(key, time.us);
        } else {
            writer.time(key, time.us);
        }
        return time.is_guessed;
    } else {
        writer.text(key, value);
    }
    false
}

/// Writes a line of auditd: `type=SYSCALL msg=audit(1364481363.243:24287): arch=c000003e pid=3538 comm="cat"`.
pub(super) fn auditd(line: &[u8], writer: &mut Writer) -> Result<()> {
    const EXPECTED: &str = "type=... msg=audit(SECONDS:NUMBER): was expected";
    let at = memmem::find(line, b"msg=audit(").ok_or_else(|| Error::syntax(0, EXPECTED))?;
    audit_pairs(&line[..at], writer);
    let stamp = &line[at + b"msg=audit(".len()..];
    let close = memchr(b')', stamp).ok_or_else(|| Error::syntax(at, EXPECTED))?;
    let colon = memchr(b':', &stamp[..close]).ok_or_else(|| Error::syntax(at, EXPECTED))?;
    let time = Unit::Seconds.read(&stamp[..colon]).ok_or_else(|| Error::syntax(at, EXPECTED))?;
    writer.time(b"time", time.us);
    writer.converted(b"serial", &stamp[colon + 1..close], &Convert::Int);
    let rest = &stamp[close + 1..];
    audit_pairs(rest.strip_prefix(b":").unwrap_or(rest), writer);
    Ok(())
}

/// Writes pairs between spaces; those that a program said are in single quotes, `msg='op=login res=success'`.
fn audit_pairs(text: &[u8], writer: &mut Writer) {
    let is_space = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0x1d;
    let mut rest = text;
    loop {
        let skipped = rest.iter().take_while(|byte| is_space(byte) || matches!(byte, b',' | b'\'')).count();
        rest = &rest[skipped..];
        if rest.is_empty() {
            return;
        }
        let word = rest.iter().position(is_space).unwrap_or(rest.len());
        let Some(equals) = memchr(b'=', &rest[..word]) else {
            rest = &rest[word..];
            continue;
        };
        let (key, value) = (&rest[..equals], &rest[equals + 1..]);
        if let [b'\'', inner @ ..] = value {
            rest = inner;
            continue;
        }
        let length = match value {
            [b'"', inner @ ..] => memchr(b'"', inner).map_or(value.len(), |end| end + 2),
            _ => value.iter().position(|byte| is_space(byte) || *byte == b'\'').unwrap_or(value.len()),
        };
        let text = &value[..length];
        let text = text.strip_prefix(b"\"").map_or(text, |inner| inner.strip_suffix(b"\"").unwrap_or(inner));
        if NUMBERS.contains(&key) {
            writer.converted(key, text, &Convert::Int);
        } else if !key.is_empty() && !text.is_empty() {
            writer.text(key, text);
        }
        rest = &value[length..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_cef_may_have_spaces_and_signs() {
        let text = br"src=10.0.0.1 msg=a b\=c d act=x\\ cs1Label=q r=";
        let found: Vec<_> = keys(text).into_iter().map(|(key, _)| text[key].to_vec()).collect();
        assert_eq!(found, [&b"src"[..], b"msg", b"act", b"cs1Label", b"r"]);
        assert_eq!(&*unescaped(br"a \| b \= \\ \q \n"), b"a | b = \\ \\q \n");
        assert_eq!(
            [&b"^"[..], b"x5E", b"0x5e", b"", b"xx"].map(named_byte),
            [Some(b'^'), Some(b'^'), Some(b'^'), None, None]
        );
    }
}
