//! Values into the arrays of lanes.

use std::sync::Arc;

use arrow_array::types::{
    Decimal128Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt8Type,
};
use arrow_array::{ArrayRef, BooleanArray, DictionaryArray, ListArray, StringArray};
use arrow_buffer::{BooleanBufferBuilder, NullBufferBuilder, OffsetBuffer};
use arrow_schema::{ArrowError, Field};

use super::origin::Origin;
use super::plan::Letter;
use super::typed::buffers::{Bytes, primitive, strings};
use crate::error::{Error, Result};
use crate::ion::SymbolTable;
use crate::ion::names::text_of;
use crate::json::print::Printer;
use crate::json::sink::Sink;
use crate::limits;
use crate::value::Value;
use crate::value::key::{self, Members};
use crate::value::number::{Number, WHOLE_DIGITS};

const LAYER: &str = "statistics";

/// The chunk at hand, and what all columns share.
pub(super) struct Scene<'a> {
    pub(super) data: &'a [u8],
    pub(super) table: &'a SymbolTable,
    pub(super) tools: &'a mut Tools,
}

/// Printed names and memory.
#[derive(Default)]
pub(super) struct Tools {
    pub(super) printer: Printer,
    json: Sink,
    scratch: Vec<u8>,
    /// Bytes in the columns of the batch at hand.
    pub(super) weight: usize,
    /// Bytes in the batches that nobody took yet.
    pub(super) gathered: usize,
}

impl Tools {
    fn claim(&mut self, bytes: usize, at: usize) -> Result<()> {
        self.weight += bytes;
        limits::check_run(self.weight + self.gathered, at)
    }
}

/// One column in the making.
pub(super) struct Column {
    nulls: NullBufferBuilder,
    data: Data,
}

enum Data {
    Type(Vec<u8>),
    Number(Vec<f64>),
    Integer(Vec<i128>),
    Long(Vec<i64>),
    Time(Vec<i64>),
    Size(Vec<i64>),
    Row(Vec<i64>),
    Bool(BooleanBufferBuilder),
    Text(Bytes),
    Key(Bytes),
    Value(Bytes),
    Json(Bytes),
    Name(Bytes),
    File(Vec<Arc<str>>, Vec<i32>),
    Numbers(Vec<i32>, Vec<f64>),
    Keys(Vec<i32>, Bytes),
}

impl Column {
    pub(super) fn new(letter: Letter) -> Self {
        let data = match letter {
            Letter::Type => Data::Type(Vec::new()),
            Letter::Number => Data::Number(Vec::new()),
            Letter::Integer => Data::Integer(Vec::new()),
            Letter::Long => Data::Long(Vec::new()),
            Letter::Time => Data::Time(Vec::new()),
            Letter::Size => Data::Size(Vec::new()),
            Letter::Row | Letter::RowInFile => Data::Row(Vec::new()),
            Letter::Bool => Data::Bool(BooleanBufferBuilder::new(0)),
            Letter::Text => Data::Text(Bytes::new()),
            Letter::Key => Data::Key(Bytes::new()),
            Letter::Value => Data::Value(Bytes::new()),
            Letter::Json => Data::Json(Bytes::new()),
            Letter::Name => Data::Name(Bytes::new()),
            Letter::File => Data::File(Vec::new(), Vec::new()),
            Letter::Numbers => Data::Numbers(vec![0], Vec::new()),
            Letter::Keys => Data::Keys(vec![0], Bytes::new()),
        };
        Self { nulls: NullBufferBuilder::new(0), data }
    }

    /// Adds what the lane shows of a value, or of none.
    #[inline]
    pub(super) fn put(&mut self, scene: &mut Scene<'_>, value: Option<&Value>) -> Result<()> {
        let shown = match (value, &mut self.data) {
            (value, Data::Type(values)) => {
                values.push(value.map_or(Ok(0), Value::type_bit)?);
                true
            }
            (Some(value), data) => data.put(scene, value)?,
            (None, _) => false,
        };
        if shown {
            self.nulls.append_non_null();
        } else {
            self.nulls.append_null();
            self.data.pad();
        }
        Ok(())
    }

    /// Adds the bit of a type.
    pub(super) fn put_type(&mut self, bit: u8) {
        if let Data::Type(values) = &mut self.data {
            values.push(bit);
            self.nulls.append_non_null();
        }
    }

