//! Rows of blocks by the values that they have at some paths: to which part of a packfile each of them goes.
//!
//! Values at a path have one order, whatever their types: missing, null, false, true, numbers by value (NaN above all
//! others), times, texts byte by byte, and all else, which is equal. A *key* is bytes that compare so.

use std::sync::Arc;

use twox_hash::XxHash3_128;

use crate::block::rows::{Rows, find};
use crate::block::{BlockReader, Chunk};
use crate::codec::Algorithm;
use crate::codec::zstd::Compressor;
use crate::error::{Error, Result};
use crate::ion::{Header, SymbolTable, kind};
use crate::value::Value;
use crate::value::key::{self, Members};

/// The names of a path, from the row on.
pub type Path = Vec<Box<[u8]>>;

/// Longer texts are equal if they begin alike.
pub const MAX_KEY: usize = 1 << 10;
/// What waits on disk is read once: it is compressed for speed.
const SPOOL_LEVEL: i32 = 1;

/// First byte of a key.
mod rank {
    pub(super) const MISSING: u8 = 0;
    pub(super) const NULL: u8 = 1;
    pub(super) const BOOL: u8 = 2;
    pub(super) const NUMBER: u8 = 3;
    pub(super) const TIME: u8 = 4;
    pub(super) const TEXT: u8 = 5;
    pub(super) const OTHER: u8 = 6;
}

/// Appends the key of a value.
fn put_key(
    data: &[u8],
    table: &SymbolTable,
    value: Option<(usize, Header)>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let Some((at, header)) = value else {
        out.push(rank::MISSING);
        return Ok(());
    };
    let value = Value { at, header };
    if header.is_null() {
        out.push(rank::NULL);
    } else if let Some(flag) = value.boolean() {
        out.extend([rank::BOOL, u8::from(flag)]);
    } else if let Some(number) = value.number(data)? {
        out.push(rank::NUMBER);
        out.extend(ascending(number.to_f64()));
    } else if let Some(us) = value.time(data)? {
        out.push(rank::TIME);
        out.extend((us ^ i64::MIN).to_be_bytes());
    } else if let Some(text) = value.text(data, table)? {
        out.push(rank::TEXT);
        out.extend_from_slice(text.get(..MAX_KEY).unwrap_or(&text));
    } else {
        out.push(rank::OTHER);
    }
    Ok(())
}

/// Bytes that compare as doubles do, all NaN above them. Large integers may become equal, never change places.
fn ascending(value: f64) -> [u8; 8] {
    let bits = if value.is_nan() { f64::NAN.to_bits() & !(1 << 63) } else { value.to_bits() };
    let flipped = if bits >> 63 == 0 { bits | 1 << 63 } else { !bits };
    flipped.to_be_bytes()
}

/// Finds the keys of rows.
struct Keys<'a> {
    paths: &'a [Path],
    ids: Vec<Vec<Vec<u32>>>,
}

impl<'a> Keys<'a> {
    fn new(paths: &'a [Path]) -> Self {
        Self { paths, ids: Vec::new() }
    }

    /// Takes over the table in force.
    fn sync(&mut self, table: &SymbolTable) {
        let of_path = |path: &Path| path.iter().map(|name| table.ids(name)).collect();
        self.ids = self.paths.iter().map(of_path).collect();
    }

    fn put(&self, path: usize, chunk: &Chunk<'_>, row: Header, out: &mut Vec<u8>) -> Result<()> {
        let ids = self.ids.get(path).map_or(&[][..], Vec::as_slice);
        put_key(chunk.data, chunk.table, find(chunk.data, row, ids)?, out)
    }
}

