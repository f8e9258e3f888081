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

use std::io::Write;

use super::value::{Number, Value};
use crate::budget;
use crate::error::{Error, Result};
use crate::ion::{SymbolTable, kind};
use crate::scan::names::text_of;

/// Values nested deeper than this are refused.
pub const MAX_DEPTH: usize = 500;

/// Appends the key of a value.
pub fn put(data: &[u8], table: &SymbolTable, value: Value, out: &mut Vec<u8>) -> Result<()> {
    Keys { data, table, start: out.len() }.put(value, 0, out)
}

struct Keys<'a> {
    /// Where the key begins in the output.
    start: usize,
    data: &'a [u8],
    table: &'a SymbolTable,
}

impl Keys<'_> {
    fn put(&self, value: Value, depth: usize, out: &mut Vec<u8>) -> Result<()> {
        if value.header.is_null() {
            out.push(b'z');
            return Ok(());
        }
        if depth > MAX_DEPTH {
            let message = format!("a value is nested deeper than {MAX_DEPTH} levels");
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
        budget::check_row(out.len() - self.start, value.at)
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
pub(super) fn put_time(us: i64, out: &mut Vec<u8>) {
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
