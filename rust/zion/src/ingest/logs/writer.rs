//! Fields of a line, written to a row as they come.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::chunk::Row;
use crate::chunk::paths::{Cursor, NodeId};
use crate::ingest::Constants;
use crate::ingest::typing::{ColumnTypes, Evidence, Value, infer};
use crate::ingest::xsv::convert::{self, Convert};
use crate::ion::fields::{Fields, Keep};
use crate::ion::{self, kind, nest, timestamp, varuint};
use crate::times::{self, Form};

/// Whether the types of fields are known, or to be found out.
#[derive(Clone, Copy)]
pub(super) enum Types<'t> {
    Known(&'t ColumnTypes),
    Learnt(&'t RefCell<HashMap<Box<[u8]>, Evidence>>),
}

/// Writes a struct: of fields with one name the first one counts.
pub(super) struct Writer<'w, 'r> {
    types: Types<'w>,
    row: &'w mut Row<'r>,
    fields: &'w mut Fields,
    names: Cursor,
    start: usize,
    first: usize,
    /// Number of its first fields that are constants, which stand above values of the line.
    constants: usize,
}

impl<'w, 'r> Writer<'w, 'r> {
    /// Begins a row with its constants.
    pub(super) fn begin(
        row: &'w mut Row<'r>,
        fields: &'w mut Fields,
        constants: &Constants,
        types: Types<'w>,
    ) -> Self {
        let mut writer = Self::open(row, fields, NodeId::ROOT, types);
        for (name, value) in &constants.fields {
            if let Some(node) = writer.field(name) {
                writer.row.out.extend_from_slice(value);
                writer.row.paths.saw(node, value.first().map_or(kind::NULL, |first| first >> 4));
            }
        }
        writer.constants = constants.fields.len();
        writer
    }

    fn open(row: &'w mut Row<'r>, fields: &'w mut Fields, node: NodeId, types: Types<'w>) -> Self {
        let (names, first) = (row.paths.enter(node), fields.begin());
        let start = nest::open(row.out);
        Self { types, row, fields, names, start, first, constants: 0 }
    }

    /// Begins a field; None: the row has one of this name.
    #[inline]
    fn field(&mut self, name: &[u8]) -> Option<NodeId> {
        let field = self.row.paths.field(&mut self.names, name, self.row.symbols);
        let is_constant = self.fields.has(self.first, self.constants, field.symbol);
        if field.repeated || is_constant {
            self.row.paths.note_dropped(u64::from(!is_constant));
            return None;
        }
        self.fields.add(field.symbol, self.row.out.len());
        varuint::put(self.row.out, u64::from(field.symbol));
        Some(field.node)
    }

    /// A field with a text.
    #[inline]
    pub(super) fn text(&mut self, name: &[u8], text: &[u8]) {
        if let Some(node) = self.field(name) {
            convert::put_text(self.row, text, node);
        }
    }

    /// A field with a whole number.
    pub(super) fn int(&mut self, name: &[u8], value: i64) {
        if let Some(node) = self.field(name) {
            let start = self.row.out.len();
            ion::put_int(self.row.out, i128::from(value));
            let seen = self.row.out[start] >> 4;
            self.row.paths.saw(node, seen);
        }
    }

    /// A field with a text that becomes what a column of its type has.
    pub(super) fn converted(&mut self, name: &[u8], text: &[u8], convert: &Convert) {
        if let Some(node) = self.field(name) {
            convert.put(text, self.row, node, true);
        }
    }

    /// A field with a text that is an instant in a form that is known, or else stays a text.
    pub(super) fn told_time(&mut self, name: &[u8], text: &[u8], form: &Form) {
        match form.read(text, self.row.paths.times().zone()) {
            Some(found) => {
                let us = self.row.paths.kept(found);
                self.time(name, us);
            }
            None => self.text(name, text),
        }
    }

    /// A field that is true.
    pub(super) fn flag(&mut self, name: &[u8]) {
        if let Some(node) = self.field(name) {
            self.row.out.push(ion::TRUE);
            self.row.paths.saw(node, kind::BOOL);
        }
    }

    /// A field with an instant.
    pub(super) fn time(&mut self, name: &[u8], us: i64) {
        if let Some(node) = self.field(name) {
            self.put_time(node, us);
        }
    }

    fn put_time(&mut self, node: NodeId, us: i64) {
        timestamp::put(self.row.out, us);
        self.row.paths.time(node, us);
        self.row.paths.saw(node, kind::TIMESTAMP);
    }

    /// A field with an instant of clocks in the zone of the input.
    pub(super) fn local_time(&mut self, name: &[u8], local: i64) {
        self.time(name, self.row.paths.times().zone().to_utc(local));
    }

    /// The instant that a text is where there must be one.
    pub(super) fn moment(&mut self, text: &[u8]) -> Option<i64> {
        let found = times::read_any(text, self.row.paths.times().zone())?;
        Some(self.row.paths.kept(found))
    }

    /// A field with a text that may be an instant.
    pub(super) fn text_or_time(&mut self, name: &[u8], text: &[u8]) {
        if self.learns(name, text, true) {
            return;
        }
        let is_other = match self.types {
            Types::Known(types) => types.get(name).is_some_and(|column| !column.is_time()),
            Types::Learnt(_) => false,
        };
        if let Some(node) = self.field(name) {
            let is_read = !is_other || self.row.paths.is_told(node);
            let time = if is_read { self.row.paths.time_of_text(node, text) } else { None };
            match time {
                Some(us) => self.put_time(node, us),
                None => convert::put_text(self.row, text, node),
            }
        }
    }

    /// A field with a value of the type that its column has: a number, a truth value, an instant or a text.
    pub(super) fn guess(&mut self, name: &[u8], text: &[u8]) {
        if self.learns(name, text, false) {
            return;
        }
        let Types::Known(types) = self.types else { return };
        if let Some(node) = self.field(name) {
            convert::put_of_column(types.get(name).map(|kind| &**kind), text, self.row, node);
        }
    }

    /// Whether types are to be found out; then a value is a piece of evidence, one in quotes of a text or a time.
    fn learns(&self, name: &[u8], text: &[u8], is_quoted: bool) -> bool {
        let Types::Learnt(columns) = self.types else { return false };
        let value = match infer(text, self.row.paths.times()) {
            Value::Bool(_) | Value::Number(_) if is_quoted => Value::Text,
            value => value,
        };
        let mut columns = columns.borrow_mut();
        match columns.get_mut(name) {
            Some(evidence) => evidence.see_as(text, value),
            None => columns.entry(name.into()).or_default().see_as(text, value),
        }
        true
    }

    /// A field with a struct; nothing where it has no fields.
    pub(super) fn nested<E>(
        &mut self,
        name: &[u8],
        write: impl FnOnce(&mut Writer) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(node) = self.field(name) else { return Ok(()) };
        self.row.paths.saw(node, kind::STRUCT);
        let mut inner = Writer::open(self.row, self.fields, node, self.types);
        write(&mut inner)?;
        inner.end();
        Ok(())
    }

    /// Adds the defaults that a row lacks.
    pub(super) fn defaults(&mut self, constants: &Constants) {
        let fields = &mut *self.fields;
        constants.put_defaults(self.row, &mut self.names, |symbol, start| fields.add(symbol, start));
    }

    /// Ends the struct.
    pub(super) fn end(self) {
        let dropped = self.fields.sort(self.row.out, self.start + 1, self.first, Keep::First);
        self.row.paths.note_dropped(dropped as u64);
        nest::close(self.row.out, self.start, kind::STRUCT);
    }
}
