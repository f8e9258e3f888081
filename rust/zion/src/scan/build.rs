//! Values into Arrow arrays: the second pass of a scan.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use arrow_array::types::{Decimal128Type, Float64Type, Int64Type, TimestampMicrosecondType, UInt64Type};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, ListArray, NullArray, RecordBatch, RecordBatchOptions, StructArray,
};
use arrow_buffer::{BooleanBufferBuilder, NullBufferBuilder, OffsetBuffer};
use arrow_schema::{ArrowError, FieldRef, Fields};

use super::buffers::{Bytes, primitive, strings};
use super::names::{Lookup, name_of};
use super::schema::{Layout, Type};
use crate::error::{Error, Result};
use crate::ion::symtab::NameHasher;
use crate::ion::{self, Header, SymbolTable, kind, timestamp, varuint};
use crate::json::print::{Printer, float};
use crate::json::sink::Sink;

/// A batch with so much text, or so many cells, is full.
const FULL_TEXT: usize = 16 << 20;
const FULL_CELLS: usize = 4 << 20;
/// A single row that makes a batch grow beyond this is refused: short rows can stand for long columns.
const MAX_TEXT: usize = 128 << 20;
const MAX_CELLS: usize = 64 << 20;

/// The chunk whose rows are added, and what all columns share.
struct Context<'a> {
    data: &'a [u8],
    table: &'a SymbolTable,
    shared: &'a mut Shared,
}

#[derive(Default)]
struct Shared {
    printer: Printer,
    json: Sink,
    epoch: u64,
    text: usize,
    cells: usize,
}

impl Context<'_> {
    fn body(&self, value: Header) -> &[u8] {
        &self.data[value.body..value.end]
    }

    fn claim(&mut self, text: usize, cells: usize, at: usize) -> Result<()> {
        self.shared.text += text;
        self.shared.cells += cells;
        if self.shared.text > MAX_TEXT || self.shared.cells > MAX_CELLS {
            return Err(Error::corrupt("ion", at, "a row that takes too much memory as a row of a table"));
        }
        Ok(())
    }
}

/// One column, or a part of one.
struct Column {
    /// Number of values; null values at the end may not have been added.
    length: usize,
    nulls: NullBufferBuilder,
    data: Data,
}

enum Data {
    Null,
    Bool(BooleanBufferBuilder),
    Int(Vec<i64>),
    Uint(Vec<u64>),
    Decimal(Vec<i128>),
    Float(Vec<f64>),
    Time(Vec<i64>),
    Text(Bytes),
    Bytes(Bytes),
    Json(Bytes),
    List(FieldRef, Vec<i32>, Box<Column>, usize),
    Struct(Fields, Group),
}

/// The columns of a struct.
struct Group {
    places: HashMap<Box<str>, u32, BuildHasherDefault<NameHasher>>,
    columns: Vec<Column>,
    lookup: Lookup,
    /// Number of cells that a value takes, whatever is in it.
    weight: usize,
}

/// The place of a field that has no column.
const NOWHERE: u32 = u32::MAX;

