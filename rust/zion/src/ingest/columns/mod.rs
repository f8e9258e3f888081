//! Rows of Arrow as Ion: columns are brought into few forms first, then rows are written field by field.
//!
//! Numbers, booleans, texts, lists and structs stay what they are. Timestamps and dates become timestamps in
//! UTC, cut to microseconds; times of day text, durations numbers of seconds, decimals the nearest number,
//! maps structs. A variant becomes what it holds.

mod build;
mod variant;

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::ops::Range;

use arrow_array::{Array, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, LargeBinaryArray, StructArray};
use arrow_buffer::{BooleanBuffer, NullBuffer, i256};

use crate::error::Error;
use crate::ingest::json::number::{self, Number};
use crate::ion::fields::{Fields, Keep};
use crate::ion::{
    FALSE, NULL, SymbolTable, TRUE, header, kind, nest, put_float, put_header, put_string, timestamp, varuint,
};
use crate::json::print::Printer;
use crate::json::sink::Sink;
use variant::Variants;

/// The first instant of the year 0, and the last one of the year 16383: what a row can hold.
const INSTANTS: (i64, i64) = (-62_167_219_200_000_000, 454_860_287_999_999_999);
const DAY: i64 = 86_400 * timestamp::SECOND;

/// Encodes rows as a stream of its own: version marker, symbol table, a list of structs.
///
/// Symbols are numbered in the order in which the rows name them, a field before its content; fields are then
/// sorted by number. Without `keep_nulls` fields that are null are left out, at any depth.
pub fn dumps(rows: &StructArray, keep_nulls: bool) -> Result<Vec<u8>, Refused> {
    let mut fields = build::fields(rows, 1)?;
    let mut writer = Writer { keep_nulls, ..Writer::default() };
    let mut body = Vec::new();
    for row in 0..rows.len() {
        writer.put_struct(&mut fields, row, &mut body)?;
    }
    let mut out = Vec::with_capacity(body.len() + writer.table.full_size() + 16);
    writer.table.put_full(&mut out, writer.table.max_id());
    put_header(&mut out, kind::LIST, body.len());
    out.extend_from_slice(&body);
    Ok(out)
}

/// Why rows could not be encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Names from the column down, with dots between them.
    path: String,
    message: Cow<'static, str>,
}

impl Refused {
    #[cold]
    fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self { path: String::new(), message: message.into() }
    }

    #[cold]
    fn within(mut self, name: &str) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        self.path = format!("{name}{dot}{}", self.path);
        self
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "column {}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::new(error.message().to_owned())
    }
}

type Result<T, E = Refused> = std::result::Result<T, E>;

/// A column, or the values inside one.
struct Column {
    nulls: Option<NullBuffer>,
    data: Data,
}

/// The values of a column; what is at the place of a null has no meaning.
enum Data {
    Null,
    Bool(BooleanBuffer),
    Int(Vec<i64>),
    UInt(Vec<u64>),
    Float(Vec<f64>),
    /// Microseconds since 1970; those beyond 64 bits are the most that these hold.
    Time(Vec<i64>),
    /// Microseconds since midnight.
    Clock(Vec<i64>),
    /// Integers, and how many of their digits are behind the point.
    Decimal(Vec<i128>, i8),
    LongDecimal(Vec<i256>, i8),
    Text(Bytes),
    Blob(Bytes),
    List(Vec<Range<usize>>, Box<Column>),
    Struct(Vec<Field>),
    /// Ranges of entries; the keys and the values of these.
    Map(Vec<Range<usize>>, Box<(Column, Column)>),
    /// Which of the values each is: dictionaries and runs.
    Lookup(Vec<usize>, Box<Column>),
    Variant(Variants),
}

/// Texts or binary values.
enum Bytes {
    Short(BinaryArray),
    Long(LargeBinaryArray),
    View(BinaryViewArray),
    Fixed(FixedSizeBinaryArray),
}

impl Bytes {
    #[inline]
    fn at(&self, row: usize) -> &[u8] {
        match self {
            Self::Short(values) => values.value(row),
            Self::Long(values) => values.value(row),
            Self::View(values) => values.value(row),
            Self::Fixed(values) => values.value(row),
        }
    }
}

