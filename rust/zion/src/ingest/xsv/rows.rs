//! Records to rows: where the value of each column goes, and in which order.

use std::collections::HashMap;

use super::convert::Convert;
use super::hints::Column;
use super::record::Record;
use crate::chunk::Row;
use crate::chunk::paths::{NodeId, Paths};
use crate::ingest::Constants;
use crate::ingest::constants::put_default;
use crate::ion::{kind, nest, varuint};

/// A field of a row or of a struct in it.
#[derive(Debug, Clone)]
struct Entry {
    name: Box<[u8]>,
    /// The struct that it is in; none: the row.
    parent: Option<usize>,
    content: Content,
    /// Its fields in the order in which they are written.
    order: Vec<usize>,
    symbol: u32,
    node: NodeId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Content {
    /// The constant of this number.
    Constant(usize),
    /// The value of this column.
    Column(usize),
    /// A struct; a field of the same name that is no struct wins.
    Struct,
    /// The default of this number, for rows without another field of its name.
    Default(usize),
}

/// Writes records as rows.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    columns: Vec<Column>,
    /// In the order in which names get their symbols.
    entries: Vec<Entry>,
    structs: HashMap<(Option<usize>, Box<[u8]>), usize>,
    order: Vec<usize>,
}

impl Writer {
    pub(super) fn new(constants: &Constants, columns: Vec<Column>) -> Self {
        let mut writer = Self { columns: vec![], entries: vec![], structs: HashMap::new(), order: vec![] };
        for (index, (name, _)) in constants.fields.iter().enumerate() {
            writer.add_entry(name, None, Content::Constant(index));
        }
        for column in columns {
            writer.add_column(column);
        }
        for (index, (name, _)) in constants.defaults.iter().enumerate() {
            writer.add_entry(name, None, Content::Default(index));
        }
        writer
    }

    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }

    pub(super) fn add_column(&mut self, column: Column) {
        if let Some((last, outer)) = column.path.split_last() {
            let mut parent = None;
            for name in outer {
                let known = self.structs.get(&(parent, name.clone())).copied();
                let entry = known.unwrap_or_else(|| self.add_entry(name, parent, Content::Struct));
                self.structs.insert((parent, name.clone()), entry);
                parent = Some(entry);
            }
            self.add_entry(last, parent, Content::Column(self.columns.len()));
        }
        self.columns.push(column);
    }

    fn add_entry(&mut self, name: &[u8], parent: Option<usize>, content: Content) -> usize {
        let (name, node) = (name.into(), NodeId::NONE);
        self.entries.push(Entry { name, parent, content, order: vec![], symbol: u32::MAX, node });
        self.entries.len() - 1
    }

    /// Appends the row of a record.
    pub(super) fn write(&mut self, row: &mut Row, constants: &Constants, record: &Record, text: &[u8]) {
        let known = |entry: &Entry| row.symbols.name(entry.symbol) == Some(&*entry.name);
        if !self.entries.iter().all(known) {
            self.look_up(row);
        }
        self.write_struct(row, None, &Source { constants, record, text });
    }

    /// Looks the symbols of all names up, used in this row or not, and sorts the fields by them.
    #[cold]
    fn look_up(&mut self, row: &mut Row) {
        self.order.clear();
        for index in 0..self.entries.len() {
            let parent = self.entries[index].parent;
            let above = parent.map_or(NodeId::ROOT, |parent| self.entries[parent].node);
            let entry = &mut self.entries[index];
            entry.symbol = row.symbols.intern(&entry.name);
            entry.node = place(row.paths, entry.node, above, &entry.name);
            entry.order.clear();
            match parent {
                Some(parent) => self.entries[parent].order.push(index),
                None => self.order.push(index),
            }
        }
        let keys: Vec<_> = self.entries.iter().map(|entry| (entry.symbol, entry.content)).collect();
        for order in self.entries.iter_mut().map(|entry| &mut entry.order).chain([&mut self.order]) {
            order.sort_by_key(|&index| keys[index]);
        }
    }

    fn write_struct(&self, row: &mut Row, parent: Option<usize>, source: &Source) {
        let order = parent.map_or(&self.order, |parent| &self.entries[parent].order);
        let start = nest::open(row.out);
        let mut last = None;
        for &index in order {
            let entry = &self.entries[index];
            if last == Some(entry.symbol) {
                if matches!(entry.content, Content::Default(_)) {
                    source.constants.override_default();
                }
            } else if self.write_field(row, index, source) {
                last = Some(entry.symbol);
            }
        }
        nest::close(row.out, start, kind::STRUCT);
    }

    /// Appends a field, if the record has it.
    #[inline]
    fn write_field(&self, row: &mut Row, index: usize, source: &Source) -> bool {
        let entry = &self.entries[index];
        let symbol = u64::from(entry.symbol);
        match entry.content {
            Content::Constant(number) => {
                varuint::put(row.out, symbol);
                let value = &source.constants.fields[number].1;
                row.out.extend_from_slice(value);
                row.paths.saw(entry.node, value.first().map_or(kind::NULL, |first| first >> 4));
            }
            Content::Default(number) => {
                varuint::put(row.out, symbol);
                put_default(row, entry.node, &source.constants.defaults[number].1);
            }
            Content::Struct => {
                varuint::put(row.out, symbol);
                row.paths.saw(entry.node, kind::STRUCT);
                self.write_struct(row, Some(index), source);
            }
            Content::Column(number) => {
                let column = &self.columns[number];
                let Some(text) = source.record.field(source.text, number).and_then(|text| column.text(text))
                else {
                    return false;
                };
                varuint::put(row.out, symbol);
                let date = number.checked_sub(1).filter(|_| column.joins);
                match date.and_then(|date| source.record.field(source.text, date)) {
                    Some(date) => {
                        let text = [date, text].join(&b' ');
                        column.convert.put(&text, row, entry.node, column.indexed);
                    }
                    None => column.convert.put(text, row, entry.node, column.indexed),
                }
            }
        }
        true
    }
}

fn place(paths: &mut Paths, known: NodeId, above: NodeId, name: &[u8]) -> NodeId {
    if known == NodeId::NONE { paths.child(above, name) } else { known }
}

/// What a row is made of.
struct Source<'a> {
    constants: &'a Constants,
    record: &'a Record,
    text: &'a [u8],
}

impl Column {
    /// The text that counts for a field, if it has a value.
    #[inline]
    fn text<'a>(&'a self, text: &'a [u8]) -> Option<&'a [u8]> {
        if self.missing.iter().any(|missing| **missing == *text) {
            return None;
        }
        let text = if text.is_empty() { &self.default } else { text };
        let empty = matches!(self.convert, Convert::String) && self.allow_empty;
        (!text.is_empty() || empty).then_some(text)
    }
}
