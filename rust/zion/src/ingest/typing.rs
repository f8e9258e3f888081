//! Types of columns of text: CSV, TSV, logfmt and patterns have values without types.
//!
//! The rows at the start of an input propose the type of each column: a number, a truth value or a time only
//! if all of its values are. So no text of a column of texts becomes a number, however much it looks like one
//! (`docs/inputs.md`).

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::json::literal;
use super::json::number::{self, Number};
use crate::error::{Error, Result};
use crate::times::Times;

/// Rows at the start of an input that propose the types of its columns.
pub(super) const SAMPLE_ROWS: usize = 20_000;
/// Where at most one value in this many differs, a warning says that the others have a type.
const NEARLY: u64 = 10;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Its texts as they are.
    Text,
    /// Whole numbers of 64 bits.
    Int,
    /// Numbers as JSON writes them.
    Number,
    /// `true` and `false`.
    Bool,
    /// Instants.
    Time,
}

impl Type {
    /// The word for it in options and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Int => "int",
            Self::Number => "number",
            Self::Bool => "bool",
            Self::Time => "time",
        }
    }

    pub(super) fn from_name(name: &str) -> Result<Self> {
        let known = [Self::Text, Self::Int, Self::Number, Self::Bool, Self::Time];
        known.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let message = format!("{name:?} is no type of a column: text, int, number, bool, time");
            Error::argument(message)
        })
    }
}

/// What a text turned out to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value {
    Text,
    Bool(bool),
    Number(Number),
    Time(i64),
}

/// Numbers as JSON writes them, so that `007` and `+49` stay text, and whole numbers only as far as they stay
/// exact; `true` and `false`; instants as `times` reads them.
pub(super) fn infer(text: &[u8], times: &Times) -> Value {
    if let Some(value) = truth(text) {
        return Value::Bool(value);
    }
    json_number(text)
        .map(Value::Number)
        .or_else(|| times.read(text).map(|found| Value::Time(found.us)))
        .unwrap_or(Value::Text)
}

#[inline]
fn truth(text: &[u8]) -> Option<bool> {
    match text {
        b"true" | b"True" | b"TRUE" => Some(true),
        b"false" | b"False" | b"FALSE" => Some(false),
        _ => None,
    }
}

/// Whether a text is digits, an `e` and digits: what prints floats writes a point or a sign, and hashes in
/// hexadecimal look like this.
fn is_bare_power(text: &[u8]) -> bool {
    memchr::memchr2(b'e', b'E', text).is_some_and(|at| {
        text[..at].iter().all(u8::is_ascii_digit) && text[at + 1..].iter().all(u8::is_ascii_digit)
    })
}

/// Whether a text has an `e`: sixteen bytes are looked at in two words.
#[inline]
fn has_power(text: &[u8]) -> bool {
    const LOWER: u64 = 0x2020_2020_2020_2020;
    const EACH_E: u64 = 0x6565_6565_6565_6565;
    const ONES: u64 = 0x0101_0101_0101_0101;
    let is_in = |bytes: &[u8; 8]| {
        let others = (u64::from_le_bytes(*bytes) | LOWER) ^ EACH_E;
        others.wrapping_sub(ONES) & !others & (ONES << 7) != 0
    };
    match (text.first_chunk(), text.last_chunk()) {
        (Some(first), Some(last)) if text.len() <= 16 => is_in(first) || is_in(last),
        _ => text.iter().any(|byte| byte | 0x20 == b'e'),
    }
}

#[inline]
fn json_number(text: &[u8]) -> Option<Number> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if !matches!(digits, [b'0'..=b'9', ..]) || matches!(digits, [b'0', b'0'..=b'9', ..]) {
        return None;
    }
    if !text.last().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    // With an exponent the digits before it are to be looked at: most numbers have none.
    if has_power(digits)
        && (is_bare_power(text) || digits.windows(2).any(|pair| pair[0] == b'.' && !pair[1].is_ascii_digit()))
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

/// A column with its type; shared by the threads that parse its input.
#[derive(Debug)]
pub struct ColumnType {
    kind: Type,
    /// Values that are of another type, and stay texts.
    departed: AtomicU64,
    /// Of the sample: the type that most values have, how many have it, and how many there are.
    likely: Option<(Type, u64, u64)>,
}

