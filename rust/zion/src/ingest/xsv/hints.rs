//! What the columns are: from hints, or from the header row of the file.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::convert::Convert;
use crate::error::{Error, Result};
use crate::ingest::Duplicates;
use crate::ingest::json::ordered::Json;
use crate::times::Form;

/// Columns that a file may have.
pub(super) const MAX_COLUMNS: usize = 65_536;
/// Parts that the name of a column may have: values nested deeper are refused everywhere.
const MAX_PARTS: usize = 63;

/// A column of the file.
#[derive(Debug, Clone, Default)]
pub(super) struct Column {
    /// Where its values go; empty: they are dropped.
    pub path: Vec<Box<[u8]>>,
    pub convert: Convert,
    /// The text to use for an empty value.
    pub default: Box<[u8]>,
    /// Texts that stand for no value.
    pub missing: Vec<Box<[u8]>>,
    /// Whether an empty text is a value.
    pub allow_empty: bool,
    /// Whether timestamps are indexed.
    pub indexed: bool,
    /// Whether a value is the time of day to the date in the column before it.
    pub joins: bool,
}

/// The hints of a CSV or TSV file.
#[derive(Debug, Clone, Default)]
pub(super) struct Hints {
    pub skip_records: u64,
    pub separator: Option<u8>,
    pub columns: Vec<Column>,
}

fn bad(message: impl AsRef<str>) -> Error {
    Error::argument(format!("hints: {}", message.as_ref()))
}

/// The value of a key, null being none; the last one of several.
fn get<'a>(object: &'a [(String, Json)], key: &str) -> Option<&'a Json> {
    let found = object.iter().rev().find(|(name, _)| name.eq_ignore_ascii_case(key));
    found.map(|(_, value)| value).filter(|value| **value != Json::Null)
}

fn wrong(key: &str, value: &Json, expected: &str) -> Error {
    bad(format!("{key} is {}, where {expected} was expected", value.kind()))
}

fn string<'a>(object: &'a [(String, Json)], key: &str) -> Result<Option<&'a str>> {
    match get(object, key) {
        None => Ok(None),
        Some(Json::String(text)) => Ok(Some(text)),
        Some(other) => Err(wrong(key, other, "a string")),
    }
}

fn boolean(object: &[(String, Json)], key: &str) -> Result<bool> {
    match get(object, key) {
        None => Ok(false),
        Some(Json::Bool(value)) => Ok(*value),
        Some(other) => Err(wrong(key, other, "true or false")),
    }
}

fn strings(object: &[(String, Json)], key: &str) -> Result<Option<Vec<Box<[u8]>>>> {
    let Some(value) = get(object, key) else { return Ok(None) };
    let Json::Array(items) = value else { return Err(wrong(key, value, "a list of strings")) };
    let text = |item: &Json| match item {
        Json::String(text) => Ok(text.as_bytes().into()),
        other => Err(wrong(key, other, "a list of strings")),
    };
    items.iter().map(text).collect::<Result<_>>().map(Some)
}

impl Hints {
    pub(super) fn parse(text: &[u8]) -> Result<Self> {
        let Json::Object(object) = Json::parse("hints", text)? else {
            return Err(bad("an object was expected, {\"fields\": [...]}"));
        };
        let skip_records = match get(&object, "skip_records") {
            None => 0,
            Some(Json::Number(count)) if *count >= 0.0 && count.trunc() == *count && *count < 1e15 => {
                *count as u64
            }
            Some(other) => return Err(wrong("skip_records", other, "a whole number from 0")),
        };
        let separator = match string(&object, "separator")?.map(str::as_bytes) {
            None | Some([]) => None,
            Some([b'"' | b'\r' | b'\n' | 0]) => return Err(bad("this separator cannot be used")),
            Some([byte]) => Some(*byte),
            Some(_) => return Err(bad("the separator must be a single byte")),
        };
        let missing = strings(&object, "missing_values")?.unwrap_or_default();
        let columns = match get(&object, "fields") {
            Some(Json::Array(fields)) if !fields.is_empty() => {
                fields.iter().map(|field| column(field, &missing)).collect::<Result<Vec<_>>>()?
            }
            None | Some(Json::Array(_)) => return Err(bad("fields are needed, one for each column")),
            Some(other) => return Err(wrong("fields", other, "a list")),
        };
        if columns.len() > MAX_COLUMNS {
            return Err(bad(format!("more than {MAX_COLUMNS} fields")));
        }
        Ok(Self { skip_records, separator, columns })
    }
}

