//! Symbol tables: names and frequent strings, each known by a number inside its block.

use std::collections::HashMap;

use super::{BVM, Header, header, header_size, is_bvm, kind, put_header, varuint};
use crate::error::{Error, Result};
use crate::limits::{MAX_SYMBOL_TEXT, MAX_SYMBOLS};

/// The names of symbols 0 to 9. Symbol 0 is read as `$0`, which the original writes for this text; a text
/// never becomes symbol 0, which has none in Ion.
pub const SYSTEM: [&str; 10] = [
    "$0",
    "$ion",
    "$ion_1_0",
    "$ion_symbol_table",
    "name",
    "version",
    "imports",
    "symbols",
    "max_id",
    "$ion_shared_symbol_table",
];
/// The id of the first symbol that a table lists itself.
pub const FIRST_USER: u32 = SYSTEM.len() as u32;

/// Hashes names: they come from strangers, who must not know which ones collide. No map that has it is gone through
/// in its order, so that what is written does not depend on the seed.
pub type NameHash = foldhash::fast::RandomState;

/// The field `imports` with which a table says that it adds to the one before it.
const IMPORTS: [u8; 3] = [0x86, 0x71, 0x03];

fn string_size(name: &[u8]) -> usize {
    header_size(name.len()) + name.len()
}

fn table_size(list: usize, imports: usize) -> usize {
    let body = imports + 1 + header_size(list) + list;
    let annotated = 2 + header_size(body) + body;
    header_size(annotated) + annotated
}

#[inline]
fn filter_bit(name: &[u8]) -> (usize, u64) {
    match name {
        [first, .., last] => (name.len().min(63), 1 << ((first ^ last.rotate_left(3)) & 63)),
        [only] => (1, 1 << (only & 63)),
        [] => (0, 1),
    }
}

type NameMap = HashMap<Box<[u8]>, u32, NameHash>;

/// The symbols in force: ids 0 to 9 are fixed, the others numbered as they were listed.
#[derive(Debug, Clone)]
pub struct SymbolTable {
    names: Names,
    /// The lowest id of each name. Not there in a table that was read, until names are added to it:
    /// who reads rows looks up few names, and few times.
    ids: Option<NameMap>,
    text_bytes: usize,
    /// Size of the user symbols as string values.
    list_bytes: usize,
    /// By length and first and last byte, whether there can be a symbol: most strings are none.
    filter: Box<[u64; 64]>,
}

/// Texts one behind the other.
#[derive(Debug, Clone, Default)]
struct Names {
    text: Vec<u8>,
    ends: Vec<usize>,
    /// For each name the size of it and all before it as a list of strings: writers ask for that with each row that
    /// brings a name.
    listed: Vec<usize>,
}

impl Names {
    fn push(&mut self, name: &[u8]) {
        self.text.extend_from_slice(name);
        self.ends.push(self.text.len());
        self.listed.push(self.listed_before(u32::MAX) + string_size(name));
    }

    #[inline]
    fn get(&self, id: usize) -> Option<&[u8]> {
        let end = *self.ends.get(id)?;
        let start = if id == 0 { 0 } else { self.ends[id - 1] };
        Some(&self.text[start..end])
    }

    fn range(&self, from: u32, to: u32) -> impl Iterator<Item = &[u8]> {
        (from as usize..to as usize).map_while(|id| self.get(id))
    }

    fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        (0..).zip(self.range(0, u32::MAX))
    }

    /// Size of the names below `to` as a list of strings.
    fn listed_before(&self, to: u32) -> usize {
        let count = (to as usize).min(self.listed.len());
        count.checked_sub(1).and_then(|last| self.listed.get(last)).copied().unwrap_or(0)
    }

    fn truncate(&mut self, count: usize) {
        self.ends.truncate(count);
        self.listed.truncate(count);
        self.text.truncate(self.ends.last().copied().unwrap_or(0));
    }
}

impl Default for SymbolTable {
    fn default() -> Self {
        Self::new()
    }
}

impl SymbolTable {
    /// The table without user symbols.
    pub fn new() -> Self {
        let mut table = Self::unindexed();
        table.ids = Some(table.map());
        table
    }

    /// The same without a way to find names fast, which costs more than it saves where rows are only read.
    pub fn unindexed() -> Self {
        let mut names = Names::default();
        let mut filter = Box::new([0; 64]);
        for name in SYSTEM {
            names.push(name.as_bytes());
            let (row, bit) = filter_bit(name.as_bytes());
            filter[row] |= bit;
        }
        Self { names, ids: None, text_bytes: 0, list_bytes: 0, filter }
    }

