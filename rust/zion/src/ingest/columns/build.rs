//! Arrays of any type in the forms of [`Data`].

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, ByteArrayType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type,
    Decimal256Type, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    RunEndIndexType, Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, FixedSizeBinaryArray, GenericBinaryArray, GenericByteArray, GenericListArray,
    GenericListViewArray, OffsetSizeTrait, StructArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, FieldRef, TimeUnit};

use super::forms::Changed;
use super::forms::{Bytes, Column, DAY, Data, Field, Variants};
use super::refused::{Refused, Result};
use crate::limits::MAX_TREE_DEPTH;

/// The fields of structs, which are `depth` levels deep.
pub(super) fn fields(rows: &StructArray, depth: usize) -> Result<Vec<Field>> {
    let mut fields = Vec::with_capacity(rows.num_columns());
    for (field, array) in rows.fields().iter().zip(rows.columns()) {
        let name = field.name().clone();
        let count = rows.fields().iter().filter(|other| *other.name() == name).count();
        if count > 1 {
            return Err(Refused::new(format!("{count} fields are called {name:?}")));
        }
        let column = column(array, field, depth).map_err(|refused| refused.within(&name))?;
        fields.push(Field { name, symbol: None, changed: Changed::default(), column });
    }
    Ok(fields)
}

/// * `field`: What its type is called in what has it.
fn column(array: &ArrayRef, field: &FieldRef, depth: usize) -> Result<Column> {
    if depth > MAX_TREE_DEPTH {
        return Err(Refused::new(format!("values nested deeper than {MAX_TREE_DEPTH} levels")));
    }
    if let Some(variants) = variants(array)? {
        let nulls = Some(variants.nulls(array.nulls(), array.len()));
        return Ok(Column { nulls, data: Data::Variant(variants) });
    }
    let nulls = array.logical_nulls();
    let data = match scalars(array) {
        Some(Ok(Data::Blob(Bytes::Fixed(values)))) if is_uuid(field, &values) => Data::Uuid(values),
        Some(data) => data?,
        None => nested(array, field, nulls.as_ref(), depth + 1)?,
    };
    Ok(Column { nulls, data })
}

fn is_uuid(field: &FieldRef, values: &FixedSizeBinaryArray) -> bool {
    let extension = field.metadata().get("ARROW:extension:name");
    extension.is_some_and(|name| name == "arrow.uuid") && values.value_length() == 16
}

/// Values without others in them; none when there are.
fn scalars(array: &ArrayRef) -> Option<Result<Data>> {
    Some(Ok(match array.data_type() {
        DataType::Null => Data::Null,
        DataType::Boolean => Data::Bool(array.as_boolean().values().clone()),
        DataType::Int8 => Data::Int(widened::<Int8Type, _>(array)),
        DataType::Int16 => Data::Int(widened::<Int16Type, _>(array)),
        DataType::Int32 => Data::Int(widened::<Int32Type, _>(array)),
        DataType::Int64 => Data::Int(widened::<Int64Type, _>(array)),
        DataType::UInt8 => Data::Int(widened::<UInt8Type, _>(array)),
        DataType::UInt16 => Data::Int(widened::<UInt16Type, _>(array)),
        DataType::UInt32 => Data::Int(widened::<UInt32Type, _>(array)),
        DataType::UInt64 => Data::UInt(widened::<UInt64Type, _>(array)),
        DataType::Float16 => Data::Float(widened::<Float16Type, _>(array)),
        DataType::Float32 => Data::Float(widened::<Float32Type, _>(array)),
        DataType::Float64 => Data::Float(widened::<Float64Type, _>(array)),
        DataType::Decimal32(_, scale) => Data::Decimal(widened::<Decimal32Type, _>(array), *scale),
        DataType::Decimal64(_, scale) => Data::Decimal(widened::<Decimal64Type, _>(array), *scale),
        DataType::Decimal128(_, scale) => Data::Decimal(widened::<Decimal128Type, _>(array), *scale),
        DataType::Decimal256(_, scale) => Data::LongDecimal(widened::<Decimal256Type, _>(array), *scale),
        DataType::Utf8 => {
            return Some(binary(array.as_string::<i32>()).map(|it| Data::Text(Bytes::Short(it))));
        }
        DataType::LargeUtf8 => {
            return Some(binary(array.as_string::<i64>()).map(|it| Data::Text(Bytes::Long(it))));
        }
        DataType::Utf8View => Data::Text(Bytes::View(array.as_string_view().clone().to_binary_view())),
        DataType::Binary => Data::Blob(Bytes::Short(array.as_binary().clone())),
        DataType::LargeBinary => Data::Blob(Bytes::Long(array.as_binary().clone())),
        DataType::BinaryView => Data::Blob(Bytes::View(array.as_binary_view().clone())),
        DataType::FixedSizeBinary(_) => Data::Blob(Bytes::Fixed(array.as_fixed_size_binary().clone())),
        _ => return times(array).map(Ok),
    }))
}

