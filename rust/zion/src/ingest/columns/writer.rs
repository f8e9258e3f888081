//! Values of columns, written as Ion.

use std::fmt::{self, Write as _};
use std::ops::Range;

use super::forms::{Changed, Column, DAY, Data, Field};
use super::refused::{Refused, Result};
use crate::ingest::json::number::{self, Number};
use crate::ion::fields::{Fields, Keep};
use crate::ion::timestamp::{Civil, INSTANTS};
use crate::ion::{
    FALSE, NULL, SymbolTable, TRUE, header, kind, nest, put_float, put_header, put_string, timestamp, varuint,
};
use crate::json::print::Printer;
use crate::json::sink::Sink;

/// 400 years, in which the calendar comes again.
const ERA: i128 = 146_097 * DAY as i128;
/// So many digits of a decimal the nearest double shows again.
const EXACT_DIGITS: usize = 15;
/// The largest chunk, in which a row has to fit.
pub(super) const ROW_BYTES: usize = 64 << 20;
/// What is written of rows before somebody takes it.
pub(super) const PART_BYTES: usize = 8 << 20;

/// Writes values.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) keep_nulls: bool,
    pub(super) changed: Changed,
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
        for Field { name, symbol, column, changed } in fields {
            if !self.keep_nulls && column.is_null(row) {
                continue;
            }
            let symbol = *symbol.get_or_insert_with(|| self.table.intern(name.as_bytes()));
            self.put_label(symbol, out);
            let before = std::mem::take(&mut self.changed);
            self.put(column, row, out)
                .and_then(|()| check_row(out))
                .map_err(|refused| refused.within(name))?;
            changed.join(self.changed);
            self.changed.join(before);
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
            Data::Time(values) => self.put_time(values[row], out),
            Data::Clock(values) => self.put_clock(values[row], out)?,
            Data::Decimal(values, scale) => self.put_decimal(values[row], *scale, out)?,
            Data::Seconds(values, scale) => {
                self.scale_down(values[row], *scale);
                number::put(out, self.text.as_bytes())?;
            }
            Data::LongDecimal(values, scale) => self.put_decimal(values[row], *scale, out)?,
            Data::Text(values) => put_text(values.at(row), out)?,
            Data::Blob(values) => put_blob(values.at(row), out)?,
            Data::Uuid(values) => self.put_uuid(values.value(row), out),
            Data::List(ranges, items) => {
                let start = nest::open(out);
                for item in ranges[row].clone() {
                    self.put(items, item, out)?;
                    check_row(out)?;
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

    /// Of entries with the same key the last one counts. One that is null stays: it is data, and no field.
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
            let symbol = self.table.intern(&self.key);
            self.put_label(symbol, out);
            self.put(values, entry, out)?;
            check_row(out)?;
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

    /// Appends `value / 10^scale`: as a number if one shows just these digits, else as their text.
    pub(super) fn put_decimal(
        &mut self,
        value: impl fmt::Display,
        scale: i8,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        self.scale_down(value, scale);
        let (number, _, is_whole) = number::parse(self.text.as_bytes())?;
        let shown = match number {
            Number::Int(_) | Number::UInt(_) if is_whole => None,
            _ if self.digits().len() <= EXACT_DIGITS => None,
            Number::Int(value) => Some(value.to_string()),
            Number::UInt(value) => Some(value.to_string()),
            Number::Float(value) => Some(value.to_string()),
        };
        if let Some(shown) = shown {
            let plain = self.plain(usize::from(scale.unsigned_abs()));
            if plain != shown {
                self.changed.decimals = true;
                put_string(out, plain.as_bytes());
                return Ok(());
            }
        }
        number.put(out);
        Ok(())
    }

    /// The digits of the number in `text`, from the first to the last that is no zero.
    fn digits(&self) -> &str {
        let digits = self.text.strip_prefix('-').unwrap_or(&self.text);
        digits.split('e').next().unwrap_or(digits).trim_matches('0')
    }

    /// The number in `text`, which may end in an exponent of so many places, without one.
    fn plain(&self, places: usize) -> String {
        let Some((digits, _)) = self.text.split_once('e') else { return self.text.clone() };
        let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
        let padded = format!("{digits:0>width$}", width = places + 1);
        let (whole, fraction) = padded.split_at(padded.len() - places);
        format!("{sign}{whole}.{}", fraction.trim_end_matches('0'))
    }

    /// Makes `text` the number `value / 10^scale`, without a point.
    fn scale_down(&mut self, value: impl fmt::Display, scale: i8) {
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
    }

    fn put_uuid(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let Self { text, .. } = self;
        text.clear();
        for (at, byte) in bytes.iter().enumerate() {
            let hyphen = if matches!(at, 4 | 6 | 8 | 10) { "-" } else { "" };
            let _ = write!(text, "{hyphen}{byte:02x}");
        }
        put_string(out, text.as_bytes());
    }

    /// Appends a time as a timestamp, or as its text if it is in a year that no timestamp has.
    pub(super) fn put_time(&mut self, us: i128, out: &mut Vec<u8>) {
        if let Ok(us) = i64::try_from(us)
            && INSTANTS.contains(&us)
        {
            timestamp::put(out, us);
            return;
        }
        self.changed.times = true;
        let eras = us.div_euclid(ERA);
        let civil = Civil::from_micros(us.rem_euclid(ERA) as i64);
        let year = i128::from(civil.year) + 400 * eras;
        let Self { text, .. } = self;
        text.clear();
        let sign = if year < 0 { '-' } else { '+' };
        let Civil { month, day, hour, minute, second, micros, .. } = civil;
        let _ = write!(text, "{sign}{:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}", year.abs());
        if micros != 0 {
            let _ = write!(text, ".{micros:06}");
        }
        text.push('Z');
        put_string(out, text.as_bytes());
    }

    pub(super) fn put_clock(&mut self, us: i128, out: &mut Vec<u8>) -> Result<()> {
        let Some(us) = i64::try_from(us).ok().filter(|us| (0..DAY).contains(us)) else {
            return Err(Refused::new(format!("a time of day of {us} microseconds")));
        };
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

/// Checks that what was written so far has room for a row that a chunk can hold.
fn check_row(out: &[u8]) -> Result<()> {
    if out.len() > PART_BYTES + ROW_BYTES {
        return Err(Refused::new(format!("a row of more than {ROW_BYTES} bytes")));
    }
    Ok(())
}

pub(super) fn put_text(text: &[u8], out: &mut Vec<u8>) -> Result<()> {
    check_length(text)?;
    if simdutf8::basic::from_utf8(text).is_err() {
        return Err(Refused::new("a text that is not UTF-8"));
    }
    put_string(out, text);
    Ok(())
}

fn check_length(bytes: &[u8]) -> Result<()> {
    if bytes.len() > ROW_BYTES {
        let message = format!("a value of {} bytes, and no row has more than {ROW_BYTES}", bytes.len());
        return Err(Refused::new(message));
    }
    Ok(())
}

pub(super) fn put_blob(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    check_length(bytes)?;
    put_header(out, kind::BLOB, bytes.len());
    out.extend_from_slice(bytes);
    Ok(())
}
