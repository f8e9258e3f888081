//! Small values as a tree: trailers, constants, hints. Rows never pass through here.

use std::collections::HashSet;
use std::sync::Arc;

use super::{
    FALSE, Header, NULL, SymbolTable, TRUE, header, is_bvm, kind, magnitude, put_float, put_header, put_int,
    put_string, put_symbol, timestamp, varuint,
};
use crate::error::{Error, Result};
use crate::limits::{MAX_TREE_DEPTH, MAX_TREE_TABLE_BYTES, MAX_TREE_VALUES};

/// A struct with no more fields is looked through to find one.
const FEW: usize = 16;

/// A field name or the text of a symbol; all uses of one symbol share it.
pub type Name = Arc<str>;

/// One Ion value with all that it contains.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer from -2^63 to 2^64-1.
    Int(i128),
    /// A double.
    Float(f64),
    /// A timestamp, in microseconds since 1970.
    Time(i64),
    /// A text by its number in a symbol table.
    Symbol(Name),
    /// A text.
    String(Box<str>),
    /// Bytes.
    Blob(Box<[u8]>),
    /// A list.
    List(Vec<Value>),
    /// A struct, whose names are unique.
    Struct(Vec<(Name, Value)>),
}

/// Encodes a value as a stream of its own: version marker, symbol table, value.
///
/// Symbols are numbered in the order in which the tree names them, a field before its content;
/// fields are then sorted by number.
pub fn dumps(value: &Value) -> Result<Vec<u8>> {
    let mut writer = Writer { table: SymbolTable::new() };
    let mut body = vec![];
    writer.put(value, &mut body, 0)?;
    let mut out = vec![];
    writer.table.put_full(&mut out, writer.table.max_id());
    out.extend_from_slice(&body);
    Ok(out)
}

/// Encodes a value without a table, with the symbols of one that it shares with others; names that are new
/// to the table are added to it.
pub fn encode(value: &Value, table: SymbolTable) -> Result<(Vec<u8>, SymbolTable)> {
    let mut writer = Writer { table };
    let mut out = vec![];
    writer.put(value, &mut out, 0)?;
    Ok((out, writer.table))
}

struct Writer {
    table: SymbolTable,
}

impl Writer {
    fn put(&mut self, value: &Value, out: &mut Vec<u8>, depth: usize) -> Result<()> {
        if depth > MAX_TREE_DEPTH {
            return Err(Error::argument(format!("a value is nested deeper than {MAX_TREE_DEPTH} levels")));
        }
        match value {
            Value::Null => out.push(NULL),
            Value::Bool(flag) => out.push(if *flag { TRUE } else { FALSE }),
            Value::Int(number) => {
                if !(i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(number) {
                    return Err(Error::argument("an integer is outside -2^63 to 2^64-1"));
                }
                put_int(out, *number);
            }
            Value::Float(number) => put_float(out, *number),
            Value::Time(us) => timestamp::put(out, *us),
            Value::Symbol(name) => put_symbol(out, self.table.intern(name.as_bytes())),
            Value::String(text) => put_string(out, text.as_bytes()),
            Value::Blob(bytes) => {
                put_header(out, kind::BLOB, bytes.len());
                out.extend_from_slice(bytes);
            }
            Value::List(items) => {
                let mut body = vec![];
                for item in items {
                    self.put(item, &mut body, depth + 1)?;
                }
                put_header(out, kind::LIST, body.len());
                out.extend_from_slice(&body);
            }
            Value::Struct(fields) => self.put_struct(fields, out, depth)?,
        }
        Ok(())
    }

    fn put_struct(&mut self, fields: &[(Name, Value)], out: &mut Vec<u8>, depth: usize) -> Result<()> {
        let mut body = vec![];
        let mut spans = vec![];
        for (name, value) in fields {
            let id = self.table.intern(name.as_bytes());
            let start = body.len();
            varuint::put(&mut body, u64::from(id));
            self.put(value, &mut body, depth + 1)?;
            spans.push((id, start, body.len()));
        }
        spans.sort_unstable();
        if spans.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(Error::argument("a struct has the same field twice"));
        }
        put_header(out, kind::STRUCT, body.len());
        for (_, start, end) in spans {
            out.extend_from_slice(&body[start..end]);
        }
        Ok(())
    }
}

/// Decodes a stream of symbol tables (the first with a version marker, the others appending) and
/// exactly one value after them.
pub fn loads(data: &[u8]) -> Result<Value> {
    let (table, at) = tables(data)?;
    let mut reader = Reader { data, names: vec![], table, left: MAX_TREE_VALUES, is_ordered: true };
    let at = reader.skip_padding(at, data.len())?;
    let (value, at) = reader.value(at, data.len(), 0)?;
    match reader.skip_padding(at, data.len())? {
        end if end == data.len() => Ok(value),
        end => Err(Error::corrupt("ion", end, "bytes after the value")),
    }
}

