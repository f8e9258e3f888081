//! Rows of Arrow as Ion: columns are brought into few forms first, then rows are written field by field.
//!
//! Numbers, booleans, texts, lists and structs stay what they are. Timestamps and dates become timestamps in
//! UTC, cut to microseconds; times of day text, durations numbers of seconds, decimals the nearest number,
//! maps structs. A variant becomes what it holds.

mod build;
mod forms;
mod refused;
mod variant;
mod writer;

use arrow_array::{Array, StructArray};

use crate::ion::{kind, put_header};
pub use refused::Refused;
use refused::Result;
use writer::Writer;

/// Encodes rows as a stream of its own: version marker, symbol table, a list of structs.
///
/// Symbols are numbered in the order in which the rows name them, a field before its content; fields are then
/// sorted by number. Without `keep_nulls` fields that are null are left out, at any depth.
pub fn dumps(rows: &StructArray, keep_nulls: bool) -> Result<Vec<u8>> {
    let mut fields = build::fields(rows, 1)?;
    let mut writer = Writer::new(keep_nulls);
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::{Decimal128Type, Int8Type};
    use arrow_array::{
        ArrayRef, DictionaryArray, Float64Array, Int64Array, ListArray, PrimitiveArray, StringArray,
        TimestampNanosecondArray, UInt64Array,
    };
    use arrow_schema::{DataType, Field, Fields};

    use super::writer::{INSTANTS, put_time};
    use super::*;
    use crate::ion::timestamp;
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
        for _ in 0..=crate::limits::MAX_TREE_DEPTH {
            deep = Arc::new(rows(vec![("s", deep)]));
        }
        assert!(values(deep).is_err());
    }
}
