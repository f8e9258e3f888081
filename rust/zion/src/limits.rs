//! Bounds of what may come from outside, in one place: depths, numbers and sizes.
//!
//! Files are made by anybody. Whatever follows values by recursion has a depth, and whatever is kept in memory for
//! what is in a file has a size.

use crate::error::{Error, Result};

/// How deep lists and structs of a row may be nested where a value is followed by recursion; the row itself
/// is level 1. Rows are written with at most [`MAX_ROW_DEPTH`] levels, but any number may come from outside.
pub const MAX_NESTING: usize = 500;
/// Nesting of structs and lists in a row that is written; the row itself is level 1.
pub const MAX_ROW_DEPTH: u32 = 63;

/// How deep values of metadata may be nested, which become trees in memory.
pub const MAX_TREE_DEPTH: usize = 100;
/// How many values one tree may hold: with [`MAX_TREE_TABLE_BYTES`] it bounds the memory of
/// [`loads`](crate::ion::value::loads).
pub const MAX_TREE_VALUES: usize = 1 << 22;
/// How many bytes the symbol tables of one tree may take.
pub const MAX_TREE_TABLE_BYTES: usize = 8 << 20;

/// Bytes of text that the symbols in force may have: those of all chunks of a block.
pub const MAX_SYMBOL_TEXT: usize = 64 << 20;
/// Number of symbols that may be in force.
pub const MAX_SYMBOLS: u32 = 1 << 22;

/// Values nested deeper than this have no key, the text by which values of all types are compared.
pub const MAX_KEY_DEPTH: usize = 500;
/// Paths and chains of unnesting in a query are no longer than this, and predicates no deeper.
pub const MAX_STEPS: usize = 500;

/// How many places the tree of field paths has; fields that come later are stored like all others, but not followed.
pub const MAX_PATH_NODES: usize = 16_384;
/// How deep field paths are followed.
pub const MAX_PATH_DEPTH: u8 = 32;
/// How many fields are counted in a packfile.
pub const MAX_COUNTED_FIELDS: usize = 1 << 16;
/// How deep a path with statistics may be.
pub const MAX_STATISTICS_DEPTH: usize = 32;

/// Lists and structs nested deeper than this are JSON text in Arrow, whose consumers stop at 64 levels.
pub const MAX_SCHEMA_DEPTH: usize = 48;
/// A struct inside of rows that has more fields than this is taken for a map.
pub const MAX_SCHEMA_FIELDS: usize = 1000;
/// How many places of rows are followed to find a schema.
pub const MAX_SCHEMA_NODES: usize = 16_384;
/// Values nested deeper than this do not become variants.
pub const MAX_VARIANT_DEPTH: usize = 256;

/// Bytes of text that one row, or one value of it, may become.
pub const ROW_BYTES: usize = 128 << 20;
/// Bytes that may be gathered of one run of chunks before anybody takes them. A chunk of 1 MiB may well become
/// 258 times as long: strings up to 1024 bytes become symbols.
pub const RUN_BYTES: usize = 512 << 20;

/// Compares what one row has become with [`ROW_BYTES`]; `at` is the place of the value that was added last.
#[inline]
pub fn check_row(bytes: usize, at: usize) -> Result<()> {
    if bytes > ROW_BYTES { Err(too_much("a row becomes", ROW_BYTES, at)) } else { Ok(()) }
}

/// Compares what the rows of a run have become with [`RUN_BYTES`].
#[inline]
pub fn check_run(bytes: usize, at: usize) -> Result<()> {
    if bytes > RUN_BYTES { Err(too_much("the rows of a chunk become", RUN_BYTES, at)) } else { Ok(()) }
}

#[cold]
fn too_much(what: &str, limit: usize, at: usize) -> Error {
    Error::corrupt("ion", at, format!("{what} more than {limit} bytes of text, from fewer bytes of symbols"))
}
