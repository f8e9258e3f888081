//! Rows of Arrow as Ion: columns are brought into few forms first, then rows are written field by field.
//!
//! Numbers, booleans, texts, lists and structs stay what they are. Timestamps and dates become timestamps in
//! UTC, cut to microseconds; times of day and UUIDs text, durations numbers of seconds, decimals numbers, maps
//! structs. A variant becomes what it holds. Decimals that no number shows, and times in years that no
//! timestamp has, become text.

mod build;
mod forms;
mod refused;
mod variant;
mod writer;

use arrow_array::{Array, StructArray};

use crate::ion::{kind, put_header};
use forms::Changed;
pub use refused::Refused;
use refused::Result;
use writer::{PART_BYTES, Writer};

/// Rows as a stream of their own, and what was done to them.
pub struct Dumped {
    /// A version marker, a symbol table, and a list of structs.
    pub data: Vec<u8>,
    /// How many rows it has.
    pub rows: usize,
    /// The columns with decimals that became text.
    pub decimals: Vec<String>,
    /// The columns with times that became text.
    pub times: Vec<String>,
}

/// Encodes rows as a stream of its own: all of them, or the first ones that make it as long as a part.
///
/// Symbols are numbered in the order in which the rows name them, a field before its content; fields are then
/// sorted by number. Without `keep_nulls` fields that are null are left out, at any depth; entries of maps stay.
pub fn dumps(rows: &StructArray, keep_nulls: bool) -> Result<Dumped> {
    let mut fields = build::fields(rows, 1)?;
    let mut writer = Writer::new(keep_nulls);
    let mut body = Vec::new();
    let mut done = 0;
    while done < rows.len() && body.len() <= PART_BYTES {
        writer.put_struct(&mut fields, done, &mut body)?;
        done += 1;
    }
    let mut out = Vec::with_capacity(body.len() + writer.table.full_size() + 16);
    writer.table.put_full(&mut out, writer.table.max_id());
    put_header(&mut out, kind::LIST, body.len());
    out.extend_from_slice(&body);
    let names = |is_changed: fn(&Changed) -> bool| {
        fields.iter().filter(|field| is_changed(&field.changed)).map(|field| field.name.clone()).collect()
    };
    let (decimals, times) = (names(|changed| changed.decimals), names(|changed| changed.times));
    Ok(Dumped { data: out, rows: done, decimals, times })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::{Decimal128Type, Int8Type};
    use arrow_array::{
        ArrayRef, DictionaryArray, Float64Array, Int64Array, ListArray, PrimitiveArray, StringArray,
        TimestampMicrosecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt64Array,
    };
    use arrow_schema::{DataType, Field, Fields};

    use super::*;
    use crate::ion::timestamp::INSTANTS;
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
        let Value::List(rows) = loads(&dumps(&rows(vec![("v", array)]), true)?.data)? else {
            return Ok(vec![]);
        };
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
        assert_eq!(dumps(&batch, true)?.data, kept);
        let fewer = [&table[..], &[0xBB], &first, &[0xD3, 0x8B, 0x81, b'y']].concat();
        assert_eq!(dumps(&batch, false)?.data, fewer);
        assert_eq!(
            dumps(&batch.slice(0, 0), true)?.data,
            [&crate::ion::BVM[..], &[0xE5, 0x81, 0x83, 0xD2, 0x87, 0xB0, 0xB0]].concat()
        );
        Ok(())
    }

    #[test]
    fn fields_are_sorted_by_symbol() -> Result<()> {
        let number = |value: i64| Arc::new(Int64Array::from(vec![value])) as ArrayRef;
        let inner = rows(vec![("z", number(1)), ("name", number(2))]);
        let data = dumps(&rows(vec![("s", Arc::new(inner)), ("z", number(3))]), true)?.data;
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
        let expected = [Value::Int(most), Value::String("18446744073709551615.001".into())];
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
        let micros = |us: Vec<i64>| values(Arc::new(TimestampMicrosecondArray::from(us)));
        let (first, last) = INSTANTS.into_inner();
        assert_eq!(micros(vec![first, last])?, [Value::Time(first), Value::Time(last)]);
        let text = |text: &str| Value::String(text.into());
        let outside = [text("-0001-12-31T23:59:59.999999Z"), text("+16384-01-01T00:00:00Z")];
        assert_eq!(micros(vec![first - 1, last + 1])?, outside);
        let seconds = TimestampSecondArray::from(vec![i64::MAX, i64::MIN]);
        let outside = [text("+292277026596-12-04T15:30:07Z"), text("-292277022657-01-27T08:29:52Z")];
        assert_eq!(values(Arc::new(seconds))?, outside);
        Ok(())
    }

    #[test]
    fn decimals_are_numbers_that_show_their_digits_or_texts() -> Result<()> {
        let decimals = |digits: Vec<i128>, scale| {
            let array = PrimitiveArray::<Decimal128Type>::from(digits).with_precision_and_scale(38, scale);
            values(Arc::new(array.map_err(|error| Refused::new(error.to_string()))?))
        };
        let text = |text: &str| Value::String(text.into());
        assert_eq!(decimals(vec![90_071_992_547_409_935], 1)?, [text("9007199254740993.5")]);
        assert_eq!(decimals(vec![-12_345_678_901_234_567_890], 4)?, [text("-1234567890123456.789")]);
        assert_eq!(decimals(vec![12_345_678_901_234_567], 20)?, [Value::Float(0.000_123_456_789_012_345_67)]);
        assert_eq!(decimals(vec![123_456_789_012_345_678], 20)?, [text("0.00123456789012345678")]);
        assert_eq!(decimals(vec![18_446_744_073_709_551_617], 0)?, [text("18446744073709551617")]);
        assert_eq!(decimals(vec![-9_223_372_036_854_775_809], 0)?, [text("-9223372036854775809")]);
        assert_eq!(decimals(vec![100_000_000_000_000_000_000], 0)?, [Value::Float(1e20)]);
        Ok(())
    }

    #[test]
    fn columns_of_which_values_became_text_are_named() -> Result<()> {
        let time: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![INSTANTS.end() + 1]));
        let number: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let inner = rows(vec![("t", Arc::clone(&time)), ("n", Arc::clone(&number))]);
        let dumped = dumps(&rows(vec![("s", Arc::new(inner)), ("n", number), ("t", time)]), true)?;
        assert_eq!((dumped.rows, dumped.times, dumped.decimals.len()), (1, vec!["s".into(), "t".into()], 0));
        Ok(())
    }

    #[test]
    fn rows_that_grow_come_in_parts() -> Result<()> {
        let text = "x".repeat(3 << 20);
        let long: DictionaryArray<Int8Type> = std::iter::repeat_n(text.as_str(), 100).collect();
        let batch = rows(vec![("v", Arc::new(long))]);
        assert_eq!(dumps(&batch, true)?.rows, 3);
        assert_eq!(dumps(&batch.slice(99, 1), true)?.rows, 1);
        let text = "x".repeat((64 << 20) + 1);
        assert!(values(Arc::new(StringArray::from(vec![text]))).is_err());
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
        for _ in 0..=crate::limits::MAX_TREE_DEPTH {
            deep = Arc::new(rows(vec![("s", deep)]));
        }
        assert!(values(deep).is_err());
    }
}