/// Decodes the first value of `data`: with the symbols of a table that it shares with others, or behind
/// tables of its own. Fields may be in any order. Gives the table too, and where the value ends: what
/// follows is not looked at.
pub fn decode(data: &[u8], shared: Option<SymbolTable>) -> Result<(Value, SymbolTable, usize)> {
    let (table, at) = match shared {
        Some(table) => (table, 0),
        None => tables(data)?,
    };
    let mut reader = Reader { data, names: vec![], table, left: MAX_TREE_VALUES, is_ordered: false };
    let (value, end) = reader.value(at, data.len(), 0)?;
    Ok((value, reader.table, end))
}

/// The symbol tables at the start of `data`, and where they end.
fn tables(data: &[u8]) -> Result<(SymbolTable, usize)> {
    if !is_bvm(data) {
        return Err(Error::corrupt("ion", 0, "a version marker was expected"));
    }
    let mut table = SymbolTable::new();
    let mut at = 0;
    while at == 0 || data.get(at).is_some_and(|byte| byte >> 4 == kind::ANNOTATION) {
        let rest = &data[at..];
        if at > 0 && is_bvm(rest) {
            return Err(Error::corrupt("ion", at, "a second version marker"));
        }
        let end =
            at + header(rest, if at == 0 { 4 } else { 0 }).map_err(|error| error.shifted(at as u64))?.end;
        if end > MAX_TREE_TABLE_BYTES {
            return Err(Error::corrupt(
                "ion",
                at,
                format!("a symbol table of more than {MAX_TREE_TABLE_BYTES} bytes"),
            ));
        }
        at += table.apply(rest).map_err(|error| error.shifted(at as u64))?;
    }
    Ok((table, at))
}

/// The items of the list that is the only member of a struct, one after the other.
pub struct Items<'a> {
    reader: Reader<'a>,
    at: usize,
    end: usize,
}

impl<'a> Items<'a> {
    /// Finds the list in a stream of one value. Fields may be in any order.
    pub fn of_member(data: &'a [u8], name: &str) -> Result<Self> {
        let (table, at) = tables(data)?;
        let mut reader = Reader { data, names: vec![], table, left: MAX_TREE_VALUES, is_ordered: false };
        let value = reader.header(at, data.len())?;
        let wrong = |what: &str| Error::corrupt("ion", at, what.to_owned());
        if value.kind != kind::STRUCT || value.is_null() {
            return Err(wrong("it is not a struct"));
        }
        if value.end != data.len() {
            return Err(Error::corrupt("ion", value.end, "bytes after the value"));
        }
        if value.body == value.end {
            return Err(wrong(&format!("{name} is not a list")));
        }
        let (id, next) = varuint::read(&data[..value.end], value.body)?;
        let found = reader.name(id, value.body)?;
        if &*found != name {
            return Err(wrong(&format!("unexpected field \"{found}\"")));
        }
        let list = reader.header(next, value.end)?;
        if list.kind != kind::LIST || list.is_null() || list.end != value.end {
            return Err(wrong(&format!("{name} is not a list, or not all there is")));
        }
        let at = reader.skip_padding(list.body, list.end)?;
        Ok(Self { reader, at, end: list.end })
    }

    /// The next item, and the range of bytes that it has.
    #[allow(clippy::should_implement_trait, reason = "it may fail")]
    pub fn next(&mut self) -> Result<Option<(Value, usize, usize)>> {
        if self.at >= self.end {
            return Ok(None);
        }
        let start = self.at;
        let (value, stop) = self.reader.value(start, self.end, 2)?;
        self.at = self.reader.skip_padding(stop, self.end)?;
        Ok(Some((value, start, stop)))
    }
}

/// Decodes one of the items again, by the range of its bytes.
pub fn decode_at(data: &[u8], start: usize, end: usize) -> Result<Value> {
    let (table, _) = tables(data)?;
    let mut reader = Reader { data, names: vec![], table, left: MAX_TREE_VALUES, is_ordered: false };
    Ok(reader.value(start, end.min(data.len()), 2)?.0)
}

struct Reader<'a> {
    data: &'a [u8],
    table: SymbolTable,
    names: Vec<Option<Name>>,
    left: usize,
    /// Whether fields have to be in the order of their symbols.
    is_ordered: bool,
}