impl ColumnType {
    /// A column whose type the user says.
    pub(super) fn said(kind: Type) -> Arc<Self> {
        Arc::new(Self { kind, departed: AtomicU64::new(0), likely: None })
    }

    /// The value of a text; `time` reads it as an instant.
    #[inline]
    pub(super) fn value(&self, text: &[u8], time: impl FnOnce() -> Option<i64>) -> Value {
        let found = match self.kind {
            Type::Text => return Value::Text,
            Type::Int => literal::int(text).map(|value| Value::Number(Number::Int(value))),
            Type::Number => json_number(text).map(Value::Number),
            Type::Bool => truth(text).map(Value::Bool),
            Type::Time => time().map(Value::Time),
        };
        found.unwrap_or_else(|| {
            self.departed.fetch_add(1, Ordering::Relaxed);
            Value::Text
        })
    }

    /// Whether its values are instants.
    pub(super) fn is_time(&self) -> bool {
        self.kind == Type::Time
    }

    fn note(&self, name: &[u8]) -> Option<ColumnNote> {
        let departed = self.departed.load(Ordering::Relaxed);
        let likely = self.likely.filter(|_| self.kind == Type::Text);
        (departed > 0 || likely.is_some()).then(|| ColumnNote {
            column: String::from_utf8_lossy(name).into_owned(),
            kind: likely.map_or(self.kind, |(kind, ..)| kind),
            departed,
            sample: likely.map(|(_, fitting, values)| (fitting, values)),
        })
    }
}

/// The types of fields whose values have none, by name.
pub type ColumnTypes = HashMap<Box<[u8]>, Arc<ColumnType>>;

/// What a user should know of the type of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnNote {
    /// Its name.
    pub column: String,
    /// Its type, or the one that most of the values in the sample have.
    pub kind: Type,
    /// Values that are of another type, and stay texts.
    pub departed: u64,
    /// Where all values stay texts: how many of the sample have the type, of how many.
    pub sample: Option<(u64, u64)>,
}

/// What the values at the start of an input say of the type of their column.
#[derive(Debug, Clone, Default)]
pub(super) struct Evidence {
    values: u64,
    numbers: u64,
    bools: u64,
    times: u64,
    /// Digits behind the point of numbers that have one: the least, and the most.
    places: Option<(usize, usize)>,
    /// Whether a number ends with a zero that a float would not have.
    is_padded: bool,
}

impl Evidence {
    /// Sees a text, unless what it looks like changes nothing: in a sample where so many others differ.
    pub(super) fn see(&mut self, text: &[u8], times: &Times) {
        let most = self.numbers.max(self.bools).max(self.times);
        if (self.values - most) * NEARLY <= SAMPLE_ROWS as u64 {
            self.see_as(text, infer(text, times));
        }
    }

    /// Sees a text and the value that it looks like.
    pub(super) fn see_as(&mut self, text: &[u8], value: Value) {
        self.values += 1;
        match value {
            Value::Text => {}
            Value::Bool(_) => self.bools += 1,
            Value::Time(_) => self.times += 1,
            Value::Number(_) => {
                self.numbers += 1;
                self.see_places(text);
            }
        }
    }

    fn see_places(&mut self, text: &[u8]) {
        let Some(point) = memchr::memchr(b'.', text) else { return };
        let places = text[point + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (least, most) = self.places.unwrap_or((places, places));
        self.places = Some((least.min(places), most.max(places)));
        self.is_padded |= places > 1 && text.last() == Some(&b'0');
    }

    /// Whether numbers have zeros at the end and not all the same digits behind the point: they are versions,
    /// of which 1.10 is not 1.1.
    fn are_versions(&self) -> bool {
        self.is_padded && self.places.is_some_and(|(least, most)| least < most)
    }

    /// The type of the column.
    pub(super) fn decide(&self) -> Arc<ColumnType> {
        let counts = [(Type::Number, self.numbers), (Type::Bool, self.bools), (Type::Time, self.times)];
        let (kind, fitting) = counts.into_iter().max_by_key(|&(_, count)| count).unwrap_or((Type::Text, 0));
        let all = self.values > 0 && fitting == self.values && !(kind == Type::Number && self.are_versions());
        let nearly = fitting < self.values && fitting * NEARLY >= self.values * (NEARLY - 1);
        Arc::new(ColumnType {
            kind: if all { kind } else { Type::Text },
            departed: AtomicU64::new(0),
            likely: nearly.then_some((kind, fitting, self.values)),
        })
    }
}

/// Notes on columns, of those that need one, by name.
pub fn notes<'a>(columns: impl IntoIterator<Item = (&'a [u8], &'a Arc<ColumnType>)>) -> Vec<ColumnNote> {
    let mut notes: Vec<_> = columns.into_iter().filter_map(|(name, kind)| kind.note(name)).collect();
    notes.sort_by(|one, other| one.column.cmp(&other.column));
    notes
}

