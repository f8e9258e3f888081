//! Groups as rows of keys: put in order, and made into columns.
//!
//! A row is the keys of its values (see [`super::key`]), each after its length in 4 bytes.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray,
    TimestampMicrosecondArray, UInt8Array,
};
use arrow_schema::{Field, Schema, SchemaRef};

use super::key;
use super::plan::Letter;
use super::predicate::order;
use super::value::{Number, bits};
use crate::error::{Error, Result};
use crate::json::sink::Sink;
use crate::natives::key::{Key, parse, put_json};

/// Bytes of the length of a key.
const LENGTH: usize = 4;
/// Rows of a batch.
const BATCH_ROWS: usize = 16_384;

/// Appends a key that `write` writes.
pub(super) fn put(row: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
    let start = row.len();
    row.extend([0; LENGTH]);
    write(row)?;
    let length = (row.len() - start - LENGTH) as u32;
    row[start..start + LENGTH].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

fn put_text(row: &mut Vec<u8>, text: &[u8]) {
    row.extend((text.len() as u32).to_le_bytes());
    row.extend(text);
}

pub(super) fn put_number(row: &mut Vec<u8>, number: Number) {
    let mut text = Vec::new();
    key::put_number(number, &mut text);
    put_text(row, &text);
}

pub(super) fn put_time(row: &mut Vec<u8>, us: i64) {
    let mut text = Vec::new();
    key::put_time(us, &mut text);
    put_text(row, &text);
}

pub(super) fn put_null(row: &mut Vec<u8>) {
    put_text(row, b"z");
}

/// The key at a place of a row.
fn part(mut row: &[u8], place: usize) -> &str {
    for left in (0..=place).rev() {
        let Some((length, rest)) = row.split_first_chunk::<LENGTH>() else { break };
        let Some((text, rest)) = rest.split_at_checked(u32::from_le_bytes(*length) as usize) else { break };
        if left == 0 {
            return std::str::from_utf8(text).unwrap_or_default();
        }
        row = rest;
    }
    ""
}

/// How rows are put in order.
#[derive(Debug, Clone, Copy)]
pub struct Sort {
    /// The place of the value.
    pub place: usize,
    /// Whether greater values come first.
    pub descending: bool,
    /// Whether nulls come last and not first, whatever else.
    pub nulls_last: bool,
}

impl Sort {
    /// Lists and structs come last, in no order.
    fn compare(self, a: &Key<'_>, b: &Key<'_>) -> Ordering {
        let is_null = |key: &Key<'_>| matches!(key, Key::Null) == self.nulls_last;
        let is_nested = |key: &Key<'_>| type_bit(key) >= bits::LIST;
        let fixed = is_null(a).cmp(&is_null(b)).then(is_nested(a).cmp(&is_nested(b)));
        let by_value = type_bit(a).cmp(&type_bit(b)).then_with(|| match (a, b) {
            (Key::Bool(a), Key::Bool(b)) => a.cmp(b),
            (Key::Time(a), Key::Time(b)) => a.cmp(b),
            (Key::Text(a), Key::Text(b)) => a.cmp(b),
            _ => match (number(a), number(b)) {
                (Some(a), Some(b)) => order(a, b),
                _ => Ordering::Equal,
            },
        });
        fixed.then(if self.descending { by_value.reverse() } else { by_value })
    }
}

/// The values that decide about the place of a row.
fn values<'a>(row: &'a [u8], by: &[Sort]) -> Vec<Key<'a>> {
    by.iter().map(|sort| parse(part(row, sort.place)).unwrap_or(Key::Null)).collect()
}

fn type_bit(key: &Key<'_>) -> u8 {
    match key {
        Key::Null => bits::NULL,
        Key::Bool(_) => bits::BOOL,
        Key::Int(_) | Key::Float(_) => bits::NUMBER,
        Key::Time(_) => bits::TIME,
        Key::Text(_) => bits::TEXT,
        Key::List(_) => bits::LIST,
        Key::Struct(_) => bits::STRUCT,
    }
}

fn number(key: &Key<'_>) -> Option<Number> {
    match key {
        Key::Int(value) => Some(Number::Int(*value)),
        Key::Float(value) => Some(Number::Float(*value)),
        _ => None,
    }
}

/// Rows that are known.
#[derive(Debug)]
pub struct Answer {
    rows: Vec<Vec<u8>>,
}

impl Answer {
    pub(super) fn new(rows: Vec<Vec<u8>>) -> Self {
        Self { rows }
    }

