//! Chunks of rows to zion chunks.

use super::hash::{BUCKETS, BucketMap};
use super::shape::RecordShape;
use super::{LAYER, MAGIC, MAX_BODY, STRIDE, choose_selector, copy, extent, field};
use crate::codec::{Algorithm, effort::Effort, iguana, special, zstd};
use crate::error::{Error, Result};
use crate::ion::{self, kind, symtab::FIRST_USER, varuint};

/// Compressed segments must be below this size.
const MAX_SEGMENT: usize = 1 << 21;
/// Ids of labels are below this: they take at most three bytes.
const MAX_ID: u32 = 1 << 21;
/// The number of the shape among the segments, behind the buckets.
const SHAPE: usize = BUCKETS;
/// What a bucket that is not empty gets at first.
const SMALL_BUCKET: usize = 16 << 10;

/// Compresses the chunks of one stream, in order.
pub struct Encoder {
    algorithm: Algorithm,
    compressor: Segments,
    splitter: Splitter,
    max_id: u32,
    selector: Option<u8>,
}

impl Encoder {
    /// An encoder at the start of a stream. The level is zstd's and means nothing to iguana.
    pub fn new(algorithm: Algorithm, level: i32) -> Result<Self> {
        let compressor = match algorithm {
            Algorithm::Zstd | Algorithm::ZionZstd => Segments::Zstd(zstd::Compressor::new(level)?),
            Algorithm::ZionIguana => Segments::Iguana(Box::default()),
            Algorithm::ZionIguanaSpecialized => Segments::Special(Box::default()),
        };
        Ok(Self { algorithm, compressor, splitter: Splitter::default(), max_id: FIRST_USER, selector: None })
    }

    /// Appends the compressed form of the next chunk of the stream (an optional symbol table, rows,
    /// padding) to `out`. After an error the stream must start again with a full symbol table.
    pub fn encode(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let mut effort = Effort::QUICK;
        if self.algorithm == Algorithm::Zstd {
            return self.compressor.plain(&mut effort, chunk, out);
        }
        let table = Table::read(chunk)?;
        if table.resets {
            (self.max_id, self.selector) = (FIRST_USER, None);
        }
        self.max_id = self.max_id.saturating_add(table.symbols);
        let selector = match self.selector {
            Some(selector) => selector,
            None => *self.selector.insert(choose_selector(&chunk[table.end..])?),
        };
        self.write(selector, &mut effort, self.max_id, table.end, chunk, out)
    }

    /// As [`Encoder::encode`], with a given selector and without the state of the stream: for callers
    /// that spread its chunks over threads and vouch for the labels of chunks that have no full table. If it is
    /// asked what effort the segments are worth, `effort` tells afterwards.
    pub fn encode_with(
        &mut self,
        selector: u8,
        effort: &mut Effort,
        chunk: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if self.algorithm == Algorithm::Zstd {
            return self.compressor.plain(effort, chunk, out);
        }
        let table = Table::read(chunk)?;
        let max_id = if table.resets { FIRST_USER.saturating_add(table.symbols) } else { MAX_ID };
        self.write(selector, effort, max_id, table.end, chunk, out)
    }

    fn write(
        &mut self,
        selector: u8,
        effort: &mut Effort,
        max_id: u32,
        body: usize,
        chunk: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if chunk.is_empty() {
            return Err(Error::corrupt(LAYER, 0, "a chunk without any bytes"));
        }
        self.splitter.split(selector & 15, max_id.min(MAX_ID), body, chunk)?;
        let number = match self.algorithm {
            Algorithm::Zstd | Algorithm::ZionZstd => 0,
            Algorithm::ZionIguana => 1,
            Algorithm::ZionIguanaSpecialized => 2,
        };
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[number << 4 | selector & 15, 0, 0, 0]);
        self.compressor.segment(SHAPE, effort, &self.splitter.shape, out)?;
        for (number, bucket) in self.splitter.buckets.iter().enumerate() {
            self.compressor.segment(number, effort, &bucket.data[..bucket.length], out)?;
        }
        Ok(())
    }
}

/// The compressor of segments.
enum Segments {
    Zstd(zstd::Compressor),
    Iguana(Box<iguana::Encoder>),
    Special(Box<iguana::Encoder>),
}

impl Segments {
    /// A whole chunk without buckets.
    fn plain(&mut self, effort: &mut Effort, chunk: &[u8], out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Zstd(compressor) => effort.compress(compressor, 0, chunk, out),
            Self::Iguana(_) | Self::Special(_) => {
                Err(Error::argument("plain chunks are compressed with zstd"))
            }
        }
    }

    fn segment(
        &mut self,
        number: usize,
        effort: &mut Effort,
        content: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let start = out.len();
        out.extend_from_slice(&[0; 3]);
        if content.is_empty() {
            return Ok(());
        }
        match self {
            Self::Zstd(compressor) => effort.compress(compressor, number, content, out)?,
            Self::Iguana(encoder) => encoder.compress(content, out),
            Self::Special(encoder) => {
                if number == SHAPE || !special::encode(content, out) {
                    out.push(0);
                    encoder.compress(content, out);
                }
            }
        }
        let length = out.len() - start - 3;
        if length >= MAX_SEGMENT {
            return Err(Error::too_large(
                0,
                format!("a segment of {length} bytes, the limit is {MAX_SEGMENT}"),
            ));
        }
        out[start..start + 3].copy_from_slice(&(length as u32).to_le_bytes()[..3]);
        Ok(())
    }
}

/// What the symbol table at the start of a chunk says, without its names.
struct Table {
    resets: bool,
    symbols: u32,
    end: usize,
}

