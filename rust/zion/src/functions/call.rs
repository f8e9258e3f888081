//! Calls of functions by name, over columns. A null argument gives a null result.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, ListBuilder, StringBuilder, StructBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, StringArray};
use arrow_schema::{DataType, Field, Fields};
use regex::bytes::Regex;

use super::fuzzy::Fuzzy;
use super::number::Shift;
use super::shape::Shape;
use super::{address, geo, text};
use crate::error::{Error, Result};
use crate::json::digits;
use crate::json::sink::Sink;
use crate::times;
use crate::value::key;
use crate::value::number::{Number, Sum};

/// Calls a function.
///
/// # Errors
///
/// No function has that name, the columns are not of its types or of different lengths, or a
/// pattern cannot be used.
pub fn call(name: &str, args: &[ArrayRef]) -> Result<ArrayRef> {
    let args = Args { name, columns: args };
    args.check()?;
    Ok(match name {
        "sdb_ilike" => ilike(&args)?,
        "sdb_upper" => Arc::new(mapped(args.texts(0)?, text::upper)),
        "sdb_lower" => Arc::new(mapped(args.texts(0)?, text::lower)),
        "sdb_fuzzy" => fuzzy(&args)?,
        "sdb_subnet" => subnet(&args)?,
        "sdb_geo_hash" => geo_hash(&args)?,
        "sdb_ln1p" => floats(args.floats(0)?, f64::ln_1p),
        "sdb_expm1" => floats(args.floats(0)?, f64::exp_m1),
        "sdb_shift" => shift(&args)?,
        "sdb_sum" => sum(&args)?,
        "sdb_key_n" => number_keys(args.floats(0)?),
        "sdb_json_n" => printed(args.floats(0)?.iter(), put_number),
        "sdb_json_s" => printed(args.texts(0)?.iter(), key::put_text),
        "sdb_json_u" => printed(args.times()?.iter(), digits::put_time),
        "sdb_key_json" => printed(args.texts(0)?.iter(), key::put_json),
        "sdb_key_number" => {
            Arc::new(args.texts(0)?.iter().map(|key| key::number(key?)).collect::<Float64Array>())
        }
        "sdb_key_field" => key_field(&args)?,
        "sdb_key_item" => key_item(&args)?,
        "sdb_key_size" => {
            Arc::new(args.texts(0)?.iter().map(|key| Some(key::size(key?)? as i64)).collect::<Int64Array>())
        }
        "sdb_key_items" => Arc::new(key_items(args.texts(0)?)),
        "sdb_key_numbers" => Arc::new(key_numbers(args.texts(0)?)),
        "sdb_key_members" => Arc::new(key_members(args.texts(0)?)),
        "sdb_key_merge" => key_merge(&args)?,
        "sdb_time" => {
            let texts = args.texts(0)?.iter();
            Arc::new(texts.map(|text| times::read_date_or_time(text?.as_bytes())).collect::<Int64Array>())
        }
        "sdb_datashape" => data_shape(&args)?,
        _ => return Err(Error::argument(format!("there is no function {name}"))),
    })
}

/// The arguments of a call.
struct Args<'a> {
    name: &'a str,
    columns: &'a [ArrayRef],
}

impl<'a> Args<'a> {
    fn check(&self) -> Result<()> {
        let lengths = self.columns.windows(2).all(|pair| pair[0].len() == pair[1].len());
        if self.columns.is_empty() || !lengths {
            return Err(self.wrong("columns of one length"));
        }
        Ok(())
    }

    fn wrong(&self, expected: &str) -> Error {
        Error::argument(format!("{} takes {expected}", self.name))
    }

    fn rows(&self) -> usize {
        self.columns.first().map_or(0, Array::len)
    }

