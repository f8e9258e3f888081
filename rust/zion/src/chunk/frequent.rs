//! Finds strings that come up in row after row. They become symbols, which take two or three bytes and are
//! compared by number (`docs/format.md`, "Writing").
//!
//! Only rows at the start of a symbol table are looked at, because what is frequent there mostly stays so.
//! Strings are counted by their hash, in a table that forgets: two strings with one hash cost a symbol of
//! little use, never a wrong value.

use std::ops::RangeInclusive;

use crate::ion::{SymbolTable, kind, look, varuint};
use crate::limits::MAX_NESTING;

/// Bytes of rows that are looked at: a quarter of a chunk, but no more than this.
const SAMPLE_BYTES: usize = 256 << 10;
/// The part of them before the first string becomes a symbol: in a small file the list of symbols costs more.
const FREE_SHARE: usize = 4;
/// Shorter strings gain nothing as symbols; longer ones are seldom met twice.
pub(crate) const LENGTHS: RangeInclusive<usize> = 3..=1024;
const SLOTS: usize = 2048;

/// In how many rows a string of `length` bytes is met before it becomes a symbol. The list of symbols is not
/// compressed, so that a long one has to pay for more.
fn rows_needed(length: usize) -> u32 {
    6 + length as u32 / 8
}

/// A hash of 8 bytes a step. It is not seeded, since what is written depends on it; it need not be, since strings that
/// collide fight for one slot of a table that does not grow, at the same price as others.
fn hash(text: &[u8]) -> u64 {
    let step = |hash: u64, word: u64| {
        let wide = u128::from(hash ^ word ^ 0x9E37_79B9_7F4A_7C15) * 0xD6E8_FEB8_6659_FD93;
        (wide as u64) ^ (wide >> 64) as u64
    };
    let (words, rest) = text.as_chunks::<8>();
    let hash = words.iter().fold(0, |hash, word| step(hash, u64::from_le_bytes(*word)));
    let mut word = [0; 8];
    word[..rest.len()].copy_from_slice(rest);
    step(hash, u64::from_le_bytes(word) ^ (text.len() as u64) << 56)
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    hash: u64,
    /// The row that was counted last.
    row: u32,
    rows: u32,
}

/// Counts strings.
#[derive(Debug)]
pub(crate) struct Frequent {
    slots: Vec<Slot>,
    row: u32,
    /// Bytes of rows that are looked at, and were.
    sample_bytes: usize,
    seen_bytes: usize,
}

impl Frequent {
    /// For chunks of `align` bytes.
    pub(crate) fn new(align: usize) -> Self {
        let sample_bytes = (align / 4).min(SAMPLE_BYTES);
        Self { slots: vec![Slot::default(); SLOTS], row: 0, sample_bytes, seen_bytes: 0 }
    }

    /// Begins anew: the symbol table did.
    pub(crate) fn restart(&mut self) {
        self.slots.fill(Slot::default());
        self.row = 0;
        self.seen_bytes = 0;
    }

    /// Whether there are rows to look at.
    #[inline]
    pub(crate) fn wants_rows(&self) -> bool {
        self.seen_bytes < self.sample_bytes
    }

    /// Looks at one row, and adds what has proved to be frequent to `symbols`.
    pub(crate) fn look_at(&mut self, row: &[u8], symbols: &mut SymbolTable) {
        self.seen_bytes += row.len();
        self.row += 1;
        self.values(row, false, MAX_NESTING, symbols);
    }

    /// Goes over values one behind the other, of a struct with their names, and over `levels` levels of what is
    /// in them. Rows are canonical.
    fn values(&mut self, data: &[u8], named: bool, levels: usize, symbols: &mut SymbolTable) -> Option<()> {
        let mut at = 0;
        while at < data.len() {
            if named {
                at = varuint::look(data, at)?.1;
            }
            let value = look(data, at)?;
            let body = &data[value.body..value.end];
            match value.kind {
                kind::STRING if LENGTHS.contains(&body.len()) => self.count(body, symbols),
                kind::STRUCT | kind::LIST if levels > 0 => {
                    self.values(body, value.kind == kind::STRUCT, levels - 1, symbols)?;
                }
                _ => {}
            }
            at = value.end;
        }
        Some(())
    }

