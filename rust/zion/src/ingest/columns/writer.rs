//! Values of columns, written as Ion.

use std::fmt::{self, Write as _};
use std::ops::Range;

use super::forms::{Column, DAY, Data, Field};
use super::refused::{Refused, Result};
use crate::ingest::json::number::{self, Number};
use crate::ion::fields::{Fields, Keep};
use crate::ion::{
    FALSE, NULL, SymbolTable, TRUE, header, kind, nest, put_float, put_header, put_string, timestamp, varuint,
};
use crate::json::print::Printer;
use crate::json::sink::Sink;

/// The first instant of the year 0, and the last one of the year 16383: what a row can hold.
pub(super) const INSTANTS: (i64, i64) = (-62_167_219_200_000_000, 454_860_287_999_999_999);
/// Writes values.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) keep_nulls: bool,
    pub(super) table: SymbolTable,
    pub(super) fields: Fields,
    /// The name of a map's entry.
    pub(super) key: Vec<u8>,
    pub(super) text: String,
    pub(super) sink: Sink,
    pub(super) printer: Printer,
}

impl Writer {
    pub(super) fn new(keep_nulls: bool) -> Self {
        Self { keep_nulls, ..Self::default() }
    }

    pub(super) fn put_struct(&mut self, fields: &mut [Field], row: usize, out: &mut Vec<u8>) -> Result<()> {
        let start = nest::open(out);
        let begin = self.fields.begin();
        for Field { name, symbol, column } in fields {
            if !self.keep_nulls && column.is_null(row) {
                continue;
            }
            let symbol = *symbol.get_or_insert_with(|| self.table.intern(name.as_bytes()));
            self.put_label(symbol, out);
            self.put(column, row, out).map_err(|refused| refused.within(name))?;
        }
        self.fields.sort(out, start + 1, begin, Keep::Last);
        nest::close(out, start, kind::STRUCT);
        Ok(())
    }

    #[inline]
    pub(super) fn put_label(&mut self, symbol: u32, out: &mut Vec<u8>) {
        self.fields.add(symbol, out.len());
        varuint::put(out, u64::from(symbol));
    }

    pub(super) fn put(&mut self, column: &mut Column, row: usize, out: &mut Vec<u8>) -> Result<()> {
        if column.is_null(row) {
            out.push(NULL);
            return Ok(());
        }
        match &mut column.data {
            Data::Null => out.push(NULL),
            Data::Bool(values) => out.push(if values.value(row) { TRUE } else { FALSE }),
            Data::Int(values) => Number::Int(values[row]).put(out),
            Data::UInt(values) => Number::UInt(values[row]).put(out),
            Data::Float(values) => put_float(out, values[row]),
            Data::Time(values) => put_time(values[row], out)?,
            Data::Clock(values) => self.put_clock(values[row], out)?,
            Data::Decimal(values, scale) => self.put_decimal(values[row], *scale, out)?,
            Data::LongDecimal(values, scale) => self.put_decimal(values[row], *scale, out)?,
            Data::Text(values) => put_text(values.at(row), out)?,
            Data::Blob(values) => put_blob(values.at(row), out),
            Data::List(ranges, items) => {
                let start = nest::open(out);
                for item in ranges[row].clone() {
                    self.put(items, item, out)?;
                }
                nest::close(out, start, kind::LIST);
            }
            Data::Struct(fields) => self.put_struct(fields, row, out)?,
            Data::Map(ranges, entries) => self.put_map(ranges[row].clone(), entries, out)?,
            Data::Lookup(places, values) => self.put(values, places[row], out)?,
            Data::Variant(values) => self.put_variant(values, row, out)?,
        }
        Ok(())
    }

    /// Of entries with the same key the last one counts.
    pub(super) fn put_map(
        &mut self,
        entries: Range<usize>,
        columns: &mut (Column, Column),
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let (keys, values) = columns;
        let start = nest::open(out);
        let begin = self.fields.begin();
        for entry in entries {
            self.read_key(keys, entry)?;
            if self.keep_nulls || !values.is_null(entry) {
                let symbol = self.table.intern(&self.key);
                self.put_label(symbol, out);
                self.put(values, entry, out)?;
            } else if let Some(symbol) = self.table.id(&self.key) {
                // A field without content, which takes the place of one before it.
                self.fields.add(symbol, out.len());
            }
        }
        self.fields.sort(out, start + 1, begin, Keep::Last);
        nest::close(out, start, kind::STRUCT);
        Ok(())
    }

    /// Makes `key` the text of a key: what is no text is as in JSON.
    pub(super) fn read_key(&mut self, keys: &mut Column, entry: usize) -> Result<()> {
        let mut value = std::mem::take(&mut self.key);
        value.clear();
        self.put(keys, entry, &mut value)?;
        let content = header(&value, 0)?;
        if content.kind == kind::STRING {
            value.drain(..content.body);
        } else {
            self.sink.truncate(0);
            self.printer.value(&value, content, 0, &mut self.sink)?;
            let printed = self.sink.as_slice();
            let printed = printed.strip_prefix(b"\"").unwrap_or(printed);
            value.clear();
            value.extend_from_slice(printed.strip_suffix(b"\"").unwrap_or(printed));
        }
        self.key = value;
        Ok(())
    }

    /// Appends `value / 10^scale`: exactly if 64 bits hold it, else the nearest double.
    pub(super) fn put_decimal(
        &mut self,
        value: impl fmt::Display,
        scale: i8,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let Self { text, .. } = self;
        text.clear();
        let places = usize::from(scale.unsigned_abs());
        let _ = write!(text, "{value}");
        if scale < 0 {
            text.extend(std::iter::repeat_n('0', places));
        } else if scale > 0 {
            let kept = text.len().saturating_sub(places);
            if kept > usize::from(text.starts_with('-')) && text.bytes().skip(kept).all(|digit| digit == b'0')
            {
                text.truncate(kept);
            } else {
                let _ = write!(text, "e-{scale}");
            }
        }
        number::put(out, text.as_bytes())?;
        Ok(())
    }

    pub(super) fn put_clock(&mut self, us: i64, out: &mut Vec<u8>) -> Result<()> {
        if !(0..DAY).contains(&us) {
            return Err(Refused::new(format!("a time of day of {us} microseconds")));
        }
        let (seconds, fraction) = (us / timestamp::SECOND, us % timestamp::SECOND);
        let Self { text, .. } = self;
        text.clear();
        let _ = write!(text, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        if fraction != 0 {
            let _ = write!(text, ".{fraction:06}");
        }
        put_string(out, text.as_bytes());
        Ok(())
    }
}

pub(super) fn put_time(us: i64, out: &mut Vec<u8>) -> Result<()> {
    if us < INSTANTS.0 || us > INSTANTS.1 {
        return Err(Refused::new("a timestamp outside the years 0 to 16383, which are those that rows hold"));
    }
    timestamp::put(out, us);
    Ok(())
}

pub(super) fn put_text(text: &[u8], out: &mut Vec<u8>) -> Result<()> {
    if simdutf8::basic::from_utf8(text).is_err() {
        return Err(Refused::new("a text that is not UTF-8"));
    }
    put_string(out, text);
    Ok(())
}

pub(super) fn put_blob(bytes: &[u8], out: &mut Vec<u8>) {
    put_header(out, kind::BLOB, bytes.len());
    out.extend_from_slice(bytes);
}