impl Group {
    fn new(fields: &[(Box<str>, Type)]) -> Self {
        let columns: Vec<Column> = fields.iter().map(|(_, field)| Column::new(field)).collect();
        Self {
            places: fields.iter().map(|(name, _)| name.clone()).zip(0..).collect(),
            weight: columns.iter().map(Column::weight).sum(),
            columns,
            lookup: Lookup::default(),
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
                .find(epoch, label, || places.get(&*name_of(table, label)).copied().unwrap_or(NOWHERE));
            if let Some(column) = self.columns.get_mut(place as usize)
                && column.length <= row
            {
                column.put(context, row, value, value_at)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, length: usize) -> Result<Vec<ArrayRef>, ArrowError> {
        self.columns.iter_mut().map(|column| column.finish(length)).collect()
    }
}

impl Column {
    fn new(of: &Type) -> Self {
        let data = match of {
            Type::Null => Data::Null,
            Type::Bool => Data::Bool(BooleanBufferBuilder::new(0)),
            Type::Int => Data::Int(Vec::new()),
            Type::Uint => Data::Uint(Vec::new()),
            Type::Decimal => Data::Decimal(Vec::new()),
            Type::Float => Data::Float(Vec::new()),
            Type::Time => Data::Time(Vec::new()),
            Type::Text => Data::Text(Bytes::new()),
            Type::Bytes => Data::Bytes(Bytes::new()),
            Type::Json => Data::Json(Bytes::new()),
            Type::List(item) => {
                let column = Self::new(item);
                let weight = column.weight();
                Data::List(item.field("item"), vec![0], Box::new(column), weight)
            }
            Type::Struct(fields) => {
                let arrow = fields.iter().map(|(name, field)| field.field(name)).collect();
                Data::Struct(arrow, Group::new(fields))
            }
        };
        Self { length: 0, nulls: NullBufferBuilder::new(0), data }
    }

    /// Number of cells of one value outside of lists.
    fn weight(&self) -> usize {
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
            Data::Int(values) | Data::Time(values) => values.resize(length, 0),
            Data::Uint(values) => values.resize(length, 0),
            Data::Decimal(values) => values.resize(length, 0),
            Data::Float(values) => values.resize(length, 0.0),
            Data::Text(texts) | Data::Bytes(texts) | Data::Json(texts) => texts.pad(missing),
            Data::List(_, ends, items, _) => ends.resize(length + 1, items.length as i32),
        }
    }

    /// Adds the value of a row; rows in between have none.
    fn put(&mut self, context: &mut Context<'_>, row: usize, value: Header, at: usize) -> Result<()> {
        if value.is_null() {
            self.pad(row + 1);
            return Ok(());
        }
        self.pad(row);
        self.length = row + 1;
        self.nulls.append_non_null();
        self.data.put(context, row, value, at)
    }

    /// The array of `length` values; the column is empty then.
    fn finish(&mut self, length: usize) -> Result<ArrayRef, ArrowError> {
        self.pad(length);
        self.length = 0;
        let nulls = std::mem::replace(&mut self.nulls, NullBufferBuilder::new(0)).finish();
        Ok(match &mut self.data {
            Data::Null => Arc::new(NullArray::new(length)),
            Data::Bool(values) => Arc::new(BooleanArray::new(values.finish(), nulls)),
            Data::Int(values) => Arc::new(primitive::<Int64Type>(values, nulls)?),
            Data::Uint(values) => Arc::new(primitive::<UInt64Type>(values, nulls)?),
            Data::Decimal(values) => {
                Arc::new(primitive::<Decimal128Type>(values, nulls)?.with_precision_and_scale(20, 0)?)
            }
            Data::Float(values) => Arc::new(primitive::<Float64Type>(values, nulls)?),
            Data::Time(values) => {
                Arc::new(primitive::<TimestampMicrosecondType>(values, nulls)?.with_timezone("UTC"))
            }
            Data::Text(texts) | Data::Json(texts) => Arc::new(strings(texts, nulls)?),
            Data::Bytes(texts) => {
                let (ends, data) = texts.finish();
                Arc::new(BinaryArray::try_new(ends, data, nulls)?)
            }
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
        let unexpected = || Error::corrupt("ion", at, "a value that does not fit the type of its column");
        match (self, value.kind) {
            (Data::Text(texts), kind::STRING) | (Data::Bytes(texts), kind::BLOB | kind::CLOB) => {
                context.claim(value.end - value.body, 0, at)?;
                texts.put(context.body(value));
            }
            (Data::Text(texts), kind::SYMBOL) => {
                let id = ion::magnitude(context.body(value), at)?;
                let name = name_of(context.table, id);
                context.claim(name.len(), 0, at)?;
                texts.put(name.as_bytes());
            }
            (Data::Int(values), _) => {
                values.push(i64::try_from(integer(context, value, at)?).map_err(|_| unexpected())?);
            }
            (Data::Struct(_, group), kind::STRUCT) => group.put(context, row, value)?,
            (Data::Time(values), kind::TIMESTAMP) => values.push(timestamp::read(context.body(value), at)?),
            (Data::Bool(values), kind::BOOL) => values.append(value.low == 1),
            (Data::Float(values), kind::FLOAT) => values.push(float(context.body(value), at)?),
            (Data::Float(values), _) => values.push(integer(context, value, at)? as f64),
            (Data::Json(texts), _) => put_json(context, texts, value, at)?,
            (Data::List(_, ends, items, weight), kind::LIST) => {
                list(context, items, *weight, value)?;
                ends.push(items.length as i32);
            }
            (Data::Uint(values), _) => {
                values.push(u64::try_from(integer(context, value, at)?).map_err(|_| unexpected())?);
            }
            (Data::Decimal(values), _) => values.push(integer(context, value, at)?),
            _ => return Err(unexpected()),
        }
        Ok(())
    }
}

fn put_json(context: &mut Context<'_>, texts: &mut Bytes, value: Header, at: usize) -> Result<()> {
    let Shared { printer, json, .. } = &mut *context.shared;
    json.truncate(0);
    printer.value(context.data, value, at, json)?;
    texts.put(json.as_slice());
    let length = json.len();
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

#[inline]
fn integer(context: &Context<'_>, value: Header, at: usize) -> Result<i128> {
    let magnitude = i128::from(ion::magnitude(context.body(value), at)?);
    match value.kind {
        kind::UINT => Ok(magnitude),
        kind::NEGINT => Ok(-magnitude),
        _ => Err(Error::corrupt("ion", at, "a value that does not fit the type of its column")),
    }
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
        let root = Group::new(&layout.columns);
        Self { layout, rows: 0, root, shared: Shared::default(), full: Vec::new() }
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
        self.root.put(&mut context, self.rows, row)?;
        self.rows += 1;
        if self.shared.text > FULL_TEXT || self.shared.cells > FULL_CELLS {
            self.flush()?;
        }
        Ok(())
    }

    /// The rows that were added since the last time.
    pub fn take(&mut self) -> Result<Vec<RecordBatch>> {
        self.flush()?;
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
        (self.shared.text, self.shared.cells) = (0, 0);
        let columns = self.root.finish(rows)?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.layout.schema), columns, &options)
    }
}