/// Some rows of a block.
#[derive(Debug, Default)]
pub struct Sample {
    /// For each row that was taken its keys at all paths, one after the other.
    pub keys: Vec<Vec<u8>>,
    /// Number of rows in the chunks that were looked at.
    pub rows: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Takes the keys of one in `row_step` rows of one in `chunk_step` chunks of a block.
pub fn sample(
    block: &[u8],
    algorithm: Algorithm,
    align: usize,
    paths: &[Path],
    steps: (usize, u64),
) -> Result<Sample> {
    let (chunk_step, row_step) = (steps.0.max(1), steps.1.max(1));
    let mut found = Sample::default();
    let mut keys = Keys::new(paths);
    let mut reader = BlockReader::new(block, algorithm, align)?;
    for number in 0usize.. {
        if !number.is_multiple_of(chunk_step) {
            if reader.skip_chunk()? {
                continue;
            }
            break;
        }
        let Some(chunk) = reader.next_chunk()? else { break };
        keys.sync(chunk.table);
        let taken = (|| {
            for row in Rows::new(chunk.data, chunk.rows_at) {
                let (at, row) = row?;
                if found.rows.is_multiple_of(row_step) {
                    for path in 0..paths.len() {
                        let mut key = Vec::new();
                        keys.put(path, &chunk, row, &mut key)?;
                        found.keys.push(key);
                    }
                }
                found.rows += 1;
                found.bytes += (row.end - at) as u64;
            }
            Ok(())
        })();
        taken.map_err(|error| chunk.error(&error))?;
    }
    Ok(found)
}

/// Where rows with a smaller key at a path part from the others.
#[derive(Debug, Clone)]
pub struct Cut {
    /// The path, by its number.
    pub path: usize,
    /// The least key of the others.
    pub key: Vec<u8>,
    /// Where rows with a smaller one go on.
    pub below: Side,
    /// Where the others go on.
    pub above: Side,
}

/// What follows a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Another one, by its number, which is greater.
    Cut(usize),
    /// The end: the number of a part.
    Part(usize),
}

/// Tells for rows which part they go to.
#[derive(Debug)]
pub struct Partitioner {
    paths: Vec<Path>,
    cuts: Vec<Cut>,
    parts: usize,
}

/// The rows of a block that go to one part: an Ion stream, compressed with zstd.
#[derive(Debug)]
pub struct Piece {
    /// The number of the part.
    pub part: usize,
    /// The compressed stream.
    pub data: Vec<u8>,
    /// Its size when it is decompressed.
    pub size: usize,
}

/// A block taken apart.
#[derive(Debug, Default)]
pub struct Partitioned {
    /// Its rows, those of a part in their order.
    pub pieces: Vec<Piece>,
    /// The part of each row.
    pub parts: Vec<u32>,
    /// The sum of the hashes of its rows.
    pub hash: u128,
}

impl Partitioner {
    /// Parts rows at cuts, the first of which is asked first.
    pub fn new(paths: Vec<Path>, cuts: Vec<Cut>, parts: usize) -> Result<Self> {
        let leads = |at: usize, side: Side| match side {
            Side::Cut(next) => next > at && next < cuts.len(),
            Side::Part(part) => part < parts,
        };
        let is_sound =
            |(at, cut): (usize, &Cut)| cut.path < paths.len() && leads(at, cut.below) && leads(at, cut.above);
        if parts == 0 || !cuts.iter().enumerate().all(is_sound) || paths.iter().any(Vec::is_empty) {
            return Err(Error::argument("cuts that do not lead to parts"));
        }
        Ok(Self { paths, cuts, parts })
    }

    /// The part of a row; `scratch` is overwritten.
    fn part(
        &self,
        keys: &Keys<'_>,
        chunk: &Chunk<'_>,
        row: Header,
        scratch: &mut [Vec<u8>],
    ) -> Result<usize> {
        for key in scratch.iter_mut() {
            key.clear();
        }
        let mut side = if self.cuts.is_empty() { Side::Part(0) } else { Side::Cut(0) };
        loop {
            let cut = match side {
                Side::Part(part) => return Ok(part),
                Side::Cut(number) => &self.cuts[number],
            };
            let key = &mut scratch[cut.path];
            if key.is_empty() {
                keys.put(cut.path, chunk, row, key)?;
            }
            side = if *key < cut.key { cut.below } else { cut.above };
        }
    }

    /// Takes a block apart.
    pub fn partition(&self, block: &[u8], algorithm: Algorithm, align: usize) -> Result<Partitioned> {
        let mut found = Partitioned::default();
        let mut waiting: Vec<Vec<u8>> = vec![Vec::new(); self.parts];
        let mut table: Option<Arc<SymbolTable>> = None;
        let mut keys = Keys::new(&self.paths);
        let mut scratch = vec![Vec::new(); self.paths.len()];
        let mut hasher = Hasher::default();
        let mut reader = BlockReader::new(block, algorithm, align)?;
        while let Some(chunk) = reader.next_chunk()? {
            if chunk.resets
                && let Some(table) = &table
            {
                flush(&mut waiting, table, &mut found.pieces)?;
            }
            keys.sync(chunk.table);
            let taken = (|| {
                for row in Rows::new(chunk.data, chunk.rows_at) {
                    let (at, row) = row?;
                    let part = self.part(&keys, &chunk, row, &mut scratch)?;
                    waiting[part].extend_from_slice(&chunk.data[at..row.end]);
                    found.parts.push(part as u32);
                    hasher.add(&chunk, at, row)?;
                }
                Ok(())
            })();
            taken.map_err(|error| chunk.error(&error))?;
            // Until it is replaced a table only grows, so that the last one is that of all rows.
            table = Some(Arc::clone(chunk.table));
        }
        if let Some(table) = &table {
            flush(&mut waiting, table, &mut found.pieces)?;
        }
        found.hash = hasher.sum;
        Ok(found)
    }
}

