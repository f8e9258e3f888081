//! One walk through each row, to the paths that are followed.

use super::slot::Slot;
use super::tree::Tree;
use crate::error::Result;
use crate::ion::{SymbolTable, kind};
use crate::value::{Fields, Value};

/// Goes through the rows of a chunk.
pub(super) struct Walk<'a> {
    pub(super) data: &'a [u8],
    pub(super) tree: &'a Tree,
    pub(super) slots: &'a mut [Slot],
    pub(super) symbols: &'a SymbolTable,
    /// Whether values are counted.
    pub(super) counts: bool,
}

impl Walk<'_> {
    /// Goes through the fields of a struct at a place in the tree.
    pub(super) fn fields(&mut self, mut fields: Fields<'_>, place: u32) -> Result<()> {
        let tree = self.tree;
        let Some(node) = tree.nodes.get(place as usize) else { return Ok(()) };
        while let Some((label, value)) = fields.step() {
            if let Some(field) = node.field(label) {
                self.value(value, field)?;
            }
        }
        fields.check()
    }

    #[allow(clippy::inline_always, reason = "a value that passes through memory costs more than the call")]
    #[inline(always)]
    fn value(&mut self, value: Value, place: u32) -> Result<()> {
        let tree = self.tree;
        let Some(node) = tree.nodes.get(place as usize) else { return Ok(()) };
        if let Some(slot) = self.slots.get_mut(node.slot as usize) {
            slot.note(self.data, value, self.symbols, self.counts)?;
        }
        match value.header.kind {
            kind::STRUCT if node.has_fields() => self.fields(value.fields(self.data), place),
            kind::LIST => match node.element {
                Some(element) => self.elements(value, element),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn elements(&mut self, list: Value, place: u32) -> Result<()> {
        list.items(self.data).try_for_each(|value| self.value(value?, place))
    }
}