    /// Adds the number of a row.
    pub(super) fn put_row(&mut self, number: i64) {
        if let Data::Row(values) = &mut self.data {
            values.push(number);
            self.nulls.append_non_null();
        }
    }

    /// Adds the name of a symbol.
    pub(super) fn put_name(&mut self, scene: &mut Scene<'_>, label: u64, at: usize) -> Result<()> {
        if let Data::Name(texts) = &mut self.data {
            let name = text_of(scene.table, label);
            texts.put(name.as_bytes());
            self.nulls.append_non_null();
            scene.tools.claim(name.len(), at)?;
        }
        Ok(())
    }

    /// Adds where a row comes from, if that is known: its number in the file, or the name of that.
    pub(super) fn put_origin(&mut self, origin: Option<&Origin>, number: i64) {
        let Some(origin) = origin else {
            self.nulls.append_null();
            return self.data.pad();
        };
        match &mut self.data {
            Data::Row(values) => values.push(origin.in_file(number)),
            Data::File(names, keys) => {
                if !names.last().is_some_and(|last| Arc::ptr_eq(last, &origin.name)) {
                    names.push(Arc::clone(&origin.name));
                }
                keys.push(names.len() as i32 - 1);
            }
            _ => return,
        }
        self.nulls.append_non_null();
    }

    /// The array of what was added; the column is empty then.
    pub(super) fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let nulls = std::mem::replace(&mut self.nulls, NullBufferBuilder::new(0)).finish();
        Ok(match &mut self.data {
            Data::Type(values) => Arc::new(primitive::<UInt8Type>(values, nulls)?),
            Data::Number(values) => Arc::new(primitive::<Float64Type>(values, nulls)?),
            Data::Integer(values) => {
                let array = primitive::<Decimal128Type>(values, nulls)?;
                Arc::new(array.with_precision_and_scale(WHOLE_DIGITS, 0)?)
            }
            Data::Long(values) | Data::Size(values) | Data::Row(values) => {
                Arc::new(primitive::<Int64Type>(values, nulls)?)
            }
            Data::Time(values) => Arc::new(primitive::<TimestampMicrosecondType>(values, nulls)?),
            Data::Bool(values) => Arc::new(BooleanArray::new(values.finish(), nulls)),
            Data::Text(texts)
            | Data::Key(texts)
            | Data::Value(texts)
            | Data::Json(texts)
            | Data::Name(texts) => Arc::new(strings(texts, nulls)?),
            Data::File(names, keys) => {
                let names = StringArray::from_iter_values(std::mem::take(names));
                Arc::new(DictionaryArray::try_new(primitive::<Int32Type>(keys, nulls)?, Arc::new(names))?)
            }
            Data::Numbers(ends, values) => {
                let items: ArrayRef = Arc::new(primitive::<Float64Type>(values, None)?);
                list(ends, items, nulls)?
            }
            Data::Keys(ends, texts) => {
                let items: ArrayRef = Arc::new(strings(texts, None)?);
                list(ends, items, nulls)?
            }
        })
    }
}

fn list(
    ends: &mut Vec<i32>,
    items: ArrayRef,
    nulls: Option<arrow_buffer::NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let ends = OffsetBuffer::new(std::mem::replace(ends, vec![0]).into());
    let field = Arc::new(Field::new("item", items.data_type().clone(), true));
    Ok(Arc::new(ListArray::try_new(field, ends, items, nulls)?))
}

impl Data {
    /// Adds what stands in the place of a null.
    fn pad(&mut self) {
        match self {
            Self::Type(values) => values.push(0),
            Self::Number(values) => values.push(0.0),
            Self::Integer(values) => values.push(0),
            Self::Long(values) | Self::Time(values) | Self::Size(values) | Self::Row(values) => {
                values.push(0);
            }
            Self::Bool(values) => values.append(false),
            Self::Text(texts)
            | Self::Key(texts)
            | Self::Value(texts)
            | Self::Json(texts)
            | Self::Name(texts) => texts.pad(1),
            Self::File(_, keys) => keys.push(0),
            Self::Numbers(ends, _) | Self::Keys(ends, _) => ends.extend_from_within(ends.len() - 1..),
        }
    }

