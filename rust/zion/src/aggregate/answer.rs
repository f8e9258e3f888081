//! Groups put in order, and made into columns.
//!
//! The keys of a group are those of its values (see [`crate::value::key`]), each after its length in 4 bytes.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, Float64Array, RecordBatch, RecordBatchOptions, StringArray,
    TimestampMicrosecondArray, UInt8Array,
};
use arrow_schema::{Field, Schema, SchemaRef};

use super::keytable::KeyTable;
use super::totals::{Function, Total};
use crate::error::{Error, Result};
use crate::json::sink::Sink;
use crate::scan::order::{Rank, Sort};
use crate::scan::plan::Letter;
use crate::value::key::{self, Key, parse, put_json, put_scalar};
use crate::value::number::Number;

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

/// Appends the key of a timestamp.
pub(super) fn put_time(row: &mut Vec<u8>, us: i64) -> Result<()> {
    put(row, |out| {
        key::put_time(us, out);
        Ok(())
    })
}

/// Appends the key of NULL.
pub(super) fn put_null(row: &mut Vec<u8>) -> Result<()> {
    put(row, |out| {
        out.push(key::NULL);
        Ok(())
    })
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

/// What tells the place of a key.
fn rank<'a>(key: &Key<'a>) -> Rank<&'a str> {
    match *key {
        Key::Null => Rank::Null,
        Key::Bool(flag) => Rank::Bool(flag),
        Key::Int(value) => Rank::Number(Number::Int(value)),
        Key::Float(value) => Rank::Number(Number::Float(value)),
        Key::Time(us) => Rank::Time(us),
        Key::Text(text) => Rank::Text(text),
        Key::List(_) => Rank::List,
        Key::Struct(_) => Rank::Struct,
    }
}

fn number(key: &Key<'_>) -> Option<Number> {
    if let Rank::Number(number) = rank(key) { Some(number) } else { None }
}

/// Groups that are known.
#[derive(Debug)]
pub struct Answer {
    /// Number of keys of each group.
    width: usize,
    keys: KeyTable,
    functions: Vec<Function>,
    totals: Vec<Total>,
    /// Numbers of groups as they come out.
    order: Vec<usize>,
}

impl Answer {
    pub(super) fn new(width: usize, keys: KeyTable, functions: Vec<Function>, totals: Vec<Total>) -> Self {
        let order = (0..keys.len()).collect();
        Self { width, keys, functions, totals, order }
    }

    /// The key at a place, if there is one.
    fn text(&self, group: usize, place: usize) -> Option<&str> {
        (place < self.width).then(|| part(self.keys.key(group), place))
    }

    fn value(&self, group: usize, place: usize) -> Key<'_> {
        if let Some(text) = self.text(group, place) {
            return parse(text).unwrap_or(Key::Null);
        }
        let call = place - self.width;
        let total = self.totals.get(group * self.functions.len() + call);
        let found = total.zip(self.functions.get(call));
        found.map_or(Key::Null, |(total, function)| total.value(*function))
    }

    /// Puts the groups in order, those that are equal as they were met; only the first `most` are kept.
    pub fn sort(&mut self, by: &[Sort], most: usize) {
        if !by.is_empty() {
            self.order = self.sorted(by, most);
        }
        self.order.truncate(most);
    }

    fn sorted(&self, by: &[Sort], most: usize) -> Vec<usize> {
        let mut values: Vec<Rank<&str>> = Vec::with_capacity(self.keys.len() * by.len());
        for group in 0..self.keys.len() {
            values.extend(by.iter().map(|sort| rank(&self.value(group, sort.place))));
        }
        let compare = |a: &usize, b: &usize| {
            let pairs = values[a * by.len()..].iter().zip(&values[b * by.len()..]).zip(by);
            let ordering =
                pairs.fold(Ordering::Equal, |so_far, ((a, b), sort)| so_far.then_with(|| sort.compare(a, b)));
            ordering.then(a.cmp(b))
        };
        let mut order: Vec<usize> = (0..self.keys.len()).collect();
        if most < order.len() {
            order.select_nth_unstable_by(most, compare);
            order.truncate(most);
        }
        order.sort_unstable_by(compare);
        order
    }

    /// Columns of lanes, each of a place of the groups, without the first `offset` groups.
    pub fn batches(&self, lanes: &[(usize, Letter)], offset: usize) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        let field = |(number, (_, letter)): (usize, &(usize, Letter))| {
            Field::new(format!("c{number}"), letter.data_type(), true)
        };
        let schema = Arc::new(Schema::new(lanes.iter().enumerate().map(field).collect::<Vec<_>>()));
        let batch = |groups: &[usize]| {
            let columns = lanes.iter().map(|(place, letter)| self.column(groups, *place, *letter));
            let options = RecordBatchOptions::new().with_row_count(Some(groups.len()));
            RecordBatch::try_new_with_options(Arc::clone(&schema), columns.collect::<Result<_>>()?, &options)
                .map_err(|error| Error::argument(format!("no Arrow array: {error}")))
        };
        let groups = self.order.get(offset..).unwrap_or_default();
        let batches = groups.chunks(BATCH_ROWS).map(batch).collect::<Result<_>>()?;
        Ok((schema, batches))
    }

    fn column(&self, groups: &[usize], place: usize, letter: Letter) -> Result<ArrayRef> {
        let values = || groups.iter().map(|&group| self.value(group, place));
        Ok(match letter {
            Letter::Type => Arc::new(values().map(|value| Some(rank(&value).bit())).collect::<UInt8Array>()),
            Letter::Number => {
                Arc::new(values().map(|value| number(&value).map(Number::to_f64)).collect::<Float64Array>())
            }
            Letter::Integer => {
                let whole = values().map(integer).collect::<Decimal128Array>();
                Arc::new(whole.with_data_type(letter.data_type()))
            }
            Letter::Text => Arc::new(values().map(text).collect::<StringArray>()),
            Letter::Bool => Arc::new(values().map(flag).collect::<BooleanArray>()),
            Letter::Time => Arc::new(values().map(time).collect::<TimestampMicrosecondArray>()),
            Letter::Value if place < self.width => {
                Arc::new(groups.iter().map(|&group| self.text(group, place)).collect::<StringArray>())
            }
            Letter::Json => {
                Arc::new(groups.iter().map(|&group| Some(self.json(group, place))).collect::<StringArray>())
            }
            _ => return Err(Error::argument(format!("groups have no lane {letter:?}"))),
        })
    }

    fn json(&self, group: usize, place: usize) -> String {
        let mut out = Sink::default();
        match self.text(group, place) {
            Some(text) => put_json(&mut out, text),
            None => put_scalar(&mut out, self.value(group, place)),
        }
        String::from_utf8_lossy(out.as_slice()).into_owned()
    }
}