    fn column(&self, place: usize) -> Result<&'a ArrayRef> {
        self.columns.get(place).ok_or_else(|| self.wrong("more arguments"))
    }

    fn texts(&self, place: usize) -> Result<&'a StringArray> {
        self.column(place)?.as_string_opt().ok_or_else(|| self.wrong("utf8"))
    }

    fn ints(&self, place: usize) -> Result<&'a Int64Array> {
        self.column(place)?.as_primitive_opt::<Int64Type>().ok_or_else(|| self.wrong("int64"))
    }

    fn floats(&self, place: usize) -> Result<&'a Float64Array> {
        self.column(place)?.as_primitive_opt::<Float64Type>().ok_or_else(|| self.wrong("float64"))
    }

    fn bools(&self, place: usize) -> Result<&'a BooleanArray> {
        self.column(place)?.as_boolean_opt().ok_or_else(|| self.wrong("bool"))
    }

    fn times(&self) -> Result<&'a arrow_array::TimestampMicrosecondArray> {
        let times = self.column(0)?.as_primitive_opt::<TimestampMicrosecondType>();
        times.ok_or_else(|| self.wrong("timestamp[us]"))
    }

    fn lists(&self) -> Result<&'a ListArray> {
        self.column(0)?.as_list_opt().ok_or_else(|| self.wrong("lists"))
    }
}

fn floats(column: &Float64Array, function: fn(f64) -> f64) -> ArrayRef {
    Arc::new(column.unary::<_, Float64Type>(function))
}

fn mapped(column: &StringArray, function: fn(&str, &mut String)) -> StringArray {
    let mut out = StringBuilder::with_capacity(column.len(), column.value_data().len());
    let mut buffer = String::new();
    for text in column {
        buffer.clear();
        out.append_option(text.map(|text| {
            function(text, &mut buffer);
            &*buffer
        }));
    }
    out.finish()
}

fn printed<T>(column: impl Iterator<Item = Option<T>>, function: fn(&mut Sink, T)) -> ArrayRef {
    let mut out = StringBuilder::new();
    let mut sink = Sink::default();
    for value in column {
        sink.truncate(0);
        out.append_option(value.map(|value| {
            function(&mut sink, value);
            String::from_utf8_lossy(sink.as_slice())
        }));
    }
    Arc::new(out.finish())
}

/// Whole numbers are printed as integers, whatever their type.
fn put_number(out: &mut Sink, value: f64) {
    match Number::from(value) {
        Number::Int(value) => digits::put_whole(out, value),
        Number::Float(value) => digits::put_float(out, value),
    }
}

fn number_keys(column: &Float64Array) -> ArrayRef {
    let mut out = StringBuilder::with_capacity(column.len(), column.len() * 8);
    let mut buffer = Vec::new();
    for value in column {
        buffer.clear();
        out.append_option(value.map(|value| {
            key::put_number(value.into(), &mut buffer);
            String::from_utf8_lossy(&buffer)
        }));
    }
    Arc::new(out.finish())
}

fn ilike(args: &Args<'_>) -> Result<ArrayRef> {
    let (texts, patterns, escapes) = (args.texts(0)?, args.texts(1)?, args.texts(2)?);
    let mut last: Option<(&str, &str, Regex)> = None;
    let mut out = Vec::with_capacity(args.rows());
    for ((text, pattern), escape) in texts.iter().zip(patterns).zip(escapes) {
        let (Some(text), Some(pattern), Some(escape)) = (text, pattern, escape) else {
            out.push(None);
            continue;
        };
        let regex = match last {
            Some((of, with, regex)) if of == pattern && with == escape => regex,
            _ => text::ilike(pattern, escape.chars().next())?,
        };
        out.push(Some(regex.is_match(text.as_bytes())));
        last = Some((pattern, escape, regex));
    }
    Ok(Arc::new(BooleanArray::from(out)))
}

fn fuzzy(args: &Args<'_>) -> Result<ArrayRef> {
    let (texts, literals, limits) = (args.texts(0)?, args.texts(1)?, args.ints(2)?);
    let (contains, unicode) = (args.bools(3)?, args.bools(4)?);
    let mut last = None;
    let mut buffer = Vec::new();
    let mut out = Vec::with_capacity(args.rows());
    for row in 0..args.rows() {
        if args.columns.iter().any(|column| column.is_null(row)) {
            out.push(None);
            continue;
        }
        let of = (literals.value(row), limits.value(row), contains.value(row), unicode.value(row));
        let fuzzy = match last {
            Some((with, fuzzy)) if with == of => fuzzy,
            _ => Fuzzy::new(of.0, of.1, of.2, of.3),
        };
        out.push(Some(fuzzy.matches(texts.value(row), &mut buffer)));
        last = Some((of, fuzzy));
    }
    Ok(Arc::new(BooleanArray::from(out)))
}