fn column(field: &Json, missing: &[Box<[u8]>]) -> Result<Column> {
    let Json::Object(object) = field else { return Err(wrong("a field", field, "an object")) };
    let Some(name) = string(object, "name")?.filter(|name| !name.is_empty()) else {
        return Ok(Column::default());
    };
    let in_field =
        |error: Error| bad(format!("field {name:?}: {}", error.message().trim_start_matches("hints: ")));
    typed_column(name, object, missing).map_err(in_field)
}

fn typed_column(name: &str, object: &[(String, Json)], missing: &[Box<[u8]>]) -> Result<Column> {
    let given = string(object, "type")?;
    let kind = given.unwrap_or("string");
    let format = string(object, "format")?;
    let (yes, no) = (strings(object, "true_values")?, strings(object, "false_values")?);
    let allow_empty = boolean(object, "allow_empty")?;
    if format.is_some() && kind != "datetime" {
        return Err(bad("a format needs the type datetime"));
    }
    if allow_empty && given != Some("string") {
        return Err(bad("only the type string may be empty"));
    }
    if (yes.is_some() || no.is_some()) && kind != "bool" {
        return Err(bad("true_values and false_values need the type bool"));
    }
    let convert = match kind {
        "string" => Convert::String,
        "number" => Convert::Number,
        "int" => Convert::Int,
        "bool" => boolean_texts(yes, no)?,
        "datetime" => datetime(format)?,
        "ignore" => return Ok(Column::default()),
        other => {
            return Err(bad(format!(
                "{other:?} is not a type (string, number, int, bool, datetime, ignore)"
            )));
        }
    };
    let path: Vec<Box<[u8]>> = name.split('.').map(|part| part.as_bytes().into()).collect();
    if path.len() > MAX_PARTS {
        return Err(bad(format!("more than {MAX_PARTS} parts in a name")));
    }
    Ok(Column {
        path,
        convert,
        default: string(object, "default")?.unwrap_or_default().as_bytes().into(),
        missing: strings(object, "missing_values")?.unwrap_or_else(|| missing.to_vec()),
        allow_empty,
        indexed: !boolean(object, "no_index")?,
        joins: false,
    })
}

fn boolean_texts(yes: Option<Vec<Box<[u8]>>>, no: Option<Vec<Box<[u8]>>>) -> Result<Convert> {
    match (yes, no) {
        (None, None) => Ok(Convert::Bool),
        (Some(yes), Some(no)) if !yes.is_empty() && !no.is_empty() => {
            match yes.iter().find(|text| no.contains(text)) {
                Some(text) => Err(bad(format!("{:?} is both true and false", String::from_utf8_lossy(text)))),
                None => Ok(Convert::BoolTexts { yes, no }),
            }
        }
        _ => Err(bad("true_values and false_values are needed together, neither empty")),
    }
}

fn datetime(format: Option<&str>) -> Result<Convert> {
    match format {
        None | Some("" | "datetime") => Ok(Convert::Datetime),
        Some(format) => match Form::new(format) {
            Ok(form) => Ok(Convert::Time(Arc::new(form))),
            Err(_) => Err(bad(format!("{format:?} is not a format of datetime"))),
        },
    }
}

/// The columns that a header names.
#[derive(Debug, Default)]
pub(super) struct Named {
    pub columns: Vec<Column>,
    /// Names that are others' already, and what their columns are called.
    pub renamed: Vec<(String, String)>,
}

