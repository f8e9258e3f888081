//! `MongoDB`'s extended JSON, canonical and relaxed, as `mongoexport` and drivers write it: values that JSON has not are
//! objects with a name that begins with `$`.

use super::walk::{MOST_DEPTH, Member, inside, is_named, join, members, put_instant, put_list};

/// A decimal with more digits is no double, and stays a text.
const EXACT_DIGITS: usize = 15;

/// Appends a value in plain JSON.
pub(super) fn value(text: &[u8], out: &mut Vec<u8>, depth: u32) -> Option<()> {
    (depth < MOST_DEPTH).then_some(())?;
    match text.first()? {
        b'{' => {
            let all = members(text)?;
            if all.first().is_some_and(|(name, _)| name.starts_with(b"\"$")) && meant(&all, out).is_some() {
                return Some(());
            }
            out.push(b'{');
            join(out, all, |out, (name, inner)| {
                out.extend_from_slice(name);
                out.push(b':');
                value(inner, out, depth + 1)
            })?;
            out.push(b'}');
        }
        b'[' => put_list(out, text, |out, element| value(element, out, depth + 1))?,
        _ => out.extend_from_slice(text),
    }
    Some(())
}

/// Appends what an object means; none: it stays one.
fn meant(all: &[Member], out: &mut Vec<u8>) -> Option<()> {
    let ((name, value), others) = all.split_first()?;
    let digits = || std::str::from_utf8(inside(value)?).ok();
    let is_legacy_binary = others.len() == 1 && is_named(others[0].0, "$type");
    let is_binary = || is_legacy_binary && is_named(name, "$binary") && is_text(others[0].1);
    if !(others.is_empty() || is_binary()) {
        return None;
    }
    match inside(name)? {
        b"$oid" | b"$symbol" | b"$code" | b"$uuid" | b"$binary" if is_text(value) => {
            out.extend_from_slice(value);
        }
        b"$date" => put_date(value, out)?,
        b"$numberLong" | b"$numberInt" => {
            out.extend_from_slice(digits()?.parse::<i64>().ok()?.to_string().as_bytes());
        }
        b"$numberDouble" => match digits()? {
            text @ ("NaN" | "Infinity" | "-Infinity") => out.extend_from_slice(text.as_bytes()),
            text => out.extend_from_slice(is_plain(text).then_some(text)?.as_bytes()),
        },
        b"$numberDecimal" if is_text(value) => match digits() {
            Some(text) if is_plain(text) && is_exact(text) => out.extend_from_slice(text.as_bytes()),
            _ => out.extend_from_slice(value),
        },
        b"$binary" => match members(value)?[..] {
            [(base64, text), (kind, number)] | [(kind, number), (base64, text)]
                if is_named(base64, "base64")
                    && is_named(kind, "subType")
                    && is_text(text)
                    && is_text(number) =>
            {
                out.extend_from_slice(text);
            }
            _ => return None,
        },
        b"$undefined" if value == b"true" => out.extend_from_slice(b"null"),
        _ => return None,
    }
    Some(())
}

fn is_text(value: &[u8]) -> bool {
    value.first() == Some(&b'"')
}

/// Appends a time: a text, or milliseconds since 1970; none: it is neither.
fn put_date(value: &[u8], out: &mut Vec<u8>) -> Option<()> {
    if is_text(value) {
        out.extend_from_slice(value);
        return Some(());
    }
    let digits = if value.first() == Some(&b'{') {
        match members(value)?[..] {
            [(name, digits)] if is_named(name, "$numberLong") => inside(digits)?,
            _ => return None,
        }
    } else {
        value
    };
    let count = std::str::from_utf8(digits).ok()?.parse::<i64>().ok()?;
    put_instant(out, i128::from(count) * 1_000_000)
}

/// Whether JSON has the number as it is.
fn is_plain(text: &str) -> bool {
    crate::ingest::json::number::parse(text.as_bytes()).is_ok_and(|(_, used, _)| used == text.len())
}

fn is_exact(text: &str) -> bool {
    let digits = text.split(['e', 'E']).next().unwrap_or_default();
    digits.bytes().filter(u8::is_ascii_digit).count() <= EXACT_DIGITS && digits.len() == text.len()
}
