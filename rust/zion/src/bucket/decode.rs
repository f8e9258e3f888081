//! zion chunks to rows: all fields, or some of them.

use std::sync::Arc;

use super::hash::{BUCKETS, BucketMap};
use super::shape::{FULL, class, count, sequence};
use super::{LAYER, MAGIC, MAX_BODY, MAX_CHUNK, STRIDE, copy, field, varuint};
use crate::block::apply_shared;
use crate::codec::{iguana, special, zstd};
use crate::error::{Error, Result};
use crate::ion::{Header, SymbolTable, header, is_bvm, kind};

/// The longest header of a record.
const HEADER: usize = 4;

/// Decompresses chunks; buffers are kept from one to the next.
pub struct Decoder {
    codecs: Codecs,
    map: BucketMap,
    shape: Vec<u8>,
    buckets: [Bucket; BUCKETS],
    selected: Vec<bool>,
    joined: Vec<u8>,
}

/// A chunk whose symbols are known, and of which no row is decompressed.
pub(crate) struct Opened<'a> {
    parts: Parts<'a>,
    prefix: usize,
    /// Whether its symbol table replaced the one before.
    pub(crate) resets: bool,
}

/// What looks at the fields of rows where they lie in their buckets.
pub trait Visit {
    /// A field of the row at hand: its symbol, the place of its value in `data`, and its extent.
    fn field(&mut self, data: &[u8], id: u32, at: usize, value: Header) -> Result<()>;

    /// The row has no more fields. False: no further row is wanted.
    fn row(&mut self, data: &[u8]) -> Result<bool>;
}

/// The decompressors of segments.
struct Codecs {
    zstd: zstd::Decompressor,
    iguana: iguana::Decoder,
}

#[derive(Default)]
struct Bucket {
    data: Vec<u8>,
    length: usize,
    at: usize,
}

/// A chunk taken apart, nothing decompressed.
struct Parts<'a> {
    selector: u8,
    algorithm: u8,
    segments: [&'a [u8]; BUCKETS + 1],
}

impl<'a> Parts<'a> {
    fn read(zion: &'a [u8]) -> Result<Self> {
        let Some((&[m0, m1, m2, m3, low, middle, high, top], _)) = zion.split_first_chunk::<8>() else {
            return Err(Error::corrupt(LAYER, 0, "shorter than its head of 8 bytes"));
        };
        if [m0, m1, m2, m3] != MAGIC {
            return Err(Error::corrupt(LAYER, 0, "does not start with the magic 83 7a 69 70"));
        }
        if middle >> 4 != 0 || high != 0 || top != 0 {
            return Err(Error::corrupt(LAYER, 5, "reserved bits are set"));
        }
        let algorithm = low >> 4 | middle << 4;
        if algorithm > 2 {
            return Err(Error::corrupt(LAYER, 4, format!("unknown algorithm {algorithm}, 0 to 2 are known")));
        }
        let mut segments = [&zion[..0]; BUCKETS + 1];
        let mut at = 8;
        for (number, segment) in segments.iter_mut().enumerate() {
            let cut = || Error::corrupt(LAYER, at, format!("segment {number} of 17 goes beyond the end"));
            let &[a, b, c] = zion.get(at..).and_then(<[u8]>::first_chunk::<3>).ok_or_else(cut)?;
            let length = u32::from_le_bytes([a, b, c, 0]) as usize;
            *segment = zion.get(at + 3..at + 3 + length).ok_or_else(cut)?;
            at += 3 + length;
        }
        Ok(Self { selector: low & 15, algorithm, segments })
    }

    /// Replaces `out` by the content of a segment.
    fn decompress(&self, number: usize, codecs: &mut Codecs, out: &mut Vec<u8>, limit: usize) -> Result<()> {
        out.clear();
        let segment = self.segments[number];
        let result = match (self.algorithm, segment) {
            (_, []) => Ok(()),
            (0, _) => codecs.zstd.decompress(segment, out, limit),
            (1, _) | (_, [0, ..]) => {
                codecs.iguana.decompress(&segment[usize::from(self.algorithm > 1)..], out, limit)
            }
            _ => special::decode(segment, out, limit),
        };
        result.map_err(|error| {
            let offset =
                8 + self.segments[..number].iter().map(|earlier| earlier.len() + 3).sum::<usize>() + 3;
            error.shifted(offset as u64)
        })
    }
}

