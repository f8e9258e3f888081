//! Which fields share a bucket: those that repeat each other, or whose values depend on each other, so that they
//! take less room together than apart (`docs/decisions/020-grouping.md`).
//!
//! It is found out on the rows at the start of the text, by compressing fields alone and together, and goes by
//! counted work and never by clocks: the bytes must be the same every time.

mod likeness;
mod places;
mod units;

use std::ops::Range;

use crate::chunker::{Chunk, Sink, Stream};
use crate::codec::zstd;
use crate::error::Result;
use crate::ion::{MAX_NESTING, SymbolTable, kind, look, magnitude, varuint};
use crate::rows::Rows;

/// So much text has enough rows, of nearly any kind.
pub const TEXT_BYTES: usize = 1 << 20;
/// From this level of zstd on, size is worth more work.
const HIGH_LEVEL: i32 = 10;

/// How much work is done to find groups.
#[derive(Debug, Clone, Copy)]
struct Work {
    /// Bytes of rows that are looked at.
    rows: usize,
    /// Bytes of fields that are compressed, all trials together.
    trials: usize,
    /// The level of zstd for that.
    level: i32,
    /// What is read more for the average field, of all fields, may be so many times what is saved.
    price: usize,
}

impl Work {
    fn new(level: i32) -> Self {
        if level >= HIGH_LEVEL {
            Self { rows: 1 << 20, trials: 64 << 20, level: 6, price: 4 }
        } else {
            Self { rows: 256 << 10, trials: 6 << 20, level: zstd::DEFAULT_LEVEL, price: 3 }
        }
    }
}

/// A part begins with the symbols of others if its text is so many times as long as their table.
const TABLE_SHARE: usize = 16;

/// And their names and empty symbols take no more than this part of a chunk.
const CHUNK_SHARE: usize = 64;

/// The first symbols of each table, numbered such that fields which should share a bucket do so under a selector.
#[derive(Debug)]
pub struct Placement {
    pub selector: u8,
    pub symbols: SymbolTable,
}

impl Placement {
    /// Whether it is of use for a text of `length` bytes.
    pub fn pays(&self, length: usize) -> bool {
        length / TABLE_SHARE >= self.symbols.full_size()
    }
}

/// Takes the first chunk of a stream.
#[derive(Debug, Default)]
pub struct First(Option<Chunk>);

impl Sink for First {
    fn chunk(&mut self, chunk: Chunk) -> Result<()> {
        self.0.get_or_insert(chunk);
        Ok(())
    }

    fn buffer(&mut self) -> Vec<u8> {
        vec![]
    }
}

impl First {
    /// Where the fields of rows like those that `write` puts to a stream of chunks of `align` bytes should go, if
    /// there are any that should go together or apart.
    pub fn placement(
        mut self,
        align: usize,
        level: i32,
        write: impl FnOnce(&mut Stream),
    ) -> Result<Option<Placement>> {
        let mut stream = Stream::new(align, usize::MAX, &mut self);
        write(&mut stream);
        stream.finish()?;
        let Some(chunk) = self.0 else { return Ok(None) };
        let data = chunk.data();
        let mut symbols = SymbolTable::unindexed();
        let rows_at = symbols.apply(data)?;
        let work = Work::new(level);
        let Fields { pieces, symbols: uses } = Fields::read(data, rows_at, symbols.max_id(), work.rows)?;
        let mut compressor = zstd::Compressor::new(work.level)?;
        let groups = units::groups(data, pieces, work, &mut compressor)?;
        Ok(places::place(&symbols, &groups, &uses, align / CHUNK_SHARE))
    }
}

/// A piece of the rows: a field with its label, or neighbouring ones.
type Piece = (u32, u32);

/// The pieces of each field, by id, in the order of rows.
struct Fields {
    pieces: Vec<(u32, Vec<Piece>)>,
    /// By id.
    symbols: Vec<Uses>,
}

/// What a symbol is used for.
#[derive(Debug, Clone, Copy, Default)]
struct Uses {
    count: u32,
    /// Whether it is the name of something inside of a field.
    is_inner: bool,
}

impl Fields {
    /// Reads rows, up to `limit` bytes of them.
    fn read(data: &[u8], rows_at: usize, max_id: u32, limit: usize) -> Result<Self> {
        let mut pieces: Vec<Vec<Piece>> = vec![];
        let mut symbols = vec![Uses::default(); max_id as usize];
        for found in Rows::new(data, rows_at) {
            let (start, row) = found?;
            if start - rows_at >= limit {
                break;
            }
            let mut at = row.body;
            while at < row.end {
                let (id, value) = varuint::read(data, at)?;
                let Some(end) = look(data, value).map(|value| value.end) else { break };
                if let Some(symbol) = symbols.get_mut(id as usize) {
                    symbol.count += 1;
                }
                count(data, value..end, false, MAX_NESTING, &mut symbols);
                let id = id as usize;
                if pieces.len() <= id {
                    pieces.resize_with(id + 1, Vec::new);
                }
                pieces[id].push((at as u32, end as u32));
                at = end;
            }
        }
        let pieces = (0..).zip(pieces).filter(|(_, pieces)| !pieces.is_empty()).collect();
        Ok(Self { pieces, symbols })
    }
}

