//! Keys: texts that are equal when, and only when, two values are equal.
//!
//! | value | key |
//! |---|---|
//! | null | `z` |
//! | boolean | `b0`, `b1` |
//! | number that is whole and at most 2^64 away from 0 | `n` and its digits |
//! | other number | `f` and the 16 hex digits of the double |
//! | timestamp | `t` and its microseconds since 1970 |
//! | string | `s` and its text |
//! | list | `[`, then for each element the length of its key, `:`, its key |
//! | struct | `{`, then for each field, sorted by name: length, `:`, name, length, `:`, key |
//!
//! With the fields of structs in their own order the text tells everything of a value, types included: so nested
//! values go through the SQL engine (see [`crate::scan`]).

use std::io::Write;

use crate::error::{Error, Result};
use crate::ion::names::text_of;
use crate::ion::{SymbolTable, kind};
use crate::json::digits;
use crate::json::sink::Sink;
use crate::limits;
use crate::limits::MAX_KEY_DEPTH;
use crate::value::Value;
use crate::value::number::Number;

/// The key of NULL.
pub const NULL: u8 = b'z';

/// The order of the members of structs in a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Members {
    /// By name, so that equal structs have equal keys.
    Sorted,
    /// As they stand in the value.
    AsTheyStand,
}

/// Appends the key of a value.
pub fn put(
    data: &[u8],
    table: &SymbolTable,
    value: Value,
    members: Members,
    out: &mut Vec<u8>,
) -> Result<()> {
    Keys { data, table, members, start: out.len() }.put(value, 0, out)
}

struct Keys<'a> {
    members: Members,
    /// Where the key begins in the output.
    start: usize,
    data: &'a [u8],
    table: &'a SymbolTable,
}

impl Keys<'_> {
    fn put(&self, value: Value, depth: usize, out: &mut Vec<u8>) -> Result<()> {
        if value.header.is_null() {
            out.push(NULL);
            return Ok(());
        }
        if depth > MAX_KEY_DEPTH {
            let message = format!("a value is nested deeper than {MAX_KEY_DEPTH} levels");
            return Err(Error::corrupt("ion", value.at, message));
        }
        match value.header.kind {
            kind::LIST => self.list(value, depth, out),
            kind::STRUCT => self.fields(value, depth, out),
            _ => self.scalar(value, out),
        }
    }

    fn scalar(&self, value: Value, out: &mut Vec<u8>) -> Result<()> {
        if let Some(text) = value.text(self.data, self.table)? {
            out.push(b's');
            text_lossy(&text, out);
        } else if let Some(number) = value.number(self.data)? {
            put_number(number, out);
        } else if let Some(flag) = value.boolean() {
            out.extend([b'b', b'0' + u8::from(flag)]);
        } else if let Some(us) = value.time(self.data)? {
            put_time(us, out);
        } else {
            return Err(value.unknown());
        }
        limits::check_row(out.len() - self.start, value.at)
    }

    fn list(&self, value: Value, depth: usize, out: &mut Vec<u8>) -> Result<()> {
        out.push(b'[');
        for item in value.items(self.data) {
            let start = out.len();
            self.put(item?, depth + 1, out)?;
            put_length_before(out, start);
        }
        Ok(())
    }

    fn fields(&self, value: Value, depth: usize, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let mut fields = Vec::new();
        for field in value.fields(self.data) {
            let (label, value) = field?;
            let name = text_of(self.table, label);
            let place = out.len();
            self.put(value, depth + 1, out)?;
            put_length_before(out, place);
            fields.push((name, place - start..out.len() - start));
        }
        // Of two fields of one name the first counts, here as everywhere.
        fields.sort_by(|(a, _), (b, _)| a.cmp(b));
        fields.dedup_by(|(later, _), (first, _)| later == first);
        if self.members == Members::AsTheyStand {
            fields.sort_unstable_by_key(|(_, range)| range.start);
        }
        let keys = out.split_off(start);
        out.push(b'{');
        for (name, range) in fields {
            put_decimal(name.len() as i64, out);
            out.push(b':');
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(&keys[range]);
        }
        Ok(())
    }
}

/// Appends the key of a number.
pub fn put_number(number: Number, out: &mut Vec<u8>) {
    match number {
        Number::Int(value) => {
            out.push(b'n');
            match i64::try_from(value) {
                Ok(value) => put_decimal(value, out),
                // Writing to a vector does not fail.
                Err(_) => drop(write!(out, "{value}")),
            }
        }
        Number::Float(value) => {
            let value = if value.is_nan() { f64::NAN } else { value };
            // Writing to a vector does not fail.
            drop(write!(out, "f{:016x}", value.to_bits()));
        }
    }
}

