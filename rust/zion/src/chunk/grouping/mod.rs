//! Which fields share a bucket: those that repeat each other, or whose values depend on each other, so that they
//! take less room together than apart (`docs/decisions/020-grouping.md`).
//!
//! It is found out on the rows at the start of the text, by compressing fields alone and together, and goes by
//! counted work and never by clocks: the bytes must be the same every time.

mod likeness;
mod pieces;
mod places;
mod units;

use crate::chunk::placement::Placement;
use crate::chunk::{Chunk, Sink, Stream};
use crate::codec::zstd;
use crate::error::Result;
use crate::ion::SymbolTable;
use pieces::Fields;
use units::Work;

/// So much text has enough rows, of nearly any kind.
pub const TEXT_BYTES: usize = 1 << 20;
/// And their names and empty symbols take no more than this part of a chunk.
const CHUNK_SHARE: usize = 64;

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
