//! Rows as lines of CSV or TSV, in the form that queries write.

use std::collections::HashMap;

use crate::error::Result;
use crate::ion::names::text_of;
use crate::ion::{self, Header, SymbolTable, kind, varuint};
use crate::json::{print::Printer, sink::Sink, table::Table};
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
        form: Table,
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
        let Self { found, text, .. } = self;
        form.row(found.len(), out, |column, out| {
            let Some((at, value)) = found[column].filter(|(_, value)| !value.is_null()) else {
                return Ok(());
            };
            cell(data, (at, value), form, (printer, table, text), out)?;
            limits::check_row(out.len() - start, at)
        })
    }
}

/// Appends the text of a value.
fn cell(
    data: &[u8],
    (at, value): (usize, Header),
    form: Table,
    (printer, table, text): (&mut Printer, &SymbolTable, &mut Sink),
    out: &mut Sink,
) -> Result<()> {
    let body = &data[value.body..value.end];
    match value.kind {
        kind::STRING => put_text(body, form, out),
        kind::SYMBOL => put_text(text_of(table, ion::magnitude(body, at)?).as_bytes(), form, out),
        _ => {
            text.truncate(0);
            printer.value(data, value, at, text)?;
            form.json(text.as_slice(), out);
        }
    }
    Ok(())
}

/// Appends text that may be no UTF-8.
fn put_text(text: &[u8], form: Table, out: &mut Sink) {
    if simdutf8::basic::from_utf8(text).is_ok() {
        form.text(text, out);
    } else {
        form.text(mended(text).as_bytes(), out);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text() {
        let mut sink = Sink::default();
        put_text(b"\xed\xa0x", Table::Delimited(b','), &mut sink);
        assert_eq!(sink.as_slice(), "\u{fffd}\u{fffd}x".as_bytes());
    }
}
