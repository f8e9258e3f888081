//! Zstandard with contexts that are kept: making one costs as much as compressing a small bucket.

use zstd_safe::{CCtx, CParameter, DCtx, DParameter, InBuffer, OutBuffer, ResetDirective};

use crate::error::{Error, Result};

const LAYER: &str = "zstd";

/// What the library says when the content does not fit.
const TOO_SMALL: &str = "Destination buffer is too small";

fn failure(code: usize) -> Error {
    Error::corrupt(LAYER, 0, zstd_safe::get_error_name(code))
}

/// The level that most packfiles are written with; its settings go by the size of the content, and by how much
/// work it is worth.
pub const DEFAULT_LEVEL: i32 = 3;

/// Parameters of the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Settings {
    level: i32,
    /// The parameters below are the level's own where they are 0.
    min_match: u32,
    /// Content is cut into pieces of this size; only where it is 0 the library looks for better places.
    piece_bytes: u32,
}

impl Settings {
    /// The settings for content of `length` bytes. Those of the default level came out best on the buckets of
    /// logs. Quickly: in short content the second table finds next to nothing, and in content of medium size
    /// short matches cost more than they save. Thoroughly: what is above saves little for its time, and what is
    /// below saves less for little less. At higher levels short matches are what pays or does not, and in short
    /// content the way that high levels search may lose to that of a lower one. To look for places to cut at takes
    /// time in all of them, and saves nothing.
    fn new(level: i32, length: usize, thorough: bool) -> Self {
        const SHORT: usize = 16 << 10;
        const LONG: usize = 256 << 10;
        const PIECE: u32 = 127 << 10;
        const HIGH: i32 = 10;
        const SHORT_FOR_HIGH: usize = 64 << 10;
        let plain = Self { level, min_match: 0, piece_bytes: PIECE };
        if level >= HIGH && thorough && length <= SHORT_FOR_HIGH {
            Self { level: 7, min_match: 5, piece_bytes: 0 }
        } else if level != DEFAULT_LEVEL {
            Self { min_match: if thorough { 5 } else { 0 }, piece_bytes: 0, ..plain }
        } else if thorough {
            Self { level: 6, min_match: 5, ..plain }
        } else if length <= SHORT {
            Self { level: 1, min_match: 6, ..plain }
        } else if length <= LONG {
            Self { min_match: 6, ..plain }
        } else {
            plain
        }
    }
}

/// Whether the level has two kinds of settings, of which one or the other may be better. Above, short matches
/// always pay.
pub(super) fn has_choice(level: i32) -> bool {
    (DEFAULT_LEVEL..=15).contains(&level)
}

/// Writes frames with a content size and a checksum.
pub struct Compressor {
    context: CCtx<'static>,
    level: i32,
    settings: Settings,
    frame: Vec<u8>,
}

impl Compressor {
    /// A compressor of the given level (1 to 22, or below 0 for the fast ones).
    pub fn new(level: i32) -> Result<Self> {
        let mut context = CCtx::try_create().ok_or_else(no_memory)?;
        context.set_parameter(CParameter::ChecksumFlag(true)).map_err(failure)?;
        let settings = Settings::new(level, 0, false);
        let mut compressor = Self { context, level, settings, frame: Vec::new() };
        compressor.apply(settings)?;
        Ok(compressor)
    }

    fn apply(&mut self, settings: Settings) -> Result<()> {
        let Settings { level, min_match, piece_bytes } = settings;
        for parameter in [
            CParameter::CompressionLevel(level),
            CParameter::MinMatch(min_match),
            CParameter::MaxBlockSize(piece_bytes),
        ] {
            self.context.set_parameter(parameter).map_err(failure)?;
        }
        self.settings = settings;
        Ok(())
    }

    /// Appends one frame that holds `data` to `out`.
    pub fn compress(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self.make(data, false)?;
        out.extend_from_slice(&self.frame);
        Ok(())
    }

    /// Makes one frame that holds `data`, with the one settings of the level or the other, and gives its size.
    pub(crate) fn make(&mut self, data: &[u8], thorough: bool) -> Result<usize> {
        let settings = Settings::new(self.level, data.len(), thorough);
        if settings != self.settings {
            self.apply(settings)?;
        }
        self.frame.clear();
        self.frame.reserve(zstd_safe::compress_bound(data.len()));
        self.context.compress2(&mut self.frame, data).map_err(failure)
    }

    /// The frame that was made last.
    pub(super) fn made(&self) -> &[u8] {
        &self.frame
    }
}

