//! Blocks: runs of frames, each a compressed chunk, that can be decoded without the rest of the file.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::block::rows::Rows;
use crate::bucket::hash::BUCKETS;
use crate::bucket::shape::most_rows;
use crate::bucket::{Decoder, Opened, Payload, Visit};
use crate::codec::{Algorithm, zstd};
use crate::error::{Error, Result};
use crate::input::{Bytes, Input};
use crate::ion::shared::apply_shared;
use crate::ion::{self, SymbolTable, kind};

/// Bytes of a frame header.
pub const FRAME_HEADER: usize = 5;

/// Reads the header of the frame at `at`, which is there as far as the block goes: the length of its payload,
/// which lies inside the `size` bytes of the block.
pub fn frame(header: &[u8], at: usize, size: usize) -> Result<usize> {
    let bad = |message: &'static str| Error::corrupt("frame", at, message);
    let Some(&[first, a, b, c, d]) = header.first_chunk() else {
        return Err(bad("the block ends inside a frame header"));
    };
    if first != 0xAE || (a | b | c) & 0x80 != 0 || d & 0x80 == 0 {
        return Err(bad("not a frame header"));
    }
    let length = [a, b, c, d].iter().fold(0, |length, &byte| length << 7 | usize::from(byte & 0x7F));
    if length > size - at - FRAME_HEADER {
        return Err(bad("the frame goes beyond the end of its block"));
    }
    Ok(length)
}

/// The header of a frame whose payload has `length` bytes.
pub fn frame_header(length: usize) -> Result<[u8; FRAME_HEADER]> {
    if length >> 28 != 0 {
        return Err(Error::too_large(0, format!("a frame of {length} bytes, the limit is 2^28")));
    }
    let [a, b, c, d] = [21, 14, 7, 0].map(|shift| (length >> shift) as u8 & 0x7F);
    Ok([0xAE, a, b, c, d | 0x80])
}

/// Where a run of chunks starts: what must be known to decode it without the chunks before.
#[derive(Debug, Clone, Default)]
pub struct Position {
    /// Byte offset of the frame in the block.
    pub offset: usize,
    /// Number of the chunk in the block.
    pub chunk: usize,
    /// The symbols in force before the chunk; none at the start of a block.
    pub table: Option<Arc<SymbolTable>>,
}

/// One decoded chunk.
#[derive(Debug)]
pub struct Chunk<'a> {
    /// Number of the chunk in its block.
    pub number: usize,
    /// Byte offset of its frame in the block.
    pub offset: usize,
    /// Symbol table bytes, rows and perhaps padding.
    pub data: &'a [u8],
    /// Length of the symbol table bytes.
    pub rows_at: usize,
    /// Whether the symbol table replaced the one before.
    pub resets: bool,
    /// The symbols in force.
    pub table: &'a Arc<SymbolTable>,
}

impl Chunk<'_> {
    /// The error of somebody who reads `data`, told in terms of the block.
    #[cold]
    pub fn error(&self, error: &Error) -> Error {
        if matches!(error, Error::Unsupported { .. } | Error::Bug { .. }) {
            return error.clone();
        }
        let at = match error {
            Error::Corrupt { offset, .. } | Error::Syntax { offset, .. } | Error::TooLarge { offset, .. } => {
                *offset
            }
            Error::Unsupported { .. } | Error::Read { .. } | Error::Argument { .. } | Error::Bug { .. } => 0,
        };
        let message = format!("chunk {}: {} (byte {at} of its content)", self.number, error.message());
        Error::corrupt("ion", self.offset, message)
    }
}

/// A chunk of a zion block of which nothing but the shape is decompressed.
pub(crate) struct OpenChunk {
    /// Number of the chunk in its block.
    pub(crate) number: usize,
    /// The symbols in force.
    pub(crate) table: Arc<SymbolTable>,
    /// Byte offset of its frame in the block.
    offset: usize,
    length: usize,
    opened: Opened,
}

impl OpenChunk {
    /// Whether the symbol table replaced the one before.
    pub(crate) fn resets(&self) -> bool {
        self.opened.resets
    }

    /// Bytes of its frame.
    pub(crate) fn frame_bytes(&self) -> usize {
        FRAME_HEADER + self.length
    }

    /// What the bucket of a symbol depends on.
    pub(crate) fn selector(&self) -> u8 {
        self.opened.selector
    }