fn integer(key: Key<'_>) -> Option<i128> {
    if let Key::Int(value) = key { Some(value) } else { None }
}

fn text(key: Key<'_>) -> Option<&str> {
    if let Key::Text(text) = key { Some(text) } else { None }
}

fn flag(key: Key<'_>) -> Option<bool> {
    if let Key::Bool(flag) = key { Some(flag) } else { None }
}

fn time(key: Key<'_>) -> Option<i64> {
    if let Key::Time(us) = key { Some(us) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(rows: &[[&str; 2]]) -> Result<Answer> {
        let mut keys = KeyTable::default();
        for (number, row) in rows.iter().enumerate() {
            let mut bytes = Vec::new();
            for key in row {
                put(&mut bytes, |out| {
                    out.extend_from_slice(key.as_bytes());
                    Ok(())
                })?;
            }
            assert_eq!(keys.number(number as u64, &bytes), (number, true));
        }
        Ok(Answer::new(2, keys, Vec::new(), Vec::new()))
    }

    fn shown(answer: &Answer) -> Vec<&str> {
        answer.order.iter().filter_map(|&group| answer.text(group, 1)).collect()
    }

    fn sorted(keys: &[&str], descending: bool, nulls_last: bool) -> Result<Vec<String>> {
        let mut answer = answer(&keys.iter().map(|key| ["sx", *key]).collect::<Vec<_>>())?;
        answer.sort(&[Sort { place: 1, descending, nulls_last }], usize::MAX);
        Ok(shown(&answer).into_iter().map(str::to_owned).collect())
    }

    #[test]
    fn rows_are_sorted_across_types() -> Result<()> {
        let keys = ["{", "sb", "n2", "b1", "t5", "z", "f3fe0000000000000", "[", "b0", "sa", "n-1", "t-5"];
        let up = ["z", "b0", "b1", "n-1", "f3fe0000000000000", "n2", "t-5", "t5", "sa", "sb", "[", "{"];
        assert_eq!(sorted(&keys, false, false)?, up);
        let down = ["z", "sb", "sa", "t5", "t-5", "n2", "f3fe0000000000000", "n-1", "b1", "b0", "{", "["];
        assert_eq!(sorted(&keys, true, false)?, down);
        assert_eq!(sorted(&["z", "n1", "["], false, true)?, ["n1", "[", "z"]);
        assert_eq!(sorted(&["z", "n1", "["], true, true)?, ["n1", "[", "z"]);
        Ok(())
    }

    #[test]
    fn equal_rows_stay_as_they_stand() -> Result<()> {
        let rows = [["n1", "sb"], ["n0", "sc"], ["n1", "sa"], ["n2", "sd"]];
        let by = [Sort { place: 0, descending: true, nulls_last: false }];
        for most in 0..6 {
            let mut answer = answer(&rows)?;
            answer.sort(&by, most);
            let expected = ["sd", "sb", "sa", "sc"];
            assert_eq!(shown(&answer), expected[..most.min(4)]);
            let batches = answer.batches(&[(1, Letter::Text)], 1)?.1;
            assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), most.clamp(1, 4) - 1);
        }
        let mut answer = answer(&rows)?;
        answer.sort(&[], 2);
        assert_eq!(shown(&answer), ["sb", "sc"]);
        Ok(())
    }

    #[test]
    fn damaged_rows_have_empty_parts() {
        for damaged in [&b""[..], b"\x01", b"\x05\0\0\0ab", b"\x01\0\0\0\xff"] {
            assert_eq!(part(damaged, 0), "");
            assert_eq!(part(damaged, 3), "");
        }
    }
}