/// Dates, times and durations.
fn times(array: &ArrayRef) -> Option<Data> {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    Some(match array.data_type() {
        DataType::Date32 => Data::Time(scaled::<Date32Type>(array, DAY, 1)),
        DataType::Date64 => Data::Time(scaled::<Date64Type>(array, 1000, 1)),
        DataType::Timestamp(Second, _) => Data::Time(scaled::<TimestampSecondType>(array, 1_000_000, 1)),
        DataType::Timestamp(Millisecond, _) => Data::Time(scaled::<TimestampMillisecondType>(array, 1000, 1)),
        DataType::Timestamp(Microsecond, _) => Data::Time(scaled::<TimestampMicrosecondType>(array, 1, 1)),
        DataType::Timestamp(Nanosecond, _) => Data::Time(scaled::<TimestampNanosecondType>(array, 1, 1000)),
        DataType::Time32(Second) => Data::Clock(scaled::<Time32SecondType>(array, 1_000_000, 1)),
        DataType::Time32(Millisecond) => Data::Clock(scaled::<Time32MillisecondType>(array, 1000, 1)),
        DataType::Time64(Microsecond) => Data::Clock(scaled::<Time64MicrosecondType>(array, 1, 1)),
        DataType::Time64(Nanosecond) => Data::Clock(scaled::<Time64NanosecondType>(array, 1, 1000)),
        DataType::Duration(Second) => Data::Seconds(widened::<DurationSecondType, _>(array), 0),
        DataType::Duration(Millisecond) => Data::Seconds(widened::<DurationMillisecondType, _>(array), 3),
        DataType::Duration(Microsecond) => Data::Seconds(widened::<DurationMicrosecondType, _>(array), 6),
        DataType::Duration(Nanosecond) => {
            let values = array.as_primitive::<DurationNanosecondType>().values();
            Data::Seconds(values.iter().map(|ns| i128::from(ns / 1000)).collect(), 6)
        }
        _ => return None,
    })
}

/// Values with others in them.
fn nested(array: &ArrayRef, field: &FieldRef, nulls: Option<&NullBuffer>, depth: usize) -> Result<Data> {
    let list = |ranges: Vec<Range<usize>>, values: &ArrayRef, item: &FieldRef| {
        let (ranges, values) = used(ranges, nulls, values.len())
            .map(|(ranges, range)| (ranges, values.slice(range.start, range.len())))?;
        Ok(Data::List(ranges, Box::new(column(&values, item, depth)?)))
    };
    match array.data_type() {
        DataType::Struct(_) => Ok(Data::Struct(fields(array.as_struct(), depth)?)),
        DataType::List(item) => list(ranges(array.as_list::<i32>()), array.as_list::<i32>().values(), item),
        DataType::LargeList(item) => {
            list(ranges(array.as_list::<i64>()), array.as_list::<i64>().values(), item)
        }
        DataType::ListView(item) => {
            list(views(array.as_list_view::<i32>()), array.as_list_view::<i32>().values(), item)
        }
        DataType::LargeListView(item) => {
            list(views(array.as_list_view::<i64>()), array.as_list_view::<i64>().values(), item)
        }
        DataType::FixedSizeList(item, size) => {
            let size = usize::try_from(*size).unwrap_or(0);
            let ranges = (0..array.len()).map(|row| row * size..(row + 1) * size).collect();
            list(ranges, array.as_fixed_size_list().values(), item)
        }
        DataType::Map(..) => map(array, nulls, depth),
        DataType::Dictionary(..) => dictionary(array, field, depth),
        DataType::RunEndEncoded(ends, item) => match ends.data_type() {
            DataType::Int16 => runs::<Int16Type>(array, item, depth),
            DataType::Int32 => runs::<Int32Type>(array, item, depth),
            _ => runs::<Int64Type>(array, item, depth),
        },
        other => Err(Refused::new(format!("values of the type {other}, which have no place in a row"))),
    }
}

fn map(array: &ArrayRef, nulls: Option<&NullBuffer>, depth: usize) -> Result<Data> {
    let map = array.as_map();
    let ranges = map.offsets().windows(2).map(|pair| pair[0] as usize..pair[1] as usize).collect();
    let (ranges, range) = used(ranges, nulls, map.entries().len())?;
    if map.keys().data_type().is_nested() {
        return Err(Refused::new(format!("a map with keys of the type {}", map.keys().data_type())));
    }
    let (key, value) = map.entries_fields();
    let keys = column(&map.keys().slice(range.start, range.len()), &Arc::new(key.clone()), depth)?;
    let values = column(&map.values().slice(range.start, range.len()), &Arc::new(value.clone()), depth)?;
    Ok(Data::Map(ranges, Box::new((keys, values))))
}

