//! The few forms that columns are brought into.

use std::ops::Range;

use arrow_array::{BinaryArray, BinaryViewArray, FixedSizeBinaryArray, LargeBinaryArray};
use arrow_buffer::{BooleanBuffer, NullBuffer, i256};

use crate::ion::timestamp;

pub(super) const DAY: i64 = 86_400 * timestamp::SECOND;

/// What became text, since no row holds it otherwise.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Changed {
    pub(super) decimals: bool,
    pub(super) times: bool,
}

impl Changed {
    pub(super) fn join(&mut self, other: Self) {
        self.decimals |= other.decimals;
        self.times |= other.times;
    }
}

/// A column, or the values inside one.
pub(super) struct Column {
    pub(super) nulls: Option<NullBuffer>,
    pub(super) data: Data,
}

/// The values of a column; what is at the place of a null has no meaning.
pub(super) enum Data {
    Null,
    Bool(BooleanBuffer),
    Int(Vec<i64>),
    UInt(Vec<u64>),
    Float(Vec<f64>),
    /// Microseconds since 1970.
    Time(Vec<i128>),
    /// Microseconds since midnight.
    Clock(Vec<i128>),
    /// Integers, and how many of their digits are behind the point.
    Decimal(Vec<i128>, i8),
    /// The same of seconds, which are numbers however many digits they have.
    Seconds(Vec<i128>, i8),
    LongDecimal(Vec<i256>, i8),
    Text(Bytes),
    Blob(Bytes),
    Uuid(FixedSizeBinaryArray),
    List(Vec<Range<usize>>, Box<Column>),
    Struct(Vec<Field>),
    /// Ranges of entries; the keys and the values of these.
    Map(Vec<Range<usize>>, Box<(Column, Column)>),
    /// Which of the values each is: dictionaries and runs.
    Lookup(Vec<usize>, Box<Column>),
    Variant(Variants),
}

/// Texts or binary values.
pub(super) enum Bytes {
    Short(BinaryArray),
    Long(LargeBinaryArray),
    View(BinaryViewArray),
    Fixed(FixedSizeBinaryArray),
}

impl Bytes {
    #[inline]
    pub(super) fn at(&self, row: usize) -> &[u8] {
        match self {
            Self::Short(values) => values.value(row),
            Self::Long(values) => values.value(row),
            Self::View(values) => values.value(row),
            Self::Fixed(values) => values.value(row),
        }
    }
}

/// A field of a struct.
pub(super) struct Field {
    pub(super) name: String,
    /// Its number, from the first time that it is written.
    pub(super) symbol: Option<u32>,
    /// What was changed in it.
    pub(super) changed: Changed,
    pub(super) column: Column,
}

impl Column {
    #[inline]
    pub(super) fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }
}

/// A column of variants.
pub(super) struct Variants {
    pub(super) values: Bytes,
    pub(super) dictionaries: Bytes,
}

impl Variants {
    /// Which rows are null, or hold a null.
    pub(super) fn nulls(&self, nulls: Option<&NullBuffer>, rows: usize) -> NullBuffer {
        let has_value = |row: usize| {
            nulls.is_none_or(|nulls| nulls.is_valid(row)) && self.values.at(row).first() != Some(&0)
        };
        NullBuffer::new(BooleanBuffer::collect_bool(rows, has_value))
    }
}
