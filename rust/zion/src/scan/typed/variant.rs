//! Values in the Variant encoding of Spark and Parquet: a dictionary of names, and the value.
//!
//! Names are in the dictionary in the order in which they occur; the fields of an object are sorted the
//! way Spark compares names, by UTF-16 code units.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::ion::names::text_of;
use crate::ion::{self, Header, SymbolTable, kind, timestamp, varuint};
use crate::json::print::float;
use crate::limits;
use crate::limits::MAX_VARIANT_DEPTH;

const VERSION: u8 = 1;
const SHORT: usize = 63;

/// Basic types: the low two bits of the first byte of a value.
mod basic {
    pub const SHORT_TEXT: u8 = 1;
    pub const OBJECT: u8 = 2;
    pub const ARRAY: u8 = 3;
}

/// The types of primitive values, in place in the first byte.
mod primitive {
    pub const NULL: u8 = 0;
    pub const TRUE: u8 = 1 << 2;
    pub const FALSE: u8 = 2 << 2;
    pub const INT8: u8 = 3 << 2;
    pub const INT16: u8 = 4 << 2;
    pub const INT32: u8 = 5 << 2;
    pub const INT64: u8 = 6 << 2;
    pub const DOUBLE: u8 = 7 << 2;
    pub const DECIMAL16: u8 = 10 << 2;
    pub const TIMESTAMP: u8 = 12 << 2;
    pub const BINARY: u8 = 15 << 2;
    pub const TEXT: u8 = 16 << 2;
}

/// Encodes one value after the other.
#[derive(Default)]
pub struct Encoder {
    ids: HashMap<Box<str>, u32>,
    names: Vec<Box<str>>,
    /// Bytes of the values so far that contain no others.
    spent: usize,
    /// The value that was encoded last.
    pub value: Vec<u8>,
    /// Its dictionary.
    pub metadata: Vec<u8>,
}

/// A chunk, and the names in force there.
#[derive(Clone, Copy)]
struct View<'a> {
    data: &'a [u8],
    table: &'a SymbolTable,
}

/// A field of an object: its name, its number in the dictionary, where its value begins.
type Entry = (Box<str>, u32, usize);

impl Encoder {
    /// Encodes a value.
    pub fn encode(&mut self, data: &[u8], table: &SymbolTable, value: Header, at: usize) -> Result<()> {
        self.ids.clear();
        self.names.clear();
        self.spent = 0;
        let mut out = std::mem::take(&mut self.value);
        out.clear();
        let put = self.put(View { data, table }, value, at, &mut out, 0);
        self.value = out;
        put?;
        self.finish_metadata();
        Ok(())
    }

    fn finish_metadata(&mut self) {
        let total: usize = self.names.iter().map(|name| name.len()).sum();
        let width = width_of(total.max(self.names.len()));
        let out = &mut self.metadata;
        out.clear();
        out.push(VERSION | (width as u8 - 1) << 6);
        put_width(out, self.names.len(), width);
        let mut end = 0;
        put_width(out, end, width);
        for name in &self.names {
            end += name.len();
            put_width(out, end, width);
        }
        for name in &self.names {
            out.extend_from_slice(name.as_bytes());
        }
    }

    fn id(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let id = self.names.len() as u32;
        self.ids.insert(name.into(), id);
        self.names.push(name.into());
        id
    }