impl Decoder {
    /// A decoder without state but its buffers: any chunk may come next. Like the original it passes over
    /// wrong checksums of segments.
    pub fn new() -> Result<Self> {
        Ok(Self::with(zstd::Decompressor::new(false)?))
    }

    /// The same for a validator: segments with a wrong checksum are errors.
    pub fn strict() -> Result<Self> {
        Ok(Self::with(zstd::Decompressor::new(true)?))
    }

    fn with(zstd: zstd::Decompressor) -> Self {
        Self {
            codecs: Codecs { zstd, iguana: iguana::Decoder::default() },
            map: BucketMap::default(),
            shape: Vec::new(),
            buckets: Default::default(),
            selected: Vec::new(),
            joined: Vec::new(),
        }
    }

    /// Decompresses the shape, and applies its symbol table. Gives what [`Decoder::visit`] needs.
    pub(crate) fn open<'a>(
        &mut self,
        zion: &'a [u8],
        table: &mut Option<Arc<SymbolTable>>,
        limit: usize,
    ) -> Result<Opened<'a>> {
        let parts = Parts::read(zion)?;
        parts.decompress(0, &mut self.codecs, &mut self.shape, limit)?;
        let prefix = apply_shared(table, &self.shape)?;
        Ok(Opened { parts, prefix, resets: is_bvm(&self.shape) })
    }

    /// Shows the rows of an opened chunk to a visitor, their fields where they lie: those of the buckets
    /// that may hold `fields`, others among them. Values of one row share one `data`.
    pub(crate) fn visit(
        &mut self,
        opened: &Opened<'_>,
        table: &SymbolTable,
        fields: &[Box<[u8]>],
        limit: usize,
        visitor: &mut impl Visit,
    ) -> Result<()> {
        let wanted = self.select(opened.parts.selector, table, fields);
        self.fill(&opened.parts, wanted, limit)?;
        let (data, mut cursors) = join(&self.buckets, wanted, &mut self.joined);
        let mut at = opened.prefix;
        while at < self.shape.len() {
            let mut part = sequence(&self.shape, at)?;
            loop {
                for _ in 0..part.count {
                    let number = part.nibbles as usize & 15;
                    part.nibbles >>= 4;
                    if wanted >> number & 1 == 0 {
                        continue;
                    }
                    let (id, value_at, value) =
                        cursors[number].next(data).ok_or_else(|| damaged(number, at))?;
                    visitor.field(data, id, value_at, value).map_err(|error| inside(&error))?;
                }
                at = part.next;
                if part.count < FULL {
                    break;
                }
                part = sequence(&self.shape, at)?;
            }
            if !visitor.row(data).map_err(|error| inside(&error))? {
                break;
            }
        }
        Ok(())
    }

    /// Decompresses only the shape: replaces `shape` by it, applies the symbol table at its front to
    /// `table`, and gives the length of that table. For chunks whose rows are not needed.
    pub fn shape(&mut self, zion: &[u8], table: &mut SymbolTable, shape: &mut Vec<u8>) -> Result<usize> {
        Parts::read(zion)?.decompress(0, &mut self.codecs, shape, MAX_CHUNK)?;
        table.apply(shape)
    }

    /// Number of rows of a chunk; only its shape is decompressed.
    pub fn count(&mut self, zion: &[u8]) -> Result<u64> {
        let mut shape = std::mem::take(&mut self.shape);
        let counted = self.shape(zion, &mut SymbolTable::new(), &mut shape).and_then(|at| count(&shape, at));
        self.shape = shape;
        counted
    }

    /// Replaces `out` by the chunk: its symbol table bytes, which are also applied to `table`, and its
    /// rows, without padding. With `fields` rows keep only the fields of these names, and only the
    /// buckets that may hold them are decompressed. More than `limit` bytes are an error. Reusing `out`
    /// saves clearing it. Gives the length of the symbol table bytes.
    pub fn decode(
        &mut self,
        zion: &[u8],
        table: &mut SymbolTable,
        fields: Option<&[Box<[u8]>]>,
        out: &mut Vec<u8>,
        limit: usize,
    ) -> Result<usize> {
        let parts = Parts::read(zion)?;
        parts.decompress(0, &mut self.codecs, &mut self.shape, limit)?;
        let prefix = table.apply(&self.shape)?;
        self.rows(&parts, prefix, table, fields, out, limit)?;
        Ok(prefix)
    }

    /// As [`Decoder::decode`], with a table that others may hold and that is not there before the first
    /// chunk of a block.
    pub(crate) fn decode_shared(
        &mut self,
        zion: &[u8],
        table: &mut Option<Arc<SymbolTable>>,
        fields: Option<&[Box<[u8]>]>,
        out: &mut Vec<u8>,
        limit: usize,
    ) -> Result<usize> {
        let opened = self.open(zion, table, limit)?;
        if let Some(table) = table {
            self.assemble(&opened, table, fields, out, limit)?;
        }
        Ok(opened.prefix)
    }

    /// Replaces `out` by an opened chunk, as [`Decoder::decode`] does; gives the length of its symbol table.
    pub(crate) fn assemble(
        &mut self,
        opened: &Opened<'_>,
        table: &SymbolTable,
        fields: Option<&[Box<[u8]>]>,
        out: &mut Vec<u8>,
        limit: usize,
    ) -> Result<usize> {
        self.rows(&opened.parts, opened.prefix, table, fields, out, limit)?;
        Ok(opened.prefix)
    }

    /// Applies the symbol table of a chunk whose rows are not needed.
    pub(crate) fn skip_shared(
        &mut self,
        zion: &[u8],
        table: &mut Option<Arc<SymbolTable>>,
        limit: usize,
    ) -> Result<()> {
        self.open(zion, table, limit).map(drop)
    }

    /// Puts the rows together, after the shape was decompressed and its symbol table applied.
    fn rows(
        &mut self,
        parts: &Parts<'_>,
        prefix: usize,
        table: &SymbolTable,
        fields: Option<&[Box<[u8]>]>,
        out: &mut Vec<u8>,
        limit: usize,
    ) -> Result<()> {
        let wanted = match fields {
            Some(fields) => self.select(parts.selector, table, fields),
            None => u16::MAX,
        };
        let held = self.fill(parts, wanted, limit)?;
        let records = self.shape.len() - prefix;
        out.resize(prefix + held + HEADER * records + STRIDE, 0);
        let mut rows =
            Rows { buckets: &mut self.buckets, selected: &self.selected, wanted, out, at: prefix, limit };
        rows.out[..prefix].copy_from_slice(&self.shape[..prefix]);
        let mut at = prefix;
        while at < self.shape.len() {
            at = if fields.is_some() {
                rows.record::<true>(&self.shape, at)?
            } else {
                rows.record::<false>(&self.shape, at)?
            };
        }
        let end = rows.at;
        out.truncate(end);
        if end > limit {
            return Err(too_long(limit));
        }
        Ok(())
    }

    /// Marks the symbols that are selected, and gives the set of the buckets that may hold them.
    fn select(&mut self, selector: u8, table: &SymbolTable, fields: &[Box<[u8]>]) -> u16 {
        self.map.select(selector);
        self.selected.clear();
        self.selected.resize(table.max_id() as usize, false);
        let mut wanted = 0;
        for id in fields.iter().flat_map(|name| table.ids(name)) {
            self.selected[id as usize] = true;
            wanted |= 1 << self.map.get(id);
        }
        wanted
    }

    /// Decompresses the wanted buckets and gives the sum of their lengths.
    fn fill(&mut self, parts: &Parts<'_>, wanted: u16, limit: usize) -> Result<usize> {
        let mut held = 0;
        for (number, bucket) in self.buckets.iter_mut().enumerate() {
            (bucket.at, bucket.length) = (0, 0);
            if wanted >> number & 1 != 0 {
                parts.decompress(number + 1, &mut self.codecs, &mut bucket.data, limit - held)?;
                bucket.length = bucket.data.len();
                held += bucket.length;
                bucket.data.extend_from_slice(&[0; STRIDE]);
            }
        }
        Ok(held)
    }
}