/// A field of a struct.
struct Field {
    name: String,
    /// Its number, from the first time that it is written.
    symbol: Option<u32>,
    column: Column,
}

impl Column {
    #[inline]
    fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }
}

/// Writes values.
#[derive(Default)]
struct Writer {
    keep_nulls: bool,
    table: SymbolTable,
    fields: Fields,
    /// The name of a map's entry.
    key: Vec<u8>,
    text: String,
    sink: Sink,
    printer: Printer,
}

impl Writer {
    fn put_struct(&mut self, fields: &mut [Field], row: usize, out: &mut Vec<u8>) -> Result<()> {
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
    fn put_label(&mut self, symbol: u32, out: &mut Vec<u8>) {
        self.fields.add(symbol, out.len());
        varuint::put(out, u64::from(symbol));
    }

    fn put(&mut self, column: &mut Column, row: usize, out: &mut Vec<u8>) -> Result<()> {
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
    fn put_map(
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
    fn read_key(&mut self, keys: &mut Column, entry: usize) -> Result<()> {
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
    fn put_decimal(&mut self, value: impl fmt::Display, scale: i8, out: &mut Vec<u8>) -> Result<()> {
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

    fn put_clock(&mut self, us: i64, out: &mut Vec<u8>) -> Result<()> {
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

fn put_time(us: i64, out: &mut Vec<u8>) -> Result<()> {
    if us < INSTANTS.0 || us > INSTANTS.1 {
        return Err(Refused::new("a timestamp outside the years 0 to 16383, which are those that rows hold"));
    }
    timestamp::put(out, us);
    Ok(())
}

fn put_text(text: &[u8], out: &mut Vec<u8>) -> Result<()> {
    if simdutf8::basic::from_utf8(text).is_err() {
        return Err(Refused::new("a text that is not UTF-8"));
    }
    put_string(out, text);
    Ok(())
}

fn put_blob(bytes: &[u8], out: &mut Vec<u8>) {
    put_header(out, kind::BLOB, bytes.len());
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::{Decimal128Type, Int8Type};
    use arrow_array::{
        ArrayRef, DictionaryArray, Float64Array, Int64Array, ListArray, PrimitiveArray, StringArray,
        TimestampNanosecondArray, UInt64Array,
    };
    use arrow_schema::{DataType, Field, Fields};

    use super::*;
    use crate::ion::value::{Value, loads};

    fn rows(columns: Vec<(&str, ArrayRef)>) -> StructArray {
        let fields = columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true));
        let fields: Fields = fields.collect();
        let length = columns.first().map_or(0, |(_, array)| array.len());
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        StructArray::try_new_with_length(fields, arrays, None, length)
            .unwrap_or_else(|_| StructArray::new_empty_fields(0, None))
    }

    fn values(array: ArrayRef) -> Result<Vec<Value>> {
        let Value::List(rows) = loads(&dumps(&rows(vec![("v", array)]), true)?)? else { return Ok(vec![]) };
        let field = |row| if let Value::Struct(mut fields) = row { fields.remove(0).1 } else { Value::Null };
        Ok(rows.into_iter().map(field).collect())
    }

    #[test]
    fn the_bytes_of_rows() -> Result<()> {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["x", "y"]));
        let batch = rows(vec![("b", numbers), ("a", texts)]);
        let table =
            [&crate::ion::BVM[..], &[0xE9, 0x81, 0x83, 0xD6, 0x87, 0xB4, 0x81, b'b', 0x81, b'a']].concat();
        let first = [0xD6, 0x8A, 0x21, 1, 0x8B, 0x81, b'x'];
        let kept = [&table[..], &[0xBD], &first, &[0xD5, 0x8A, 0x0F, 0x8B, 0x81, b'y']].concat();
        assert_eq!(dumps(&batch, true)?, kept);
        let fewer = [&table[..], &[0xBB], &first, &[0xD3, 0x8B, 0x81, b'y']].concat();
        assert_eq!(dumps(&batch, false)?, fewer);
        assert_eq!(
            dumps(&batch.slice(0, 0), true)?,
            [&crate::ion::BVM[..], &[0xE5, 0x81, 0x83, 0xD2, 0x87, 0xB0, 0xB0]].concat()
        );
        Ok(())
    }

    #[test]
    fn fields_are_sorted_by_symbol() -> Result<()> {
        let number = |value: i64| Arc::new(Int64Array::from(vec![value])) as ArrayRef;
        let inner = rows(vec![("z", number(1)), ("name", number(2))]);
        let data = dumps(&rows(vec![("s", Arc::new(inner)), ("z", number(3))]), true)?;
        assert!(
            data.ends_with(&[0xDB, 0x8A, 0xD6, 0x84, 0x21, 2, 0x8B, 0x21, 1, 0x8B, 0x21, 3]),
            "{data:x?}"
        );
        Ok(())
    }

    #[test]
    fn numbers_are_exact_or_the_nearest() -> Result<()> {
        let decimals = |digits: Vec<i128>, scale| {
            let array = PrimitiveArray::<Decimal128Type>::from(digits).with_precision_and_scale(38, scale);
            values(Arc::new(array.map_err(|error| Refused::new(error.to_string()))?))
        };
        let expected =
            [Value::Float(1.5), Value::Int(-7), Value::Int(0), Value::Float(0.05), Value::Float(-0.05)];
        assert_eq!(decimals(vec![150, -700, 0, 5, -5], 2)?, expected);
        let most = i128::from(u64::MAX);
        let expected = [Value::Int(most), Value::Float(18_446_744_073_709_551_616.0)];
        assert_eq!(decimals(vec![most * 1000, most * 1000 + 1], 3)?, expected);
        assert_eq!(decimals(vec![-12], -2)?, [Value::Int(-1200)]);
        assert_eq!(values(Arc::new(UInt64Array::from(vec![u64::MAX])))?, [Value::Int(i128::from(u64::MAX))]);
        assert_eq!(
            values(Arc::new(Float64Array::from(vec![-0.0, 0.5])))?,
            [Value::Int(0), Value::Float(0.5)]
        );
        Ok(())
    }

    #[test]
    fn instants_are_cut_and_checked() -> Result<()> {
        let found = values(Arc::new(TimestampNanosecondArray::from(vec![-1, 1999])))?;
        assert_eq!(found, [Value::Time(-1), Value::Time(1)]);
        let mut out = vec![];
        for us in [INSTANTS.0, INSTANTS.1] {
            out.clear();
            put_time(us, &mut out)?;
            assert_eq!(timestamp::read(&out[1..], 0)?, us);
        }
        assert!(put_time(INSTANTS.0 - 1, &mut out).is_err());
        assert!(put_time(INSTANTS.1 + 1, &mut out).is_err());
        Ok(())
    }

    #[test]
    fn parts_of_lists_and_dictionaries() -> Result<()> {
        let items = vec![Some(vec![Some(1), None]), None, Some(vec![]), Some(vec![Some(2)])];
        let list = ListArray::from_iter_primitive::<Int8Type, _, _>(items);
        let expected = [Value::List(vec![]), Value::List(vec![Value::Int(2)])];
        assert_eq!(values(Arc::new(list.slice(2, 2)))?, expected);
        let texts: DictionaryArray<Int8Type> = [Some("x"), None, Some("y"), Some("x")].into_iter().collect();
        let expected = [Value::Null, Value::String("y".into()), Value::String("x".into())];
        assert_eq!(values(Arc::new(texts.slice(1, 3)))?, expected);
        assert_eq!(values(arrow_array::new_null_array(&DataType::Null, 1))?, [Value::Null]);
        Ok(())
    }

    #[test]
    fn what_is_refused_says_where() {
        let time: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![0]));
        let twice = rows(vec![("a", Arc::clone(&time)), ("a", time)]);
        let refused = values(Arc::new(twice)).map_err(|refused| refused.to_string());
        assert_eq!(refused, Err("column v: 2 fields are called \"a\"".to_owned()));
        let mut deep: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        for _ in 0..=crate::ion::value::MAX_DEPTH {
            deep = Arc::new(rows(vec![("s", deep)]));
        }
        assert!(values(deep).is_err());
    }
}
