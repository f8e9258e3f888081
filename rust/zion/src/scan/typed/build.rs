//! Values into Arrow arrays: the second pass of a scan.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::types::{
    Date32Type, Decimal128Type, DurationMicrosecondType, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimestampMicrosecondType, UInt64Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, ListArray, MapArray, NullArray, RecordBatch, RecordBatchOptions,
    StructArray,
};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer, NullBufferBuilder, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields};
use base64::prelude::*;

use super::buffers::{Bytes, narrow, primitive, strings};
use super::fit;
use super::schema::{Layout, Misfit, Type};
use super::variant::Encoder;
use crate::error::{Error, Result};
use crate::ion::names::{Lookup, text_of};
use crate::ion::symtab::NameHash;
use crate::ion::{self, Header, SymbolTable, kind, timestamp, varuint};
use crate::json::print::Printer;
use crate::json::sink::Sink;
use crate::limits;

/// A batch with so much text, or so many cells, is full.
const FULL_TEXT: usize = 16 << 20;
const FULL_CELLS: usize = 4 << 20;
/// A single row that makes a batch grow beyond this is refused: short rows can stand for many cells.
const MAX_CELLS: usize = 64 << 20;

/// The chunk whose rows are added, and what all columns share.
pub(super) struct Context<'a> {
    pub(super) data: &'a [u8],
    pub(super) table: &'a SymbolTable,
    shared: &'a mut Shared,
}

struct Shared {
    misfit: Misfit,
    /// Whether a column of texts takes any value.
    casts: bool,
    printer: Printer,
    json: Sink,
    variant: Encoder,
    epoch: u64,
    text: usize,
    cells: usize,
    /// How many values did not fit and are null.
    nulled: u64,
    /// Bytes of text in the batches that nobody took yet.
    gathered: usize,
}

impl Context<'_> {
    pub(super) fn body(&self, value: Header) -> &[u8] {
        &self.data[value.body..value.end]
    }

    pub(super) fn claim(&mut self, text: usize, cells: usize, at: usize) -> Result<()> {
        self.shared.text += text;
        self.shared.cells += cells;
        limits::check_row(self.shared.text.saturating_sub(FULL_TEXT), at)?;
        limits::check_run(self.shared.text + self.shared.gathered, at)?;
        if self.shared.cells > MAX_CELLS {
            return Err(Error::corrupt("ion", at, "a row that takes too much memory as a row of a table"));
        }
        Ok(())
    }
}

/// One column, or a part of one.
pub(super) struct Column {
    /// Number of values; null values at the end may not have been added.
    pub(super) length: usize,
    nulls: NullBufferBuilder,
    data: Data,
}

enum Data {
    Null,
    Bool(BooleanBufferBuilder),
    Int(Vec<i64>),
    Uint(Vec<u64>),
    Decimal(Vec<i128>, u8, i8),
    Float(Vec<f64>),
    Time(Vec<i64>, Option<Arc<str>>),
    Text(Bytes),
    Bytes(Bytes),
    Json(Bytes),
    List(FieldRef, Vec<i32>, Box<Column>, usize),
    Struct(Fields, Group),
    Small(Vec<i32>, DataType),
    Single(Vec<f32>),
    Date(Vec<i32>),
    Duration(Vec<i64>),
    Variant(Fields, Bytes, Bytes),
    Map(Box<Map>),
}

/// The columns of a struct.
struct Group {
    places: HashMap<Box<str>, u32, NameHash>,
    columns: Vec<Column>,
    lookup: Lookup,
    /// Number of cells that a value takes, whatever is in it.
    weight: usize,
    /// How many values of each column did not fit and are null; empty when none is.
    nulled: Vec<u64>,
}

/// The place of a field that has no column.
const NOWHERE: u32 = u32::MAX;

