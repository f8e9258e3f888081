//! `MongoDB`'s extended JSON, canonical and relaxed, as `mongoexport` and drivers write it: values that JSON has not are
//! objects with a name that begins with `$`.

use super::walk::{MOST_DEPTH, inside, is_named, join, member, members, put_instant};

/// A decimal with more digits is no double, and stays a text.
const EXACT_DIGITS: usize = 15;

/// Appends a value in plain JSON.
pub(super) fn value(text: &[u8], out: &mut Vec<u8>, depth: u32) -> Option<()> {
    (depth < MOST_DEPTH).then_some(())?;
    match text.first()? {
        b'{' => {
            let all = members(text)?;
            if all.first().is_some_and(|(name, _)| name.starts_with(b"\"$")) && meant(&all, out)? {
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
        b'[' => {
            out.push(b'[');
            join(out, members(text)?, |out, (_, element)| value(element, out, depth + 1))?;
            out.push(b']');
        }
        _ => out.extend_from_slice(text),
    }
    Some(())
}

/// Appends what an object means; false: it stays one.
fn meant(all: &[(&[u8], &[u8])], out: &mut Vec<u8>) -> Option<bool> {
    let ((name, value), others) = all.split_first()?;
    let digits = inside(value).and_then(|digits| std::str::from_utf8(digits).ok());
    let is_legacy_binary = others.len() == 1 && is_named(others[0].0, "$type");
    if !(others.is_empty() || is_legacy_binary && is_named(name, "$binary")) {
        return Some(false);
    }
    match inside(name)? {
        b"$oid" | b"$symbol" | b"$code" | b"$uuid" => out.extend_from_slice(value),
        b"$date" => return Some(put_date(value, out)),
        b"$numberLong" | b"$numberInt" => match digits.and_then(|digits| digits.parse::<i64>().ok()) {
            Some(number) => out.extend_from_slice(number.to_string().as_bytes()),
            None => return Some(false),
        },
        b"$numberDouble" => match digits {
            Some("NaN" | "Infinity" | "-Infinity") => out.extend_from_slice(inside(value)?),
            Some(text) if is_plain(text) => out.extend_from_slice(text.as_bytes()),
            _ => return Some(false),
        },
        b"$numberDecimal" => match digits {
            Some(text) if is_plain(text) && is_exact(text) => out.extend_from_slice(text.as_bytes()),
            _ => out.extend_from_slice(value),
        },
        b"$binary" if value.first() == Some(&b'"') => out.extend_from_slice(value),
        b"$binary" => match member(&members(value)?, "base64") {
            Some(text) => out.extend_from_slice(text),
            None => return Some(false),
        },
        b"$undefined" => out.extend_from_slice(b"null"),
        _ => return Some(false),
    }
    Some(true)
}

/// Appends a time: a text, or milliseconds since 1970; false: it is neither.
fn put_date(value: &[u8], out: &mut Vec<u8>) -> bool {
    if value.first() == Some(&b'"') {
        out.extend_from_slice(value);
        return true;
    }
    let counted = if value.first() == Some(&b'{') {
        members(value).and_then(|all| inside(member(&all, "$numberLong")?))
    } else {
        Some(value)
    };
    let count = counted.and_then(|text| std::str::from_utf8(text).ok()?.parse::<i64>().ok());
    let length = out.len();
    let is_put = count.and_then(|count| put_instant(out, i128::from(count) * 1_000_000)).is_some();
    if !is_put {
        out.truncate(length);
    }
    is_put
}

/// Whether JSON has the number as it is.
fn is_plain(text: &str) -> bool {
    crate::ingest::json::number::parse(text.as_bytes()).is_ok_and(|(_, used, _)| used == text.len())
}

fn is_exact(text: &str) -> bool {
    let digits = text.split(['e', 'E']).next().unwrap_or_default();
    digits.bytes().filter(u8::is_ascii_digit).count() <= EXACT_DIGITS && digits.len() == text.len()
}
