//! The text of a column to a value.

use std::borrow::Cow;
use std::sync::Arc;

use crate::chunk::Row;
use crate::chunk::paths::NodeId;
use crate::ingest::json::literal;
use crate::ingest::json::number::{self, Number};
use crate::ion::{self, kind, timestamp};
use crate::times::{Form, Mode};

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
    /// A timestamp of a form that was told.
    Time(Arc<Form>),
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
    fn value(&self, text: &[u8], row: &mut Row, node: NodeId) -> Value {
        let found = match self {
            Self::String => None,
            Self::Number => literal::float(text).map(|value| Value::Number(Number::from_f64(value))),
            Self::Int => literal::int(text).map(|value| Value::Number(Number::Int(value))),
            Self::Bool => word(text).map(Value::Bool),
            Self::BoolTexts { yes, no } => {
                let among = |texts: &[Box<[u8]>]| texts.iter().any(|known| **known == *text);
                if among(yes) { Some(true) } else { among(no).then_some(false) }.map(Value::Bool)
            }
            Self::Datetime => row.paths.time_of_text(node, text).map(Value::Time),
            Self::Time(form) => told(form, text, row).map(Value::Time),
            Self::Infer => infer(text, row, node),
        };
        found.unwrap_or(Value::Text)
    }

    /// Appends the value of a text.
    pub(in crate::ingest) fn put(&self, text: &[u8], row: &mut Row, node: NodeId, indexed: bool) {
        let seen = match self.value(text, row, node) {
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
fn infer(text: &[u8], row: &mut Row, node: NodeId) -> Option<Value> {
    let is_number = matches!(text, [b'-' | b'0'..=b'9', ..]);
    if is_number && let Some(us) = row.paths.time_of_number(node, text) {
        return Some(Value::Time(us));
    }
    plain(text).or_else(|| row.paths.time_of_text(node, text).map(Value::Time))
}

/// The number or truth value that a text is.
fn plain(text: &[u8]) -> Option<Value> {
    match text {
        [b'-' | b'0'..=b'9', ..] => json_number(text).map(Value::Number),
        b"true" | b"True" | b"TRUE" => Some(Value::Bool(true)),
        b"false" | b"False" | b"FALSE" => Some(Value::Bool(false)),
        _ => None,
    }
}

/// The instant of a text of a form that was told: of units the original reads whole numbers alone.
fn told(form: &Form, text: &[u8], row: &mut Row) -> Option<i64> {
    let times = row.paths.times();
    match form {
        Form::Unix(unit) if times.mode() != Mode::All => {
            literal::int(text).map(|count| unit.to_micros(count))
        }
        _ => form.read(text, times.zone()).map(|found| row.paths.kept(found)),
    }
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
        match plain(text.as_bytes()) {
            Some(Value::Bool(value)) => value.to_string(),
            Some(Value::Number(number)) => format!("{number:?}"),
            _ => "text".into(),
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
            ("1970-01-01 00:00:01", "text"),
            ("1970-01-01", "text"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }
}
