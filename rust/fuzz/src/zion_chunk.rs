//! zion chunks from outside, as they are or put together from parts, so that the fuzzer gets past the compression.

use super::rows;
use zion::Result;
use zion::bucket::{Decoder, Encoder};
use zion::codec::Algorithm;
use zion::ion::SymbolTable;

const LIMIT: usize = 1 << 20;
const SEGMENTS: usize = 17;

/// Decodes `data`: all fields, some, none, and counts.
pub fn check(data: &[u8]) -> Result<()> {
    match data.split_first() {
        Some((0, parts)) => check_chunk(&assemble(parts)),
        _ => check_chunk(data),
    }
}

/// A chunk of what follows two bytes for selector and algorithm: for each segment two bytes of length, and so many bytes.
pub fn assemble(parts: &[u8]) -> Vec<u8> {
    let (head, mut parts) = parts.split_at(parts.len().min(1));
    let selector = head.first().copied().unwrap_or_default();
    let mut chunk = vec![0x83, b'z', b'i', b'p', 1 << 4 | selector & 15, 0, 0, 0];
    for _ in 0..SEGMENTS {
        let length = match parts {
            [low, high, rest @ ..] => {
                parts = rest;
                (usize::from(*low) | usize::from(*high) << 8).min(rest.len())
            }
            _ => 0,
        };
        let (content, rest) = parts.split_at(length);
        parts = rest;
        if content.is_empty() {
            chunk.extend_from_slice(&[0, 0, 0]);
            continue;
        }
        // An iguana buffer of one copy command; control numbers are read from the end.
        let size = [(length & 0x7F) as u8 | 0x80, (length >> 7 & 0x7F) as u8, (length >> 14) as u8];
        let packed = [content, &size, &[0x80], &size].concat();
        chunk.extend_from_slice(&(packed.len() as u32).to_le_bytes()[..3]);
        chunk.extend_from_slice(&packed);
    }
    chunk
}

fn check_chunk(chunk: &[u8]) -> Result<()> {
    let mut decoder = Decoder::new()?;
    let mut table = SymbolTable::new();
    let mut all = vec![];
    let decoded = decoder.decode(chunk, &mut table, None, &mut all, LIMIT);
    let counted = decoder.count(chunk);
    for names in [vec![], vec![b"name".as_slice().into()], table_names(&table)] {
        let mut some = vec![];
        let projected = decoder.decode(chunk, &mut SymbolTable::new(), Some(&names), &mut some, LIMIT);
        if decoded.is_ok() {
            projected?;
            assert!(count_rows(&some)? == counted.clone()?, "a projection has all rows");
        }
    }
    if decoded.is_ok() {
        assert!(all.len() <= LIMIT);
        assert!(count_rows(&all)? == counted?, "rows are counted right");
        encode_again(&all)?;
    }
    Ok(())
}

fn table_names(table: &SymbolTable) -> Vec<Box<[u8]>> {
    (4..table.max_id()).filter_map(|id| table.name(id)).map(Into::into).collect()
}

fn count_rows(chunk: &[u8]) -> Result<u64> {
    let start = SymbolTable::new().apply(chunk)?;
    let mut count = 0;
    rows::values(&chunk[start..], |_| {
        count += 1;
        Ok(())
    })?;
    Ok(count)
}

/// What an encoder makes of decoded rows, if it takes them, has to decode to the same.
fn encode_again(chunk: &[u8]) -> Result<()> {
    for algorithm in [Algorithm::ZionZstd, Algorithm::ZionIguanaSpecialized] {
        let (mut packed, mut again) = (vec![], vec![]);
        if Encoder::new(algorithm, 1)?.encode(chunk, &mut packed).is_ok() {
            Decoder::new()?.decode(&packed, &mut SymbolTable::new(), None, &mut again, LIMIT)?;
            assert!(again == chunk, "the rows came back different");
        }
    }
    Ok(())
}