fn subnet(args: &Args<'_>) -> Result<ArrayRef> {
    let rows = args.texts(0)?.iter().zip(args.ints(1)?).zip(args.ints(2)?);
    let inside = rows.map(|((text, low), high)| {
        let (text, range) = (text?, low?..=high?);
        Some(address::parse(text).is_some_and(|address| range.contains(&i64::from(address))))
    });
    Ok(Arc::new(inside.collect::<BooleanArray>()))
}

fn geo_hash(args: &Args<'_>) -> Result<ArrayRef> {
    let rows = args.floats(0)?.iter().zip(args.floats(1)?).zip(args.ints(2)?);
    let hashes = rows.map(|((latitude, longitude), length)| geo::hash(latitude?, longitude?, length?));
    Ok(Arc::new(hashes.collect::<StringArray>()))
}

fn shift(args: &Args<'_>) -> Result<ArrayRef> {
    let rows = args.ints(0)?.iter().zip(args.ints(1)?).zip(args.texts(2)?);
    let shifted = rows.map(|((value, count), op)| {
        let (Some(value), Some(count), Some(op)) = (value, count, op) else { return Ok(None) };
        let shift = Shift::from_name(op).ok_or_else(|| args.wrong("<<, >> or >>>"))?;
        Ok(Some(shift.apply(value, count)))
    });
    Ok(Arc::new(shifted.collect::<Result<Int64Array>>()?))
}

fn sum(args: &Args<'_>) -> Result<ArrayRef> {
    let sums = args.lists()?.iter().map(|list| {
        let Some(list) = list else { return Ok(None) };
        let values = list.as_primitive_opt::<Float64Type>().ok_or_else(|| args.wrong("lists of float64"))?;
        let mut sum = Sum::default();
        values.iter().flatten().for_each(|value| sum.add(value));
        Ok((values.null_count() < values.len()).then(|| sum.value()))
    });
    Ok(Arc::new(sums.collect::<Result<Float64Array>>()?))
}

fn key_field(args: &Args<'_>) -> Result<ArrayRef> {
    let rows = args.texts(0)?.iter().zip(args.texts(1)?);
    Ok(Arc::new(rows.map(|(key, name)| key::field(key?, name?)).collect::<StringArray>()))
}

fn key_item(args: &Args<'_>) -> Result<ArrayRef> {
    let rows = args.texts(0)?.iter().zip(args.ints(1)?);
    Ok(Arc::new(rows.map(|(key, index)| key::item(key?, index?)).collect::<StringArray>()))
}

fn key_items(keys: &StringArray) -> ListArray {
    let mut out = ListBuilder::new(StringBuilder::new());
    for key in keys {
        let items = key.and_then(key::items);
        items.into_iter().flatten().for_each(|item| out.values().append_value(item));
        out.append(items.is_some());
    }
    out.finish()
}

fn key_numbers(keys: &StringArray) -> ListArray {
    let mut out = ListBuilder::new(Float64Builder::new());
    for key in keys {
        let numbers = key.and_then(key::numbers);
        out.values().append_slice(numbers.as_deref().unwrap_or_default());
        out.append(numbers.is_some());
    }
    out.finish()
}

fn key_members(keys: &StringArray) -> ListArray {
    let names = ["name", "key"].map(|name| Field::new(name, DataType::Utf8, true));
    let columns = vec![Box::new(StringBuilder::new()) as _, Box::new(StringBuilder::new()) as _];
    let mut out = ListBuilder::new(StructBuilder::new(Fields::from(names.to_vec()), columns));
    for key in keys {
        let members = key.and_then(key::members);
        let is_struct = members.is_some();
        for (name, value) in members.into_iter().flatten() {
            for (place, text) in [name, value].into_iter().enumerate() {
                if let Some(column) = out.values().field_builder::<StringBuilder>(place) {
                    column.append_value(text);
                }
            }
            out.values().append(true);
        }
        out.append(is_struct);
    }
    out.finish()
}