impl Reader<'_> {
    fn header(&self, at: usize, end: usize) -> Result<Header> {
        header(&self.data[..end], at)
    }

    fn skip_padding(&self, mut at: usize, end: usize) -> Result<usize> {
        while at < end {
            let value = self.header(at, end)?;
            if !value.is_pad() {
                break;
            }
            at = value.end;
        }
        Ok(at)
    }

    /// The shared text of a symbol.
    fn name(&mut self, id: u64, at: usize) -> Result<Name> {
        let unknown = || Error::corrupt("ion", at, format!("symbol {id} is not in the symbol table"));
        let slot = usize::try_from(id).map_err(|_| unknown())?;
        if let Some(Some(name)) = self.names.get(slot) {
            return Ok(name.clone());
        }
        let text = u32::try_from(id).ok().and_then(|id| self.table.name(id)).ok_or_else(unknown)?;
        let text = str::from_utf8(text).map_err(|_| unknown())?;
        let name: Name = text.into();
        if self.names.len() <= slot {
            self.names.resize(slot + 1, None);
        }
        self.names[slot] = Some(name.clone());
        Ok(name)
    }

    fn value(&mut self, at: usize, end: usize, depth: usize) -> Result<(Value, usize)> {
        if depth > MAX_TREE_DEPTH {
            return Err(Error::corrupt(
                "ion",
                at,
                format!("values nested deeper than {MAX_TREE_DEPTH} levels"),
            ));
        }
        self.left = self
            .left
            .checked_sub(1)
            .ok_or_else(|| Error::corrupt("ion", at, format!("more than {MAX_TREE_VALUES} values")))?;
        let value = self.header(at, end)?;
        let parsed = if value.is_null() { Value::Null } else { self.content(value, at, depth)? };
        Ok((parsed, value.end))
    }

    fn content(&mut self, value: Header, at: usize, depth: usize) -> Result<Value> {
        let body = &self.data[value.body..value.end];
        Ok(match value.kind {
            kind::BOOL if value.low < 2 => Value::Bool(value.low == 1),
            kind::UINT => Value::Int(i128::from(magnitude(body, at)?)),
            kind::NEGINT => match magnitude(body, at)? {
                number @ 1..=0x8000_0000_0000_0000 => Value::Int(-i128::from(number)),
                _ => return Err(Error::corrupt("ion", at, "a negative integer is zero or below -2^63")),
            },
            kind::FLOAT => Value::Float(float(body, at)?),
            kind::TIMESTAMP => Value::Time(timestamp::read(body, at)?),
            kind::SYMBOL => {
                let id = magnitude(body, at)?;
                Value::Symbol(self.name(id, at)?)
            }
            kind::STRING => {
                let text = simdutf8::basic::from_utf8(body);
                Value::String(
                    text.map_err(|_| Error::corrupt("ion", at, "a string that is not UTF-8"))?.into(),
                )
            }
            kind::BLOB => Value::Blob(body.into()),
            kind::LIST => Value::List(self.list(value, depth)?),
            kind::STRUCT => Value::Struct(self.fields(value, depth)?),
            _ => {
                let first = self.data.get(at).copied().unwrap_or_default();
                return Err(Error::corrupt(
                    "ion",
                    at,
                    format!("type byte {first:02x} does not occur in this format"),
                ));
            }
        })
    }

    fn list(&mut self, list: Header, depth: usize) -> Result<Vec<Value>> {
        let mut items = vec![];
        let mut at = self.skip_padding(list.body, list.end)?;
        while at < list.end {
            let (item, next) = self.value(at, list.end, depth + 1)?;
            items.push(item);
            at = self.skip_padding(next, list.end)?;
        }
        Ok(items)
    }

    fn fields(&mut self, content: Header, depth: usize) -> Result<Vec<(Name, Value)>> {
        let mut fields: Vec<(Name, Value)> = vec![];
        let mut known = HashSet::new();
        let (mut at, mut last) = (content.body, None);
        while at < content.end {
            let (id, next) = varuint::read(&self.data[..content.end], at)?;
            if self.is_ordered && last.is_some_and(|last| id <= last) {
                return Err(Error::corrupt("ion", at, "the fields of a struct are not in ascending order"));
            }
            last = Some(id);
            let name = self.name(id, at)?;
            if fields.len() == FEW {
                known.extend(fields.iter().map(|(name, _)| name.clone()));
            }
            let is_known = match fields.len() {
                ..FEW => fields.iter().any(|(one, _)| Arc::ptr_eq(one, &name) || *one == name),
                _ => !known.insert(name.clone()),
            };
            if is_known {
                return Err(Error::corrupt("ion", at, "a struct has the same field twice"));
            }
            let (value, next) = self.value(next, content.end, depth + 1)?;
            fields.push((name, value));
            at = next;
        }
        Ok(fields)
    }
}

