//! Rows as lines of CSV or TSV, in the form that queries write.

use std::collections::HashMap;

use crate::error::Result;
use crate::ion::names::text_of;
use crate::ion::{self, Header, SymbolTable, kind, varuint};
use crate::json::{print::Printer, sink::Sink};
use crate::limits;

/// Prints rows as cells of columns that are known beforehand.
#[derive(Default)]
pub struct Cells {
    /// The number of each column, from 1.
    numbers: HashMap<Box<[u8]>, u32>,
    /// For each symbol the number of its column, from 1; 0: none.
    columns: Vec<u32>,
    /// For each column the value of the row at hand.
    found: Vec<Option<(usize, Header)>>,
    /// The value that is printed before its quotes are known.
    text: Sink,
}

impl Cells {
    /// Cells of columns with these names.
    pub fn new(names: &[Box<[u8]>]) -> Self {
        let numbers = names.iter().cloned().zip(1..).collect();
        Self { numbers, found: vec![None; names.len()], ..Self::default() }
    }

    /// Takes over the table in force, either a new one or the one before with symbols added.
    pub fn sync(&mut self, table: &SymbolTable, is_new: bool) {
        if is_new {
            self.columns.clear();
        }
        for id in self.columns.len() as u32..table.max_id() {
            let number = table.name(id).and_then(|name| self.numbers.get(name));
            self.columns.push(number.copied().unwrap_or(0));
        }
    }

    /// Appends a row and a line feed. Of a field that comes twice the first counts.
    pub fn row(
        &mut self,
        (data, row): (&[u8], Header),
        separator: u8,
        (printer, table): (&mut Printer, &SymbolTable),
        out: &mut Sink,
    ) -> Result<()> {
        self.found.fill(None);
        let mut at = row.body;
        while at < row.end {
            let (label, value_at) = varuint::read(data, at)?;
            let value = ion::header(&data[..row.end], value_at)?;
            at = value.end;
            let number = usize::try_from(label).ok().and_then(|id| self.columns.get(id)).copied();
            let column = number.and_then(|number| self.found.get_mut((number as usize).checked_sub(1)?));
            if let Some(place @ None) = column
                && !value.is_pad()
            {
                *place = Some((value_at, value));
            }
        }
        let start = out.len();
        for column in 0..self.found.len() {
            if column > 0 {
                out.reserve(1);
                out.byte(separator);
            }
            if let Some((at, value)) = self.found[column].filter(|(_, value)| !value.is_null()) {
                self.cell(data, (at, value), separator, (printer, table), out)?;
                limits::check_row(out.len() - start, at)?;
            }
        }
        if self.found.len() <= 1 && out.len() == start {
            out.copy(b"\"\"", 0, 2); // an empty line would be no row
        }
        out.reserve(1);
        out.byte(b'\n');
        Ok(())
    }

    fn cell(
        &mut self,
        data: &[u8],
        (at, value): (usize, Header),
        separator: u8,
        (printer, table): (&mut Printer, &SymbolTable),
        out: &mut Sink,
    ) -> Result<()> {
        let body = &data[value.body..value.end];
        match value.kind {
            kind::STRING => put_text(body, separator, out),
            kind::SYMBOL => put_text(text_of(table, ion::magnitude(body, at)?).as_bytes(), separator, out),
            kind::TIMESTAMP | kind::BLOB | kind::CLOB => {
                self.text.truncate(0);
                printer.value(data, value, at, &mut self.text)?;
                let text = self.text.as_slice();
                put(text.get(1..text.len().saturating_sub(1)).unwrap_or_default(), separator, out);
            }
            _ => {
                self.text.truncate(0);
                printer.value(data, value, at, &mut self.text)?;
                put(self.text.as_slice(), separator, out);
            }
        }
        Ok(())
    }
}

/// Appends text that may be no UTF-8.
fn put_text(text: &[u8], separator: u8, out: &mut Sink) {
    if simdutf8::basic::from_utf8(text).is_ok() {
        put(text, separator, out);
    } else {
        put(mended(text).as_bytes(), separator, out);
    }
}

/// Replaces each byte that belongs to no character, as lines of JSON do.
#[cold]
fn mended(text: &[u8]) -> String {
    let mut valid = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        valid.push_str(chunk.valid());
        valid.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    valid
}

/// Appends a cell, in quotes where it needs them.
pub(super) fn put(text: &[u8], separator: u8, out: &mut Sink) {
    if memchr::memchr3(separator, b'"', b'\n', text).is_none() && memchr::memchr(b'\r', text).is_none() {
        out.copy(text, 0, text.len());
        return;
    }
    out.copy(b"\"", 0, 1);
    for (number, part) in text.split(|&byte| byte == b'"').enumerate() {
        if number > 0 {
            out.copy(b"\"\"", 0, 2);
        }
        out.copy(part, 0, part.len());
    }
    out.copy(b"\"", 0, 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_where_they_are_needed() {
        for (text, expected) in [
            ("", ""),
            ("a b", "a b"),
            ("a,b", "\"a,b\""),
            ("a\tb", "a\tb"),
            ("\"", "\"\"\"\""),
            ("a\"b\"c", "\"a\"\"b\"\"c\""),
            ("a\r", "\"a\r\""),
            ("a\nb", "\"a\nb\""),
        ] {
            let mut sink = Sink::default();
            put_text(text.as_bytes(), b',', &mut sink);
            assert_eq!(sink.as_slice(), expected.as_bytes());
        }
    }

    #[test]
    fn bytes_that_are_no_text() {
        let mut sink = Sink::default();
        put_text(b"\xed\xa0x", b',', &mut sink);
        assert_eq!(sink.as_slice(), "\u{fffd}\u{fffd}x".as_bytes());
    }
}