    /// The same table for somebody who looks up many names.
    #[must_use]
    pub fn indexed(&self) -> Self {
        Self { ids: Some(self.map()), ..self.clone() }
    }

    fn map(&self) -> NameMap {
        let mut map = NameMap::default();
        for (id, name) in self.names.iter().skip(1) {
            map.entry(name.into()).or_insert(id);
        }
        map
    }

    /// One more than the highest id: 10 + number of user symbols.
    #[inline]
    pub fn max_id(&self) -> u32 {
        self.names.ends.len() as u32
    }

    /// Sum of the lengths of the user symbols.
    pub fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// The text of a symbol, if the id is known.
    #[inline]
    pub fn name(&self, id: u32) -> Option<&[u8]> {
        self.names.get(id as usize)
    }

    /// The lowest id of a text, if it is a symbol: never 0.
    #[inline]
    pub fn id(&self, name: &[u8]) -> Option<u32> {
        let (row, bit) = filter_bit(name);
        if self.filter[row] & bit == 0 {
            return None;
        }
        match &self.ids {
            Some(ids) => ids.get(name).copied(),
            None => self.names.iter().skip(1).find(|&(_, known)| known == name).map(|(id, _)| id),
        }
    }

    /// All ids of a text in what is read: a table may list the same string twice, and 0 is `$0`.
    pub fn ids(&self, name: &[u8]) -> Vec<u32> {
        let (row, bit) = filter_bit(name);
        if self.filter[row] & bit == 0 {
            return Vec::new();
        }
        self.names.iter().filter(|&(_, known)| known == name).map(|(id, _)| id).collect()
    }

    /// The id of a text, which is added when it is new.
    #[inline]
    pub fn intern(&mut self, name: &[u8]) -> u32 {
        if self.ids.is_none() {
            self.ids = Some(self.map());
        }
        match self.id(name) {
            Some(id) => id,
            None => self.push(name),
        }
    }

    /// Lists a text, known or not, and gives its new id.
    pub fn push(&mut self, name: &[u8]) -> u32 {
        let id = self.max_id();
        self.names.push(name);
        let (row, bit) = filter_bit(name);
        self.filter[row] |= bit;
        if let Some(ids) = &mut self.ids {
            ids.entry(name.into()).or_insert(id);
        }
        self.text_bytes += name.len();
        self.list_bytes += string_size(name);
        id
    }

    /// Forgets all user symbols.
    pub fn reset(&mut self) {
        if self.max_id() > FIRST_USER {
            *self = Self::new();
        }
    }

    /// Forgets the symbols from `max_id` on.
    pub fn truncate(&mut self, max_id: u32) {
        let kept = max_id.clamp(FIRST_USER, self.max_id());
        for name in self.names.range(kept, u32::MAX) {
            self.text_bytes -= name.len();
            self.list_bytes -= string_size(name);
            if let Some(ids) = &mut self.ids
                && ids.get(name).is_some_and(|&id| id >= kept)
            {
                ids.remove(name);
            }
        }
        self.names.truncate(kept as usize);
    }

    /// Appends a full table, with its version marker, of the symbols below `to`.
    pub fn put_full(&self, out: &mut Vec<u8>, to: u32) {
        out.extend_from_slice(&BVM);
        self.put_table(out, &[], FIRST_USER, to);
    }

    /// Appends a table that adds the symbols from `from` to `to` to the table before it.
    pub fn put_appending(&self, out: &mut Vec<u8>, from: u32, to: u32) {
        self.put_table(out, &IMPORTS, from, to);
    }

    /// Size of a full table of all symbols, with its version marker.
    pub fn full_size(&self) -> usize {
        BVM.len() + table_size(self.list_bytes, 0)
    }

    /// Size of a table that adds the symbols from `from` on.
    pub fn appending_size(&self, from: u32) -> usize {
        table_size(self.list_size(from, self.max_id()), IMPORTS.len())
    }

    fn list_size(&self, from: u32, to: u32) -> usize {
        self.names.listed_before(to).saturating_sub(self.names.listed_before(from))
    }

    fn put_table(&self, out: &mut Vec<u8>, imports: &[u8], from: u32, to: u32) {
        let list = self.list_size(from, to);
        let body = imports.len() + 1 + header_size(list) + list;
        put_header(out, kind::ANNOTATION, 2 + header_size(body) + body);
        out.extend_from_slice(&[0x81, 0x83]);
        put_header(out, kind::STRUCT, body);
        out.extend_from_slice(imports);
        out.push(0x87);
        put_header(out, kind::LIST, list);
        for name in self.names.range(from, to) {
            super::put_string(out, name);
        }
    }