    fn payload<'a>(&self, input: Input<'a>) -> Payload<'a> {
        let start = self.offset + FRAME_HEADER;
        Payload { input, start, end: start + self.length }
    }

    fn error(&self, error: Error) -> Error {
        in_chunk(error, self.number, self.offset + FRAME_HEADER)
    }
}

/// Decodes the chunks of one block in order.
pub struct BlockReader<'a> {
    input: Input<'a>,
    algorithm: Algorithm,
    align: usize,
    fields: Option<&'a [Box<[u8]>]>,
    next: Position,
    /// Chunks that were opened before anybody asked for them; `next` is behind them.
    ahead: VecDeque<OpenChunk>,
    codecs: Codecs,
    /// The symbols of the chunk that was decoded last.
    table: Option<Arc<SymbolTable>>,
}

/// Decompressors and their buffers, to be handed from one reader to the next.
pub struct Codecs {
    zion: Decoder,
    zstd: zstd::Decompressor,
    out: Vec<u8>,
}

impl Codecs {
    /// Fresh decompressors, which compare every checksum with the content.
    pub fn new() -> Result<Self> {
        Ok(Self { zion: Decoder::new()?, zstd: zstd::Decompressor::new(true)?, out: Vec::new() })
    }

    /// Decompressors that pass over wrong checksums, if `verify` is not set: for those who must go on with a
    /// damaged file.
    pub fn verifying(mut self, verify: bool) -> Result<Self> {
        self.zion.set_verify(verify)?;
        self.zstd.set_verify(verify)?;
        Ok(self)
    }
}

impl<'a> BlockReader<'a> {
    /// A reader of the bytes of a whole block whose chunks decompress to `align` bytes.
    pub fn new(data: &'a [u8], algorithm: Algorithm, align: usize) -> Result<Self> {
        Ok(Self::resume(data, algorithm, align, Position::default(), Codecs::new()?))
    }

    /// A reader that starts at a position inside a block.
    pub fn resume(
        data: &'a [u8],
        algorithm: Algorithm,
        align: usize,
        next: Position,
        codecs: Codecs,
    ) -> Self {
        Self::over(Input::Held(data), algorithm, align, next, codecs)
    }

    /// A reader of a block that need not be in memory.
    pub(crate) fn of(
        block: &'a dyn Bytes,
        algorithm: Algorithm,
        align: usize,
        next: Position,
        codecs: Codecs,
    ) -> Self {
        Self::over(Input::of(block), algorithm, align, next, codecs)
    }

    fn over(
        input: Input<'a>,
        algorithm: Algorithm,
        align: usize,
        next: Position,
        mut codecs: Codecs,
    ) -> Self {
        codecs.zion.window().clear();
        Self { input, algorithm, align, fields: None, next, ahead: VecDeque::new(), codecs, table: None }
    }

    /// Keeps only the fields of these names in the rows of zion chunks; plain chunks come whole.
    #[must_use]
    pub fn project(mut self, fields: Option<&'a [Box<[u8]>]>) -> Self {
        self.fields = fields;
        self
    }

    /// Gives the decompressors back.
    pub fn into_codecs(mut self) -> Codecs {
        for chunk in self.ahead.drain(..) {
            self.codecs.zion.close(chunk.opened);
        }
        self.codecs
    }

    /// Exchanges the buffer of the chunk at hand for another one.
    pub fn swap_buffer(&mut self, buffer: &mut Vec<u8>) {
        std::mem::swap(&mut self.codecs.out, buffer);
    }

    /// Where the next chunk starts.
    pub fn position(&self) -> &Position {
        &self.next
    }