/// The columns of a header row. Names are taken as they are, dots included. A column without a name is
/// `column_` and its number. Of columns with one name all are kept unless it is said which one counts: the second
/// `name` becomes `name_2`.
pub(super) fn columns_of_header<'a>(
    names: impl ExactSizeIterator<Item = &'a [u8]>,
    duplicates: Option<Duplicates>,
) -> Result<Named> {
    if names.len() > MAX_COLUMNS {
        return Err(Error::too_large(
            0,
            format!("a header of {} columns, the limit is {MAX_COLUMNS}", names.len()),
        ));
    }
    let names: Vec<String> = names.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let given: HashSet<&str> = names.iter().map(String::as_str).collect();
    let mut used = HashSet::new();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut named = Named::default();
    let counting = counting(&names, duplicates)?;
    for (index, name) in names.iter().enumerate() {
        if !counting[index] {
            named.columns.push(Column::default());
            continue;
        }
        let base = if name.is_empty() { "column" } else { name };
        let count = counts.entry(base).or_insert(2);
        if name.is_empty() {
            *count = index + 1;
        }
        let mut unique = name.clone();
        while unique.is_empty() || used.contains(&unique) || unique != *name && given.contains(&*unique) {
            unique = format!("{base}_{count}");
            *count += 1;
        }
        if !name.is_empty() && unique != *name {
            named.renamed.push((name.clone(), unique.clone()));
        }
        named.columns.push(plain(&unique));
        used.insert(unique);
    }
    Ok(named)
}

/// Which of the columns of a header count.
fn counting(names: &[String], duplicates: Option<Duplicates>) -> Result<Vec<bool>> {
    let mut counting = vec![true; names.len()];
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (index, name) in names.iter().enumerate().filter(|(_, name)| duplicates.is_some() && !name.is_empty())
    {
        let Some(before) = places.insert(name, index) else { continue };
        match duplicates {
            Some(Duplicates::Fail) => {
                return Err(Error::syntax(0, format!("the header has the name {name:?} twice")));
            }
            Some(Duplicates::Last) => counting[before] = false,
            _ => counting[index] = false,
        }
    }
    Ok(counting)
}

/// The columns of a file without a header: `c0`, `c1` and so on.
pub(super) fn numbered_columns(count: usize) -> Vec<Column> {
    (0..count.min(MAX_COLUMNS)).map(|number| plain(&format!("c{number}"))).collect()
}

/// A column beyond the header.
pub(super) fn extra_column(columns: &[Column]) -> Column {
    let mut column = plain(&format!("column_{}", columns.len() + 1));
    while columns.iter().any(|known| known.path == column.path) {
        column = plain(&format!("{}_2", String::from_utf8_lossy(&column.path[0])));
    }
    column
}

/// A column of texts.
fn plain(name: &str) -> Column {
    Column { path: vec![name.as_bytes().into()], indexed: true, ..Column::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_names_are_made_unique() -> Result<()> {
        let names: [&[u8]; 6] = [b"a", b"a", b"", b"a_2", b"x.y", b"a"];
        let columns = columns_of_header(names.into_iter(), None)?.columns;
        let names: Vec<_> =
            columns.iter().map(|column| String::from_utf8_lossy(&column.path[0]).into_owned()).collect();
        assert_eq!(names, ["a", "a_3", "column_3", "a_2", "x.y", "a_4"]);
        Ok(())
    }

    #[test]
    fn malformed_hints_are_refused() {
        for text in [
            "5",
            "[]",
            "{}",
            r#"{"fields": []}"#,
            r#"{"fields": {}}"#,
            r#"{"fields": ["a"]}"#,
            r#"{"fields": [{"name": 5}]}"#,
            r#"{"fields": [{"name": "a"}], "skip_records": -1}"#,
            r#"{"fields": [{"name": "a"}], "separator": "\n"}"#,
            r#"{"fields": [{"name": "a", "missing_values": "x"}]}"#,
            r#"{"fields": [{"name": "a", "type": "bool", "true_values": ["x"]}]}"#,
        ] {
            assert!(Hints::parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(Hints::parse(br#"{"Fields": [{"name": "a", "type": null}], "other": 1}"#).is_ok());
    }
}