/// The types of columns that the user says: `id:text,n:int`.
pub(super) fn said(text: &str) -> Result<Vec<(Box<[u8]>, Type)>> {
    text.split(',')
        .filter(|item| !item.trim().is_empty())
        .map(|item| {
            let (name, kind) = item.rsplit_once(':').ok_or_else(|| {
                Error::argument(format!("columns: {item:?} is no NAME:TYPE, such as id:text"))
            })?;
            Ok((name.trim().as_bytes().into(), Type::from_name(kind.trim())?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: Value) -> String {
        match value {
            Value::Text => "text".into(),
            Value::Bool(value) => value.to_string(),
            Value::Number(number) => format!("{number:?}"),
            Value::Time(us) => format!("Time({us})"),
        }
    }

    #[test]
    fn an_e_is_found_wherever_it_stands() {
        for length in 0..40 {
            for at in 0..=length {
                for letter in [b'e', b'E', b'd', b'f', 0xE5] {
                    let mut text = vec![b'7'; length];
                    text.insert(at, letter);
                    assert_eq!(has_power(&text), matches!(letter, b'e' | b'E'), "{text:?}");
                }
            }
        }
    }

    #[test]
    fn values_are_what_they_look_like() {
        for (text, expected) in [
            ("0", "Int(0)"),
            ("-17", "Int(-17)"),
            ("1.50", "Float(1.5)"),
            ("2.0", "Int(2)"),
            ("1.5e3", "Int(1500)"),
            ("1e+3", "Int(1000)"),
            ("1e3", "text"),
            ("12345e7", "text"),
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
            assert_eq!(shown(infer(text.as_bytes(), &Times::default())), expected, "{text}");
        }
    }

    #[test]
    fn a_column_has_a_type_only_if_all_of_its_values_have_it() {
        for (texts, expected) in [
            (&["1", "2.5", "-3"][..], Type::Number),
            (&["1", "2.5", "a1"], Type::Text),
            (&["1", "01234"], Type::Text),
            (&["1.9", "1.10", "1.1"], Type::Text),
            (&["1.90", "1.10", "0.25"], Type::Number),
            (&["1.0", "2.25"], Type::Number),
            (&["1", "12345e7"], Type::Text),
            (&["true", "FALSE"], Type::Bool),
            (&["true", "1"], Type::Text),
            (&["2024-03-04 05:06:07", "2024-03-04T05:06:07Z"], Type::Time),
            (&["2024-03-04 05:06:07", "-"], Type::Text),
            (&[], Type::Text),
        ] {
            let mut evidence = Evidence::default();
            for text in texts {
                evidence.see_as(text.as_bytes(), infer(text.as_bytes(), &Times::default()));
            }
            assert_eq!(evidence.decide().kind, expected, "{texts:?}");
        }
    }

    #[test]
    fn what_departs_from_a_type_stays_text_and_is_counted() {
        let column = ColumnType::said(Type::Int);
        assert_eq!(column.value(b"7", || None), Value::Number(Number::Int(7)));
        assert_eq!(column.value(b"x", || None), Value::Text);
        let numbers = ColumnType::said(Type::Number);
        assert_eq!(numbers.value(b"12345e7", || None), Value::Text);
        let notes = notes([(b"n".as_slice(), &column)]);
        assert_eq!(notes.iter().map(|note| (note.kind, note.departed)).collect::<Vec<_>>(), [(Type::Int, 1)]);
    }
}