/// Structs with the members of others, which take the place of members of the same name.
fn key_merge(args: &Args<'_>) -> Result<ArrayRef> {
    let rows = args.texts(0)?.iter().zip(args.texts(1)?).zip(args.texts(2)?);
    let merged = rows.map(|((one, other), order)| {
        let mut members: Vec<(&str, &str)> = key::members(one?)?.collect();
        let places: BTreeMap<&str, usize> = members.iter().map(|&(name, _)| name).zip(0..).collect();
        for (name, value) in key::members(other?)? {
            match places.get(name).and_then(|&place| members.get_mut(place)) {
                Some(member) => member.1 = value,
                None => members.push((name, value)),
            }
        }
        if order? == "k" {
            members.sort_unstable();
        }
        let mut out = String::from("{");
        for text in members.into_iter().flat_map(<[&str; 2]>::from) {
            out.extend([&text.len().to_string(), ":", text]);
        }
        Some(out)
    });
    Ok(Arc::new(merged.collect::<StringArray>()))
}

fn data_shape(args: &Args<'_>) -> Result<ArrayRef> {
    let answers = args.lists()?.iter().map(|list| {
        let Some(list) = list else { return Ok(None) };
        let rows: &StringArray = list.as_string_opt().ok_or_else(|| args.wrong("lists of utf8"))?;
        let mut shape = Shape::default();
        rows.iter().flatten().for_each(|row| shape.add(row));
        Ok(Some(shape.text()))
    });
    Ok(Arc::new(answers.collect::<Result<StringArray>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(values: &[Option<&str>]) -> ArrayRef {
        Arc::new(StringArray::from(values.to_vec()))
    }

    #[test]
    fn nulls_give_nulls() -> Result<()> {
        let column = texts(&[Some("Ab"), None]);
        let escape = texts(&[Some(""), Some("")]);
        let pattern = texts(&[Some("a_"), Some("%")]);
        let out = call("sdb_ilike", &[column.clone(), pattern, escape])?;
        assert_eq!(out.as_boolean(), &BooleanArray::from(vec![Some(true), None]));
        assert_eq!(call("sdb_lower", &[column])?.as_string(), &StringArray::from(vec![Some("ab"), None]));
        Ok(())
    }

    #[test]
    fn lists_come_and_go() -> Result<()> {
        let keys = texts(&[Some("[2:n12:n2"), Some("[2:sx"), Some("n1"), None]);
        let numbers = call("sdb_key_numbers", std::slice::from_ref(&keys))?;
        let sums = call("sdb_sum", &[numbers])?;
        assert_eq!(
            sums.as_primitive::<Float64Type>(),
            &Float64Array::from(vec![Some(3.0), None, None, None])
        );
        let sizes = call("sdb_key_size", std::slice::from_ref(&keys))?;
        assert_eq!(sizes.as_primitive::<Int64Type>(), &Int64Array::from(vec![Some(2), Some(1), None, None]));
        let items = call("sdb_key_items", &[keys])?;
        let shapes = call("sdb_datashape", &[items])?;
        assert!(shapes.as_string::<i32>().value(0).contains("5:total2:n2"));
        let members = call("sdb_key_members", &[texts(&[Some("{1:a2:n1"), Some("n1")])])?;
        assert_eq!(members.as_list::<i32>().value(0).len(), 1);
        assert!(members.is_null(1));
        let (one, other) = (texts(&[Some("{1:b2:n11:a2:n2"); 2]), texts(&[Some("{1:c2:n31:b2:n4"); 2]));
        let merged = call("sdb_key_merge", &[one, other, texts(&[Some("v"), Some("k")])])?;
        let wanted = vec!["{1:b2:n41:a2:n21:c2:n3", "{1:a2:n21:b2:n41:c2:n3"];
        assert_eq!(merged.as_string(), &StringArray::from(wanted));
        Ok(())
    }

    #[test]
    fn numbers_are_printed_alike() -> Result<()> {
        let column: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 0.5, f64::NAN]));
        let out = call("sdb_json_n", &[column])?;
        assert_eq!(out.as_string(), &StringArray::from(vec!["1", "0.5", "NaN"]));
        Ok(())
    }

    #[test]
    fn wrong_calls_are_refused() {
        let column = texts(&[Some("a")]);
        for (name, args) in
            [("sdb_none", vec![column.clone()]), ("sdb_ln1p", vec![column.clone()]), ("sdb_upper", vec![])]
        {
            assert!(matches!(call(name, &args), Err(Error::Argument { .. })), "{name}");
        }
        assert!(call("sdb_ilike", std::slice::from_ref(&column)).is_err());
        assert!(call("sdb_ilike", &[column, texts(&[]), texts(&[])]).is_err());
    }
}