fn dictionary(array: &ArrayRef, field: &FieldRef, depth: usize) -> Result<Data> {
    let dictionary = array.as_any_dictionary();
    if dictionary.values().is_empty() {
        return Ok(Data::Null);
    }
    Ok(Data::Lookup(dictionary.normalized_keys(), Box::new(column(dictionary.values(), field, depth)?)))
}

fn runs<R: RunEndIndexType>(array: &ArrayRef, item: &FieldRef, depth: usize) -> Result<Data> {
    let runs = array.as_run::<R>();
    let places = (0..runs.len()).map(|row| runs.run_ends().get_physical_index(row)).collect();
    Ok(Data::Lookup(places, Box::new(column(runs.values(), item, depth)?)))
}

fn widened<T: ArrowPrimitiveType, U: From<T::Native>>(array: &ArrayRef) -> Vec<U> {
    array.as_primitive::<T>().values().iter().map(|&value| value.into()).collect()
}

/// Values in another unit, those that are finer cut.
fn scaled<T: ArrowPrimitiveType>(array: &ArrayRef, up: i64, down: i64) -> Vec<i128>
where
    i64: From<T::Native>,
{
    let scale = |&value: &T::Native| {
        let value = i64::from(value);
        if down == 1 { i128::from(value) * i128::from(up) } else { i128::from(value.div_euclid(down)) }
    };
    array.as_primitive::<T>().values().iter().map(scale).collect()
}

/// The same bytes, of which is not believed that they are UTF-8.
fn binary<T, O>(texts: &GenericByteArray<T>) -> Result<GenericBinaryArray<O>>
where
    T: ByteArrayType<Offset = O>,
    O: OffsetSizeTrait,
{
    let (offsets, values, nulls) = texts.clone().into_parts();
    GenericBinaryArray::try_new(offsets, values, nulls).map_err(|error| Refused::new(error.to_string()))
}

fn ranges<O: OffsetSizeTrait>(lists: &GenericListArray<O>) -> Vec<Range<usize>> {
    lists.value_offsets().windows(2).map(|pair| pair[0].as_usize()..pair[1].as_usize()).collect()
}

fn views<O: OffsetSizeTrait>(lists: &GenericListViewArray<O>) -> Vec<Range<usize>> {
    let sizes = lists.sizes().iter().map(|size| size.as_usize());
    let starts = lists.offsets().iter().map(|start| start.as_usize());
    starts.zip(sizes).map(|(start, size)| start..start.saturating_add(size)).collect()
}

/// Ranges in the part of `length` values that they need, and this part.
fn used(
    mut ranges: Vec<Range<usize>>,
    nulls: Option<&NullBuffer>,
    length: usize,
) -> Result<(Vec<Range<usize>>, Range<usize>)> {
    let mut part = length..0;
    for (row, range) in ranges.iter_mut().enumerate() {
        if range.start >= range.end || nulls.is_some_and(|nulls| nulls.is_null(row)) {
            *range = 0..0;
        } else if range.end > length {
            return Err(Refused::new("a list that goes on beyond its values"));
        } else {
            part = part.start.min(range.start)..part.end.max(range.end);
        }
    }
    if part.start >= part.end {
        return Ok((ranges, 0..0));
    }
    for range in &mut ranges {
        *range = range.start.saturating_sub(part.start)..range.end.saturating_sub(part.start);
    }
    Ok((ranges, part))
}

/// The variants of an array; none when it has others.
///
/// Spark says so of structs of a value and its dictionary, the metadata.
fn variants(array: &ArrayRef) -> Result<Option<Variants>> {
    let DataType::Struct(fields) = array.data_type() else { return Ok(None) };
    let is_marked = |mark: Option<&String>| mark.is_some_and(|mark| mark == "true");
    let (Some((_, value)), Some((_, dictionary)), 2) =
        (fields.find("value"), fields.find("metadata"), fields.len())
    else {
        return Ok(None);
    };
    if !is_marked(dictionary.metadata().get("variant")) {
        return Ok(None);
    }
    let part = |name| array.as_struct().column_by_name(name).and_then(bytes);
    let (values, dictionaries) =
        part(value.name()).zip(part(dictionary.name())).ok_or_else(|| Refused::new("a malformed variant"))?;
    Ok(Some(Variants { values, dictionaries }))
}

/// The bytes of a binary column.
fn bytes(array: &ArrayRef) -> Option<Bytes> {
    match scalars(array)? {
        Ok(Data::Blob(bytes)) => Some(bytes),
        _ => None,
    }
}
