//! From what was seen to the types of columns.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};

use super::seen::{Seen, bits};
use crate::error::{Error, Result};

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
    /// Decimal128 with so many digits, and so many of them after the point. 20 and 0: some integers are
    /// above 2^63-1, some below zero.
    Decimal(u8, i8),
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
    /// Int8, Int16 or Int32; only in given schemas, as all that follow.
    Small(DataType),
    /// Float32.
    Single,
    /// Timestamp in microseconds without a time zone.
    Local,
    /// Date32: the day, in UTC, of a timestamp.
    Date,
    /// A duration in microseconds, of a number of seconds.
    Duration,
    /// Binary value and metadata of a Variant.
    Variant,
    /// Keys and values of a struct whose names are data.
    Map(Box<Type>, Box<Type>),
}

/// Names of the two parts of a Variant; the second one has this key in its metadata.
pub(super) const VALUE: &str = "value";
pub(super) const METADATA: &str = "metadata";
const VARIANT: &str = "variant";

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
                (true, true) => Self::Decimal(20, 0),
            },
        }
    }

    /// The type of a column that somebody wants.
    fn wanted(field: &Field) -> Result<Self> {
        Ok(match field.data_type() {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Bool,
            DataType::Int64 => Self::Int,
            DataType::UInt64 => Self::Uint,
            small @ (DataType::Int8 | DataType::Int16 | DataType::Int32) => Self::Small(small.clone()),
            &DataType::Decimal128(digits, scale @ 0..) => Self::Decimal(digits, scale),
            DataType::Float64 => Self::Float,
            DataType::Float32 => Self::Single,
            DataType::Timestamp(TimeUnit::Microsecond, None) => Self::Local,
            DataType::Timestamp(TimeUnit::Microsecond, Some(zone)) if **zone == *"UTC" => Self::Time,
            DataType::Date32 => Self::Date,
            DataType::Utf8 if field.metadata().get(ENCODING).is_some_and(|form| form == JSON) => Self::Json,
            DataType::Utf8 => Self::Text,
            DataType::Binary => Self::Bytes,
            DataType::List(item) => Self::List(Box::new(Self::wanted(item)?)),
            DataType::Duration(TimeUnit::Microsecond) => Self::Duration,
            DataType::Map(entries, _) if let Some((key, value)) = entry(entries) => {
                let (key, value) = (Self::wanted(key)?, Self::wanted(value)?);
                if !key.is_key() {
                    let name = field.name();
                    return Err(Error::unsupported(format!(
                        "rows do not become a column {name} of maps with keys of {}",
                        key.data_type()
                    )));
                }
                Self::Map(Box::new(key), Box::new(value))
            }
            DataType::Struct(fields) if is_variant(fields) => Self::Variant,
            DataType::Struct(fields) => Self::Struct(wanted(fields)?),
            other => {
                let name = field.name();
                return Err(Error::unsupported(format!("rows do not become a column {name} of {other}")));
            }
        })
    }

    /// The Arrow type.
    pub fn data_type(&self) -> DataType {
        match self {
            Self::Null => DataType::Null,
            Self::Bool => DataType::Boolean,
            Self::Int => DataType::Int64,
            Self::Uint => DataType::UInt64,
            &Self::Decimal(digits, scale) => DataType::Decimal128(digits, scale),
            Self::Float => DataType::Float64,
            Self::Time => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Self::Text | Self::Json => DataType::Utf8,
            Self::Bytes => DataType::Binary,
            Self::List(item) => DataType::List(item.field("item")),
            Self::Struct(fields) => {
                DataType::Struct(fields.iter().map(|(name, field)| field.field(name)).collect())
            }
            Self::Small(small) => small.clone(),
            Self::Single => DataType::Float32,
            Self::Local => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::Date => DataType::Date32,
            Self::Duration => DataType::Duration(TimeUnit::Microsecond),
            Self::Variant => DataType::Struct(variant_fields()),
            Self::Map(key, value) => {
                let key = Field::new("key", key.data_type(), false);
                let entries = Fields::from(vec![Arc::new(key), value.field("value")]);
                DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries), false)), false)
            }
        }
    }

    /// Whether names of fields can be read as values of this type.
    fn is_key(&self) -> bool {
        use Type::{Bool, Decimal, Float, Int, Single, Small, Text, Uint};
        matches!(self, Text | Bool | Int | Uint | Small(_) | Decimal(..) | Float | Single)
    }

    /// A column of this type.
    pub fn field(&self, name: &str) -> FieldRef {
        // Arrow's C interface ends a name at its first zero byte; the picture of one takes its place.
        let field = Field::new(name.replace('\0', "\u{2400}"), self.data_type(), true);
        Arc::new(match self {
            Self::Json => field.with_metadata(HashMap::from([(ENCODING.to_owned(), JSON.to_owned())])),
            _ => field,
        })
    }
}

fn wanted(fields: &Fields) -> Result<Vec<(Box<str>, Type)>> {
    fields.iter().map(|field| Ok((field.name().as_str().into(), Type::wanted(field)?))).collect()
}

/// The key and the value of the entries of a map.
fn entry(entries: &Field) -> Option<(&Field, &Field)> {
    match entries.data_type() {
        DataType::Struct(fields) if let [key, value] = &fields[..] => Some((key, value)),
        _ => None,
    }
}

fn is_variant(fields: &Fields) -> bool {
    matches!(&fields[..], [value, metadata]
        if value.name() == VALUE
            && metadata.name() == METADATA
            && metadata.metadata().get(VARIANT).is_some_and(|flag| flag == "true"))
}

fn variant_fields() -> Fields {
    let flag = HashMap::from([(VARIANT.to_owned(), "true".to_owned())]);
    let part = |name| Field::new(name, DataType::Binary, false);
    [part(VALUE), part(METADATA).with_metadata(flag)].into_iter().collect()
}

/// What becomes of a value that does not fit its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misfit {
    /// The file is damaged: the columns were made for its values.
    Damage,
    /// The schema is wrong, which the error says.
    Error,
    /// It becomes null.
    Null,
}

/// The columns of a table.
#[derive(Debug, Clone)]
pub struct Layout {
    /// The top-level fields.
    pub columns: Vec<(Box<str>, Type)>,
    /// The same for Arrow.
    pub schema: SchemaRef,
    /// What becomes of values that do not fit.
    pub misfit: Misfit,
    /// Whether columns of texts take other values as well, as their text in JSON without quotes, and columns of
    /// bytes and decimals the texts that stand for them.
    pub casts: bool,
    /// How many values did not fit and are null, of each column; only if misfits become null.
    pub nulled: Arc<[AtomicU64]>,
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
        let schema = Arc::new(Schema::new(fields));
        Self { columns, schema, misfit: Misfit::Damage, casts: false, nulled: Arc::default() }
    }

    /// The columns of a schema that somebody wants the rows in.
    pub fn wanted(schema: SchemaRef, misfit: Misfit, casts: bool) -> Result<Self> {
        let columns = wanted(schema.fields())?;
        let nulled = columns.iter().map(|_| AtomicU64::new(0)).collect();
        Ok(Self { columns, schema, misfit, casts, nulled })
    }
}