fn float(body: &[u8], at: usize) -> Result<f64> {
    if let Ok(bytes) = <[u8; 8]>::try_from(body) {
        Ok(f64::from_be_bytes(bytes))
    } else if let Ok(bytes) = <[u8; 4]>::try_from(body) {
        Ok(f64::from(f32::from_be_bytes(bytes)))
    } else if body.is_empty() {
        Ok(0.0)
    } else {
        Err(Error::corrupt("ion", at, "a float that has neither 0, 4 nor 8 bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Value {
        Value::Struct(vec![
            ("zeta".into(), Value::List(vec![Value::Null, Value::Bool(true), Value::Int(-1 << 63)])),
            ("name".into(), Value::Float(1.5)),
            ("alpha".into(), Value::Struct(vec![("zeta".into(), Value::Symbol("alpha".into()))])),
            ("long".into(), Value::String("more than thirteen bytes".into())),
            ("at".into(), Value::Time(1_609_556_645_678_901)),
            ("blob".into(), Value::Blob([1, 2].into())),
            ("big".into(), Value::Int(u64::MAX.into())),
        ])
    }

    #[test]
    fn trees_round_trip_with_fields_in_symbol_order() -> Result<()> {
        let Value::Struct(mut fields) = tree() else { return Ok(()) };
        let data = dumps(&tree())?;
        fields.swap(0, 1);
        assert_eq!(loads(&data)?, Value::Struct(fields));
        Ok(())
    }

    #[test]
    fn values_share_a_table() -> Result<()> {
        let mut table = SymbolTable::new();
        table.push(b"long");
        let (data, table) = encode(&tree(), table)?;
        assert_eq!(table.name(11), Some(&b"zeta"[..]));
        let (value, table, end) = decode(&data, Some(table))?;
        assert_eq!(end, data.len());
        let (again, _) = encode(&value, table.clone())?;
        assert_eq!(again, data);
        let mut stream = vec![];
        table.put_full(&mut stream, table.max_id());
        stream.extend_from_slice(&data);
        stream.push(0x0E);
        let (same, found, end) = decode(&stream, None)?;
        assert_eq!((same, found.max_id(), end + 1), (value, table.max_id(), stream.len()));
        assert!(loads(&stream).is_err());
        Ok(())
    }

    #[test]
    fn fields_may_be_in_any_order_where_that_is_allowed() -> Result<()> {
        let data = [0xD4, 0x85, 0x20, 0x84, 0x21, 1];
        assert!(decode(&data[..], Some(SymbolTable::new())).is_err(), "cut off");
        let data = [0xD5, 0x85, 0x20, 0x84, 0x21, 1];
        let (value, ..) = decode(&data, Some(SymbolTable::new()))?;
        assert_eq!(
            value,
            Value::Struct(vec![("version".into(), Value::Int(0)), ("name".into(), Value::Int(1))])
        );
        assert!(decode(&[0xD4, 0x84, 0x20, 0x84, 0x20], Some(SymbolTable::new())).is_err(), "twice");
        Ok(())
    }

    #[test]
    fn every_cut_and_every_flip_is_safe() -> Result<()> {
        let data = dumps(&tree())?;
        for end in 0..data.len() {
            assert!(loads(&data[..end]).is_err(), "{end}");
        }
        for at in 0..data.len() {
            for bit in 0..8 {
                let mut bad = data.clone();
                bad[at] ^= 1 << bit;
                if let Ok(value) = loads(&bad) {
                    dumps(&value)?;
                }
            }
        }
        Ok(())
    }

    #[test]
    fn what_is_refused() -> Result<()> {
        let stream = |body: &[u8]| {
            let mut out = vec![];
            SymbolTable::new().put_full(&mut out, 10);
            out.extend_from_slice(body);
            loads(&out)
        };
        assert_eq!(stream(&[0x01, 0xFF, 0x2F, 0x00])?, Value::Null);
        let nested = |depth: usize| {
            let mut body = vec![0x0F];
            for _ in 0..depth {
                let mut outer = vec![];
                put_header(&mut outer, kind::LIST, body.len());
                outer.append(&mut body);
                body = outer;
            }
            body
        };
        assert!(stream(&nested(MAX_TREE_DEPTH)).is_ok());
        let bad: [&[u8]; 13] = [
            &[],
            &[0x20, 0x20],
            &[0x29, 1, 2, 3, 4, 5, 6, 7, 8, 9],
            &[0x30],
            &[0x38, 0x80, 0, 0, 0, 0, 0, 0, 1],
            &[0x81, 0xFF],
            &[0xD4, 0x84, 0x20, 0x84, 0x20],
            &[0xD4, 0x85, 0x20, 0x84, 0x20],
            &[0xD2, 0x8A, 0x20],
            &[0x71, 0x0A],
            &[0x52, 0xC1, 0x01],
            &[0x12],
            &nested(MAX_TREE_DEPTH + 1),
        ];
        for body in bad {
            assert!(stream(body).is_err(), "{body:02x?}");
        }
        assert!(loads(&[0x20]).is_err());
        assert!(dumps(&Value::Int(1 << 64)).is_err());
        assert!(dumps(&Value::Struct(vec![("a".into(), Value::Null), ("a".into(), Value::Null)])).is_err());
        Ok(())
    }
}