impl Group {
    fn new(fields: &[(Box<str>, Type)], arrow: &Fields) -> Self {
        let columns: Vec<Column> =
            fields.iter().zip(arrow).map(|((_, of), field)| Column::new(of, field)).collect();
        Self {
            places: fields.iter().map(|(name, _)| name.clone()).zip(0..).collect(),
            weight: columns.iter().map(Column::weight).sum(),
            columns,
            lookup: Lookup::default(),
            nulled: Vec::new(),
        }
    }

    fn put(&mut self, context: &mut Context<'_>, row: usize, container: Header) -> Result<()> {
        let data = &context.data[..container.end];
        let (epoch, table) = (context.shared.epoch, context.table);
        let mut at = container.body;
        while at < container.end {
            let (label, value_at) = varuint::read(data, at)?;
            let value = ion::header(data, value_at)?;
            at = value.end;
            if value.is_pad() {
                continue;
            }
            let places = &self.places;
            let place = self
                .lookup
                .find(epoch, label, || places.get(&*text_of(table, label)).copied().unwrap_or(NOWHERE));
            if let Some(column) = self.columns.get_mut(place as usize)
                && column.length <= row
            {
                let before = context.shared.nulled;
                let put = column.put(context, row, value, value_at);
                put.map_err(|error| fit::within(error, &text_of(table, label)))?;
                if context.shared.nulled != before {
                    self.nulled.resize(self.columns.len(), 0);
                    self.nulled[place as usize] += context.shared.nulled - before;
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self, length: usize) -> Result<Vec<ArrayRef>, ArrowError> {
        self.columns.iter_mut().map(|column| column.finish(length)).collect()
    }
}

impl Column {
    pub(super) fn new(of: &Type, field: &Field) -> Self {
        let data = match of {
            Type::Null => Data::Null,
            Type::Bool => Data::Bool(BooleanBufferBuilder::new(0)),
            Type::Int => Data::Int(Vec::new()),
            Type::Uint => Data::Uint(Vec::new()),
            &Type::Decimal(digits, scale) => Data::Decimal(Vec::new(), digits, scale),
            Type::Float => Data::Float(Vec::new()),
            Type::Time => Data::Time(Vec::new(), Some("UTC".into())),
            Type::Local => Data::Time(Vec::new(), None),
            Type::Small(of) => Data::Small(Vec::new(), of.clone()),
            Type::Single => Data::Single(Vec::new()),
            Type::Date => Data::Date(Vec::new()),
            Type::Duration => Data::Duration(Vec::new()),
            Type::Text => Data::Text(Bytes::new()),
            Type::Bytes => Data::Bytes(Bytes::new()),
            Type::Json => Data::Json(Bytes::new()),
            Type::List(item) => {
                let items = match field.data_type() {
                    DataType::List(items) => Arc::clone(items),
                    _ => item.field("item"),
                };
                let column = Self::new(item, &items);
                let weight = column.weight();
                Data::List(items, vec![0], Box::new(column), weight)
            }
            Type::Struct(fields) => {
                let arrow = fields_of(of, field);
                let group = Group::new(fields, &arrow);
                Data::Struct(arrow, group)
            }
            Type::Variant => Data::Variant(fields_of(of, field), Bytes::new(), Bytes::new()),
            Type::Map(key, value) => Data::Map(Box::new(Map::new(key, value, of, field))),
        };
        Self { length: 0, nulls: NullBufferBuilder::new(0), data }
    }

    /// Number of cells of one value outside of lists.
    pub(super) fn weight(&self) -> usize {
        1 + if let Data::Struct(_, group) = &self.data { group.weight } else { 0 }
    }

    /// Adds nulls until there are `length` values.
    fn pad(&mut self, length: usize) {
        let missing = length - self.length;
        if missing == 0 {
            return;
        }
        self.length = length;
        self.nulls.append_n_nulls(missing);
        match &mut self.data {
            Data::Null | Data::Struct(..) => {}
            Data::Bool(values) => values.append_n(missing, false),
            Data::Int(values) | Data::Time(values, _) | Data::Duration(values) => values.resize(length, 0),
            Data::Uint(values) => values.resize(length, 0),
            Data::Decimal(values, ..) => values.resize(length, 0),
            Data::Float(values) => values.resize(length, 0.0),
            Data::Small(values, _) | Data::Date(values) => values.resize(length, 0),
            Data::Single(values) => values.resize(length, 0.0),
            Data::Variant(_, values, metadata) => {
                values.pad(missing);
                metadata.pad(missing);
            }
            Data::Text(texts) | Data::Bytes(texts) | Data::Json(texts) => texts.pad(missing),
            Data::List(_, ends, items, _) => ends.resize(length + 1, items.length as i32),
            Data::Map(map) => map.pad(length),
        }
    }

    /// Adds the value of a row; rows in between have none.
    pub(super) fn put(
        &mut self,
        context: &mut Context<'_>,
        row: usize,
        value: Header,
        at: usize,
    ) -> Result<()> {
        if value.is_null() {
            self.pad(row + 1);
            return Ok(());
        }
        if context.shared.misfit == Misfit::Null && !self.fits(context, value, at)? {
            context.shared.nulled += 1;
            self.pad(row + 1);
            return Ok(());
        }
        self.pad(row);
        self.length = row + 1;
        self.nulls.append_non_null();
        self.data.put(context, row, value, at)
    }

    /// Whether a value has the type of the column.
    fn fits(&self, context: &Context<'_>, value: Header, at: usize) -> Result<bool> {
        let (data, number) = (context.data, matches!(value.kind, kind::UINT | kind::NEGINT | kind::FLOAT));
        Ok(match (&self.data, value.kind) {
            (Data::Json(_) | Data::Variant(..), _)
            | (Data::Text(_), kind::STRING | kind::SYMBOL)
            | (Data::Bytes(_), kind::BLOB | kind::CLOB)
            | (Data::Bool(_), kind::BOOL)
            | (Data::List(..), kind::LIST)
            | (Data::Struct(..), kind::STRUCT)
            | (Data::Time(..) | Data::Date(_), kind::TIMESTAMP) => true,
            (Data::Text(_), _) => context.shared.casts,
            (Data::Bytes(_) | Data::Decimal(..), kind::STRING | kind::SYMBOL) => {
                context.shared.casts && self.data.is_text_of(context, value, at)?
            }
            (Data::Map(map), kind::STRUCT) => map.fits(context, value)?,
            (Data::Duration(_), _) => fit::duration(data, value, at)?.is_some(),
            (Data::Float(_) | Data::Single(_), _) => number,
            (Data::Int(_), _) => fit::integer::<i64>(data, value, at)?.is_some(),
            (Data::Uint(_), _) => fit::integer::<u64>(data, value, at)?.is_some(),
            (Data::Small(_, of), _) => fit::small(of, data, value, at)?.is_some(),
            (Data::Decimal(_, digits, scale), _) => fit::decimal(*digits, *scale, data, value, at)?.is_some(),
            _ => false,
        })
    }

    /// Adds the name of a field as a value; none when it is not one of the type.
    pub(super) fn put_name(
        &mut self,
        context: &mut Context<'_>,
        name: &str,
        at: usize,
    ) -> Result<Option<()>> {
        let put = match &mut self.data {
            Data::Text(texts) => {
                context.claim(name.len(), 0, at)?;
                texts.put(name.as_bytes());
                Some(())
            }
            Data::Bool(values) => name.parse().ok().map(|value| values.append(value)),
            Data::Int(values) => name.parse().ok().map(|number| values.push(number)),
            Data::Uint(values) => name.parse().ok().map(|number| values.push(number)),
            Data::Float(values) => name.parse().ok().map(|number| values.push(number)),
            Data::Single(values) => name.parse().ok().map(|number| values.push(number)),
            Data::Small(values, of) => {
                let number = name.parse().ok().filter(|&number| fit::is_small(of, number));
                number.map(|number| values.push(number))
            }
            Data::Decimal(values, digits, scale) => {
                fit::decimal_of(*digits, *scale, name).map(|number| values.push(number))
            }
            _ => None,
        };
        if put.is_some() {
            self.length += 1;
            self.nulls.append_non_null();
        }
        Ok(put)
    }

    /// Whether the name of a field is a value of the type.
    pub(super) fn is_name(&self, name: &str) -> bool {
        match &self.data {
            Data::Text(_) => true,
            Data::Bool(_) => name.parse::<bool>().is_ok(),
            Data::Int(_) => name.parse::<i64>().is_ok(),
            Data::Uint(_) => name.parse::<u64>().is_ok(),
            Data::Float(_) | Data::Single(_) => name.parse::<f64>().is_ok(),
            Data::Small(_, of) => name.parse().is_ok_and(|number| fit::is_small(of, number)),
            Data::Decimal(_, digits, scale) => fit::decimal_of(*digits, *scale, name).is_some(),
            _ => false,
        }
    }

    /// The array of `length` values; the column is empty then.
    pub(super) fn finish(&mut self, length: usize) -> Result<ArrayRef, ArrowError> {
        self.pad(length);
        self.length = 0;
        let nulls = std::mem::replace(&mut self.nulls, NullBufferBuilder::new(0)).finish();
        Ok(match &mut self.data {
            Data::Null => Arc::new(NullArray::new(length)),
            Data::Bool(values) => Arc::new(BooleanArray::new(values.finish(), nulls)),
            Data::Int(values) => Arc::new(primitive::<Int64Type>(values, nulls)?),
            Data::Uint(values) => Arc::new(primitive::<UInt64Type>(values, nulls)?),
            Data::Decimal(values, digits, scale) => {
                let array = primitive::<Decimal128Type>(values, nulls)?;
                Arc::new(array.with_precision_and_scale(*digits, *scale)?)
            }
            Data::Float(values) => Arc::new(primitive::<Float64Type>(values, nulls)?),
            Data::Time(values, zone) => {
                let array = primitive::<TimestampMicrosecondType>(values, nulls)?;
                Arc::new(array.with_timezone_opt(zone.clone()))
            }
            Data::Small(values, DataType::Int8) => Arc::new(narrow::<Int8Type>(values, nulls, |n| n as i8)?),
            Data::Small(values, DataType::Int16) => {
                Arc::new(narrow::<Int16Type>(values, nulls, |n| n as i16)?)
            }
            Data::Small(values, _) => Arc::new(primitive::<Int32Type>(values, nulls)?),
            Data::Single(values) => Arc::new(primitive::<Float32Type>(values, nulls)?),
            Data::Date(values) => Arc::new(primitive::<Date32Type>(values, nulls)?),
            Data::Duration(values) => Arc::new(primitive::<DurationMicrosecondType>(values, nulls)?),
            Data::Map(map) => map.finish(nulls)?,
            Data::Variant(fields, values, metadata) => {
                let parts = [binary(values, None)?, binary(metadata, None)?];
                Arc::new(StructArray::try_new(fields.clone(), parts.to_vec(), nulls)?)
            }
            Data::Text(texts) | Data::Json(texts) => Arc::new(strings(texts, nulls)?),
            Data::Bytes(texts) => binary(texts, nulls)?,
            Data::List(field, ends, items, _) => {
                let ends = std::mem::replace(ends, vec![0]);
                let values = items.finish(items.length)?;
                let ends = OffsetBuffer::new(ends.into());
                Arc::new(ListArray::try_new(Arc::clone(field), ends, values, nulls)?)
            }
            Data::Struct(fields, group) => {
                let columns = group.finish(length)?;
                Arc::new(StructArray::try_new_with_length(fields.clone(), columns, nulls, length)?)
            }
        })
    }
}

impl Data {
    /// Adds a value that is not null.
    fn put(&mut self, context: &mut Context<'_>, row: usize, value: Header, at: usize) -> Result<()> {
        let misfit = context.shared.misfit;
        let unexpected = || fit::unexpected(misfit, value, at);
        match (self, value.kind) {
            (Data::Text(texts), kind::STRING) | (Data::Bytes(texts), kind::BLOB | kind::CLOB) => {
                context.claim(value.end - value.body, 0, at)?;
                texts.put(context.body(value));
            }
            (Data::Text(texts), kind::SYMBOL) => {
                let id = ion::magnitude(context.body(value), at)?;
                let name = text_of(context.table, id);
                context.claim(name.len(), 0, at)?;
                texts.put(name.as_bytes());
            }
            (Data::Int(values), _) => {
                values.push(fit::integer(context.data, value, at)?.ok_or_else(unexpected)?);
            }
            (Data::Struct(_, group), kind::STRUCT) => group.put(context, row, value)?,
            (Data::Time(values, _), kind::TIMESTAMP) => {
                values.push(timestamp::read(context.body(value), at)?);
            }
            (Data::Bool(values), kind::BOOL) => values.append(value.low == 1),
            (Data::Float(values), _) => {
                values.push(fit::float(context.data, value, at)?.ok_or_else(unexpected)?);
            }
            (Data::Json(texts), _) => put_json(context, texts, value, at, false)?,
            (Data::Text(texts), _) if context.shared.casts => put_json(context, texts, value, at, true)?,
            (Data::List(_, ends, items, weight), kind::LIST) => {
                list(context, items, *weight, value)?;
                ends.push(items.length as i32);
            }
            (Data::Variant(_, values, metadata), _) => put_variant(context, values, metadata, value, at)?,
            (Data::Map(map), kind::STRUCT) => map.put(context, value, at)?,
            (data @ (Data::Bytes(_) | Data::Decimal(..)), kind::STRING | kind::SYMBOL)
                if context.shared.casts =>
            {
                data.put_text_of(context, value, at)?.ok_or_else(unexpected)?;
            }
            (data, _) => data.put_number(context, value, at)?.ok_or_else(unexpected)?,
        }
        Ok(())
    }

    /// Whether a text stands for a value of the column.
    fn is_text_of(&self, context: &Context<'_>, value: Header, at: usize) -> Result<bool> {
        let text = text(context, value, at)?;
        Ok(match self {
            Data::Decimal(_, digits, scale) => fit::decimal_of(*digits, *scale, &text).is_some(),
            _ => BASE64_STANDARD.decode(&*text).is_ok(),
        })
    }

    /// Adds the value that a text stands for: bytes in base64, the digits of a decimal.
    fn put_text_of(&mut self, context: &mut Context<'_>, value: Header, at: usize) -> Result<Option<()>> {
        let text = text(context, value, at)?;
        Ok(match self {
            Data::Decimal(values, digits, scale) => {
                fit::decimal_of(*digits, *scale, &text).map(|number| values.push(number))
            }
            Data::Bytes(values) => match BASE64_STANDARD.decode(&*text) {
                Ok(bytes) => {
                    drop(text);
                    context.claim(bytes.len(), 0, at)?;
                    values.put(&bytes);
                    Some(())
                }
                Err(_) => None,
            },
            _ => None,
        })
    }

    /// Adds a number or a date of a type that is not frequent; none when it does not fit.
    fn put_number(&mut self, context: &Context<'_>, value: Header, at: usize) -> Result<Option<()>> {
        let data = context.data;
        Ok(match self {
            Data::Uint(values) => fit::integer(data, value, at)?.map(|number| values.push(number)),
            Data::Small(values, of) => fit::small(of, data, value, at)?.map(|number| values.push(number)),
            Data::Single(values) => fit::float(data, value, at)?.map(|number| values.push(number as f32)),
            Data::Decimal(values, digits, scale) => {
                fit::decimal(*digits, *scale, data, value, at)?.map(|number| values.push(number))
            }
            Data::Duration(values) => fit::duration(data, value, at)?.map(|us| values.push(us)),
            Data::Date(values) if value.kind == kind::TIMESTAMP => {
                let day = timestamp::read(context.body(value), at)?.div_euclid(fit::DAY_US);
                i32::try_from(day).ok().map(|day| values.push(day))
            }
            _ => None,
        })
    }
}

/// The text of a value that is one.
fn text<'a>(context: &'a Context<'_>, value: Header, at: usize) -> Result<Cow<'a, str>> {
    let body = context.body(value);
    if value.kind == kind::STRING {
        return Ok(String::from_utf8_lossy(body));
    }
    Ok(text_of(context.table, ion::magnitude(body, at)?))
}

/// The fields of a column of structs, as they were asked for or as the type has them.
fn fields_of(of: &Type, field: &Field) -> Fields {
    match (field.data_type(), of.data_type()) {
        (DataType::Struct(fields), _) => fields.clone(),
        (_, DataType::Struct(fields)) => fields,
        _ => Fields::empty(),
    }
}

fn binary(texts: &mut Bytes, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
    let (ends, data) = texts.finish();
    Ok(Arc::new(BinaryArray::try_new(ends, data, nulls)?))
}

fn put_variant(
    context: &mut Context<'_>,
    values: &mut Bytes,
    metadata: &mut Bytes,
    value: Header,
    at: usize,
) -> Result<()> {
    let encoder = &mut context.shared.variant;
    encoder.encode(context.data, context.table, value, at)?;
    values.put(&encoder.value);
    metadata.put(&encoder.metadata);
    let length = encoder.value.len() + encoder.metadata.len();
    context.claim(length, 0, at)
}

/// Adds the text of a value in JSON; `bare` takes the quotes of times and bytes off.
fn put_json(
    context: &mut Context<'_>,
    texts: &mut Bytes,
    value: Header,
    at: usize,
    bare: bool,
) -> Result<()> {
    let Shared { printer, json, .. } = &mut *context.shared;
    json.truncate(0);
    printer.value(context.data, value, at, json)?;
    let text = json.as_slice();
    let inner = text.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    let text = inner.filter(|_| bare).unwrap_or(text);
    texts.put(text);
    let length = text.len();
    context.claim(length, 0, at)
}

fn list(context: &mut Context<'_>, items: &mut Column, weight: usize, list: Header) -> Result<()> {
    let data = &context.data[..list.end];
    let mut at = list.body;
    while at < list.end {
        let value = ion::header(data, at)?;
        if !value.is_pad() {
            context.claim(0, weight, at)?;
            items.put(context, items.length, value, at)?;
        }
        at = value.end;
    }
    Ok(())
}

/// Puts rows into record batches.
pub struct Builder {
    layout: Arc<Layout>,
    rows: usize,
    root: Group,
    shared: Shared,
    full: Vec<RecordBatch>,
}

impl Builder {
    /// A builder of tables with these columns; fields without a column are left out.
    pub fn new(layout: Arc<Layout>) -> Self {
        let root = Group::new(&layout.columns, layout.schema.fields());
        let shared = Shared {
            misfit: layout.misfit,
            casts: layout.casts,
            printer: Printer::default(),
            json: Sink::default(),
            variant: Encoder::default(),
            epoch: 0,
            text: 0,
            cells: 0,
            nulled: 0,
            gathered: 0,
        };
        Self { layout, rows: 0, root, shared, full: Vec::new() }
    }

    /// Takes over the table in force, either a new one or the one before with symbols added.
    pub fn sync(&mut self, table: &SymbolTable, is_new: bool) {
        self.shared.epoch += u64::from(is_new);
        self.shared.printer.sync(table, is_new);
    }

    /// Adds a row.
    pub fn row(&mut self, data: &[u8], row: Header, table: &SymbolTable) -> Result<()> {
        let mut context = Context { data, table, shared: &mut self.shared };
        context.claim(0, 1 + self.root.weight, row.body)?;
        self.root.put(&mut context, self.rows, row).map_err(fit::shown)?;
        self.rows += 1;
        if self.shared.text > FULL_TEXT || self.shared.cells > FULL_CELLS {
            self.flush()?;
        }
        Ok(())
    }

    /// The rows that were added since the last time.
    pub fn take(&mut self) -> Result<Vec<RecordBatch>> {
        self.flush()?;
        self.shared.gathered = 0;
        Ok(std::mem::take(&mut self.full))
    }

    fn flush(&mut self) -> Result<()> {
        if self.rows > 0 {
            let made = self.batch().map_err(|error| Error::argument(format!("no Arrow array: {error}")))?;
            self.full.push(made);
        }
        Ok(())
    }

    fn batch(&mut self) -> Result<RecordBatch, ArrowError> {
        let rows = std::mem::take(&mut self.rows);
        self.shared.gathered += std::mem::take(&mut self.shared.text);
        self.shared.cells = 0;
        for (all, new) in self.layout.nulled.iter().zip(self.root.nulled.drain(..)) {
            all.fetch_add(new, Ordering::Relaxed);
        }
        let columns = self.root.finish(rows)?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.layout.schema), columns, &options)
    }
}

/// A column of maps.
struct Map {
    entries: FieldRef,
    /// Where the entries of each map end.
    ends: Vec<i32>,
    keys: Column,
    values: Column,
    /// Number of cells that an entry takes.
    weight: usize,
}

impl Map {
    /// * `of`: The type with these keys and values.
    /// * `field`: The column as it was asked for.
    fn new(key: &Type, value: &Type, of: &Type, field: &Field) -> Self {
        let entries = match (field.data_type().clone(), of.data_type()) {
            (DataType::Map(entries, _), _) | (_, DataType::Map(entries, _)) => entries,
            _ => Arc::new(Field::new("entries", DataType::Null, false)),
        };
        let parts = parts(&entries);
        let column = |at: usize, of: &Type| match parts.get(at) {
            Some(field) => Column::new(of, field),
            None => Column::new(of, &of.field("")),
        };
        let (keys, values) = (column(0, key), column(1, value));
        let weight = keys.weight() + values.weight();
        Self { entries, ends: vec![0], keys, values, weight }
    }

