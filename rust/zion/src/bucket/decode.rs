//! zion chunks to rows: all fields, or some of them.
#![allow(
    clippy::inline_always,
    reason = "fields that pass through memory between calls cost more than the calls"
)]

use std::sync::Arc;

use super::hash::{BUCKETS, BucketMap};
use super::segments::{Codecs, Payload, Segments};
use super::shape::{FULL, check_rows, class, count, sequence};
use super::{LAYER, MAX_BODY, MAX_CHUNK, STRIDE, copy, field, varuint};
use crate::codec::zstd;
use crate::error::{Error, Result};
use crate::input::Window;
use crate::ion::shared::apply_shared;
use crate::ion::{Header, SymbolTable, is_bvm, kind, look};

/// The longest header of a record.
const HEADER: usize = 4;

/// Decompresses chunks; buffers are kept from one to the next.
pub struct Decoder {
    codecs: Codecs,
    window: Window,
    map: BucketMap,
    spare: Vec<Vec<u8>>,
    buckets: [Bucket; BUCKETS],
    loaded: Loaded,
    selected: Vec<bool>,
    joined: Vec<u8>,
}

/// A chunk of which nothing but the shape is decompressed.
pub(crate) struct Opened {
    serial: u64,
    /// Which bucket a symbol falls into depends on it.
    pub(crate) selector: u8,
    /// Those of the buckets.
    segments: Segments,
    shape: Vec<u8>,
    prefix: usize,
    /// Whether its symbol table replaced the one before.
    pub(crate) resets: bool,
}

/// Which buckets are decompressed, and of which chunk.
#[derive(Default)]
struct Loaded {
    serial: u64,
    buckets: u16,
    /// How many chunks were opened.
    opened: u64,
}

/// What looks at the fields of rows where they lie in their buckets.
pub trait Visit {
    /// A field of the row at hand: its symbol, the place of its value in `data`, and its extent.
    fn field(&mut self, data: &[u8], id: u32, at: usize, value: Header) -> Result<()>;

    /// The row has no more fields. False: no further row is wanted.
    fn row(&mut self, data: &[u8]) -> Result<bool>;

    /// All rows that are wanted were shown.
    fn end(&mut self, _data: &[u8]) -> Result<()> {
        Ok(())
    }
}

#[derive(Default)]
struct Bucket {
    data: Vec<u8>,
    length: usize,
    at: usize,
}

impl Decoder {
    /// A decoder without state but its buffers: any chunk may come next. Segments with a wrong checksum are
    /// errors.
    pub fn new() -> Result<Self> {
        Ok(Self {
            codecs: Codecs::new(zstd::Decompressor::new(true)?),
            window: Window::default(),
            map: BucketMap::default(),
            spare: Vec::new(),
            buckets: Default::default(),
            loaded: Loaded::default(),
            selected: Vec::new(),
            joined: Vec::new(),
        })
    }

    /// Sets whether segments with a wrong checksum are errors.
    pub fn set_verify(&mut self, verify: bool) -> Result<()> {
        self.codecs.set_verify(verify)
    }

    /// What was read of a block that is not in memory.
    pub(crate) fn window(&mut self) -> &mut Window {
        &mut self.window
    }

    /// Decompresses the shape, and applies its symbol table. Gives what [`Decoder::visit`] needs.
    pub(crate) fn open(
        &mut self,
        payload: Payload<'_>,
        table: &mut Option<Arc<SymbolTable>>,
        limit: usize,
    ) -> Result<Opened> {
        let mut shape = self.spare.pop().unwrap_or_default();
        let (selector, segments) = self.start(payload, &mut shape, limit)?;
        let prefix = apply_shared(table, &shape, limit)?;
        check_rows(&shape, prefix, limit)?;
        Ok(self.opened(selector, segments, shape, prefix))
    }

    fn opened(&mut self, selector: u8, segments: Segments, shape: Vec<u8>, prefix: usize) -> Opened {
        self.loaded.opened += 1;
        let resets = is_bvm(&shape);
        Opened { serial: self.loaded.opened, selector, segments, shape, prefix, resets }
    }

    /// Reads the head of a chunk, and replaces `shape` by its shape.
    fn start(&mut self, payload: Payload<'_>, shape: &mut Vec<u8>, limit: usize) -> Result<(u8, Segments)> {
        let (selector, mut segments) = Segments::open(payload, &mut self.window)?;
        segments.take(payload, &mut self.window, &mut self.codecs, shape, limit)?;
        Ok((selector, segments))
    }

    /// Takes the buffers of a chunk back.
    pub(crate) fn close(&mut self, opened: Opened) {
        self.spare.push(opened.shape);
    }

    /// Shows the rows of an opened chunk to a visitor, their fields where they lie: those of the buckets
    /// that may hold `fields`, others among them, or of all buckets. Values of one row share one `data`.
    pub(crate) fn visit(
        &mut self,
        payload: Payload<'_>,
        opened: &Opened,
        table: &SymbolTable,
        fields: Option<&[Box<[u8]>]>,
        limit: usize,
        visitor: &mut impl Visit,
    ) -> Result<()> {
        let wanted = match fields {
            Some(fields) => self.select(opened.selector, table, fields),
            None => u16::MAX,
        };
        self.fill(payload, opened, wanted, limit)?;
        let shape = &opened.shape[..];
        let (data, mut cursors) = join(&self.buckets, wanted, &mut self.joined);
        let mut at = opened.prefix;
        while at < shape.len() {
            let mut part = sequence(shape, at)?;
            loop {
                let mut found = part.find(wanted);
                while found != 0 {
                    let number = (part.nibbles >> (found.trailing_zeros() & !3)) as usize & 15;
                    found &= found - 1;
                    let (id, value_at, value) =
                        cursors[number].next(data).ok_or_else(|| damaged(number, at))?;
                    visitor.field(data, id, value_at, value).map_err(|error| inside(&error))?;
                }
                at = part.next;
                if part.count < FULL {
                    break;
                }
                part = sequence(shape, at)?;
            }
            if !visitor.row(data).map_err(|error| inside(&error))? {
                break;
            }
        }
        visitor.end(data).map_err(|error| inside(&error))
    }