#[cold]
fn too_long(limit: usize) -> Error {
    Error::corrupt(LAYER, 0, format!("decompresses to more than the {limit} bytes that are allowed"))
}

/// The error of a visitor, whose places are not those of the chunk.
#[cold]
fn inside(error: &Error) -> Error {
    Error::corrupt("ion", 0, format!("{error} of the fields that were decompressed"))
}

#[cold]
fn damaged(number: usize, at: usize) -> Error {
    let message = format!("bucket {number} ends, or is damaged, where a row needs a field of it");
    Error::corrupt(LAYER, at, message)
}

/// What is left of a bucket.
#[derive(Clone, Copy)]
struct Cursor {
    at: usize,
    end: usize,
}

impl Cursor {
    /// Takes the next field: its symbol, the place of its value, and its extent.
    #[inline]
    fn next(&mut self, data: &[u8]) -> Option<(u32, usize, Header)> {
        let (id, at) = varuint(data, self.at)?;
        let value = header(data, at).ok()?;
        if value.end > self.end {
            return None;
        }
        self.at = value.end;
        Some((id as u32, at, value))
    }
}

/// The wanted buckets one behind the other, and where each of them lies.
fn join<'a>(
    buckets: &'a [Bucket; BUCKETS],
    wanted: u16,
    joined: &'a mut Vec<u8>,
) -> (&'a [u8], [Cursor; BUCKETS]) {
    let mut cursors = [Cursor { at: 0, end: 0 }; BUCKETS];
    if wanted.is_power_of_two() {
        let number = wanted.trailing_zeros() as usize;
        let bucket = &buckets[number];
        cursors[number].end = bucket.length;
        return (&bucket.data[..bucket.length], cursors);
    }
    joined.clear();
    for (bucket, cursor) in buckets.iter().zip(&mut cursors) {
        cursor.at = joined.len();
        joined.extend_from_slice(&bucket.data[..bucket.length]);
        cursor.end = joined.len();
    }
    (joined, cursors)
}

