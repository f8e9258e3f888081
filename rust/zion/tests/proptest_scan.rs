//! Rows of any kind as Arrow columns hold what their JSON text says.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int64Type, TimestampMicrosecondType, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use zion::ion::{self, SymbolTable, kind, timestamp};
use zion::json::print::Printer;
use zion::json::sink::Sink;
use zion::limits::{MAX_SCHEMA_DEPTH, MAX_SCHEMA_FIELDS, MAX_SCHEMA_NODES};
use zion::scan::typed::{Builder, ENCODING, Layout, Misfit, Observer, Seen, Type};
use zion::{Error, Result};

/// A value that is to be stored.
#[derive(Debug, Clone)]
enum Any {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Time(i64),
    Text(String),
    Symbol(u8),
    List(Vec<Any>),
    Struct(Vec<(u8, Any)>),
}

fn any_value() -> impl Strategy<Value = Any> {
    let leaf = prop_oneof![
        Just(Any::Null),
        any::<bool>().prop_map(Any::Bool),
        (-5i128..5).prop_map(Any::Int),
        any::<i64>().prop_map(|value| Any::Int(value.into())),
        any::<u64>().prop_map(|value| Any::Int(value.into())),
        (-1e6..1e6).prop_map(Any::Float),
        (0..4_102_444_800_000_000i64).prop_map(Any::Time),
        "\\PC{0,8}".prop_map(Any::Text),
        (0u8..6).prop_map(Any::Symbol),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![vec(inner.clone(), 0..5).prop_map(Any::List), fields(inner).prop_map(Any::Struct)]
    })
}

fn fields(value: impl Strategy<Value = Any>) -> impl Strategy<Value = Vec<(u8, Any)>> {
    vec((0u8..6, value), 0..5)
}

/// Six names, one of which is a symbol of the system.
fn table() -> SymbolTable {
    let mut table = SymbolTable::new();
    for name in ["b", "ä", "c c", "d", "e"] {
        table.intern(name.as_bytes());
    }
    table
}

fn symbol(number: u8) -> u32 {
    if number == 0 { 4 } else { 9 + u32::from(number) }
}

fn put(out: &mut Vec<u8>, value: &Any) {
    let mut body = vec![];
    match value {
        Any::Null => out.push(ion::NULL),
        Any::Bool(value) => out.push(if *value { ion::TRUE } else { ion::FALSE }),
        Any::Int(value) => ion::put_int(out, *value),
        Any::Float(value) => ion::put_float(out, *value),
        Any::Time(us) => timestamp::put(out, *us),
        Any::Text(text) => ion::put_string(out, text.as_bytes()),
        Any::Symbol(number) => ion::put_symbol(out, symbol(*number)),
        Any::List(items) => {
            for item in items {
                put(&mut body, item);
            }
            ion::put_header(out, kind::LIST, body.len());
        }
        Any::Struct(fields) => {
            let mut fields: Vec<_> = fields.iter().map(|(name, field)| (symbol(*name), field)).collect();
            fields.sort_by_key(|(name, _)| *name);
            fields.dedup_by_key(|(name, _)| *name);
            for (name, field) in fields {
                ion::varuint::put(&mut body, name.into());
                put(&mut body, field);
            }
            ion::put_header(out, kind::STRUCT, body.len());
        }
    }
    out.extend(body);
}

fn row(fields: &[(u8, Any)]) -> Vec<u8> {
    let mut out = vec![];
    put(&mut out, &Any::Struct(fields.to_vec()));
    out
}

fn observe(rows: &[Vec<u8>], table: &SymbolTable) -> Result<Seen> {
    let mut observer = Observer::new(None);
    observer.reset_symbols();
    for row in rows {
        observer.row(row, ion::header(row, 0)?, table)?;
    }
    Ok(observer.take().0)
}

fn build(rows: &[Vec<u8>], table: &SymbolTable, layout: Layout) -> Result<Vec<RecordBatch>> {
    let mut builder = Builder::new(Arc::new(layout));
    builder.sync(table, true);
    for row in rows {
        builder.row(row, ion::header(row, 0)?, table)?;
    }
    builder.take()
}

