//! The symbol table that the chunks of a block share: each may replace it, or append to it.

use std::sync::Arc;

use super::symtab::SymbolTable;
use super::{is_bvm, kind};
use crate::error::{Error, Result};

/// What is wrong with a first chunk that has no full symbol table.
pub(crate) const NO_MARKER: &str = "doesn't begin with a BVM";

/// The text of all symbols in force may be so many times as long as a chunk: writers begin a new table when it is
/// half as long, and a row may bring as much as a chunk holds.
const SYMBOLS_SHARE: usize = 4;
/// But so much text is taken in any case.
const LEAST_SYMBOLS: usize = 1 << 20;

/// Applies the symbol table at the start of `data` and gives its length. Others may hold the table:
/// they keep what they have. The first chunk of a block must start with a version marker.
pub(crate) fn apply_shared(table: &mut Option<Arc<SymbolTable>>, data: &[u8], align: usize) -> Result<usize> {
    let length = apply_any(table, data)?;
    let most = (SYMBOLS_SHARE * align).max(LEAST_SYMBOLS);
    match table {
        Some(table) if length > 0 && table.text_bytes() > most => {
            let found = table.text_bytes();
            Err(Error::corrupt(
                "ion",
                0,
                format!("symbols of {found} bytes are in force, the limit is {most}"),
            ))
        }
        _ => Ok(length),
    }
}

fn apply_any(table: &mut Option<Arc<SymbolTable>>, data: &[u8]) -> Result<usize> {
    if is_bvm(data) {
        let mut fresh = SymbolTable::unindexed();
        let length = fresh.apply(data)?;
        *table = Some(Arc::new(fresh));
        return Ok(length);
    }
    match table {
        None => Err(Error::corrupt("ion", 0, NO_MARKER)),
        Some(table) if data.first().is_some_and(|byte| byte >> 4 == kind::ANNOTATION) => {
            Arc::make_mut(table).apply(data)
        }
        Some(_) => Ok(0),
    }
}
