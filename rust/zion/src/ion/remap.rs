//! Values from one symbol table to another.

use super::{SymbolTable, header, kind, put_header, put_symbol, varuint};
use crate::error::{Error, Result};
use crate::limits::MAX_NESTING;

/// Appends the canonical value `value` to `out`, its names and symbols by their ids in `new`, which grows as
/// they are met: a name before its value. It may not be nested deeper than [`MAX_NESTING`] levels.
pub fn remap(value: &[u8], old: &SymbolTable, new: &mut SymbolTable, out: &mut Vec<u8>) -> Result<()> {
    let end = one(value, 0, MAX_NESTING, old, new, out)?;
    if end != value.len() {
        return Err(Error::corrupt("ion", end, "bytes after the value"));
    }
    Ok(())
}

/// Does so with the value at `at`, which may have `levels` levels, and gives the place behind it.
fn one(
    data: &[u8],
    at: usize,
    levels: usize,
    old: &SymbolTable,
    new: &mut SymbolTable,
    out: &mut Vec<u8>,
) -> Result<usize> {
    let value = header(data, at)?;
    let inner = || levels.checked_sub(1).ok_or_else(|| too_deep(at));
    let name = |id: u64| {
        let id = u32::try_from(id).unwrap_or(u32::MAX);
        old.name(id)
            .ok_or_else(|| Error::corrupt("ion", at, format!("symbol {id} is not in the symbol table")))
    };
    match value.kind {
        kind::SYMBOL if !value.is_null() => {
            let id = super::magnitude(&data[value.body..value.end], at)?;
            put_symbol(out, new.intern(name(id)?));
        }
        kind::LIST if !value.is_null() => {
            let levels = inner()?;
            let mut body = vec![];
            let mut cursor = value.body;
            while cursor < value.end {
                cursor = one(&data[..value.end], cursor, levels, old, new, &mut body)?;
            }
            put_header(out, kind::LIST, body.len());
            out.extend_from_slice(&body);
        }
        kind::STRUCT if !value.is_null() => {
            let levels = inner()?;
            let mut fields = vec![];
            let mut body = vec![];
            let mut cursor = value.body;
            while cursor < value.end {
                let (label, next) = varuint::read(&data[..value.end], cursor)?;
                let id = new.intern(name(label)?);
                let start = body.len();
                cursor = one(&data[..value.end], next, levels, old, new, &mut body)?;
                fields.push((id, start..body.len()));
            }
            fields.sort_by_key(|(id, _)| *id);
            let size: usize =
                fields.iter().map(|(id, range)| varuint::size(u64::from(*id)) + range.len()).sum();
            put_header(out, kind::STRUCT, size);
            for (id, range) in fields {
                varuint::put(out, u64::from(id));
                out.extend_from_slice(&body[range]);
            }
        }
        _ => out.extend_from_slice(&data[at..value.end]),
    }
    Ok(value.end)
}

#[cold]
fn too_deep(at: usize) -> Error {
    Error::corrupt("ion", at, format!("a value is nested deeper than {MAX_NESTING} levels"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_deep_is_refused() {
        for (depth, is_good) in [(MAX_NESTING, true), (MAX_NESTING + 1, false), (100_000, false)] {
            for kind in [kind::LIST, kind::STRUCT] {
                let value = super::super::nest::nested(kind, depth);
                let mut out = vec![];
                let done = remap(&value, &SymbolTable::new(), &mut SymbolTable::new(), &mut out);
                assert_eq!(done.is_ok(), is_good, "{depth}");
                assert!(!is_good || out == value);
            }
        }
    }
}