/// The value of a column as JSON, nulls of fields left out.
fn value(array: &dyn Array, field: &Field, at: usize) -> Value {
    if array.is_null(at) || *field.data_type() == DataType::Null {
        return Value::Null;
    }
    match field.data_type() {
        DataType::Boolean => array.as_boolean().value(at).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(at).into(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(at).into(),
        DataType::Decimal128(20, 0) => {
            let value = array.as_primitive::<Decimal128Type>().value(at);
            i64::try_from(value).map_or_else(|_| json!(value as u64), Value::from)
        }
        DataType::Float64 => array.as_primitive::<Float64Type>().value(at).into(),
        DataType::Timestamp(..) => time(array.as_primitive::<TimestampMicrosecondType>().value(at)),
        DataType::Utf8 if field.metadata().get(ENCODING).is_some() => {
            serde_json::from_str(array.as_string::<i32>().value(at))
                .map_or_else(|e| e.to_string().into(), plain)
        }
        DataType::Utf8 => array.as_string::<i32>().value(at).into(),
        DataType::List(item) => {
            let items = array.as_list::<i32>().value(at);
            (0..items.len()).map(|at| value(&items, item, at)).collect()
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct();
            let found =
                fields.iter().zip(columns.columns()).map(|(f, c)| (f.name().clone(), value(c, f, at)));
            Value::Object(found.filter(|(_, value)| !value.is_null()).collect())
        }
        other => other.to_string().into(),
    }
}

fn time(us: i64) -> Value {
    let mut out = vec![];
    timestamp::put(&mut out, us);
    printed(&out, &table()).unwrap_or_default()
}

fn printed(data: &[u8], table: &SymbolTable) -> Result<Value> {
    let (mut printer, mut sink) = (Printer::default(), Sink::default());
    printer.sync(table, true);
    printer.value(data, ion::header(data, 0)?, 0, &mut sink)?;
    serde_json::from_slice(sink.as_slice()).map_err(|error| Error::argument(error.to_string()))
}

/// A value without nulls of fields.
fn plain(value: Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .filter(|(_, v)| !v.is_null())
                .map(|(k, v)| (k, plain(v)))
                .collect::<Map<_, _>>(),
        ),
        Value::Array(items) => items.into_iter().map(plain).collect(),
        other => other,
    }
}

/// Whether values are equal, where integers may have become floats.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(name, x)| y.get(name).is_some_and(|y| same(x, y)))
        }
        _ => a == b,
    }
}

fn rows_of(batches: &[RecordBatch]) -> Vec<Value> {
    let mut rows = vec![];
    for batch in batches {
        for at in 0..batch.num_rows() {
            let schema = batch.schema();
            let found =
                schema.fields().iter().zip(batch.columns()).map(|(f, c)| (f.name().clone(), value(c, f, at)));
            rows.push(Value::Object(found.filter(|(_, value)| !value.is_null()).collect()));
        }
    }
    rows
}

