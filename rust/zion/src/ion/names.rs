//! From symbols to fields.

use std::borrow::Cow;

use crate::ion::SymbolTable;

/// The text of a symbol, which may be empty: `$` and its number when it has none.
pub fn text_of(table: &SymbolTable, id: u64) -> Cow<'_, str> {
    match u32::try_from(id).ok().and_then(|id| table.name(id)) {
        Some(text) => String::from_utf8_lossy(text),
        None => Cow::Owned(format!("${id}")),
    }
}

/// Which field of one struct a symbol stands for, as far as that was asked before.
///
/// Rows have their fields in ascending order of symbols, and rows of one source have mostly the same
/// ones: the entry after the last one found is tried before the list is searched.
#[derive(Debug, Clone, Default)]
pub struct Lookup {
    known: Vec<(u64, u32)>,
    next: usize,
    epoch: u64,
}

impl Lookup {
    /// The field of a symbol, found with `resolve` when it was not asked before in this epoch.
    #[inline]
    pub fn find(&mut self, epoch: u64, id: u64, resolve: impl FnOnce() -> u32) -> u32 {
        if let Some(&(known, field)) = self.known.get(self.next)
            && known == id
            && self.epoch == epoch
        {
            self.next += 1;
            return field;
        }
        self.search(epoch, id, resolve)
    }

    fn search(&mut self, epoch: u64, id: u64, resolve: impl FnOnce() -> u32) -> u32 {
        if self.epoch != epoch {
            self.known.clear();
            self.epoch = epoch;
        }
        let place = self.known.partition_point(|&(known, _)| known < id);
        self.next = place + 1;
        match self.known.get(place) {
            Some(&(known, field)) if known == id => field,
            _ => {
                let field = resolve();
                self.known.insert(place, (id, field));
                field
            }
        }
    }
}