/// Gives out what waits.
fn flush(waiting: &mut [Vec<u8>], table: &SymbolTable, pieces: &mut Vec<Piece>) -> Result<()> {
    let mut compressor = Compressor::new(SPOOL_LEVEL)?;
    let mut stream = Vec::new();
    table.put_full(&mut stream, table.max_id());
    let head = stream.len();
    for (part, rows) in waiting.iter_mut().enumerate().filter(|(_, rows)| !rows.is_empty()) {
        stream.truncate(head);
        stream.append(rows);
        let mut data = Vec::new();
        compressor.compress(&stream, &mut data)?;
        pieces.push(Piece { part, data, size: stream.len() });
    }
    Ok(())
}

/// Adds up hashes of rows, so that their order does not matter.
#[derive(Default)]
struct Hasher {
    sum: u128,
    rows: u64,
    key: Vec<u8>,
}

impl Hasher {
    fn add(&mut self, chunk: &Chunk<'_>, at: usize, row: Header) -> Result<()> {
        debug_assert_eq!(row.kind, kind::STRUCT);
        self.key.clear();
        key::put(chunk.data, chunk.table, Value { at, header: row }, Members::Sorted, &mut self.key)?;
        self.sum = self.sum.wrapping_add(XxHash3_128::oneshot(&self.key));
        self.rows += 1;
        Ok(())
    }
}

/// Counts the rows of a block, and adds up their hashes.
pub fn hash_rows(block: &[u8], algorithm: Algorithm, align: usize) -> Result<(u64, u128)> {
    let mut hasher = Hasher::default();
    let mut reader = BlockReader::new(block, algorithm, align)?;
    while let Some(chunk) = reader.next_chunk()? {
        let taken = Rows::new(chunk.data, chunk.rows_at).try_for_each(|row| {
            let (at, row) = row?;
            hasher.add(&chunk, at, row)
        });
        taken.map_err(|error| chunk.error(&error))?;
    }
    Ok((hasher.rows, hasher.sum))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ion;

    fn key_of(value: &[u8]) -> Result<Vec<u8>> {
        let mut out = vec![];
        put_key(value, &SymbolTable::new(), Some((0, ion::header(value, 0)?)), &mut out)?;
        Ok(out)
    }

    #[test]
    fn values_of_all_types_have_one_order() -> Result<()> {
        let mut values: Vec<Vec<u8>> = vec![vec![ion::NULL], vec![ion::FALSE], vec![ion::TRUE]];
        for number in [f64::NEG_INFINITY, -1e300, -2.5, -2.0, 0.0, 0.5, 1.0, 2e19, f64::INFINITY, f64::NAN] {
            let mut value = vec![];
            ion::put_float(&mut value, number);
            values.push(value);
        }
        for us in [-5, 0, 5] {
            let mut value = vec![];
            ion::timestamp::put(&mut value, us);
            values.push(value);
        }
        for text in ["", "a", "aa", "b", "\u{FFFD}"] {
            let mut value = vec![];
            ion::put_string(&mut value, text.as_bytes());
            values.push(value);
        }
        values.push(vec![0xB0]);
        let keys: Vec<Vec<u8>> = values.iter().map(|value| key_of(value)).collect::<Result<_>>()?;
        assert!(keys.is_sorted_by(|one, other| one < other), "{keys:?}");
        let mut missing = vec![];
        put_key(&[], &SymbolTable::new(), None, &mut missing)?;
        assert!(missing < keys[0]);
        Ok(())
    }

    #[test]
    fn cuts_that_lead_nowhere_are_refused() {
        let path = || vec![vec![Box::from(&b"a"[..])]];
        let cut = |path, below, above| vec![Cut { path, key: vec![], below, above }];
        assert!(Partitioner::new(path(), cut(0, Side::Part(0), Side::Part(1)), 2).is_ok());
        assert!(Partitioner::new(path(), cut(1, Side::Part(0), Side::Part(1)), 2).is_err());
        assert!(Partitioner::new(path(), cut(0, Side::Part(0), Side::Part(2)), 2).is_err());
        assert!(Partitioner::new(path(), cut(0, Side::Part(0), Side::Cut(0)), 2).is_err());
        assert!(Partitioner::new(vec![vec![]], vec![], 1).is_err());
        assert!(Partitioner::new(path(), vec![], 0).is_err());
    }
}
