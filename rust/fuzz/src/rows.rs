//! Walks over Ion rows.

use zion::Result;
use zion::ion::{Header, SymbolTable, header, kind, varuint};

/// Depth that the walk follows.
const DEPTH: usize = 100;

/// Calls `each` for the values of `data`, padding left out.
pub fn values(data: &[u8], mut each: impl FnMut(Header) -> Result<()>) -> Result<()> {
    let mut at = 0;
    while at < data.len() {
        let value = header(data, at)?;
        if !value.is_pad() {
            each(value)?;
        }
        at = value.end;
    }
    Ok(())
}

/// Calls `each` for the rows of the chunks of a stream.
pub fn each(
    chunks: &[Vec<u8>],
    mut each: impl FnMut(&SymbolTable, &[u8], Header) -> Result<()>,
) -> Result<()> {
    let mut table = SymbolTable::new();
    for chunk in chunks {
        let rows = &chunk[table.apply(chunk)?..];
        values(rows, |row| each(&table, rows, row))?;
    }
    Ok(())
}

/// Calls `each` for the fields of a struct: symbol, value.
pub fn fields(data: &[u8], of: Header, mut each: impl FnMut(u32, Header) -> Result<()>) -> Result<()> {
    let mut at = of.body;
    while at < of.end {
        let (label, next) = varuint::read(&data[..of.end], at)?;
        let value = header(&data[..of.end], next)?;
        each(label.min(u64::from(u32::MAX)) as u32, value)?;
        at = value.end;
    }
    Ok(())
}

/// Walks through all that is in a value; gives the number of values.
pub fn walk(data: &[u8], value: Header, depth: usize) -> Result<u64> {
    let mut count = 1;
    if depth > DEPTH {
        return Ok(count);
    }
    match value.kind {
        kind::STRUCT => fields(data, value, |_, field| {
            count += walk(data, field, depth + 1)?;
            Ok(())
        })?,
        kind::LIST => {
            let mut at = value.body;
            while at < value.end {
                let item = header(&data[..value.end], at)?;
                count += walk(data, item, depth + 1)?;
                at = item.end;
            }
        }
        _ => {}
    }
    Ok(count)
}