/// Appends the key of a timestamp.
pub(crate) fn put_time(us: i64, out: &mut Vec<u8>) {
    out.push(b't');
    put_decimal(us, out);
}

/// Puts the length of what was written from `start` on, and a colon, in front of it.
fn put_length_before(out: &mut Vec<u8>, start: usize) {
    let end = out.len();
    put_decimal((end - start) as i64, out);
    out.push(b':');
    let added = out.len() - end;
    out[start..].rotate_right(added);
}

fn put_decimal(value: i64, out: &mut Vec<u8>) {
    let mut digits = [0; 19];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends a text; what is not UTF-8 is replaced as it is in the column of strings.
fn text_lossy(text: &[u8], out: &mut Vec<u8>) {
    if simdutf8::basic::from_utf8(text).is_ok() {
        out.extend_from_slice(text);
    } else {
        out.extend_from_slice(String::from_utf8_lossy(text).as_bytes());
    }
}

/// What a key stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Key<'a> {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// Any other number.
    Float(f64),
    /// Microseconds since 1970.
    Time(i64),
    /// A string.
    Text(&'a str),
    /// The keys of the items.
    List(Parts<'a>),
    /// Names and keys in turn.
    Struct(Parts<'a>),
}

/// Texts, each with its length before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parts<'a> {
    rest: &'a str,
}

impl<'a> Parts<'a> {
    fn take(&mut self) -> Option<&'a str> {
        let (length, rest) = self.rest.split_once(':')?;
        let (part, rest) = rest.split_at_checked(length.parse().ok()?)?;
        self.rest = rest;
        Some(part)
    }
}

impl<'a> IntoIterator for Parts<'a> {
    type Item = &'a str;
    type IntoIter = IntoIter<'a>;

    fn into_iter(self) -> IntoIter<'a> {
        IntoIter(self)
    }
}

/// Goes over texts.
pub struct IntoIter<'a>(Parts<'a>);

impl<'a> Iterator for IntoIter<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.0.take()
    }
}

/// Reads a key; `None` when the text is no key.
pub fn parse(key: &str) -> Option<Key<'_>> {
    let mut units = key.chars();
    let first = units.next()?;
    let rest = units.as_str();
    Some(match first {
        'z' => Key::Null,
        'b' => Key::Bool(rest == "1"),
        'n' => Key::Int(rest.parse().ok()?),
        'f' => Key::Float(f64::from_bits(u64::from_str_radix(rest, 16).ok()?)),
        't' => Key::Time(rest.parse().ok()?),
        's' => Key::Text(rest),
        '[' => Key::List(Parts { rest }),
        '{' => Key::Struct(Parts { rest }),
        _ => return None,
    })
}

/// Appends the JSON text of the value that a key stands for; nothing when the text is no key.
pub fn put_json(out: &mut Sink, key: &str) {
    let mut open: Vec<(Parts<'_>, bool)> = Vec::new();
    let mut next = Some(key);
    let mut is_first = true;
    loop {
        if let Some(key) = next.take() {
            is_first = false;
            match parse(key) {
                Some(Key::List(parts)) => {
                    put_raw(out, "[");
                    open.push((parts, false));
                    is_first = true;
                }
                Some(Key::Struct(parts)) => {
                    put_raw(out, "{");
                    open.push((parts, true));
                    is_first = true;
                }
                Some(scalar) => put_scalar(out, scalar),
                None => {}
            }
        }
        let Some((parts, is_struct)) = open.last_mut() else { return };
        let Some(part) = parts.take() else {
            put_raw(out, if *is_struct { "}" } else { "]" });
            open.pop();
            is_first = false;
            continue;
        };
        if !is_first {
            put_raw(out, ", ");
        }
        if *is_struct {
            put_text(out, part);
            put_raw(out, ": ");
            next = parts.take();
        } else {
            next = Some(part);
        }
    }
}

/// Appends the JSON text of a value; nothing of lists and structs.
pub fn put_scalar(out: &mut Sink, key: Key<'_>) {
    match key {
        Key::Null => put_raw(out, "null"),
        Key::Bool(value) => put_raw(out, if value { "true" } else { "false" }),
        Key::Int(value) => digits::put_whole(out, value),
        Key::Float(value) => digits::put_float(out, value),
        Key::Time(us) => digits::put_time(out, us),
        Key::Text(text) => put_text(out, text),
        Key::List(_) | Key::Struct(_) => {}
    }
}

fn put_raw(out: &mut Sink, text: &str) {
    out.reserve(text.len() + 8);
    out.copy(text.as_bytes(), 0, text.len());
}

/// Appends a JSON string.
pub fn put_text(out: &mut Sink, text: &str) {
    out.string(text.as_bytes(), 0, text.len());
}

/// The number that a key stands for.
pub fn number(key: &str) -> Option<f64> {
    match parse(key)? {
        Key::Int(value) => Some(value as f64),
        Key::Float(value) => Some(value),
        _ => None,
    }
}

/// The key of a member of a struct.
pub fn field<'a>(key: &'a str, name: &str) -> Option<&'a str> {
    members(key)?.find(|(member, _)| *member == name).map(|(_, value)| value)
}