/// Counts the symbols in values which follow each other, `levels` levels deep.
fn count(data: &[u8], values: Range<usize>, named: bool, levels: usize, symbols: &mut [Uses]) -> Option<()> {
    let mut at = values.start;
    while at < values.end {
        if named {
            let (id, next) = varuint::look(data, at)?;
            let symbol = symbols.get_mut(id as usize)?;
            *symbol = Uses { count: symbol.count + 1, is_inner: true };
            at = next;
        }
        let value = look(data, at)?;
        match value.kind {
            kind::STRUCT | kind::LIST if levels > 0 => {
                count(data, value.body..value.end, value.kind == kind::STRUCT, levels - 1, symbols)?;
            }
            kind::SYMBOL => {
                let id = magnitude(&data[value.body..value.end], at).ok()?;
                symbols.get_mut(id as usize)?.count += 1;
            }
            _ => {}
        }
        at = value.end;
    }
    Some(())
}

fn length(pieces: &[Piece]) -> usize {
    pieces.iter().map(|(start, end)| (end - start) as usize).sum()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::sync::Arc;

    use super::*;
    use crate::bucket::hash::bucket;
    use crate::ingest::json::parse::JsonParser;
    use crate::pack::{Constants, OnError, PartContext, PartParser, Rejects};

    const ALIGN: usize = 1 << 20;

    fn write(text: &str, stream: &mut Stream) {
        let mut parser = JsonParser::new(Arc::new(Constants::default()), None, OnError::Fail);
        let context = PartContext { start: 0, last: false };
        drop(parser.parse(text.as_bytes(), context, stream, &mut Rejects::default()));
    }

    fn found(text: &str) -> Result<Option<Placement>> {
        First::default().placement(ALIGN, 3, |stream| write(text, stream))
    }

    /// The bucket of a field.
    fn place(placement: &Placement, name: &str) -> Option<u8> {
        placement.symbols.id(name.as_bytes()).map(|id| bucket(placement.selector, id))
    }

    /// Rows with two fields that have a text in common, one that has the same kind of text, but never the same,
    /// and one that depends on one of them. The text ends in the middle of a row.
    fn rows() -> String {
        let mut text = String::new();
        for number in 0..1500_u64 {
            let mixed = |seed: u64| {
                (2 * number + seed)
                    .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                    .rotate_left(29)
                    .wrapping_mul(0xD6E8_FEB8_6659_FD93)
            };
            let (one, other) = (mixed(1), mixed(2));
            _ = writeln!(
                text,
                r#"{{"id": "{one:016x}", "other": "{other:016x}", "link": {{"id": 7, "to": "/{one:016x}"}}, "n": {number}}}"#
            );
        }
        text.push_str("{\"id\": \"");
        text
    }

    #[test]
    fn fields_that_repeat_each_other_share_a_bucket() -> Result<()> {
        let Some(placement) = found(&rows())? else {
            return Err(crate::Error::argument("nothing was found"));
        };
        let place = |name| place(&placement, name);
        assert!(place("id").is_some());
        assert_eq!(place("id"), place("link"));
        assert_ne!(place("id"), place("other"));
        Ok(())
    }

    #[test]
    fn names_inside_of_fields_keep_their_order() -> Result<()> {
        let Some(placement) = found(&rows())? else {
            return Err(crate::Error::argument("nothing was found"));
        };
        let ids = ["id", "other", "link", "to"].map(|name| placement.symbols.id(name.as_bytes()));
        assert!(ids[0] < ids[1] && ids[1] < ids[2] && ids[0] < ids[3], "{ids:?}");
        Ok(())
    }

    #[test]
    fn one_field_or_none_has_nothing_to_share() -> Result<()> {
        assert!(found("")?.is_none());
        assert!(found("{}\n{}\n")?.is_none());
        assert!(found(&"{\"a\": [1, 2, \"three\"]}\n".repeat(1000))?.is_none());
        Ok(())
    }

    #[test]
    fn tables_of_placements_stay_small() -> Result<()> {
        let mut text = String::new();
        for number in 0..40_000 {
            _ = writeln!(text, r#"{{"name {number}": {number}, "b": {{"x{number}": 1}}}}"#);
        }
        if let Some(placement) = found(&text)? {
            assert!(placement.symbols.full_size() <= ALIGN / CHUNK_SHARE);
            assert!(!placement.pays(ALIGN / CHUNK_SHARE));
        }
        Ok(())
    }
}
