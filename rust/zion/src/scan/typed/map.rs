//! Columns of maps: structs whose names are data.

use std::sync::Arc;

use arrow_array::{ArrayRef, MapArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields};

use super::build::{Column, Context};
use super::fit;
use super::schema::{Misfit, Type};
use crate::error::Result;
use crate::ion::names::text_of;
use crate::ion::{self, Header, varuint};

/// A column of maps.
pub(super) struct Map {
    entries: FieldRef,
    /// Where the entries of each map end.
    ends: Vec<i32>,
    keys: Column,
    values: Column,
    /// Number of cells that an entry takes.
    weight: usize,
}

impl Map {
    /// * `of`: The type with these keys and values.
    /// * `field`: The column as it was asked for.
    pub(super) fn new(key: &Type, value: &Type, of: &Type, field: &Field) -> Self {
        let entries = match (field.data_type().clone(), of.data_type()) {
            (DataType::Map(entries, _), _) | (_, DataType::Map(entries, _)) => entries,
            _ => Arc::new(Field::new("entries", DataType::Null, false)),
        };
        let parts = parts(&entries);
        let column = |at: usize, of: &Type| match parts.get(at) {
            Some(field) => Column::new(of, field),
            None => Column::new(of, &of.field("")),
        };
        let (keys, values) = (column(0, key), column(1, value));
        let weight = keys.weight() + values.weight();
        Self { entries, ends: vec![0], keys, values, weight }
    }

    /// Adds empty maps until there are `length`.
    pub(super) fn pad(&mut self, length: usize) {
        self.ends.resize(length + 1, self.keys.length as i32);
    }

    /// Whether all names are keys.
    pub(super) fn fits(&self, context: &Context<'_>, value: Header) -> Result<bool> {
        let data = &context.data[..value.end];
        let mut at = value.body;
        while at < value.end {
            let (label, value_at) = varuint::read(data, at)?;
            let entry = ion::header(data, value_at)?;
            at = entry.end;
            if !entry.is_pad() && !self.keys.is_name(&text_of(context.table, label)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Adds a struct.
    pub(super) fn put(&mut self, context: &mut Context<'_>, value: Header, value_at: usize) -> Result<()> {
        let (data, table) = (&context.data[..value.end], context.table);
        let mut at = value.body;
        while at < value.end {
            let (label, entry_at) = varuint::read(data, at)?;
            let entry = ion::header(data, entry_at)?;
            at = entry.end;
            if entry.is_pad() {
                continue;
            }
            let name = text_of(table, label);
            context.claim(0, self.weight, entry_at)?;
            let row = self.keys.length;
            let put = self.keys.put_name(context, &name, entry_at)?;
            put.ok_or_else(|| fit::unexpected(Misfit::Error, value, value_at))?;
            let put = self.values.put(context, row, entry, entry_at);
            put.map_err(|error| fit::within(error, &name))?;
        }
        self.ends.push(self.keys.length as i32);
        Ok(())
    }

    /// The array of the maps; the column is empty then.
    pub(super) fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        let length = self.keys.length;
        let columns = vec![self.keys.finish(length)?, self.values.finish(length)?];
        let entries = StructArray::try_new_with_length(parts(&self.entries), columns, None, length)?;
        let ends = OffsetBuffer::new(std::mem::replace(&mut self.ends, vec![0]).into());
        Ok(Arc::new(MapArray::try_new(Arc::clone(&self.entries), ends, entries, nulls, false)?))
    }
}

/// The key and the value of the entries.
fn parts(entries: &Field) -> Fields {
    match entries.data_type() {
        DataType::Struct(fields) => fields.clone(),
        _ => Fields::empty(),
    }
}