/// Puts records together.
struct Rows<'a> {
    buckets: &'a mut [Bucket; BUCKETS],
    selected: &'a [bool],
    wanted: u16,
    out: &'a mut Vec<u8>,
    at: usize,
    limit: usize,
}

impl Rows<'_> {
    /// Writes the record whose shape is at `at` and gives the place of the next one.
    #[inline]
    fn record<const PROJECT: bool>(&mut self, shape: &[u8], mut at: usize) -> Result<usize> {
        let mut part = sequence(shape, at)?;
        let width = 1 + usize::from(part.class);
        let start = self.at;
        let mut end = start + width;
        loop {
            for _ in 0..part.count {
                let number = part.nibbles as u8 & 15;
                part.nibbles >>= 4;
                if PROJECT && self.wanted >> number & 1 == 0 {
                    continue;
                }
                end = self.field::<PROJECT>(number, end).ok_or_else(|| damaged(usize::from(number), at))?;
            }
            at = part.next;
            if part.count < FULL {
                break;
            }
            part = sequence(shape, at)?;
        }
        self.finish(start, width, end)?;
        Ok(at)
    }

    /// Takes the next field of a bucket, and gives where the output ends then.
    #[inline]
    fn field<const PROJECT: bool>(&mut self, number: u8, at: usize) -> Option<usize> {
        let bucket = &mut self.buckets[usize::from(number)];
        let start = bucket.at;
        let (id, end) = field(&bucket.data, start)?;
        if end > bucket.length {
            return None;
        }
        bucket.at = end;
        if PROJECT && !self.selected.get(id as usize).is_some_and(|&selected| selected) {
            return Some(at);
        }
        copy(self.out, at, &bucket.data, start, end).then_some(at + end - start)
    }

    /// Writes the header of the record at `start`, whose body was written `width` bytes further on.
    #[inline]
    fn finish(&mut self, start: usize, width: usize, end: usize) -> Result<()> {
        let body = start + width;
        let length = end - body;
        if length > MAX_BODY || end > self.limit.saturating_add(HEADER) {
            return Err(too_long(self.limit));
        }
        let class = class(length);
        let needed = 1 + usize::from(class);
        if needed != width {
            if start + needed + length > self.out.len() {
                return Err(too_long(self.limit));
            }
            self.out.copy_within(body..end, start + needed);
        }
        let header = &mut self.out[start..start + needed];
        let last = length as u8 & 0x7F | 0x80;
        match *header {
            [ref mut only] => *only = kind::STRUCT << 4 | length as u8,
            [ref mut first, ref mut rest @ ..] => {
                *first = kind::STRUCT << 4 | 14;
                match rest {
                    [a] => *a = last,
                    [a, b] => (*a, *b) = ((length >> 7) as u8, last),
                    [a, b, c] => (*a, *b, *c) = ((length >> 14) as u8, (length >> 7) as u8 & 0x7F, last),
                    _ => {}
                }
            }
            [] => {}
        }
        self.at = start + needed + length;
        Ok(())
    }
}