    fn count(&mut self, text: &[u8], symbols: &mut SymbolTable) {
        let hash = hash(text);
        let slot = &mut self.slots[(hash >> 32) as usize % SLOTS];
        if slot.hash != hash {
            if slot.rows > 1 {
                slot.rows -= 1;
            } else {
                *slot = Slot { hash, row: self.row, rows: 1 };
            }
        } else if slot.row != self.row {
            *slot = Slot { hash, row: self.row, rows: slot.rows + 1 };
            let is_free = self.seen_bytes < self.sample_bytes / FREE_SHARE;
            if slot.rows >= rows_needed(text.len()) && !is_free {
                *slot = Slot::default();
                symbols.intern(text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ion::{header_size, nest, put_header, put_string};

    const ALIGN: usize = 1 << 20;

    fn row(texts: &[&str]) -> Vec<u8> {
        let mut list = vec![];
        for text in texts {
            put_string(&mut list, text.as_bytes());
        }
        let mut row = vec![];
        put_header(&mut row, kind::STRUCT, 1 + header_size(list.len()) + list.len());
        varuint::put(&mut row, 10);
        put_header(&mut row, kind::LIST, list.len());
        row.extend_from_slice(&list);
        row
    }

    #[test]
    fn rows_count_and_not_occurrences() {
        let (mut frequent, mut symbols) = (Frequent::new(ALIGN), SymbolTable::new());
        frequent.look_at(&row(&[&"x".repeat(SAMPLE_BYTES / FREE_SHARE)]), &mut symbols);
        for number in 1..rows_needed(5) {
            frequent.look_at(&row(&["often", "often", "of", &format!("only in {number}")]), &mut symbols);
        }
        assert_eq!(symbols.id(b"often"), None);
        frequent.look_at(&row(&["often"]), &mut symbols);
        assert_eq!((symbols.id(b"often"), symbols.max_id()), (Some(10), 11));
    }

    #[test]
    fn it_looks_at_a_sample() {
        let (mut frequent, mut symbols) = (Frequent::new(ALIGN), SymbolTable::new());
        for _ in 0..100 {
            frequent.look_at(&row(&["often"]), &mut symbols);
        }
        assert_eq!(symbols.id(b"often"), None);
        frequent.look_at(&row(&[&"x".repeat(SAMPLE_BYTES)]), &mut symbols);
        assert!(!frequent.wants_rows());
        frequent.restart();
        assert!(frequent.wants_rows());
    }

    #[test]
    fn it_looks_only_so_deep() {
        let (mut frequent, mut symbols) = (Frequent::new(ALIGN), SymbolTable::new());
        for kind in [kind::LIST, kind::STRUCT] {
            frequent.look_at(&nest::nested(kind, 100_000), &mut symbols);
        }
        assert_eq!(symbols.max_id(), 10);
    }

    /// Texts of 16 bytes that all have one hash.
    fn colliding() -> impl Iterator<Item = [u8; 16]> {
        (0u64..).map(|first| {
            let wide = u128::from(first ^ 0x9E37_79B9_7F4A_7C15) * 0xD6E8_FEB8_6659_FD93;
            let second = (wide as u64) ^ (wide >> 64) as u64;
            let mut text = [0; 16];
            text[..8].copy_from_slice(&first.to_le_bytes());
            text[8..].copy_from_slice(&second.to_le_bytes());
            text
        })
    }

    #[test]
    fn strings_that_collide_take_no_memory_and_no_symbols() {
        let (mut frequent, mut symbols) = (Frequent::new(ALIGN), SymbolTable::new());
        let slots = frequent.slots.len();
        frequent.seen_bytes = frequent.sample_bytes / FREE_SHARE;
        let mut hashes: Vec<u64> = vec![];
        for text in colliding().take(10_001) {
            hashes.push(hash(&text));
            frequent.row += 1;
            frequent.count(&text, &mut symbols);
        }
        hashes.dedup();
        assert_eq!((hashes.len(), frequent.slots.len()), (1, slots));
        assert_eq!(frequent.slots.iter().filter(|slot| slot.rows > 0).count(), 1);
        // They are taken for one string, and that one for a symbol, whenever it is free to.
        assert_eq!(symbols.max_id(), 10 + 10_000 / rows_needed(16));
    }

    /// Names that collide for those who know the hash are names like any other for a map with a seed.
    #[test]
    fn names_that_collide_here_do_not_elsewhere() {
        use std::hash::BuildHasher;
        let seed = crate::ion::symtab::NameHash::default();
        let mut hashes: Vec<u64> = colliding().take(10_000).map(|name| seed.hash_one(&name[..])).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert!(hashes.len() > 9_990);
        let other = crate::ion::symtab::NameHash::default();
        assert_ne!(seed.hash_one("name"), other.hash_one("name"));
    }

    #[test]
    fn rare_strings_give_way() {
        let (mut frequent, mut symbols) = (Frequent::new(ALIGN), SymbolTable::new());
        for number in 0..100 * SLOTS {
            frequent.look_at(&row(&[&format!("number {number}")]), &mut symbols);
        }
        for _ in 0..2 * rows_needed(5) {
            frequent.look_at(&row(&["often"]), &mut symbols);
        }
        assert_eq!((symbols.id(b"often"), symbols.max_id()), (Some(10), 11));
    }
}
