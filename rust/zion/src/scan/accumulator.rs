//! What rows of a scan can go into in the place of columns.

use crate::error::Result;
use crate::ion::SymbolTable;
use crate::value::Value;

/// Takes rows one by one. Each run of chunks has one of its own, which is taken when the run is done.
pub trait Accumulator: Clone + Send + Sync + 'static {
    /// Symbols come from another table, a new one or the one before with symbols added.
    fn sync(&mut self, _is_new: bool) {}

    /// Adds a row: the values of the nodes of its plan, and its number.
    fn add(&mut self, data: &[u8], table: &SymbolTable, slots: &[Option<Value>], number: i64) -> Result<()>;

    /// Calls `visit` for the nodes that it looks at and no column does.
    fn each_filtered(&self, _visit: &mut impl FnMut(usize)) {}

    /// Takes what the rows since the last time have come to.
    #[must_use]
    fn take(&mut self) -> Self;

    /// Whether of all rows only the value of `node` is wanted. Then [`Accumulator::add_row`] is called for each row,
    /// after [`Accumulator::add_value`] if it has the value, and nothing else.
    fn is_about(&self, node: usize) -> bool;

    /// Adds the value of the node that this is about.
    fn add_value(&mut self, data: &[u8], table: &SymbolTable, value: &Value) -> Result<()>;

    /// Adds a row, whatever values it has.
    fn add_row(&mut self);
}
