//! The rows of a decoded chunk, and choices among them.

use crate::error::{Error, Result};
use crate::ion::{self, Header, SymbolTable, kind, timestamp, varuint};

/// Goes over the rows of a chunk; padding is passed over.
pub struct Rows<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Rows<'a> {
    /// The rows of `data` from `at` on, where its symbol table ends.
    pub fn new(data: &'a [u8], at: usize) -> Self {
        Self { data, at }
    }
}

impl Iterator for Rows<'_> {
    /// Where the row starts, and its header.
    type Item = Result<(usize, Header)>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while self.at < self.data.len() {
            let at = self.at;
            let value = match ion::header(self.data, at) {
                Ok(value) => value,
                Err(error) => {
                    self.at = self.data.len();
                    return Some(Err(error));
                }
            };
            self.at = value.end;
            if value.kind == kind::STRUCT {
                return Some(Ok((at, value)));
            }
            if !value.is_pad() {
                self.at = self.data.len();
                return Some(Err(Error::corrupt(
                    "ion",
                    at,
                    format!("a row of type {}, not a struct", value.kind),
                )));
            }
        }
        None
    }
}

/// Keeps the rows whose timestamp at a path is in a range.
#[derive(Debug, Clone)]
pub struct TimeFilter {
    path: Vec<Box<[u8]>>,
    start: Option<i64>,
    stop: Option<i64>,
    ids: Vec<Vec<u32>>,
}

impl TimeFilter {
    /// Rows stay if `start <= t < stop`, in microseconds; rows without a timestamp at the path do not.
    pub fn new(path: Vec<Box<[u8]>>, start: Option<i64>, stop: Option<i64>) -> Result<Self> {
        if path.is_empty() {
            return Err(Error::argument("the path of a time filter needs at least one name"));
        }
        Ok(Self { path, start, stop, ids: Vec::new() })
    }

    /// The top-level field that is looked at.
    pub fn field(&self) -> &[u8] {
        self.path.first().map(|name| &**name).unwrap_or_default()
    }

    /// Takes over the table in force.
    pub fn sync(&mut self, table: &SymbolTable) {
        self.ids = self.path.iter().map(|name| table.ids(name)).collect();
    }

    /// Whether a row stays.
    pub fn admits(&self, data: &[u8], row: Header) -> Result<bool> {
        let Some((at, value)) = find(data, row, &self.ids)? else { return Ok(false) };
        if value.kind != kind::TIMESTAMP || value.is_null() {
            return Ok(false);
        }
        let us = timestamp::read(&data[value.body..value.end], at)?;
        Ok(self.start.is_none_or(|start| us >= start) && self.stop.is_none_or(|stop| us < stop))
    }
}

/// The value at a path of symbol ids (several for one name) below a struct.
pub fn find(data: &[u8], row: Header, path: &[Vec<u32>]) -> Result<Option<(usize, Header)>> {
    let mut inside = row;
    let mut found = None;
    for ids in path {
        if inside.kind != kind::STRUCT {
            return Ok(None);
        }
        let mut at = inside.body;
        found = None;
        while at < inside.end && found.is_none() {
            let (label, value_at) = varuint::read(data, at)?;
            let value = ion::header(&data[..inside.end], value_at)?;
            if !value.is_pad() && ids.iter().any(|&id| u64::from(id) == label) {
                found = Some((value_at, value));
            }
            at = value.end;
        }
        match found {
            Some((_, value)) => inside = value,
            None => return Ok(None),
        }
    }
    Ok(found)
}

/// Appends a row with only the top-level fields that stay.
pub fn put_kept(
    data: &[u8],
    row: Header,
    keep: &[bool],
    scratch: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<()> {
    scratch.clear();
    let mut at = row.body;
    while at < row.end {
        let (label, value_at) = varuint::read(data, at)?;
        let value = ion::header(&data[..row.end], value_at)?;
        if keep.get(label as usize).is_some_and(|&kept| kept) {
            scratch.extend_from_slice(&data[at..value.end]);
        }
        at = value.end;
    }
    ion::put_header(out, kind::STRUCT, scratch.len());
    out.extend_from_slice(scratch);
    Ok(())
}