impl Table {
    fn read(chunk: &[u8]) -> Result<Self> {
        let resets = ion::is_bvm(chunk);
        let start = if resets { ion::BVM.len() } else { 0 };
        if !resets && chunk.first().is_none_or(|byte| byte >> 4 != kind::ANNOTATION) {
            return Ok(Self { resets, symbols: 0, end: 0 });
        }
        let bad = || Error::corrupt(LAYER, start, "a symbol table was expected");
        let annotation = ion::header(chunk, start)?;
        let content = match chunk.get(annotation.body..annotation.end) {
            Some([0x81, 0x83, ..]) if annotation.kind == kind::ANNOTATION => {
                ion::header(&chunk[..annotation.end], annotation.body + 2)?
            }
            _ => return Err(bad()),
        };
        if content.kind != kind::STRUCT {
            return Err(bad());
        }
        let mut symbols = 0;
        let mut at = content.body;
        while at < content.end {
            let (label, next) = varuint::read(&chunk[..content.end], at)?;
            let value = ion::header(&chunk[..content.end], next)?;
            if label == 7 {
                symbols += Self::count_strings(&chunk[..value.end], value)?;
            }
            at = value.end;
        }
        Ok(Self { resets, symbols, end: annotation.end })
    }

    fn count_strings(data: &[u8], list: ion::Header) -> Result<u32> {
        let mut count = 0;
        let mut at = list.body;
        while at < list.end {
            let name = ion::header(data, at)?;
            if name.kind != kind::STRING || list.kind != kind::LIST {
                return Err(Error::corrupt(LAYER, at, "a symbol that is not a string"));
            }
            count += 1;
            at = name.end;
        }
        Ok(count)
    }
}

/// The shape and the buckets of the chunk at hand, in buffers that are kept.
#[derive(Default)]
struct Splitter {
    map: BucketMap,
    shape: Vec<u8>,
    buckets: [Bucket; BUCKETS],
    selector: u8,
    /// Memory that buckets had: with another selector, most bytes are in others.
    spare: Vec<Vec<u8>>,
}

/// A buffer that is never shorter than what is put into it; only `length` bytes of it count.
#[derive(Default)]
struct Bucket {
    data: Vec<u8>,
    length: usize,
}

impl Bucket {
    /// Appends `chunk[start..end]`.
    #[inline]
    fn push(&mut self, spare: &mut Vec<Vec<u8>>, chunk: &[u8], start: usize, end: usize) {
        if !copy(&mut self.data, self.length, chunk, start, end) {
            self.grow(spare, end - start);
            copy(&mut self.data, self.length, chunk, start, end);
        }
        self.length += end - start;
    }

    /// Makes room for `more` bytes. Most buckets stay small: memory that is not touched costs nothing.
    #[cold]
    fn grow(&mut self, spare: &mut Vec<Vec<u8>>, more: usize) {
        let needed = self.length + more + STRIDE;
        let mut size = SMALL_BUCKET;
        while size < needed {
            size *= 4;
        }
        let used = spare.iter().position(|data| data.len() == size);
        // Zeros that the system has ready are not touched.
        let mut data = used.map_or_else(|| vec![0; size], |at| spare.swap_remove(at));
        data[..self.length].copy_from_slice(&self.data[..self.length]);
        spare.push(std::mem::replace(&mut self.data, data));
    }
}

impl Splitter {
    fn split(&mut self, selector: u8, max_id: u32, body: usize, chunk: &[u8]) -> Result<()> {
        self.map.select(selector);
        if std::mem::replace(&mut self.selector, selector) != selector {
            self.spare.extend(self.buckets.iter_mut().map(|bucket| std::mem::take(&mut bucket.data)));
            self.spare.retain(|data| !data.is_empty());
        }
        self.shape.clear();
        self.shape.extend_from_slice(&chunk[..body]);
        for bucket in &mut self.buckets {
            bucket.length = 0;
        }
        let mut at = body;
        while at < chunk.len() {
            let Some((start, end)) = extent(chunk, at).filter(|value| value.1 <= chunk.len()) else {
                return Err(Error::corrupt(LAYER, at, "a row that is cut off, or longer than 2 MiB"));
            };
            match chunk[at] >> 4 {
                kind::NULL => {}
                kind::STRUCT if end - at > MAX_BODY => {
                    let message = format!("a row of {} bytes, the limit is {MAX_BODY}", end - at);
                    return Err(Error::too_large(at, message));
                }
                kind::STRUCT => self.record(&chunk[..end], chunk, start, max_id)?,
                _ => return Err(Error::corrupt(LAYER, at, "a row that is not a struct")),
            }
            at = end;
        }
        Ok(())
    }

    /// Takes the record whose fields fill `row` from `at` to its end; `chunk` is what may be read.
    #[inline]
    fn record(&mut self, row: &[u8], chunk: &[u8], mut at: usize, max_id: u32) -> Result<()> {
        let mut shape = RecordShape::new(&mut self.shape, row.len() - at);
        while at < row.len() {
            let Some((id, end)) = field(row, at).filter(|field| field.1 <= row.len()) else {
                return Err(Error::corrupt(LAYER, at, "a field that is cut off or overruns its row"));
            };
            if id >= max_id {
                return Err(Error::corrupt(LAYER, at, format!("symbol {id} is not in the symbol table")));
            }
            let number = self.map.get(id);
            let bucket = &mut self.buckets[usize::from(number & 15)];
            bucket.push(&mut self.spare, chunk, at, end);
            shape.push(number);
            at = end;
        }
        shape.finish();
        Ok(())
    }
}
