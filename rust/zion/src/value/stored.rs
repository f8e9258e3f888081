//! Values where they lie in a chunk, and what SQL sees in them.

use std::borrow::Cow;

use base64::prelude::*;

use crate::error::{Error, Result};
use crate::ion::names::text_of;
use crate::ion::{self, Header, SymbolTable, kind, varuint};
use crate::json::print::float;
use crate::value::number::Number;

/// What `TYPE_BIT` says of a value, which is 0 for none.
pub mod bits {
    /// Null.
    pub const NULL: u8 = 1;
    /// Booleans.
    pub const BOOL: u8 = 2;
    /// Integers, doubles and decimals.
    pub const NUMBER: u8 = 4;
    /// Timestamps.
    pub const TIME: u8 = 8;
    /// Strings and symbols.
    pub const TEXT: u8 = 16;
    /// Lists.
    pub const LIST: u8 = 32;
    /// Structs.
    pub const STRUCT: u8 = 64;
    /// In masks: no value at all.
    pub const MISSING: u8 = 128;
}

/// A value in a chunk: where its type byte is, and its extent.
#[derive(Debug, Clone, Copy)]
pub struct Value {
    pub(crate) at: usize,
    pub(crate) header: Header,
}

impl Value {
    #[inline]
    pub(crate) fn body<'a>(&self, data: &'a [u8]) -> &'a [u8] {
        &data[self.header.body..self.header.end]
    }

    /// Whether this is a list, and not null.
    #[inline]
    pub(crate) fn is_list(&self) -> bool {
        self.header.kind == kind::LIST && !self.header.is_null()
    }

    /// Whether this is a struct, and not null.
    #[inline]
    pub(crate) fn is_struct(&self) -> bool {
        self.header.kind == kind::STRUCT && !self.header.is_null()
    }

    /// The bit of its type.
    #[inline]
    pub(crate) fn type_bit(&self) -> Result<u8> {
        if self.header.is_null() {
            return Ok(bits::NULL);
        }
        Ok(match self.header.kind {
            kind::BOOL => bits::BOOL,
            kind::UINT | kind::NEGINT | kind::FLOAT => bits::NUMBER,
            kind::TIMESTAMP => bits::TIME,
            kind::SYMBOL | kind::STRING | kind::CLOB | kind::BLOB => bits::TEXT,
            kind::LIST => bits::LIST,
            kind::STRUCT => bits::STRUCT,
            _ => return Err(self.unknown()),
        })
    }

    #[cold]
    pub(crate) fn unknown(&self) -> Error {
        let message = format!("a value of type {}, which rows do not have", self.header.kind);
        Error::corrupt("ion", self.at, message)
    }

    /// The number, if it is one.
    #[inline]
    pub(crate) fn number(&self, data: &[u8]) -> Result<Option<Number>> {
        if self.header.is_null() {
            return Ok(None);
        }
        let magnitude = || ion::magnitude(self.body(data), self.at).map(i128::from);
        Ok(Some(match self.header.kind {
            kind::UINT => Number::Int(magnitude()?),
            kind::NEGINT => Number::Int(-magnitude()?),
            kind::FLOAT => float(self.body(data), self.at)?.into(),
            _ => return Ok(None),
        }))
    }

    /// The number, if it is an integer of at most 7 bytes, as nearly all are.
    #[inline]
    pub(crate) fn small(&self, data: &[u8]) -> Option<i64> {
        let body = self.body(data);
        if self.header.is_null() || body.len() > 7 {
            return None;
        }
        let magnitude = ion::magnitude(body, self.at).ok()? as i64;
        match self.header.kind {
            kind::UINT => Some(magnitude),
            kind::NEGINT => Some(-magnitude),
            _ => None,
        }
    }

    /// The boolean, if it is one.
    #[inline]
    pub(crate) fn boolean(&self) -> Option<bool> {
        (self.header.kind == kind::BOOL && !self.header.is_null()).then_some(self.header.low == 1)
    }

    /// The microseconds of a timestamp.
    #[inline]
    pub(crate) fn time(&self, data: &[u8]) -> Result<Option<i64>> {
        if self.header.kind != kind::TIMESTAMP || self.header.is_null() {
            return Ok(None);
        }
        ion::timestamp::read(self.body(data), self.at).map(Some)
    }

    /// The text of a string or symbol; bytes have that of their printed form.
    #[inline]
    pub(crate) fn text<'a>(&self, data: &'a [u8], table: &'a SymbolTable) -> Result<Option<Cow<'a, [u8]>>> {
        if self.header.is_null() {
            return Ok(None);
        }
        let body = self.body(data);
        Ok(Some(match self.header.kind {
            kind::STRING => Cow::Borrowed(body),
            kind::SYMBOL => match text_of(table, ion::magnitude(body, self.at)?) {
                Cow::Borrowed(name) => Cow::Borrowed(name.as_bytes()),
                Cow::Owned(name) => Cow::Owned(name.into_bytes()),
            },
            kind::CLOB | kind::BLOB => Cow::Owned(BASE64_STANDARD.encode(body).into_bytes()),
            _ => return Ok(None),
        }))
    }

    /// The elements of a list; none of anything else.
    #[inline]
    pub(crate) fn items<'a>(&self, data: &'a [u8]) -> Items<'a> {
        let end = if self.is_list() { self.header.end } else { self.header.body };
        Items { data: &data[..end], at: self.header.body }
    }

    /// The fields of a struct; none of anything else.
    #[inline]
    pub(crate) fn fields<'a>(&self, data: &'a [u8]) -> Fields<'a> {
        let end = if self.is_struct() { self.header.end } else { self.header.body };
        Fields { data: &data[..end], at: self.header.body }
    }
}

/// Goes over the elements of a list.
pub(crate) struct Items<'a> {
    data: &'a [u8],
    at: usize,
}

impl Iterator for Items<'_> {
    type Item = Result<Value>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while self.at < self.data.len() {
            let at = self.at;
            match ion::header(self.data, at) {
                Ok(header) => {
                    self.at = header.end;
                    if !header.is_pad() {
                        return Some(Ok(Value { at, header }));
                    }
                }
                Err(error) => {
                    self.at = self.data.len();
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

/// Goes over the fields of a struct: symbol and value.
pub(crate) struct Fields<'a> {
    data: &'a [u8],
    at: usize,
}

impl Fields<'_> {
    /// The next field: its symbol, and its value. None behind the last one, and where [`Fields::check`] has an
    /// error to tell.
    #[allow(clippy::inline_always, reason = "its six words would go through memory")]
    #[inline(always)]
    pub(crate) fn step(&mut self) -> Option<(u64, Value)> {
        while self.at < self.data.len() {
            let (label, at) = varuint::look(self.data, self.at)?;
            let header = ion::look(self.data, at)?;
            self.at = header.end;
            if !header.is_pad() {
                return Some((label, Value { at, header }));
            }
        }
        None
    }

    /// The error that the fields ended with, if they did.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        if self.at < self.data.len() { self.fail() } else { Ok(()) }
    }

    #[cold]
    fn fail(&self) -> Result<()> {
        let (_, at) = varuint::read(self.data, self.at)?;
        ion::header(self.data, at).map(drop)
    }
}

impl Iterator for Fields<'_> {
    type Item = Result<(u64, Value)>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(field) = self.step() {
            return Some(Ok(field));
        }
        let error = self.check().err()?;
        self.at = self.data.len();
        Some(Err(error))
    }
}