    /// The compressed bytes of each bucket of an opened chunk.
    pub(crate) fn bucket_bytes(&mut self, payload: Payload<'_>, opened: &Opened) -> Result<[usize; BUCKETS]> {
        let mut segments = opened.segments;
        let mut bytes = [0; BUCKETS];
        for bytes in &mut bytes {
            *bytes = segments.skip(payload, &mut self.window)?.len();
        }
        Ok(bytes)
    }

    /// Decompresses only the shape: replaces `shape` by it, applies the symbol table at its front to
    /// `table`, and gives the length of that table. For chunks whose rows are not needed.
    pub fn shape(&mut self, zion: &[u8], table: &mut SymbolTable, shape: &mut Vec<u8>) -> Result<usize> {
        self.start(zion.into(), shape, MAX_CHUNK)?;
        table.apply(shape)
    }

    /// Number of rows of a chunk; only its shape is decompressed.
    pub fn count(&mut self, zion: &[u8]) -> Result<u64> {
        self.count_of(zion.into(), MAX_CHUNK)
    }

    /// As [`Decoder::count`], of a chunk that decompresses to at most `limit` bytes.
    pub(crate) fn count_of(&mut self, payload: Payload<'_>, limit: usize) -> Result<u64> {
        let mut shape = self.spare.pop().unwrap_or_default();
        self.start(payload, &mut shape, limit)?;
        let counted = SymbolTable::unindexed().apply(&shape).and_then(|at| {
            check_rows(&shape, at, limit)?;
            count(&shape, at)
        });
        self.spare.push(shape);
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
        let mut shape = self.spare.pop().unwrap_or_default();
        let (selector, segments) = self.start(zion.into(), &mut shape, limit)?;
        let prefix = table.apply(&shape)?;
        check_rows(&shape, prefix, limit)?;
        let opened = self.opened(selector, segments, shape, prefix);
        self.assemble(zion.into(), &opened, table, fields, out, limit)?;
        self.close(opened);
        Ok(prefix)
    }

    /// Replaces `out` by an opened chunk, as [`Decoder::decode`] does; gives the length of its symbol table.
    pub(crate) fn assemble(
        &mut self,
        payload: Payload<'_>,
        opened: &Opened,
        table: &SymbolTable,
        fields: Option<&[Box<[u8]>]>,
        out: &mut Vec<u8>,
        limit: usize,
    ) -> Result<usize> {
        let Opened { selector, ref shape, prefix, .. } = *opened;
        let wanted = match fields {
            Some(fields) => self.select(selector, table, fields),
            None => u16::MAX,
        };
        let held = self.fill(payload, opened, wanted, limit)?;
        let records = shape.len() - prefix;
        out.resize(prefix + held + HEADER * records + STRIDE, 0);
        let mut rows =
            Rows { buckets: &mut self.buckets, selected: &self.selected, wanted, out, at: prefix, limit };
        rows.out[..prefix].copy_from_slice(&shape[..prefix]);
        let mut at = prefix;
        while at < shape.len() {
            at = if fields.is_some() {
                rows.record::<true>(shape, at)?
            } else {
                rows.record::<false>(shape, at)?
            };
        }
        let end = rows.at;
        out.truncate(end);
        if end > limit {
            return Err(too_long(limit));
        }
        Ok(prefix)
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

    /// Decompresses the wanted buckets that are not there, and gives the sum of the lengths of all wanted.
    fn fill(&mut self, payload: Payload<'_>, opened: &Opened, wanted: u16, limit: usize) -> Result<usize> {
        let Self { codecs, window, buckets, loaded, .. } = self;
        if loaded.serial != opened.serial {
            (loaded.serial, loaded.buckets) = (opened.serial, 0);
        }
        let mut segments = opened.segments;
        let mut missing = wanted & !loaded.buckets;
        let mut held = 0;
        for (number, bucket) in buckets.iter_mut().enumerate() {
            let bit = 1 << number;
            if missing & bit != 0 {
                bucket.length = 0;
                segments.take(payload, window, codecs, &mut bucket.data, limit.saturating_sub(held))?;
                bucket.length = bucket.data.len();
                bucket.data.extend_from_slice(&[0; STRIDE]);
                loaded.buckets |= bit;
                missing &= !bit;
            } else if missing != 0 {
                segments.skip(payload, window)?;
            }
            if wanted & bit != 0 {
                bucket.at = 0;
                held += bucket.length;
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
    #[inline(always)]
    fn next(&mut self, data: &[u8]) -> Option<(u32, usize, Header)> {
        let (id, at) = varuint(data, self.at)?;
        let value = look(data, at)?;
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
    for (number, (bucket, cursor)) in buckets.iter().zip(&mut cursors).enumerate() {
        if wanted >> number & 1 == 0 {
            continue;
        }
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
