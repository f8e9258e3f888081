//! What types of values occur where: the first pass of a scan.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::ion::names::{Lookup, text_of};
use crate::ion::symtab::NameHash;
use crate::ion::{self, Header, SymbolTable, kind, varuint};
use crate::limits::{MAX_SCHEMA_DEPTH, MAX_SCHEMA_FIELDS, MAX_SCHEMA_NODES};

/// Kinds of values, as bits.
pub mod bits {
    /// Booleans.
    pub const BOOL: u16 = 1;
    /// Integers from 0 to 2^63-1.
    pub const INT: u16 = 2;
    /// Integers above 2^63-1.
    pub const BIG: u16 = 4;
    /// Integers below zero.
    pub const NEGATIVE: u16 = 8;
    /// Doubles.
    pub const FLOAT: u16 = 16;
    /// Timestamps.
    pub const TIME: u16 = 32;
    /// Strings and symbols.
    pub const TEXT: u16 = 64;
    /// Blobs and clobs.
    pub const BYTES: u16 = 128;
    /// Lists.
    pub const LIST: u16 = 256;
    /// Structs.
    pub const STRUCT: u16 = 512;
    /// Numbers of any kind.
    pub const NUMBER: u16 = INT | BIG | NEGATIVE | FLOAT;
}

/// The bit of each Ion type; nulls have none.
const ION_TYPES: [(u8, u16); 11] = [
    (kind::BOOL, bits::BOOL),
    (kind::UINT, bits::INT),
    (kind::NEGINT, bits::NEGATIVE),
    (kind::FLOAT, bits::FLOAT),
    (kind::TIMESTAMP, bits::TIME),
    (kind::SYMBOL, bits::TEXT),
    (kind::STRING, bits::TEXT),
    (kind::CLOB, bits::BYTES),
    (kind::BLOB, bits::BYTES),
    (kind::LIST, bits::LIST),
    (kind::STRUCT, bits::STRUCT),
];

/// What was seen at one place, and below it.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    pub(super) kinds: u16,
    /// Whether what lies below is not followed any more.
    pub(super) opaque: bool,
    pub(super) item: Option<Box<Seen>>,
    pub(super) fields: Fields,
}

/// The fields of the structs at one place.
#[derive(Debug, Clone, Default)]
pub struct Fields {
    named: Named,
    lookup: Lookup,
}

/// Fields in the order in which they were first seen.
#[derive(Debug, Clone, Default)]
struct Named {
    names: Vec<Box<str>>,
    seen: Vec<Seen>,
    places: HashMap<Box<str>, u32, NameHash>,
}

impl Fields {
    /// The fields in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Seen)> {
        self.named.names.iter().map(|name| &**name).zip(&self.named.seen)
    }

    /// What was seen at a field.
    pub fn get(&self, name: &str) -> Option<&Seen> {
        self.named.seen.get(*self.named.places.get(name)? as usize)
    }

    fn len(&self) -> usize {
        self.named.seen.len()
    }
}

impl Named {
    fn place(&mut self, name: &str) -> u32 {
        if let Some(&place) = self.places.get(name) {
            return place;
        }
        let place = self.seen.len() as u32;
        self.names.push(name.into());
        self.seen.push(Seen::default());
        self.places.insert(name.into(), place);
        place
    }
}

impl Seen {
    /// Adds what is known of a field: the Ion types of its values, as bits. False when more must be known.
    pub fn settle_field(&mut self, name: &str, ion_types: u16) -> bool {
        let mut seen = Self::default();
        for (kind, bit) in ION_TYPES {
            if ion_types >> kind & 1 != 0 {
                seen.kinds |= bit;
            }
        }
        let vague = [bits::INT, bits::NEGATIVE, bits::INT | bits::NEGATIVE, bits::LIST, bits::STRUCT];
        if vague.contains(&seen.kinds) {
            return false;
        }
        seen.settle();
        let place = self.fields.named.place(name) as usize;
        self.fields.named.seen[place].join(seen, false);
        true
    }

    /// Whether values occur that have no type in common.
    pub fn is_mixed(&self) -> bool {
        let others = self.kinds & !bits::NUMBER;
        others.count_ones() + u32::from(self.kinds & bits::NUMBER != 0) > 1
    }

    /// Adds what was seen later.
    pub fn merge(&mut self, later: Self) {
        self.join(later, true);
    }

    fn join(&mut self, later: Self, is_row: bool) {
        self.kinds |= later.kinds;
        self.opaque |= later.opaque;
        if self.settle() {
            return;
        }
        if let Some(item) = later.item {
            self.item.get_or_insert_default().join(*item, false);
        }
        let named = &mut self.fields.named;
        for (name, seen) in later.fields.named.names.into_iter().zip(later.fields.named.seen) {
            let place = named.place(&name) as usize;
            named.seen[place].join(seen, false);
        }
        self.bound(is_row);
    }

    /// Drops what lies below when that can't be told apart any more.
    fn settle(&mut self) -> bool {
        self.opaque |= self.is_mixed();
        if self.opaque {
            (self.item, self.fields) = (None, Fields::default());
        }
        self.opaque
    }

    fn bound(&mut self, is_row: bool) {
        if !is_row && self.fields.len() > MAX_SCHEMA_FIELDS {
            self.opaque = true;
            self.settle();
        }
    }

    /// Makes sure that no more places than allowed are followed; the deepest are given up first.
    pub fn shrink(&mut self) -> Result<usize> {
        let mut levels = Vec::new();
        self.count(&mut levels, 0);
        let mut total = 0;
        let Some(depth) = levels.iter().position(|count| {
            total += count;
            total > MAX_SCHEMA_NODES
        }) else {
            return Ok(total);
        };
        if depth < 2 {
            return Err(Error::unsupported(format!(
                "rows with more than {MAX_SCHEMA_NODES} different fields do not fit a table; choose some fields"
            )));
        }
        self.cut(depth - 1);
        Ok(total - levels[depth])
    }