    /// Adds a value, if it is of the type of the lane.
    #[inline]
    fn put(&mut self, scene: &mut Scene<'_>, value: &Value) -> Result<bool> {
        match self {
            Self::Number(values) => {
                let number = value.number(scene.data)?;
                values.extend(number.map(Number::to_f64));
                Ok(number.is_some())
            }
            Self::Integer(values) => {
                let Some(Number::Int(number)) = value.number(scene.data)? else { return Ok(false) };
                values.push(number);
                Ok(true)
            }
            Self::Long(values) => {
                let Some(number) = value.number(scene.data)? else { return Ok(false) };
                let long = match number {
                    Number::Int(number) => i64::try_from(number).ok(),
                    Number::Float(_) => None,
                };
                // Leaving it out would make answers wrong in silence.
                let Some(long) = long else {
                    return Err(Error::corrupt(
                        LAYER,
                        value.at,
                        "a number that the metadata of the file rule out",
                    ));
                };
                values.push(long);
                Ok(true)
            }
            Self::Text(texts) => {
                let Some(text) = value.text(scene.data, scene.table)? else { return Ok(false) };
                texts.put(&text);
                scene.tools.claim(text.len(), value.at)?;
                Ok(true)
            }
            Self::Time(values) => {
                let us = value.time(scene.data)?;
                values.extend(us);
                Ok(us.is_some())
            }
            Self::Bool(values) => {
                let flag = value.boolean();
                if let Some(flag) = flag {
                    values.append(flag);
                }
                Ok(flag.is_some())
            }
            Self::Key(texts) => put_key(scene, texts, *value, Members::Sorted).map(|()| true),
            Self::Value(texts) => put_key(scene, texts, *value, Members::AsTheyStand).map(|()| true),
            Self::Json(texts) => put_json(scene, texts, *value).map(|()| true),
            Self::Size(values) => {
                let size = size(scene.data, *value)?;
                values.extend(size);
                Ok(size.is_some())
            }
            Self::Numbers(ends, values) => put_numbers(scene, ends, values, *value),
            Self::Keys(ends, texts) => put_keys(scene, ends, texts, *value),
            Self::Type(_) | Self::Name(_) | Self::File(..) | Self::Row(_) => Ok(false),
        }
    }
}

fn put_key(scene: &mut Scene<'_>, texts: &mut Bytes, value: Value, members: Members) -> Result<()> {
    let Tools { scratch, .. } = &mut *scene.tools;
    scratch.clear();
    key::put(scene.data, scene.table, value, members, scratch)?;
    texts.put(scratch);
    let length = scratch.len();
    scene.tools.claim(length, value.at)
}

fn put_json(scene: &mut Scene<'_>, texts: &mut Bytes, value: Value) -> Result<()> {
    let Tools { printer, json, .. } = &mut *scene.tools;
    json.truncate(0);
    printer.value(scene.data, value.header, value.at, json)?;
    texts.put(json.as_slice());
    let length = json.len();
    scene.tools.claim(length, value.at)
}

/// The number of elements or fields.
fn size(data: &[u8], value: Value) -> Result<Option<i64>> {
    let mut count = 0;
    if value.is_list() {
        value.items(data).try_for_each(|item| item.map(|_| count += 1))?;
    } else if value.is_struct() {
        value.fields(data).try_for_each(|field| field.map(|_| count += 1))?;
    } else {
        return Ok(None);
    }
    Ok(Some(count))
}

fn put_numbers(
    scene: &mut Scene<'_>,
    ends: &mut Vec<i32>,
    values: &mut Vec<f64>,
    value: Value,
) -> Result<bool> {
    let start = values.len();
    if !value.is_list() {
        return Ok(false);
    }
    for item in value.items(scene.data) {
        let Some(number) = item?.number(scene.data)? else {
            values.truncate(start);
            return Ok(false);
        };
        values.push(number.to_f64());
    }
    scene.tools.claim(8 * (values.len() - start), value.at)?;
    // What is claimed keeps the number of elements far below the limit.
    ends.push(values.len() as i32);
    Ok(true)
}

fn put_keys(scene: &mut Scene<'_>, ends: &mut Vec<i32>, texts: &mut Bytes, value: Value) -> Result<bool> {
    if !value.is_list() {
        return Ok(false);
    }
    let data = scene.data;
    for item in value.items(data) {
        put_key(scene, texts, item?, Members::Sorted)?;
        scene.tools.claim(4, value.at)?;
    }
    ends.push(texts.len() as i32);
    Ok(true)
}