    /// Decodes the next chunk; none at the end of the block. An error tells the number of the chunk and
    /// a byte offset in the block.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk<'_>>> {
        if self.algorithm != Algorithm::Zstd {
            let Some(chunk) = self.open_chunk()? else { return Ok(None) };
            return self.assemble(chunk).map(Some);
        }
        let Position { offset, chunk: number, .. } = self.next;
        let Some(payload) = self.payload()? else { return Ok(None) };
        let decoded = self.inflate(payload);
        let rows_at = decoded.map_err(|error| in_chunk(error, number, offset + FRAME_HEADER))?;
        self.advance(payload);
        let data = &self.codecs.out[..];
        let resets = ion::is_bvm(data);
        Ok(self.next.table.as_ref().map(|table| Chunk { number, offset, data, rows_at, resets, table }))
    }

    /// Opens the next chunk of a zion block: only its shape is decompressed.
    pub(crate) fn open_chunk(&mut self) -> Result<Option<OpenChunk>> {
        match self.ahead.pop_front() {
            Some(chunk) => Ok(Some(chunk)),
            None => self.open_next(),
        }
    }

    fn open_next(&mut self) -> Result<Option<OpenChunk>> {
        let Position { offset, chunk: number, .. } = self.next;
        let Some(payload) = self.payload()? else { return Ok(None) };
        let opened = self.codecs.zion.open(payload, &mut self.next.table, self.align);
        let opened = opened.map_err(|error| in_chunk(error, number, offset + FRAME_HEADER))?;
        self.advance(payload);
        let length = payload.end - payload.start;
        let table = self.next.table.clone();
        Ok(table.map(|table| OpenChunk { number, table, offset, length, opened }))
    }

    /// Shows the rows of an open chunk to a visitor, see [`Decoder::visit`].
    pub(crate) fn visit(
        &mut self,
        chunk: &OpenChunk,
        fields: Option<&[Box<[u8]>]>,
        visitor: &mut impl Visit,
    ) -> Result<()> {
        let (payload, zion) = (chunk.payload(self.input), &mut self.codecs.zion);
        let visited = zion.visit(payload, &chunk.opened, &chunk.table, fields, self.align, visitor);
        visited.map_err(|error| chunk.error(error))
    }

    /// The compressed bytes of each bucket of an open chunk.
    pub(crate) fn bucket_bytes(&mut self, chunk: &OpenChunk) -> Result<[usize; BUCKETS]> {
        let bytes = self.codecs.zion.bucket_bytes(chunk.payload(self.input), &chunk.opened);
        bytes.map_err(|error| chunk.error(error))
    }

    /// Takes the buffers of a chunk back.
    pub(crate) fn close(&mut self, chunk: OpenChunk) {
        self.codecs.zion.close(chunk.opened);
    }

    /// Decompresses the rows of an open chunk.
    pub(crate) fn assemble(&mut self, chunk: OpenChunk) -> Result<Chunk<'_>> {
        let Codecs { zion, out, .. } = &mut self.codecs;
        let assembled = zion.assemble(
            chunk.payload(self.input),
            &chunk.opened,
            &chunk.table,
            self.fields,
            out,
            self.align,
        );
        let rows_at = assembled.map_err(|error| chunk.error(error))?;
        let OpenChunk { number, table, offset, opened, .. } = chunk;
        let resets = opened.resets;
        zion.close(opened);
        let table = self.table.insert(table);
        Ok(Chunk { number, offset, data: out, rows_at, resets, table })
    }

    /// Passes over a chunk of a zion block and gives the number of its rows; only its shape is read.
    pub fn count_chunk(&mut self) -> Result<Option<u64>> {
        let Position { offset, chunk: number, .. } = self.next;
        let Some(payload) = self.payload()? else { return Ok(None) };
        let counted = self.codecs.zion.count_of(payload, self.align);
        let rows = counted.map_err(|error| in_chunk(error, number, offset + FRAME_HEADER))?;
        self.advance(payload);
        Ok(Some(rows))
    }

    /// Passes over a chunk: only its symbol table is read. False at the end of the block.
    pub fn skip_chunk(&mut self) -> Result<bool> {
        if self.algorithm != Algorithm::Zstd {
            let Some(chunk) = self.open_chunk()? else { return Ok(false) };
            self.close(chunk);
            return Ok(true);
        }
        let Position { offset, chunk: number, .. } = self.next;
        let Some(payload) = self.payload()? else { return Ok(false) };
        self.peek(payload).map_err(|error| in_chunk(error, number, offset + FRAME_HEADER))?;
        self.advance(payload);
        Ok(true)
    }

    /// The symbols in force behind the next `chunks` chunks, which are still the next ones afterwards.
    pub(crate) fn look_ahead(&mut self, chunks: usize) -> Result<Option<Arc<SymbolTable>>> {
        if self.algorithm == Algorithm::Zstd {
            let start = self.next.clone();
            for _ in 0..chunks {
                self.skip_chunk()?;
            }
            return Ok(std::mem::replace(&mut self.next, start).table);
        }
        for _ in 0..chunks {
            let Some(chunk) = self.open_next()? else { break };
            self.ahead.push_back(chunk);
        }
        Ok(self.next.table.clone())
    }

    fn payload(&mut self) -> Result<Option<Payload<'a>>> {
        let Position { offset, chunk: number, .. } = self.next;
        let (input, size) = (self.input, self.input.size());
        if offset == size {
            return Ok(None);
        }
        let header = self.codecs.zion.window().get(input, offset..size.min(offset + FRAME_HEADER))?;
        let length = frame(header, offset, size).map_err(|error| in_chunk(error, number, 0))?;
        let start = offset + FRAME_HEADER;
        Ok(Some(Payload { input, start, end: start + length }))
    }

    fn advance(&mut self, payload: Payload<'_>) {
        self.next.offset = payload.end;
        self.next.chunk += 1;
    }

    /// Decompresses a plain chunk.
    fn inflate(&mut self, payload: Payload<'_>) -> Result<usize> {
        let Codecs { zion, zstd, out } = &mut self.codecs;
        let frame = zion.window().get(payload.input, payload.start..payload.end)?;
        zstd.decompress(frame, out, self.align)?;
        if out.len() != self.align {
            let message = format!("a chunk of {} bytes instead of {}", out.len(), self.align);
            return Err(Error::corrupt("zstd", 0, message));
        }
        let rows_at = apply_shared(&mut self.next.table, out, self.align)?;
        check_rows(out, rows_at)?;
        Ok(rows_at)
    }

    /// Decompresses as much of a plain chunk as its symbol table needs.
    fn peek(&mut self, payload: Payload<'_>) -> Result<()> {
        let Codecs { zion, zstd, out } = &mut self.codecs;
        let frame = zion.window().get(payload.input, payload.start..payload.end)?;
        zstd.start(frame, out, FIRST_LOOK.min(self.align))?;
        if let Some(length) = table_length(out)
            && length > out.len()
        {
            zstd.start(frame, out, length.min(self.align))?;
        }
        apply_shared(&mut self.next.table, out, self.align)?;
        Ok(())
    }
}

