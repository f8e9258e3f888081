//! Which numbers names get, so that fields which belong together share a bucket.

use crate::ion::SymbolTable;

/// A part begins with the symbols of others if its text is so many times as long as their table.
const TABLE_SHARE: usize = 16;

/// The first symbols of each table, numbered such that fields which should share a bucket do so under a selector.
#[derive(Debug)]
pub struct Placement {
    /// The selector of the hash by which symbols become buckets.
    pub selector: u8,
    /// The symbols that each table begins with.
    pub symbols: SymbolTable,
}

impl Placement {
    /// Whether it is of use for a text of `length` bytes.
    pub fn pays(&self, length: usize) -> bool {
        length / TABLE_SHARE >= self.symbols.full_size()
    }
}