proptest! {
    #[test]
    fn columns_hold_the_rows(rows in vec(fields(any_value()), 1..12), split in 0usize..12) {
        let table = table();
        let rows: Vec<_> = rows.iter().map(|fields| row(fields)).collect();
        let (first, second) = rows.split_at(split.min(rows.len()));
        let mut seen = observe(first, &table)?;
        seen.merge(observe(second, &table)?);
        let layout = Layout::of(&seen, None);
        prop_assert_eq!(&layout.columns, &Layout::of(&observe(&rows, &table)?, None).columns);
        let expected: Vec<Value> = rows.iter().map(|row| printed(row, &table)).collect::<Result<_>>()?;
        let found = rows_of(&build(&rows, &table, layout)?);
        prop_assert_eq!(expected.len(), found.len());
        for (expected, found) in expected.into_iter().zip(found) {
            prop_assert!(same(&plain(expected.clone()), &found), "{} and {}", expected, found);
        }
    }

    #[test]
    fn damaged_rows_end_in_an_error_or_an_answer(
        rows in vec(fields(any_value()), 1..6), at in any::<prop::sample::Index>(), byte: u8,
    ) {
        let table = table();
        let mut rows: Vec<_> = rows.iter().map(|fields| row(fields)).collect();
        let layout = Layout::of(&observe(&rows, &table)?, None);
        for row in &mut rows {
            let at = at.index(row.len());
            row[at] = byte;
        }
        if let Ok(seen) = observe(&rows, &table) {
            drop(build(&rows, &table, Layout::of(&seen, None)));
        }
        drop(build(&rows, &table, layout));
        for misfit in [Misfit::Null, Misfit::Error] {
            drop(build(&rows, &table, Layout::wanted(wanted(), misfit, false)?));
        }
    }

    #[test]
    fn any_rows_fit_wanted_columns_or_are_null_there(rows in vec(fields(any_value()), 1..12)) {
        let table = table();
        let rows: Vec<_> = rows.iter().map(|fields| row(fields)).collect();
        let batches = build(&rows, &table, Layout::wanted(wanted(), Misfit::Null, false)?)?;
        prop_assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), rows.len());
        prop_assert!(batches.iter().all(|batch| batch.schema() == wanted()));
        drop(build(&rows, &table, Layout::wanted(wanted(), Misfit::Error, true)?));
    }
}

/// Columns of all types that only given schemas have.
fn wanted() -> SchemaRef {
    let part = |name: &str| Field::new(name, DataType::Binary, false);
    let flag = HashMap::from([("variant".to_owned(), "true".to_owned())]);
    let variant = Fields::from(vec![part("value"), part("metadata").with_metadata(flag)]);
    let inner = Fields::from(vec![
        Field::new("b", DataType::Int8, true),
        Field::new("d", DataType::Decimal128(4, 2), true),
        Field::new("e", DataType::Struct(variant.clone()), true),
    ]);
    let item = Arc::new(Field::new("element", DataType::Float32, true));
    Arc::new(Schema::new(vec![
        Field::new("name", DataType::Struct(variant), true),
        Field::new("b", DataType::Struct(inner), true),
        Field::new("ä", DataType::List(item), true),
        Field::new("c c", DataType::Date32, true),
        Field::new("d", DataType::Int16, true),
        Field::new("e", DataType::Timestamp(TimeUnit::Microsecond, None), true),
        Field::new("nowhere", DataType::Utf8, true),
    ]))
}

fn type_of(values: &[Any]) -> Result<Type> {
    let rows: Vec<_> = values.iter().map(|value| row(&[(1, value.clone())])).collect();
    let mut columns = Layout::of(&observe(&rows, &table())?, None).columns;
    Ok(columns.pop().map_or(Type::Null, |(_, column)| column))
}

#[test]
fn types_are_as_narrow_as_the_values_allow() -> Result<()> {
    let (big, low) = (Any::Int(1 << 63), Any::Int(-(1 << 63)));
    assert_eq!(type_of(&[])?, Type::Null);
    assert_eq!(type_of(&[Any::Null, Any::Int(1), low.clone(), Any::Int((1 << 63) - 1)])?, Type::Int);
    assert_eq!(type_of(&[big.clone(), Any::Int(1)])?, Type::Uint);
    assert_eq!(type_of(&[big.clone(), low.clone()])?, Type::Decimal(20, 0));
    assert_eq!(type_of(&[big, low, Any::Float(0.5)])?, Type::Float);
    assert_eq!(type_of(&[Any::Symbol(1), Any::Text(String::new())])?, Type::Text);
    assert_eq!(type_of(&[Any::Time(0), Any::Text(String::new())])?, Type::Json);
    assert_eq!(type_of(&[Any::Struct(vec![])])?, Type::Json);
    assert_eq!(type_of(&[Any::List(vec![])])?, Type::List(Box::new(Type::Null)));
    let mixed = Any::List(vec![Any::Bool(true), Any::Int(1)]);
    assert_eq!(type_of(&[mixed])?, Type::List(Box::new(Type::Json)));
    Ok(())
}