/// Refuses a plain chunk of more rows than one of zion may have: empty rows take next to nothing in the file.
/// Whatever else is wrong with the rows is for those who read them.
fn check_rows(data: &[u8], rows_at: usize) -> Result<()> {
    let most = most_rows(data.len());
    if (data.len() - rows_at) as u64 <= most {
        return Ok(());
    }
    let rows = Rows::new(data, rows_at).flatten().count() as u64;
    if rows > most {
        let message = format!("a chunk of {rows} rows, the limit is {most}");
        return Err(Error::corrupt("ion", rows_at, message));
    }
    Ok(())
}

/// Bytes of a plain chunk that are looked at first for its symbol table.
const FIRST_LOOK: usize = 4096;

/// The length that the symbol table at the start of `data` claims to have, if there is one.
fn table_length(data: &[u8]) -> Option<usize> {
    let start = if ion::is_bvm(data) { ion::BVM.len() } else { 0 };
    match data.get(start)? {
        0xEE => {
            let (length, body) = ion::varuint::read(data, start + 1).ok()?;
            body.checked_add(usize::try_from(length).ok()?)
        }
        byte if byte >> 4 == kind::ANNOTATION => Some(start + 1 + usize::from(byte & 15)),
        _ => None,
    }
}

/// The error with the number of its chunk, moved to a place in the block.
#[cold]
fn in_chunk(error: Error, number: usize, base: usize) -> Error {
    match error.shifted(base as u64) {
        Error::Corrupt { layer, offset, message } => {
            Error::Corrupt { layer, offset, message: format!("chunk {number}: {message}").into() }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_rows_of_plain_chunks_have_a_bound() {
        let chunk = |rows: usize| [&ion::BVM[..], &b"\xd0".repeat(rows)].concat();
        assert!(check_rows(&chunk(1 << 20), 4).is_ok());
        assert!(matches!(check_rows(&chunk((1 << 20) + 1), 4), Err(Error::Corrupt { .. })));
        assert!(check_rows(&b"\xd1\x81".repeat(3 << 18), 0).is_ok(), "fewer rows than bytes");
    }

    #[test]
    fn headers_of_frames_that_are_too_long_are_not_made() -> Result<()> {
        for length in [0, 1, 127, 128, (1 << 21) + 5, (1 << 28) - 1] {
            let header = frame_header(length)?;
            assert_eq!(frame(&header, 0, FRAME_HEADER + length)?, length);
        }
        assert!(matches!(frame_header(1 << 28), Err(Error::TooLarge { .. })));
        Ok(())
    }
}