/// The key of an item of a list, counted from 0.
pub fn item(key: &str, index: i64) -> Option<&str> {
    items(key)?.into_iter().nth(usize::try_from(index).ok()?)
}

/// The number of items of a list, or members of a struct.
pub fn size(key: &str) -> Option<usize> {
    match parse(key)? {
        Key::List(parts) => Some(parts.into_iter().count()),
        Key::Struct(parts) => Some(parts.into_iter().count() / 2),
        _ => None,
    }
}

/// The keys of the items of a list.
pub fn items(key: &str) -> Option<Parts<'_>> {
    match parse(key)? {
        Key::List(parts) => Some(parts),
        _ => None,
    }
}

/// The items of a list that holds nothing but numbers.
pub fn numbers(key: &str) -> Option<Vec<f64>> {
    items(key)?.into_iter().map(number).collect()
}

/// The members of a struct: names and keys.
pub fn members(key: &str) -> Option<impl Iterator<Item = (&str, &str)>> {
    match parse(key)? {
        Key::Struct(mut parts) => Some(std::iter::from_fn(move || Some((parts.take()?, parts.take()?)))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NESTED: &str = "{1:a19:[2:n12:sx1:z5:[2:n21:b8:t1000000";

    fn json(key: &str) -> String {
        let mut out = Sink::default();
        put_json(&mut out, key);
        String::from_utf8_lossy(out.as_slice()).into_owned()
    }

    fn key_of(value: f64) -> String {
        let mut out = Vec::new();
        put_number(value.into(), &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn numbers_have_one_key_each() {
        assert_eq!(key_of(3.0), "n3");
        assert_eq!(key_of(-0.0), "n0");
        assert_eq!(key_of(-9_223_372_036_854_775_808.0), "n-9223372036854775808");
        // The integer 2^63 is the same value, so it has this key as well.
        assert_eq!(key_of(9_223_372_036_854_775_808.0), "n9223372036854775808");
        assert_eq!(key_of(18_446_744_073_709_551_616.0), "n18446744073709551616");
        assert_eq!(key_of(-18_446_744_073_709_555_712.0), "fc3f0000000000001");
        assert_eq!(key_of(0.5), "f3fe0000000000000");
        assert_eq!(key_of(-f64::NAN), key_of(f64::NAN));
        for value in [3.0, 0.5, 1e19, -1.2e19, 1e300, -7.0, f64::INFINITY] {
            assert_eq!(number(&key_of(value)), Some(value));
        }
    }

    #[test]
    fn values_are_printed() {
        assert_eq!(json("z"), "null");
        assert_eq!(json("b1"), "true");
        assert_eq!(json("s\"x\""), r#""\"x\"""#);
        assert_eq!(json("["), "[]");
        assert_eq!(json("{"), "{}");
        assert_eq!(json("f3fe0000000000000"), "0.5");
        assert_eq!(json("[1:[1:{2:n1"), "[[], {}, 1]");
    }

    #[test]
    fn values_are_taken_apart() {
        assert_eq!(json(NESTED), r#"{"a": [1, "x", null, [2]], "b": "1970-01-01T00:00:01Z"}"#);
        let list = field(NESTED, "a").unwrap_or_default();
        assert_eq!(item(list, 1), Some("sx"));
        assert_eq!(item(list, 4), None);
        assert_eq!(item(list, -1), None);
        assert_eq!(size(list), Some(4));
        assert_eq!(size(NESTED), Some(2));
        assert_eq!(numbers(list), None);
        assert_eq!(numbers("[2:n12:n2"), Some(vec![1.0, 2.0]));
        assert_eq!(field(NESTED, "c"), None);
        assert_eq!(field("sx", "a"), None);
    }

    #[test]
    fn nesting_needs_no_stack() {
        let mut key = String::from("[");
        for _ in 0..5_000 {
            key = format!("[{}:{key}", key.len());
        }
        assert_eq!(json(&key).len(), 2 * 5_001);
    }

    #[test]
    fn damaged_keys_end_early() {
        for key in ["", "n", "nx", "fzz", "[9:a", "{1:a", "[:", "[x:1", "é"] {
            json(key);
            size(key);
        }
        assert_eq!(json("[9:a"), "[]");
    }
}
