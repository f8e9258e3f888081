//! The head of a chunk and the compressed parts behind it, read in order and only as far as they are wanted.

use std::ops::Range;

use super::hash::BUCKETS;
use super::{LAYER, MAGIC};
use crate::codec::{iguana, special, zstd};
use crate::error::{Error, Result};
use crate::input::{Input, Window};

/// Bytes of the magic and of the word behind it.
const HEAD: usize = 8;
/// Bytes of the length of a segment.
const LENGTH: usize = 3;

/// A chunk, as it is compressed: a part of a block.
#[derive(Clone, Copy)]
pub(crate) struct Payload<'a> {
    pub(crate) input: Input<'a>,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl<'a> From<&'a [u8]> for Payload<'a> {
    fn from(zion: &'a [u8]) -> Self {
        Self { input: Input::Held(zion), start: 0, end: zion.len() }
    }
}

impl<'a> Payload<'a> {
    fn bytes<'b>(self, window: &'b mut Window, range: Range<usize>) -> Result<&'b [u8]>
    where
        'a: 'b,
    {
        // An error of reading tells a place in the block; the caller counts from the start of the chunk.
        window.get(self.input, self.start + range.start..self.start + range.end)
    }

    fn size(self) -> usize {
        self.end - self.start
    }
}

/// The segments that are still to come.
#[derive(Clone, Copy)]
pub(super) struct Segments {
    algorithm: u8,
    number: usize,
    at: usize,
}

/// The decompressors of segments.
pub(super) struct Codecs {
    zstd: zstd::Decompressor,
    iguana: iguana::Decoder,
}

impl Codecs {
    pub(super) fn new(zstd: zstd::Decompressor) -> Self {
        Self { zstd, iguana: iguana::Decoder::default() }
    }

    pub(super) fn set_verify(&mut self, verify: bool) -> Result<()> {
        self.zstd.set_verify(verify)
    }

    fn decompress(&mut self, algorithm: u8, segment: &[u8], out: &mut Vec<u8>, limit: usize) -> Result<()> {
        match (algorithm, segment) {
            (_, []) => Ok(()),
            (0, _) => self.zstd.decompress(segment, out, limit),
            (1, _) | (_, [0, ..]) => {
                self.iguana.decompress(&segment[usize::from(algorithm > 1)..], out, limit)
            }
            _ => special::decode(segment, out, limit),
        }
    }
}

impl Segments {
    /// Reads the head of a chunk: its selector, and the way to its segments.
    pub(super) fn open(payload: Payload<'_>, window: &mut Window) -> Result<(u8, Self)> {
        if payload.size() < HEAD {
            return Err(Error::corrupt(LAYER, 0, "shorter than its head of 8 bytes"));
        }
        let &[m0, m1, m2, m3, low, middle, high, top] = payload.bytes(window, 0..HEAD)? else {
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
        Ok((low & 15, Self { algorithm, number: 0, at: HEAD }))
    }

    /// Passes over the next segment.
    pub(super) fn skip(&mut self, payload: Payload<'_>, window: &mut Window) -> Result<Range<usize>> {
        let cut = || {
            let message = format!("segment {} of {} goes beyond the end", self.number, BUCKETS + 1);
            Error::corrupt(LAYER, self.at, message)
        };
        let start = self.at + LENGTH;
        if start > payload.size() {
            return Err(cut());
        }
        let &[a, b, c] = payload.bytes(window, self.at..start)? else { return Err(cut()) };
        let end = start + u32::from_le_bytes([a, b, c, 0]) as usize;
        if end > payload.size() {
            return Err(cut());
        }
        self.number += 1;
        self.at = end;
        Ok(start..end)
    }

    /// Replaces `out` by the content of the next segment.
    pub(super) fn take(
        &mut self,
        payload: Payload<'_>,
        window: &mut Window,
        codecs: &mut Codecs,
        out: &mut Vec<u8>,
        limit: usize,
    ) -> Result<()> {
        out.clear();
        let range = self.skip(payload, window)?;
        let offset = range.start;
        let segment = payload.bytes(window, range)?;
        let result = codecs.decompress(self.algorithm, segment, out, limit);
        result.map_err(|error| error.shifted(offset as u64))
    }
}