    fn count(&self, levels: &mut Vec<usize>, depth: usize) {
        if levels.len() == depth {
            levels.push(0);
        }
        levels[depth] += 1;
        self.item.iter().for_each(|item| item.count(levels, depth + 1));
        self.fields.named.seen.iter().for_each(|field| field.count(levels, depth + 1));
    }

    fn cut(&mut self, depth: usize) {
        if depth == 0 {
            self.opaque |= self.item.is_some() || self.fields.len() > 0;
            self.settle();
            return;
        }
        self.item.iter_mut().for_each(|item| item.cut(depth - 1));
        self.fields.named.seen.iter_mut().for_each(|field| field.cut(depth - 1));
    }
}

/// Looks at rows.
#[derive(Debug, Default)]
pub struct Observer {
    rows: Seen,
    count: u64,
    nodes: usize,
    epoch: u64,
    only: Option<Vec<Box<str>>>,
}

/// The chunk that is looked at.
struct View<'a> {
    data: &'a [u8],
    table: &'a SymbolTable,
    epoch: u64,
    nodes: usize,
}

impl Observer {
    /// Looks only at some fields of the rows, or at all.
    pub fn new(only: Option<Vec<Box<str>>>) -> Self {
        Self { only, ..Self::default() }
    }

    /// From now on symbols have other meanings.
    pub fn reset_symbols(&mut self) {
        self.epoch += 1;
    }

    /// Looks at a row.
    pub fn row(&mut self, data: &[u8], row: Header, table: &SymbolTable) -> Result<()> {
        let mut view = View { data, table, epoch: self.epoch, nodes: self.nodes };
        self.rows.kinds |= bits::STRUCT;
        self.count += 1;
        view.fields(&mut self.rows.fields, row, MAX_SCHEMA_DEPTH, self.only.as_deref())?;
        self.nodes = view.nodes;
        if self.nodes > MAX_SCHEMA_NODES {
            self.nodes = self.rows.shrink()?;
        }
        Ok(())
    }

    /// What was seen since the last time, and the number of rows.
    pub fn take(&mut self) -> (Seen, u64) {
        self.nodes = 0;
        (std::mem::take(&mut self.rows), std::mem::take(&mut self.count))
    }
}

/// The place of a field that is not looked at.
const NOWHERE: u32 = u32::MAX;

impl View<'_> {
    fn fields(
        &mut self,
        fields: &mut Fields,
        container: Header,
        depth: usize,
        only: Option<&[Box<str>]>,
    ) -> Result<()> {
        let data = &self.data[..container.end];
        let mut at = container.body;
        while at < container.end {
            let (label, value_at) = varuint::read(data, at)?;
            let value = ion::header(data, value_at)?;
            at = value.end;
            if value.is_pad() {
                continue;
            }
            let Fields { named, lookup } = fields;
            let (table, before) = (self.table, named.seen.len());
            let place = lookup.find(self.epoch, label, || {
                let name = text_of(table, label);
                let is_wanted = only.is_none_or(|only| only.iter().any(|wanted| **wanted == *name));
                if is_wanted { named.place(&name) } else { NOWHERE }
            });
            self.nodes += named.seen.len() - before;
            if let Some(seen) = named.seen.get_mut(place as usize) {
                self.value(seen, value, value_at, depth)?;
            }
        }
        Ok(())
    }

    fn items(&mut self, item: &mut Seen, container: Header, depth: usize) -> Result<()> {
        let data = &self.data[..container.end];
        let mut at = container.body;
        while at < container.end {
            let value = ion::header(data, at)?;
            if !value.is_pad() {
                self.value(item, value, at, depth)?;
            }
            at = value.end;
        }
        Ok(())
    }

    fn value(&mut self, seen: &mut Seen, value: Header, at: usize, depth: usize) -> Result<()> {
        if value.is_null() {
            return Ok(());
        }
        let before = seen.kinds;
        seen.kinds |= self.kinds(value, at)?;
        if value.kind != kind::STRUCT && value.kind != kind::LIST && seen.kinds == before {
            return Ok(());
        }
        if depth == 0 && seen.kinds & (bits::STRUCT | bits::LIST) != 0 {
            seen.opaque = true;
        }
        if seen.settle() {
            return Ok(());
        }
        match value.kind {
            kind::STRUCT => {
                self.fields(&mut seen.fields, value, depth - 1, None)?;
                seen.bound(false);
            }
            kind::LIST => {
                self.nodes += usize::from(seen.item.is_none());
                self.items(seen.item.get_or_insert_default(), value, depth - 1)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn kinds(&self, value: Header, at: usize) -> Result<u16> {
        Ok(match value.kind {
            kind::BOOL => bits::BOOL,
            kind::UINT if value.end - value.body < 8 => bits::INT,
            kind::UINT => match ion::magnitude(&self.data[value.body..value.end], at)? {
                0..=0x7FFF_FFFF_FFFF_FFFF => bits::INT,
                _ => bits::INT | bits::BIG,
            },
            kind::NEGINT => bits::INT | bits::NEGATIVE,
            kind::FLOAT => bits::FLOAT,
            kind::TIMESTAMP => bits::TIME,
            kind::SYMBOL | kind::STRING => bits::TEXT,
            kind::BLOB | kind::CLOB => bits::BYTES,
            kind::LIST => bits::LIST,
            kind::STRUCT => bits::STRUCT,
            other => {
                let message = format!("a value of type {other}, which rows do not have");
                return Err(Error::corrupt("ion", at, message));
            }
        })
    }
}