    fn put(
        &mut self,
        view: View<'_>,
        value: Header,
        at: usize,
        out: &mut Vec<u8>,
        depth: usize,
    ) -> Result<()> {
        if depth > MAX_VARIANT_DEPTH {
            return Err(Error::unsupported(format!(
                ": values nested deeper than {MAX_VARIANT_DEPTH} levels"
            )));
        }
        if value.is_null() {
            out.push(primitive::NULL);
            return Ok(());
        }
        let body = &view.data[value.body..value.end];
        let start = out.len();
        match value.kind {
            kind::STRUCT => return self.object(view, value, out, depth),
            kind::LIST => return self.array(view, value, out, depth),
            kind::BOOL => out.push(if value.low == 1 { primitive::TRUE } else { primitive::FALSE }),
            kind::UINT => integer(out, i128::from(ion::magnitude(body, at)?)),
            kind::NEGINT => integer(out, -i128::from(ion::magnitude(body, at)?)),
            kind::FLOAT => {
                out.push(primitive::DOUBLE);
                out.extend_from_slice(&float(body, at)?.to_le_bytes());
            }
            kind::TIMESTAMP => {
                out.push(primitive::TIMESTAMP);
                out.extend_from_slice(&timestamp::read(body, at)?.to_le_bytes());
            }
            kind::STRING => text(out, &String::from_utf8_lossy(body)),
            kind::SYMBOL => text(out, &text_of(view.table, ion::magnitude(body, at)?)),
            kind::BLOB | kind::CLOB => sized(out, primitive::BINARY, body),
            other => {
                let message = format!("a value of type {other}, which rows do not have");
                return Err(Error::corrupt("ion", at, message));
            }
        }
        self.spent += out.len() - start;
        limits::check_row(self.spent, at)
    }

    fn array(&mut self, view: View<'_>, list: Header, out: &mut Vec<u8>, depth: usize) -> Result<()> {
        let (mut items, mut ends) = (Vec::new(), vec![0]);
        let mut at = list.body;
        while at < list.end {
            let value = ion::header(&view.data[..list.end], at)?;
            if !value.is_pad() {
                self.put(view, value, at, &mut items, depth + 1)?;
                ends.push(items.len());
            }
            at = value.end;
        }
        let (count, width) = (ends.len() - 1, width_of(items.len()));
        let large = count > 0xFF;
        out.push(basic::ARRAY | (u8::from(large) << 2 | (width as u8 - 1)) << 2);
        put_width(out, count, if large { 4 } else { 1 });
        for end in ends {
            put_width(out, end, width);
        }
        out.extend_from_slice(&items);
        Ok(())
    }

    fn object(&mut self, view: View<'_>, object: Header, out: &mut Vec<u8>, depth: usize) -> Result<()> {
        let (mut values, mut entries) = (Vec::new(), Vec::<Entry>::new());
        let data = &view.data[..object.end];
        let mut at = object.body;
        while at < object.end {
            let (label, value_at) = varuint::read(data, at)?;
            let value = ion::header(data, value_at)?;
            at = value.end;
            if value.is_pad() {
                continue;
            }
            let name = text_of(view.table, label);
            entries.push((name.as_ref().into(), self.id(&name), values.len()));
            self.put(view, value, value_at, &mut values, depth + 1)?;
        }
        // Of fields of one name the first counts: the sort keeps their order.
        entries.sort_by(|(left, ..), (right, ..)| left.encode_utf16().cmp(right.encode_utf16()));
        entries.dedup_by_key(|&mut (_, id, _)| id);
        let (ids, width) = (width_of(self.names.len()), width_of(values.len()));
        let large = entries.len() > 0xFF;
        let info = u8::from(large) << 4 | (ids as u8 - 1) << 2 | (width as u8 - 1);
        out.push(basic::OBJECT | info << 2);
        put_width(out, entries.len(), if large { 4 } else { 1 });
        for &(_, id, _) in &entries {
            put_width(out, id as usize, ids);
        }
        for &(_, _, start) in &entries {
            put_width(out, start, width);
        }
        put_width(out, values.len(), width);
        out.extend_from_slice(&values);
        Ok(())
    }
}

/// Number of bytes, 1 to 4, that hold a number.
fn width_of(most: usize) -> usize {
    match most {
        0..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFF_FFFF => 3,
        _ => 4,
    }
}

/// Appends a number, little endian; batches end long before four bytes are too few.
fn put_width(out: &mut Vec<u8>, number: usize, width: usize) {
    out.extend_from_slice(&number.to_le_bytes()[..width]);
}

