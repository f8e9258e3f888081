//! How much text may be made of rows: a symbol of a megabyte takes two bytes wherever it occurs.

use crate::error::{Error, Result};

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
