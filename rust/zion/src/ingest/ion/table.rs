//! Symbol tables between the values of a stream.

use std::sync::Arc;

use super::foreign;
use crate::error::{Error, Result};
use crate::ion::{BVM, Header, SymbolTable, is_bvm, kind, magnitude, varuint};

/// Text that the symbols of a table may have, in bytes.
const MAX_TEXT: usize = 16 << 20;
/// Symbols that a table may have.
const MAX_SYMBOLS: u32 = 1 << 20;

const SYMBOL_TABLE: u64 = 3;
const IMPORTS: u64 = 6;
const SYMBOLS: u64 = 7;

/// Applies the version marker or symbol table that is at `at` and ends with `data`; false when there is an
/// ordinary value.
pub(super) fn follow(table: &mut Arc<SymbolTable>, data: &[u8], at: usize) -> Result<bool> {
    if data.get(at) == Some(&BVM[0]) {
        if !is_bvm(&data[at..]) || !data[at..].starts_with(&BVM) {
            return Err(Error::syntax(at, "a version marker other than that of Ion 1.0"));
        }
        *table = Arc::default();
        return Ok(true);
    }
    let annotated = data[at] >> 4 == kind::ANNOTATION;
    if !annotated || foreign::first_annotation(data, at)? != Some(SYMBOL_TABLE) {
        return Ok(false);
    }
    let value = foreign::unwrap(data, at)?;
    if value.kind != kind::STRUCT || value.is_null() {
        return Err(Error::syntax(at, "a symbol table that is not a struct"));
    }
    let (mut adds, mut symbols) = (false, None);
    let mut cursor = value.body;
    while cursor < value.end {
        let (name, next) = varuint::read(&data[..value.end], cursor)?;
        let field = foreign::unwrap(&data[..value.end], next)?;
        match name {
            IMPORTS => adds = imports(data, field)?,
            SYMBOLS if field.kind == kind::LIST && !field.is_null() => symbols = Some(field),
            _ => {}
        }
        cursor = field.end;
    }
    if !adds {
        *table = Arc::default();
    }
    symbols.map_or(Ok(()), |list| add(Arc::make_mut(table), data, list))?;
    Ok(true)
}

/// Whether the table adds to the one before it.
fn imports(data: &[u8], field: Header) -> Result<bool> {
    match field.kind {
        kind::SYMBOL if !field.is_null() => {
            Ok(magnitude(&data[field.body..field.end], field.body)? == SYMBOL_TABLE)
        }
        kind::LIST if field.end > field.body => {
            Err(Error::unsupported("Ion with shared symbol tables; write it with local ones"))
        }
        _ => Ok(false),
    }
}

fn add(table: &mut SymbolTable, data: &[u8], list: Header) -> Result<()> {
    let mut cursor = list.body;
    while cursor < list.end {
        let item = foreign::unwrap(&data[..list.end], cursor)?;
        let text = &data[item.body..item.end];
        if item.kind != kind::STRING || item.is_null() || simdutf8::basic::from_utf8(text).is_err() {
            return Err(Error::syntax(cursor, "a symbol that is not a string of UTF-8"));
        }
        if table.max_id() >= MAX_SYMBOLS || table.text_bytes() + text.len() > MAX_TEXT {
            let limit = format!("{MAX_SYMBOLS} symbols and {MAX_TEXT} bytes of text");
            return Err(Error::too_large(cursor, format!("a symbol table of more than {limit}")));
        }
        table.push(text);
        cursor = item.end;
    }
    Ok(())
}
