//! The text of a column to a value.

use std::sync::Arc;

use crate::chunk::Row;
use crate::chunk::paths::NodeId;
use crate::ingest::json::literal;
use crate::ingest::json::number::Number;
use crate::ingest::json::parse::put_apart;
use crate::ingest::message::put_valid;
use crate::ingest::typing::{ColumnType, Value};
use crate::ion::{self, kind, timestamp};
use crate::times::{Form, Mode};

/// What a text stands for. One that does not fit is stored as a string.
#[derive(Debug, Clone, Default)]
pub(in crate::ingest) enum Convert {
    #[default]
    String,
    /// A float literal.
    Number,
    /// A decimal int64.
    Int,
    /// The usual words for true and false.
    Bool,
    /// Other words for true and false.
    BoolTexts { yes: Vec<Box<[u8]>>, no: Vec<Box<[u8]>> },
    /// A timestamp.
    Datetime,
    /// A timestamp of a form that was told.
    Time(Arc<Form>),
    /// What its column has.
    Column(Arc<ColumnType>),
}

impl Convert {
    fn value(&self, text: &[u8], row: &mut Row, node: NodeId) -> Value {
        let found = match self {
            Self::String => None,
            Self::Number => literal::float(text).map(|value| Value::Number(Number::from_f64(value))),
            Self::Int => literal::int(text).map(|value| Value::Number(Number::Int(value))),
            Self::Bool => word(text).map(Value::Bool),
            Self::BoolTexts { yes, no } => {
                let among = |texts: &[Box<[u8]>]| texts.iter().any(|known| **known == *text);
                if among(yes) { Some(true) } else { among(no).then_some(false) }.map(Value::Bool)
            }
            Self::Datetime => row.paths.time_of_text(node, text).map(Value::Time),
            Self::Time(form) => told(form, text, row).map(Value::Time),
            Self::Column(column) => return value_of_column(Some(column), text, row, node),
        };
        found.unwrap_or(Value::Text)
    }

    /// Appends the value of a text.
    pub(in crate::ingest) fn put(&self, text: &[u8], row: &mut Row, node: NodeId, indexed: bool) {
        let value = self.value(text, row, node);
        put_value(value, text, row, node, indexed);
    }
}

/// Appends the value of a text in a column, see [`value_of_column`].
pub(in crate::ingest) fn put_of_column(
    column: Option<&ColumnType>,
    text: &[u8],
    row: &mut Row,
    node: NodeId,
) {
    let value = value_of_column(column, text, row, node);
    put_value(value, text, row, node, true);
}

#[inline]
fn put_value(value: Value, text: &[u8], row: &mut Row, node: NodeId, indexed: bool) {
    let seen = match value {
        Value::Text => {
            put_text(row, text, node);
            return;
        }
        Value::Bool(value) => {
            row.out.push(if value { ion::TRUE } else { ion::FALSE });
            kind::BOOL
        }
        Value::Number(number) => {
            let start = row.out.len();
            number.put(row.out);
            row.out[start] >> 4
        }
        Value::Time(us) => {
            timestamp::put(row.out, us);
            row.paths.time_if(node, us, indexed);
            kind::TIMESTAMP
        }
    };
    row.paths.saw(node, seen);
}

/// Appends a text, or what it is as JSON where it is to be taken apart.
#[inline]
pub(in crate::ingest) fn put_text(row: &mut Row, text: &[u8], node: NodeId) {
    if !(row.paths.is_apart(node) && put_apart(row, text, node, 1)) {
        put_valid(row, text, node);
    }
}

fn word(text: &[u8]) -> Option<bool> {
    match text {
        b"1" | b"t" | b"T" | b"TRUE" | b"true" | b"True" => Some(true),
        b"0" | b"f" | b"F" | b"FALSE" | b"false" | b"False" => Some(false),
        _ => None,
    }
}

/// The value of a text in a column: without a type it is a text. Times whose form was told come first.
#[inline]
fn value_of_column(column: Option<&ColumnType>, text: &[u8], row: &mut Row, node: NodeId) -> Value {
    if row.paths.is_told(node)
        && let Some(us) = row.paths.time_of_text(node, text)
    {
        return Value::Time(us);
    }
    column.map_or(Value::Text, |column| column.value(text, || row.paths.time_of_text(node, text)))
}

/// The instant of a text of a form that was told: of units the original reads whole numbers alone.
fn told(form: &Form, text: &[u8], row: &mut Row) -> Option<i64> {
    let times = row.paths.times();
    match form {
        Form::Unix(unit) if times.mode() != Mode::All => {
            literal::int(text).map(|count| unit.to_micros(count))
        }
        _ => form.read(text, times.zone()).map(|found| row.paths.kept(found)),
    }
}