    /// Applies the symbol table at the start of `data`, if there is one, and gives the number of bytes
    /// that it takes (0: none). A version marker resets the table first; without one strings are added.
    pub fn apply(&mut self, data: &[u8]) -> Result<usize> {
        let start = if is_bvm(data) {
            self.reset();
            BVM.len()
        } else if data.first().is_some_and(|byte| byte >> 4 == kind::ANNOTATION) {
            0
        } else {
            return Ok(0);
        };
        let table = header(data, start)?;
        if table.kind != kind::ANNOTATION || table.is_null() {
            return Err(Error::corrupt("ion", start, "a symbol table was expected after the version marker"));
        }
        let (count, at) = varuint::read(&data[..table.end], table.body)?;
        let (symbol, at) = varuint::read(&data[..table.end], at)?;
        if count != 1 || symbol != 3 {
            return Err(Error::corrupt("ion", start, "an annotation that is not a symbol table"));
        }
        let content = header(&data[..table.end], at)?;
        if content.kind != kind::STRUCT {
            return Err(Error::corrupt("ion", at, "a symbol table that is not a struct"));
        }
        self.apply_fields(data, content)?;
        Ok(table.end)
    }

    fn apply_fields(&mut self, data: &[u8], content: Header) -> Result<()> {
        let mut at = content.body;
        while at < content.end {
            let (label, next) = varuint::read(&data[..content.end], at)?;
            let value = header(&data[..content.end], next)?;
            if label == 7 {
                if value.kind != kind::LIST {
                    return Err(Error::corrupt("ion", next, "the symbols of a table are not a list"));
                }
                self.apply_list(data, value)?;
            }
            at = value.end;
        }
        Ok(())
    }

    fn apply_list(&mut self, data: &[u8], list: Header) -> Result<()> {
        let mut at = list.body;
        while at < list.end {
            let value = header(&data[..list.end], at)?;
            if value.kind != kind::STRING || value.is_null() {
                return Err(Error::corrupt("ion", at, "a symbol that is not a string"));
            }
            let text = &data[value.body..value.end];
            if simdutf8::basic::from_utf8(text).is_err() {
                return Err(Error::corrupt("ion", at, "a symbol that is not UTF-8"));
            }
            if self.names.text.len() + text.len() > MAX_SYMBOL_TEXT || self.max_id() >= MAX_SYMBOLS {
                let message =
                    format!("symbols of more than {MAX_SYMBOL_TEXT} bytes, or more than {MAX_SYMBOLS}");
                return Err(Error::corrupt("ion", at, message));
            }
            self.push(text);
            at = value.end;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_table_has_the_bytes_of_the_format() {
        let mut out = vec![];
        SymbolTable::new().put_full(&mut out, FIRST_USER);
        assert_eq!(out, [0xE0, 0x01, 0x00, 0xEA, 0xE5, 0x81, 0x83, 0xD2, 0x87, 0xB0]);
        out.clear();
        SymbolTable::new().put_appending(&mut out, 10, 10);
        assert_eq!(out, [0xE8, 0x81, 0x83, 0xD5, 0x86, 0x71, 0x03, 0x87, 0xB0]);
    }

    #[test]
    fn tables_round_trip_and_append() -> Result<()> {
        let mut table = SymbolTable::new();
        for name in ["foo", "", "name", "a name of more than thirteen bytes", "foo"] {
            table.intern(name.as_bytes());
        }
        assert_eq!(table.max_id(), 13);
        assert_eq!(table.id(b"name"), Some(4));
        let mut out = vec![];
        table.put_full(&mut out, table.max_id());
        assert_eq!(out.len(), table.full_size());
        let mut read = SymbolTable::new();
        read.push(b"forgotten");
        assert_eq!(read.apply(&out)?, out.len());
        let listed =
            |table: &SymbolTable| table.names.iter().map(|(_, name)| name.to_vec()).collect::<Vec<_>>();
        assert_eq!(listed(&read), listed(&table));
        table.push(b"foo");
        out.clear();
        table.put_appending(&mut out, 13, 14);
        assert_eq!(out.len(), table.appending_size(13));
        assert_eq!(read.apply(&out)?, out.len());
        assert_eq!(read.ids(b"foo"), [10, 13]);
        let mut unindexed = SymbolTable::unindexed();
        unindexed.apply(&out)?;
        assert_eq!((unindexed.id(b"foo"), unindexed.indexed().id(b"foo")), (Some(10), Some(10)));
        assert_eq!(
            (unindexed.intern(b"foo"), unindexed.intern(b"bar"), unindexed.id(b"bar")),
            (10, 11, Some(11))
        );
        read.truncate(10);
        assert_eq!((read.id(b"foo"), read.text_bytes()), (None, 0));
        Ok(())
    }
}
