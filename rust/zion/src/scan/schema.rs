//! From what was seen to the types of columns.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};

use super::seen::{Seen, bits};

/// Key of the metadata of a column that holds its values in another form.
pub const ENCODING: &str = "sdb.encoding";
/// The value of [`ENCODING`] of a column of JSON texts.
pub const JSON: &str = "json";

/// The type of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// No value but null.
    Null,
    /// Bool.
    Bool,
    /// Int64.
    Int,
    /// `UInt64`: some integers are above 2^63-1, none below zero.
    Uint,
    /// Decimal128 of 20 digits: some integers are above 2^63-1, some below zero.
    Decimal,
    /// Float64: some numbers are not whole.
    Float,
    /// Timestamp in microseconds, UTC.
    Time,
    /// UTF-8 text.
    Text,
    /// Bytes.
    Bytes,
    /// The JSON text of each value: there is no type that all values share.
    Json,
    /// A list of items of one type.
    List(Box<Type>),
    /// Named fields.
    Struct(Vec<(Box<str>, Type)>),
}

impl Type {
    /// The type of all that was seen at one place.
    pub fn of(seen: &Seen) -> Self {
        if seen.opaque {
            return Self::Json;
        }
        match seen.kinds {
            0 => Self::Null,
            bits::BOOL => Self::Bool,
            bits::TIME => Self::Time,
            bits::TEXT => Self::Text,
            bits::BYTES => Self::Bytes,
            bits::LIST => Self::List(Box::new(seen.item.as_deref().map_or(Self::Null, Self::of))),
            bits::STRUCT => {
                match seen.fields.iter().map(|(name, field)| (name.into(), Self::of(field))).collect() {
                    // Parquet has no struct without fields.
                    fields if Vec::is_empty(&fields) => Self::Json,
                    fields => Self::Struct(fields),
                }
            }
            kinds if kinds & !bits::NUMBER != 0 => Self::Json,
            kinds if kinds & bits::FLOAT != 0 => Self::Float,
            kinds => match (kinds & bits::BIG != 0, kinds & bits::NEGATIVE != 0) {
                (false, _) => Self::Int,
                (true, false) => Self::Uint,
                (true, true) => Self::Decimal,
            },
        }
    }

    /// The Arrow type.
    pub fn data_type(&self) -> DataType {
        match self {
            Self::Null => DataType::Null,
            Self::Bool => DataType::Boolean,
            Self::Int => DataType::Int64,
            Self::Uint => DataType::UInt64,
            Self::Decimal => DataType::Decimal128(20, 0),
            Self::Float => DataType::Float64,
            Self::Time => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Self::Text | Self::Json => DataType::Utf8,
            Self::Bytes => DataType::Binary,
            Self::List(item) => DataType::List(item.field("item")),
            Self::Struct(fields) => {
                DataType::Struct(fields.iter().map(|(name, field)| field.field(name)).collect())
            }
        }
    }

    /// A column of this type.
    pub fn field(&self, name: &str) -> FieldRef {
        let field = Field::new(name, self.data_type(), true);
        Arc::new(match self {
            Self::Json => field.with_metadata(HashMap::from([(ENCODING.to_owned(), JSON.to_owned())])),
            _ => field,
        })
    }
}

/// The columns of a table.
#[derive(Debug, Clone)]
pub struct Layout {
    /// The top-level fields.
    pub columns: Vec<(Box<str>, Type)>,
    /// The same for Arrow.
    pub schema: SchemaRef,
}

impl Layout {
    /// The columns for rows that were looked at: chosen fields in the order of the choice, whether they
    /// occur or not, or all in the order in which they were first seen.
    pub fn of(rows: &Seen, chosen: Option<&[Box<str>]>) -> Self {
        let columns: Vec<(Box<str>, Type)> = match chosen {
            None => rows.fields.iter().map(|(name, field)| (name.into(), Type::of(field))).collect(),
            Some(names) => {
                let known = |name: &str| rows.fields.get(name).map_or(Type::Null, Type::of);
                let is_first = |at: usize, name: &str| !names[..at].iter().any(|before| **before == *name);
                let names = names.iter().enumerate().filter(|(at, name)| is_first(*at, name));
                names.map(|(_, name)| (name.clone(), known(name))).collect()
            }
        };
        let fields: Vec<FieldRef> = columns.iter().map(|(name, column)| column.field(name)).collect();
        Self { columns, schema: Arc::new(Schema::new(fields)) }
    }
}
