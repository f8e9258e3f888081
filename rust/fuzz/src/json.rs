//! JSON text, compared with what `serde_json` reads, whole and in parts.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use zion::Result;
use zion::ingest::json::parse::JsonParser;
use zion::ingest::json::split::JsonSplitter;
use zion::ion::{Header, SymbolTable, kind, magnitude, timestamp};
use zion::pack::Constants;
use zion::pack::OnError;

use super::{ingest, rows};

const MAX_DEPTH: usize = 63;

/// A JSON value that keeps the order and duplicates of names.
#[derive(Debug)]
enum Tree {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(String),
    List(Vec<Self>),
    Record(Vec<(String, Self)>),
}

/// Parses the text behind the first byte, which sets the size of parts.
pub fn check(data: &[u8]) -> Result<()> {
    let Some((&size, text)) = data.split_first() else { return Ok(()) };
    let whole = parse(text, usize::MAX);
    let parts = parse(text, usize::from(size));
    ingest::assert_same_answer(&whole, &parts);
    let expected = reference(text);
    let Ok(whole) = whole else {
        assert!(ingest::is_too_large(&whole) || expected.is_none(), "a good text is refused: {whole:?}");
        return Ok(());
    };
    if let Ok(parts) = parts {
        ingest::assert_same_rows(&whole, &parts)?;
    }
    match expected {
        Some(expected) => compare(&whole, &expected),
        None => Ok(()),
    }
}

fn parse(text: &[u8], part_size: usize) -> Result<Vec<Vec<u8>>> {
    let mut parser = JsonParser::new(Arc::new(Constants::default()), None, OnError::Fail);
    ingest::chunks(text, part_size, &mut JsonSplitter::default(), &mut parser)
}

/// The records of a text that standard JSON and the rules of the packer allow.
fn reference(text: &[u8]) -> Option<Vec<Tree>> {
    let mut records = vec![];
    for value in serde_json::Deserializer::from_slice(text).into_iter::<Tree>() {
        match value.ok()? {
            record @ Tree::Record(_) => records.push(record),
            Tree::List(list) if list.iter().all(|item| matches!(item, Tree::Record(_))) => {
                records.extend(list);
            }
            _ => return None,
        }
    }
    records.iter().all(|record| record.depth() <= MAX_DEPTH).then_some(records)
}

fn compare(chunks: &[Vec<u8>], expected: &[Tree]) -> Result<()> {
    let mut expected = expected.iter();
    rows::each(chunks, |table, data, row| {
        let equal = expected.next().is_some_and(|tree| tree.equals(table, data, row));
        assert!(equal, "a row differs from its text");
        Ok(())
    })?;
    assert!(expected.next().is_none(), "rows are missing");
    Ok(())
}

impl Tree {
    fn depth(&self) -> usize {
        match self {
            Self::List(items) => 1 + items.iter().map(Self::depth).max().unwrap_or_default(),
            Self::Record(fields) => {
                1 + fields.iter().map(|(_, value)| value.depth()).max().unwrap_or_default()
            }
            _ => 0,
        }
    }

    fn equals(&self, table: &SymbolTable, data: &[u8], value: Header) -> bool {
        let body = &data[value.body..value.end];
        let number = || magnitude(body, 0).ok();
        match self {
            Self::Null => data[value.body - 1] == 0x0F,
            Self::Bool(flag) => value.kind == kind::BOOL && (value.low == 1) == *flag,
            Self::Unsigned(n) => value.kind == kind::UINT && number() == Some(*n),
            Self::Signed(n) => value.kind == kind::NEGINT && number() == Some(n.unsigned_abs()),
            Self::Float(f) => equals_float(*f, value.kind, number(), body),
            Self::Text(text) => equals_text(text, table, value.kind, body),
            Self::List(items) => {
                let mut at = value.body;
                value.kind == kind::LIST
                    && items.iter().all(|item| {
                        let Ok(found) = zion::ion::header(&data[..value.end], at) else { return false };
                        at = found.end;
                        item.equals(table, data, found)
                    })
                    && at == value.end
            }
            Self::Record(fields) => equals_record(fields, table, data, value),
        }
    }
}

fn equals_float(f: f64, kind: u8, magnitude: Option<u64>, body: &[u8]) -> bool {
    // An integer below -2^63 that rounds to it must not become that one, which is another integer.
    let is_beyond = f == i64::MIN as f64 && body == f.next_down().to_be_bytes();
    match (kind, magnitude) {
        (kind::UINT, Some(n)) => n as f64 == f,
        (kind::NEGINT, Some(n)) => -(n as f64) == f,
        _ => kind == kind::FLOAT && (is_beyond || body == f.to_be_bytes()),
    }
}

fn equals_text(text: &str, table: &SymbolTable, kind: u8, body: &[u8]) -> bool {
    match kind {
        kind::STRING => body == text.as_bytes() && timestamp::recognise(body).is_none(),
        kind::SYMBOL => magnitude(body, 0)
            .is_ok_and(|id| table.name(id as u32).is_some_and(|name| name == text.as_bytes())),
        kind::TIMESTAMP => timestamp::read(body, 0).ok() == timestamp::recognise(text.as_bytes()),
        _ => false,
    }
}

fn equals_record(fields: &[(String, Tree)], table: &SymbolTable, data: &[u8], row: Header) -> bool {
    let mut distinct: Vec<&(String, Tree)> = vec![];
    for field in fields {
        if distinct.iter().all(|known| known.0 != field.0) {
            distinct.push(field);
        }
    }
    let (mut found, mut last) = (0, None);
    let walked = rows::fields(data, row, |symbol, value| {
        let ascending = last.replace(symbol).is_none_or(|before| before < symbol);
        let name = table.name(symbol).unwrap_or_default();
        let known = distinct.iter().find(|field| field.0.as_bytes() == name);
        found += usize::from(ascending && known.is_some_and(|field| field.1.equals(table, data, value)));
        Ok(())
    });
    row.kind == kind::STRUCT && walked.is_ok() && found == distinct.len()
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Tree, E> {
        Ok(Tree::Unsigned(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Tree, E> {
        Ok(Tree::Signed(number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Tree, E> {
        Ok(Tree::Float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Ok(Tree::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = vec![];
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Tree, A::Error> {
        let mut record = vec![];
        while let Some(field) = fields.next_entry()? {
            record.push(field);
        }
        Ok(Tree::Record(record))
    }
}
