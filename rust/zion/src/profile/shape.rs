//! The answer of `SNELLER_DATASHAPE` to the rows of a scan.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};

use super::limits::Limits;
use super::stats::Stats;
use super::tree::Profile;
use super::walk::Walk;
use crate::error::{Error, Result};
use crate::functions::shape::{Counts, Range, Shape};
use crate::ion::SymbolTable;
use crate::json::sink::Sink;
use crate::scan::{Accumulator, Letter};
use crate::value::Value;
use crate::value::key::put_json;

/// The place of the whole row in the plan of a scan.
const ROW: usize = 0;

/// What whole rows of a scan have come to.
#[derive(Clone)]
pub struct Shaped {
    walk: Walk,
    profile: Profile,
}

impl Shaped {
    /// No rows yet.
    pub fn new() -> Self {
        Self { walk: Walk::new(Limits::SHAPE), profile: Profile::new(Limits::SHAPE) }
    }

    /// Adds the rows that follow.
    pub fn join(&mut self, other: &Self) {
        self.profile.join(&other.profile);
    }

    /// The answer as a table of one row; letters are those of lanes that nested values have.
    pub fn table(&self, letters: &[Letter]) -> Result<RecordBatch> {
        let text = self.text();
        let column = |(number, letter): (usize, &Letter)| {
            let cell = match letter {
                Letter::Value => text.clone(),
                Letter::Json => {
                    let mut out = Sink::default();
                    put_json(&mut out, &text);
                    String::from_utf8_lossy(out.as_slice()).into_owned()
                }
                _ => return Err(Error::argument(format!("a shape has no lane {letter:?}"))),
            };
            Ok((format!("c{number}"), Arc::new(StringArray::from(vec![cell])) as ArrayRef))
        };
        let columns = letters.iter().enumerate().map(column).collect::<Result<Vec<_>>>()?;
        RecordBatch::try_from_iter(columns)
            .map_err(|error| Error::argument(format!("no Arrow array: {error}")))
    }

    /// The answer as typed text, which nested values are in SQL.
    fn text(&self) -> String {
        let profile = &self.profile;
        let paths = profile.paths();
        let fields = profile.fields().map(|(place, field)| {
            let path = paths.get(place as usize).cloned().unwrap_or_default();
            (path, counts(&field.stats))
        });
        let mut shape = Shape::default();
        shape.join(profile.rows(), fields, profile.is_full() || profile.is_deeper());
        shape.text()
    }
}

impl Default for Shaped {
    fn default() -> Self {
        Self::new()
    }
}

fn counts(stats: &Stats) -> Counts {
    Counts {
        nulls: stats.nulls,
        bools: stats.bools,
        times: stats.times,
        lists: stats.lists,
        structs: stats.structs,
        ints: Range { count: stats.ints, bounds: stats.int_range },
        floats: Range { count: stats.floats, bounds: stats.float_range },
        strings: Range { count: stats.texts + stats.blobs, bounds: stats.length_range },
    }
}

impl Accumulator for Shaped {
    fn sync(&mut self, is_new: bool) {
        if is_new {
            self.walk.forget_symbols();
        }
    }

    fn add(&mut self, data: &[u8], table: &SymbolTable, slots: &[Option<Value>], _: i64) -> Result<()> {
        match slots.get(ROW) {
            Some(Some(row)) => self.walk.row(data, table, *row),
            _ => Ok(()),
        }
    }

    fn take(&mut self) -> Self {
        Self { walk: Walk::new(Limits::SHAPE), profile: self.walk.take() }
    }

    fn is_about(&self, _: usize) -> bool {
        false
    }

    fn add_value(&mut self, _: &[u8], _: &SymbolTable, _: &Value) -> Result<()> {
        Ok(())
    }

    fn add_row(&mut self) {}
}