/// Reads sequences of frames.
pub struct Decompressor {
    context: DCtx<'static>,
    verify: bool,
}

impl Decompressor {
    /// A decompressor; content checksums are compared with the content only when `verify` is set.
    pub fn new(verify: bool) -> Result<Self> {
        let mut context = DCtx::try_create().ok_or_else(no_memory)?;
        context.set_parameter(DParameter::ForceIgnoreChecksum(!verify)).map_err(failure)?;
        Ok(Self { context, verify })
    }

    /// Sets whether checksums are compared from the next frame on.
    pub fn set_verify(&mut self, verify: bool) -> Result<()> {
        if verify != self.verify {
            self.context.set_parameter(DParameter::ForceIgnoreChecksum(!verify)).map_err(failure)?;
            self.verify = verify;
        }
        Ok(())
    }

    /// Replaces `out` by the content of all frames of `data`, skippable ones left out. Anything that is
    /// not a whole frame is an error, and so is content of more than `limit` bytes: no more than that is
    /// ever allocated, whatever the frames claim.
    pub fn decompress(&mut self, data: &[u8], out: &mut Vec<u8>, limit: usize) -> Result<()> {
        out.clear();
        let bound = zstd_safe::decompress_bound(data)
            .map_err(|_| Error::corrupt(LAYER, 0, "not a sequence of whole zstd frames"))?;
        out.reserve(bound.min(limit as u64) as usize);
        match self.context.decompress(out, data) {
            Ok(_) if out.len() <= limit => Ok(()),
            Err(code) if zstd_safe::get_error_name(code) != TOO_SMALL => Err(failure(code)),
            _ => {
                Err(Error::corrupt(LAYER, 0, format!("the content is longer than the {limit} bytes allowed")))
            }
        }
    }

    /// Replaces `out` by the first bytes of the content, up to `count` of them: less than that only when
    /// there are no more.
    pub fn start(&mut self, data: &[u8], out: &mut Vec<u8>, count: usize) -> Result<()> {
        out.clear();
        out.reserve_exact(count);
        out.resize(count, 0);
        self.context.reset(ResetDirective::SessionOnly).map_err(failure)?;
        let mut input = InBuffer::around(data);
        let mut output = OutBuffer::around(&mut out[..]);
        while output.pos() < count && input.pos() < data.len() {
            let before = (input.pos(), output.pos());
            self.context.decompress_stream(&mut output, &mut input).map_err(failure)?;
            if before == (input.pos(), output.pos()) {
                break;
            }
        }
        let filled = output.pos();
        out.truncate(filled);
        self.context.reset(ResetDirective::SessionOnly).map_err(failure)?;
        Ok(())
    }
}

#[cold]
fn no_memory() -> Error {
    Error::argument("no memory is left for a zstd context")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(data: &[u8]) -> Result<Vec<u8>> {
        let mut out = vec![];
        Compressor::new(3)?.compress(data, &mut out)?;
        Ok(out)
    }

    #[test]
    fn frames_round_trip_in_sequence() -> Result<()> {
        let text = b"all work and no play ".repeat(500);
        let mut frames = frame(&text)?;
        frames.extend_from_slice(&[0x50, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 1, 2]);
        frames.extend(frame(&text)?);
        let mut out = b"old".to_vec();
        Decompressor::new(true)?.decompress(&frames, &mut out, 2 * text.len())?;
        assert_eq!(out, text.repeat(2));
        Decompressor::new(true)?.start(&frames, &mut out, 30)?;
        assert_eq!(out, text[..30]);
        Decompressor::new(true)?.start(&frames, &mut out, 3 * text.len())?;
        assert_eq!(out, text.repeat(2));
        Ok(())
    }

    #[test]
    fn limits_stray_bytes_and_checksums() -> Result<()> {
        let text = b"all work and no play ".repeat(500);
        let mut frames = frame(&text)?;
        let mut out = vec![];
        assert!(Decompressor::new(true)?.decompress(&frames, &mut out, text.len() - 1).is_err());
        assert!(out.capacity() <= text.len());
        frames.push(1);
        assert!(Decompressor::new(true)?.decompress(&frames, &mut out, 1 << 20).is_err());
        frames.pop();
        if let Some(last) = frames.last_mut() {
            *last ^= 1;
        }
        assert!(Decompressor::new(true)?.decompress(&frames, &mut out, 1 << 20).is_err());
        Decompressor::new(false)?.decompress(&frames, &mut out, 1 << 20)?;
        assert_eq!(out, text);
        Ok(())
    }
}