    /// Adds empty maps until there are `length`.
    fn pad(&mut self, length: usize) {
        self.ends.resize(length + 1, self.keys.length as i32);
    }

    /// Whether all names are keys.
    fn fits(&self, context: &Context<'_>, value: Header) -> Result<bool> {
        let data = &context.data[..value.end];
        let mut at = value.body;
        while at < value.end {
            let (label, value_at) = varuint::read(data, at)?;
            let entry = ion::header(data, value_at)?;
            at = entry.end;
            if !entry.is_pad() && !self.keys.is_name(&text_of(context.table, label)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Adds a struct.
    fn put(&mut self, context: &mut Context<'_>, value: Header, value_at: usize) -> Result<()> {
        let (data, table) = (&context.data[..value.end], context.table);
        let mut at = value.body;
        while at < value.end {
            let (label, entry_at) = varuint::read(data, at)?;
            let entry = ion::header(data, entry_at)?;
            at = entry.end;
            if entry.is_pad() {
                continue;
            }
            let name = text_of(table, label);
            context.claim(0, self.weight, entry_at)?;
            let row = self.keys.length;
            let put = self.keys.put_name(context, &name, entry_at)?;
            put.ok_or_else(|| fit::unexpected(Misfit::Error, value, value_at))?;
            let put = self.values.put(context, row, entry, entry_at);
            put.map_err(|error| fit::within(error, &name))?;
        }
        self.ends.push(self.keys.length as i32);
        Ok(())
    }

    /// The array of the maps; the column is empty then.
    fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        let length = self.keys.length;
        let columns = vec![self.keys.finish(length)?, self.values.finish(length)?];
        let entries = StructArray::try_new_with_length(parts(&self.entries), columns, None, length)?;
        let ends = OffsetBuffer::new(std::mem::replace(&mut self.ends, vec![0]).into());
        Ok(Arc::new(MapArray::try_new(Arc::clone(&self.entries), ends, entries, nulls, false)?))
    }
}

/// The key and the value of the entries.
fn parts(entries: &Field) -> Fields {
    match entries.data_type() {
        DataType::Struct(fields) => fields.clone(),
        _ => Fields::empty(),
    }
}
