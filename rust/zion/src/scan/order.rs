//! The order of values of all types: nulls, booleans, numbers, times, texts; lists and structs behind them.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::error::Result;
use crate::ion::SymbolTable;
use crate::value::number::Number;
use crate::value::number::order;
use crate::value::{Value, bits};

/// How rows are put in order.
#[derive(Debug, Clone, Copy)]
pub struct Sort {
    /// The place of the value.
    pub place: usize,
    /// Whether greater values come first.
    pub descending: bool,
    /// Whether nulls come last and not first, whatever else.
    pub nulls_last: bool,
}

/// As much of a value as tells its place.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rank<T> {
    Null,
    Bool(bool),
    Number(Number),
    Time(i64),
    Text(T),
    List,
    Struct,
}

impl<T> Rank<T> {
    pub(crate) fn bit(&self) -> u8 {
        match self {
            Self::Null => bits::NULL,
            Self::Bool(_) => bits::BOOL,
            Self::Number(_) => bits::NUMBER,
            Self::Time(_) => bits::TIME,
            Self::Text(_) => bits::TEXT,
            Self::List => bits::LIST,
            Self::Struct => bits::STRUCT,
        }
    }

    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Rank<U> {
        match self {
            Self::Null => Rank::Null,
            Self::Bool(flag) => Rank::Bool(flag),
            Self::Number(number) => Rank::Number(number),
            Self::Time(us) => Rank::Time(us),
            Self::Text(text) => Rank::Text(change(text)),
            Self::List => Rank::List,
            Self::Struct => Rank::Struct,
        }
    }
}

impl<T: AsRef<[u8]>> Rank<T> {
    /// The length of a text.
    pub(crate) fn text_bytes(&self) -> usize {
        if let Self::Text(text) = self { text.as_ref().len() } else { 0 }
    }
}

impl<'a> Rank<Cow<'a, [u8]>> {
    /// That of a value in a chunk.
    pub(crate) fn of(data: &'a [u8], table: &'a SymbolTable, value: &Value) -> Result<Self> {
        Ok(match value.type_bit()? {
            bits::BOOL => Self::Bool(value.boolean() == Some(true)),
            bits::NUMBER => value.number(data)?.map_or(Self::Null, Self::Number),
            bits::TIME => value.time(data)?.map_or(Self::Null, Self::Time),
            bits::TEXT => value.text(data, table)?.map_or(Self::Null, Self::Text),
            bits::LIST => Self::List,
            bits::STRUCT => Self::Struct,
            _ => Self::Null,
        })
    }
}

impl Sort {
    /// Lists and structs come last, in no order.
    pub(crate) fn compare<A, B>(self, a: &Rank<A>, b: &Rank<B>) -> Ordering
    where
        A: AsRef<[u8]>,
        B: AsRef<[u8]>,
    {
        let (is_null, other_is_null) = (matches!(a, Rank::Null), matches!(b, Rank::Null));
        let is_nested = |bit| bit >= bits::LIST;
        let fixed = (is_null == self.nulls_last)
            .cmp(&(other_is_null == self.nulls_last))
            .then(is_nested(a.bit()).cmp(&is_nested(b.bit())));
        let by_value = a.bit().cmp(&b.bit()).then_with(|| match (a, b) {
            (Rank::Bool(a), Rank::Bool(b)) => a.cmp(b),
            (Rank::Number(a), Rank::Number(b)) => order(*a, *b),
            (Rank::Time(a), Rank::Time(b)) => a.cmp(b),
            (Rank::Text(a), Rank::Text(b)) => a.as_ref().cmp(b.as_ref()),
            _ => Ordering::Equal,
        });
        fixed.then(if self.descending { by_value.reverse() } else { by_value })
    }
}
