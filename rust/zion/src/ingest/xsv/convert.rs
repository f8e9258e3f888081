//! The text of a column to a value.

use std::borrow::Cow;

use crate::chunk::Row;
use crate::chunk::paths::NodeId;
use crate::ingest::json::literal::{self, Unit};
use crate::ingest::json::number::{self, Number};
use crate::ion::{self, kind, timestamp};

/// What a text stands for. One that does not fit is stored as a string.
#[derive(Debug, Clone, Default)]
pub(in crate::ingest) enum Convert {
    #[default]
    String,
    /// A float literal.
    Number,
    /// A decimal int64.
    Int,
    /// The usual words for true and false.
    Bool,
    /// Other words for true and false.
    BoolTexts { yes: Vec<Box<[u8]>>, no: Vec<Box<[u8]>> },
    /// A timestamp.
    Datetime,
    /// Time since 1970 as a decimal int64.
    Unix(Unit),
    /// Whatever it looks like.
    Infer,
}

/// What a text turned out to be.
enum Value {
    Text,
    Bool(bool),
    Number(Number),
    Time(i64),
}

impl Convert {
    fn value(&self, text: &[u8]) -> Value {
        let found = match self {
            Self::String => None,
            Self::Number => literal::float(text).map(|value| Value::Number(Number::from_f64(value))),
            Self::Int => literal::int(text).map(|value| Value::Number(Number::Int(value))),
            Self::Bool => word(text).map(Value::Bool),
            Self::BoolTexts { yes, no } => {
                let among = |texts: &[Box<[u8]>]| texts.iter().any(|known| **known == *text);
                if among(yes) { Some(true) } else { among(no).then_some(false) }.map(Value::Bool)
            }
            Self::Datetime => timestamp::recognise(text).map(Value::Time),
            Self::Unix(unit) => literal::int(text).map(|count| Value::Time(unit.to_micros(count))),
            Self::Infer => return infer(text),
        };
        found.unwrap_or(Value::Text)
    }

    /// Appends the value of a text.
    pub(in crate::ingest) fn put(&self, text: &[u8], row: &mut Row, node: NodeId, indexed: bool) {
        let seen = match self.value(text) {
            Value::Text => {
                row.put_text(&valid(text), node);
                return;
            }
            Value::Bool(value) => {
                row.out.push(if value { ion::TRUE } else { ion::FALSE });
                kind::BOOL
            }
            Value::Number(number) => {
                let start = row.out.len();
                number.put(row.out);
                row.out[start] >> 4
            }
            Value::Time(us) => {
                timestamp::put(row.out, us);
                row.paths.time_if(node, us, indexed);
                kind::TIMESTAMP
            }
        };
        row.paths.saw(node, seen);
    }
}

/// The text with its malformed parts replaced.
pub(in crate::ingest) fn valid(text: &[u8]) -> Cow<'_, [u8]> {
    match simdutf8::basic::from_utf8(text) {
        Ok(_) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(String::from_utf8_lossy(text).into_owned().into_bytes()),
    }
}

fn word(text: &[u8]) -> Option<bool> {
    match text {
        b"1" | b"t" | b"T" | b"TRUE" | b"true" | b"True" => Some(true),
        b"0" | b"f" | b"F" | b"FALSE" | b"false" | b"False" => Some(false),
        _ => None,
    }
}

/// Numbers as JSON writes them, so that `007` and `+49` stay text, and whole numbers only as far as they
/// stay exact; `true` and `false`; timestamps.
fn infer(text: &[u8]) -> Value {
    match text {
        [b'-' | b'0'..=b'9', ..] => {
            if let Some(number) = json_number(text) {
                return Value::Number(number);
            }
        }
        b"true" | b"True" | b"TRUE" => return Value::Bool(true),
        b"false" | b"False" | b"FALSE" => return Value::Bool(false),
        _ => {}
    }
    timestamp::recognise(text).map_or(Value::Text, Value::Time)
}

fn json_number(text: &[u8]) -> Option<Number> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if matches!(digits, [b'0', b'0'..=b'9', ..]) || !text.last().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    if let Some(point) = memchr::memchr(b'.', digits)
        && !digits.get(point + 1).is_some_and(u8::is_ascii_digit)
    {
        return None;
    }
    let (number, _, whole) = number::parse(text).ok().filter(|&(_, used, _)| used == text.len())?;
    let exact = match number {
        Number::Float(_) => false,
        Number::Int(i64::MIN) => text == b"-9223372036854775808",
        _ => true,
    };
    (exact || !whole).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match infer(text.as_bytes()) {
            Value::Text => "text".into(),
            Value::Bool(value) => value.to_string(),
            Value::Number(number) => format!("{number:?}"),
            Value::Time(us) => format!("Time({us})"),
        }
    }

    #[test]
    fn inference() {
        for (text, expected) in [
            ("0", "Int(0)"),
            ("-17", "Int(-17)"),
            ("1.50", "Float(1.5)"),
            ("2.0", "Int(2)"),
            ("1e3", "Int(1000)"),
            ("18446744073709551615", "UInt(18446744073709551615)"),
            ("18446744073709551616", "text"),
            ("-9223372036854775808", "Int(-9223372036854775808)"),
            ("-9223372036854775809", "text"),
            ("007", "text"),
            ("+49", "text"),
            ("1.", "text"),
            ("1.e5", "text"),
            ("1e", "text"),
            ("-", "text"),
            ("1-2", "text"),
            ("1e999", "text"),
            ("nan", "text"),
            ("True", "true"),
            ("false", "false"),
            ("yes", "text"),
            ("1970-01-01 00:00:01", "Time(1000000)"),
            ("1970-01-01", "text"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }
}