    /// Puts the rows in order; those that are equal stay as they stand.
    pub fn sort(&mut self, by: &[Sort]) {
        if by.is_empty() {
            return;
        }
        let rows = std::mem::take(&mut self.rows);
        let mut sorted: Vec<(Vec<Key<'_>>, usize)> =
            rows.iter().map(|row| values(row, by)).zip(0..).collect();
        sorted.sort_by(|(a, _), (b, _)| {
            let pairs = by.iter().zip(a.iter().zip(b));
            pairs.fold(Ordering::Equal, |so_far, (sort, (a, b))| so_far.then_with(|| sort.compare(a, b)))
        });
        let order: Vec<usize> = sorted.into_iter().map(|(_, number)| number).collect();
        let mut rows: Vec<_> = rows.into_iter().map(Some).collect();
        self.rows = order.into_iter().filter_map(|number| rows[number].take()).collect();
    }

    /// Keeps no more than `limit` rows behind the first `offset`.
    pub fn cut(&mut self, offset: usize, limit: usize) {
        self.rows.truncate(offset.saturating_add(limit));
        self.rows.drain(..offset.min(self.rows.len()));
    }

    /// Columns of lanes, each of a place of the rows.
    pub fn batches(&self, lanes: &[(usize, Letter)]) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        let field = |(number, (_, letter)): (usize, &(usize, Letter))| {
            Field::new(format!("c{number}"), letter.data_type(), true)
        };
        let schema = Arc::new(Schema::new(lanes.iter().enumerate().map(field).collect::<Vec<_>>()));
        let batch = |rows: &[Vec<u8>]| {
            let columns = lanes.iter().map(|(place, letter)| column(rows, *place, *letter));
            let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
            RecordBatch::try_new_with_options(Arc::clone(&schema), columns.collect::<Result<_>>()?, &options)
                .map_err(|error| Error::argument(format!("no Arrow array: {error}")))
        };
        let batches = self.rows.chunks(BATCH_ROWS).map(batch).collect::<Result<_>>()?;
        Ok((schema, batches))
    }
}

fn column(rows: &[Vec<u8>], place: usize, letter: Letter) -> Result<ArrayRef> {
    let texts = || rows.iter().map(|row| part(row, place));
    let keys = || texts().map(parse);
    Ok(match letter {
        Letter::Type => {
            Arc::new(keys().map(|key| Some(key.as_ref().map_or(0, type_bit))).collect::<UInt8Array>())
        }
        Letter::Number => Arc::new(keys().map(|key| Some(number(&key?)?.to_f64())).collect::<Float64Array>()),
        Letter::Integer => Arc::new(
            keys()
                .map(|key| if let Key::Int(value) = key? { Some(value) } else { None })
                .collect::<Int64Array>(),
        ),
        Letter::Text => Arc::new(
            keys()
                .map(|key| if let Key::Text(text) = key? { Some(text) } else { None })
                .collect::<StringArray>(),
        ),
        Letter::Bool => Arc::new(
            keys()
                .map(|key| if let Key::Bool(flag) = key? { Some(flag) } else { None })
                .collect::<BooleanArray>(),
        ),
        Letter::Time => Arc::new(
            keys()
                .map(|key| if let Key::Time(us) = key? { Some(us) } else { None })
                .collect::<TimestampMicrosecondArray>(),
        ),
        Letter::Json => Arc::new(texts().map(|key| Some(json(key))).collect::<StringArray>()),
        _ => return Err(Error::argument(format!("groups have no lane {letter:?}"))),
    })
}

fn json(key: &str) -> String {
    let mut out = Sink::default();
    put_json(&mut out, key);
    String::from_utf8_lossy(out.as_slice()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(keys: &[&str]) -> Vec<u8> {
        let mut row = Vec::new();
        for key in keys {
            put_text(&mut row, key.as_bytes());
        }
        row
    }

    fn sorted(keys: &[&str], descending: bool, nulls_last: bool) -> Vec<String> {
        let mut answer = Answer::new(keys.iter().map(|key| row(&["sx", key])).collect());
        answer.sort(&[Sort { place: 1, descending, nulls_last }]);
        answer.rows.iter().map(|row| part(row, 1).to_owned()).collect()
    }

    #[test]
    fn rows_are_sorted_across_types() {
        let keys = ["{", "sb", "n2", "b1", "t5", "z", "f3fe0000000000000", "[", "b0", "sa", "n-1", "t-5"];
        let up = ["z", "b0", "b1", "n-1", "f3fe0000000000000", "n2", "t-5", "t5", "sa", "sb", "[", "{"];
        assert_eq!(sorted(&keys, false, false), up);
        let down = ["z", "sb", "sa", "t5", "t-5", "n2", "f3fe0000000000000", "n-1", "b1", "b0", "{", "["];
        assert_eq!(sorted(&keys, true, false), down);
        assert_eq!(sorted(&["z", "n1", "["], false, true), ["n1", "[", "z"]);
        assert_eq!(sorted(&["z", "n1", "["], true, true), ["n1", "[", "z"]);
    }

    #[test]
    fn equal_rows_stay_as_they_stand() {
        let rows = [("n1", "sb"), ("n0", "sc"), ("n1", "sa")];
        let mut answer = Answer::new(rows.iter().map(|(a, b)| row(&[a, b])).collect());
        answer.sort(&[Sort { place: 0, descending: true, nulls_last: false }]);
        let second =
            |answer: &Answer| answer.rows.iter().map(|row| part(row, 1).to_owned()).collect::<Vec<_>>();
        assert_eq!(second(&answer), ["sb", "sa", "sc"]);
        answer.cut(1, 1);
        assert_eq!(second(&answer), ["sa"]);
        answer.cut(5, usize::MAX);
        assert_eq!(second(&answer), [""; 0]);
    }

    #[test]
    fn damaged_rows_have_empty_parts() {
        for damaged in [&b""[..], b"\x01", b"\x05\0\0\0ab", b"\x01\0\0\0\xff"] {
            assert_eq!(part(damaged, 0), "");
            assert_eq!(part(damaged, 3), "");
        }
    }
}