fn integer(out: &mut Vec<u8>, number: i128) {
    if let Ok(number) = i8::try_from(number) {
        out.push(primitive::INT8);
        out.extend_from_slice(&number.to_le_bytes());
    } else if let Ok(number) = i16::try_from(number) {
        out.push(primitive::INT16);
        out.extend_from_slice(&number.to_le_bytes());
    } else if let Ok(number) = i32::try_from(number) {
        out.push(primitive::INT32);
        out.extend_from_slice(&number.to_le_bytes());
    } else if let Ok(number) = i64::try_from(number) {
        out.push(primitive::INT64);
        out.extend_from_slice(&number.to_le_bytes());
    } else {
        out.extend_from_slice(&[primitive::DECIMAL16, 0]);
        out.extend_from_slice(&number.to_le_bytes());
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    if text.len() > SHORT {
        sized(out, primitive::TEXT, text.as_bytes());
    } else {
        out.push(basic::SHORT_TEXT | (text.len() as u8) << 2);
        out.extend_from_slice(text.as_bytes());
    }
}

fn sized(out: &mut Vec<u8>, first: u8, content: &[u8]) {
    out.push(first);
    put_width(out, content.len(), 4);
    out.extend_from_slice(content);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(table: &SymbolTable, data: &[u8]) -> Result<(Vec<u8>, Vec<u8>)> {
        let mut encoder = Encoder::default();
        encoder.encode(data, table, ion::header(data, 0)?, 0)?;
        Ok((encoder.metadata, encoder.value))
    }

    #[test]
    fn scalars_take_the_smallest_form() -> Result<()> {
        let table = SymbolTable::new();
        let value = |data: &[u8]| encoded(&table, data).map(|(_, value)| value);
        assert_eq!(encoded(&table, &[0x20])?, (vec![1, 0, 0], vec![primitive::INT8, 0]));
        assert_eq!(value(&[0x21, 0x80])?, [primitive::INT16, 0x80, 0]);
        assert_eq!(value(&[0x31, 0x80])?, [primitive::INT8, 0x80]);
        let mut most = vec![primitive::DECIMAL16, 0];
        most.extend_from_slice(&u128::from(u64::MAX).to_le_bytes());
        assert_eq!(value(&[0x28, 255, 255, 255, 255, 255, 255, 255, 255])?, most);
        assert_eq!(value(&[0x82, b'h', b'i'])?, [2 << 2 | 1, b'h', b'i']);
        assert_eq!(value(&[0x11])?, [primitive::TRUE]);
        assert_eq!(value(&[0x10])?, [primitive::FALSE]);
        let long = [&[0x8E, 0xC0][..], &[b'x'; 64]].concat();
        assert_eq!(value(&long)?[..5], [primitive::TEXT, 64, 0, 0, 0]);
        Ok(())
    }

    #[test]
    fn objects_are_sorted_by_name_and_keep_the_first_of_two() -> Result<()> {
        let mut table = SymbolTable::new();
        let (b, a) = (table.intern(b"b"), table.intern(b"a"));
        let label = |id: u32| 0x80 | id as u8;
        // {b: 1, a: [null], b: 2}
        let data = [0xD9, label(b), 0x21, 1, label(a), 0xB1, 0x0F, label(b), 0x21, 2];
        let (metadata, value) = encoded(&table, &data)?;
        assert_eq!(metadata, [1, 2, 0, 1, 2, b'b', b'a']);
        let list = [basic::ARRAY, 1, 0, 1, primitive::NULL];
        let mut expected = vec![basic::OBJECT, 2, 1, 0, 2, 0, 9, primitive::INT8, 1];
        expected.extend_from_slice(&list);
        expected.extend_from_slice(&[primitive::INT8, 2]);
        assert_eq!(value, expected);
        Ok(())
    }

    #[test]
    fn what_is_too_deep_is_refused() {
        let mut data = vec![0x0F];
        for _ in 0..=MAX_VARIANT_DEPTH {
            let mut outer = vec![];
            ion::put_header(&mut outer, kind::LIST, data.len());
            outer.append(&mut data);
            data = outer;
        }
        assert!(encoded(&SymbolTable::new(), &data).is_err());
    }
}
