//! Rows as lines of JSON, in the form that the original prints.

use super::digits;
use super::sink::Sink;
use crate::error::{Error, Result};
use crate::ion::{self, Header, SymbolTable, kind};
use crate::limits;

/// Prints rows. It knows the names of the symbols in force in their printed form.
#[derive(Default)]
pub struct Printer {
    names: Names,
    stack: Vec<Frame>,
}

/// A struct or list that is open.
#[derive(Clone, Copy)]
struct Frame {
    end: usize,
    is_struct: bool,
}

/// For each symbol `"name": `, one after the other.
#[derive(Default)]
struct Names {
    text: Sink,
    ends: Vec<u32>,
}

impl Names {
    fn extend(&mut self, table: &SymbolTable) {
        for id in self.ends.len() as u32..table.max_id() {
            match table.name(id) {
                Some(name) => self.text.string(name, 0, name.len()),
                None => unknown(&mut self.text, u64::from(id)),
            }
            self.text.copy(b": ", 0, 2);
            self.ends.push(self.text.len() as u32);
        }
        self.text.reserve(64);
    }

    /// Where the printed form of a symbol lies.
    #[inline]
    fn find(&self, id: u64) -> Option<(usize, usize)> {
        let index = usize::try_from(id).ok()?;
        let end = *self.ends.get(index)? as usize;
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        Some((start, end))
    }
}

/// A symbol without a name.
#[cold]
fn unknown(out: &mut Sink, id: u64) {
    out.copy(b"\"$", 0, 2);
    digits::put_int(out, false, id);
    out.copy(b"\"", 0, 1);
}

impl Printer {
    /// Takes over the table in force, either a new one or the one before with symbols added.
    pub fn sync(&mut self, table: &SymbolTable, is_new: bool) {
        if is_new {
            self.names.text.truncate(0);
            self.names.ends.clear();
        }
        self.names.extend(table);
    }

    /// Appends a row and a line feed. With `keep` top-level fields stay only if it is true for their id.
    pub fn row(&mut self, data: &[u8], row: Header, keep: Option<&[bool]>, out: &mut Sink) -> Result<()> {
        self.container(data, row, keep, out)?;
        out.byte(b'\n');
        Ok(())
    }

    /// Appends one value, nothing after it. `at` is the place of its type byte.
    pub fn value(&mut self, data: &[u8], value: Header, at: usize, out: &mut Sink) -> Result<()> {
        if matches!(value.kind, kind::STRUCT | kind::LIST) && !value.is_null() {
            self.container(data, value, None, out)
        } else {
            self.scalar(data, value, at, out)
        }
    }

    fn container(&mut self, data: &[u8], value: Header, keep: Option<&[bool]>, out: &mut Sink) -> Result<()> {
        self.stack.clear();
        let start = out.len();
        let mut frame = Frame { end: value.end, is_struct: value.kind == kind::STRUCT };
        out.reserve(8);
        out.byte(if frame.is_struct { b'{' } else { b'[' });
        let (mut at, mut first) = (value.body, true);
        loop {
            if at == frame.end {
                out.reserve(8);
                out.byte(if frame.is_struct { b'}' } else { b']' });
                match self.stack.pop() {
                    Some(outer) => (frame, first) = (outer, false),
                    None => break,
                }
                continue;
            }
            let (mut label, mut value_at) = (0, at);
            if frame.is_struct {
                (label, value_at) = ion::varuint::read(data, at)?;
            }
            let value = ion::header(&data[..frame.end], value_at)?;
            at = value.end;
            if value.is_pad() || (self.stack.is_empty() && !kept(keep, label)) {
                continue;
            }
            out.reserve(8);
            if !first {
                out.piece(b", ", 2);
            }
            first = false;
            if frame.is_struct {
                self.name(label, out);
            }
            if matches!(value.kind, kind::STRUCT | kind::LIST) && !value.is_null() {
                self.stack.push(frame);
                frame = Frame { end: value.end, is_struct: value.kind == kind::STRUCT };
                (at, first) = (value.body, true);
                out.reserve(8);
                out.byte(if frame.is_struct { b'{' } else { b'[' });
            } else {
                self.scalar(data, value, value_at, out)?;
            }
            limits::check_row(out.len() - start, value_at)?;
        }
        Ok(())
    }

    #[inline]
    fn name(&self, label: u64, out: &mut Sink) {
        if let Some((start, end)) = self.names.find(label) {
            out.copy(self.names.text.padded(), start, end);
        } else {
            unknown(out, label);
            out.copy(b": ", 0, 2);
        }
    }

    #[inline]
    fn scalar(&self, data: &[u8], value: Header, at: usize, out: &mut Sink) -> Result<()> {
        let body = &data[value.body..value.end];
        if value.is_null() {
            out.copy(b"null", 0, 4);
            return Ok(());
        }
        match value.kind {
            kind::STRING => out.string(data, value.body, value.end),
            kind::UINT => digits::put_int(out, false, ion::magnitude(body, at)?),
            kind::NEGINT => digits::put_int(out, true, ion::magnitude(body, at)?),
            kind::BOOL if value.low == 0 => out.copy(b"false", 0, 5),
            kind::BOOL if value.low == 1 => out.copy(b"true", 0, 4),
            kind::FLOAT => digits::put_float(out, float(body, at)?),
            kind::TIMESTAMP => digits::put_timestamp(out, body, at)?,
            kind::SYMBOL => {
                let id = ion::magnitude(body, at)?;
                match self.names.find(id) {
                    Some((start, end)) => out.copy(self.names.text.padded(), start, end - 2),
                    None => unknown(out, id),
                }
            }
            kind::BLOB | kind::CLOB => out.base64(body),
            other => {
                return Err(Error::corrupt(
                    "ion",
                    at,
                    format!("a value of type {other}, which rows do not have"),
                ));
            }
        }
        Ok(())
    }
}

/// Whether a top-level field stays.
#[inline]
pub(crate) fn kept(keep: Option<&[bool]>, id: u64) -> bool {
    keep.is_none_or(|keep| keep.get(id as usize).is_some_and(|&kept| kept))
}

/// The content of a float: 0, 4 or 8 bytes.
#[inline]
pub fn float(body: &[u8], at: usize) -> Result<f64> {
    match *body {
        [] => Ok(0.0),
        [a, b, c, d] => Ok(f64::from(f32::from_be_bytes([a, b, c, d]))),
        [a, b, c, d, e, f, g, h] => Ok(f64::from_be_bytes([a, b, c, d, e, f, g, h])),
        _ => Err(Error::corrupt("ion", at, format!("a float of {} bytes instead of 8", body.len()))),
    }
}