#[test]
fn what_is_deep_or_wide_becomes_text() -> Result<()> {
    let mut deep = Any::Int(1);
    for _ in 0..=MAX_SCHEMA_DEPTH + 5 {
        deep = Any::List(vec![deep]);
    }
    let mut found = &type_of(&[deep])?;
    let mut depth = 0;
    while let Type::List(item) = found {
        (found, depth) = (item, depth + 1);
    }
    assert_eq!((found, depth), (&Type::Json, MAX_SCHEMA_DEPTH));

    let mut table = SymbolTable::new();
    let rows: Vec<_> = (0..=MAX_SCHEMA_FIELDS)
        .map(|number| {
            let id = table.intern(format!("k{number}").as_bytes());
            let mut inner = vec![];
            ion::varuint::put(&mut inner, id.into());
            inner.push(ion::TRUE);
            let mut outer = vec![0x84];
            ion::put_header(&mut outer, kind::STRUCT, inner.len());
            outer.extend(inner);
            let mut row = vec![];
            ion::put_header(&mut row, kind::STRUCT, outer.len());
            row.extend(outer);
            row
        })
        .collect();
    assert_eq!(Layout::of(&observe(&rows, &table)?, None).columns, [("name".into(), Type::Json)]);
    Ok(())
}

#[test]
fn too_many_columns_are_refused() {
    let mut table = SymbolTable::new();
    let mut body = vec![];
    for number in 0..=MAX_SCHEMA_NODES {
        ion::varuint::put(&mut body, table.intern(format!("k{number}").as_bytes()).into());
        body.push(ion::TRUE);
    }
    let mut row = vec![];
    ion::put_header(&mut row, kind::STRUCT, body.len());
    row.extend(body);
    assert!(matches!(observe(&[row], &table), Err(Error::Unsupported { .. })));
}

#[test]
fn text_that_is_not_utf8_is_mended() -> Result<()> {
    let mut body = vec![];
    body.extend([0x84, 0x81, 0xC3, 0x8A, 0x81, 0xA9]);
    let mut row = vec![];
    ion::put_header(&mut row, kind::STRUCT, body.len());
    row.extend(body);
    let mut table = SymbolTable::new();
    table.push(b"\xFF");
    let rows = [row.clone(), row];
    let found = rows_of(&build(&rows, &table, Layout::of(&observe(&rows, &table)?, None))?);
    assert_eq!(found, vec![json!({"name": "\u{FFFD}", "\u{FFFD}": "\u{FFFD}"}); 2]);
    Ok(())
}

#[test]
fn batches_are_bounded() -> Result<()> {
    let mut table = table();
    let id = table.intern(&vec![b'x'; 64 << 10]);
    let list = |count: usize| {
        let (mut items, mut body, mut row) = (vec![], vec![0x84], vec![]);
        (0..count).for_each(|_| ion::put_symbol(&mut items, id));
        ion::put_header(&mut body, kind::LIST, items.len());
        body.extend(items);
        ion::put_header(&mut row, kind::STRUCT, body.len());
        row.extend(body);
        row
    };
    let rows = vec![list(10); 100];
    let layout = Layout::of(&observe(&rows, &table)?, None);
    let batches = build(&rows, &table, layout.clone())?;
    assert!(batches.len() > 2);
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 100);
    assert!(matches!(build(&[list(3000)], &table, layout), Err(Error::Corrupt { .. })));
    Ok(())
}

#[test]
fn chosen_fields_come_in_their_order() -> Result<()> {
    let rows = [row(&[(1, Any::Int(1)), (4, Any::Int(3))])];
    let chosen: Vec<Box<str>> = ["d", "c c", "b", "d"].map(Into::into).into();
    let mut observer = Observer::new(Some(chosen.clone()));
    observer.row(&rows[0], ion::header(&rows[0], 0)?, &table())?;
    let layout = Layout::of(&observer.take().0, Some(&chosen));
    let names: Vec<_> = layout.columns.iter().map(|(name, column)| (&**name, column.clone())).collect();
    assert_eq!(names, [("d", Type::Int), ("c c", Type::Null), ("b", Type::Int)].map(|(n, t)| (n, t)));
    Ok(())
}
