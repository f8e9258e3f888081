//! Inputs that lie in a file: each thread reads the text of its parts by itself, a little at a time, so that
//! it is parsed while it is in the cache.
//!
//! To find where a part ends, the text would have to be followed from its start. Instead, the end is guessed
//! from the bytes around the place where it should be: behind a closing bracket, with a line end and an opening
//! one behind it. Parsing proves the guess right, or the part fails and the input goes on as one that is fed.
//! So the parts are always those of the same text from a pipe.

use std::ops::Range;
use std::sync::Arc;

use crate::chunk::Stream;
use crate::error::{Error, Result};
use crate::ingest::{PartContext, PartParser, Rejects};
use crate::input::Bytes;
use crate::ion::timestamp::is_space;
use crate::pack::content::Pieces;

/// How much of the text around the end of a part is looked at, at a time.
const GLANCE: usize = 16 << 10;
/// How far behind the place where a part should end its end is guessed.
const REACH: usize = 1 << 20;
/// Text that is followed in such steps ends a part only in a step that is whole.
const STEP: usize = 64;

/// The place where the part ends that starts at `start` and should end at `wanted` or soon behind: the end of
/// the text if no other part follows, none if it cannot be guessed.
pub fn guess(bytes: &dyn Bytes, start: usize, wanted: usize) -> Result<Option<usize>> {
    let size = bytes.size();
    if wanted >= size {
        return Ok(Some(size));
    }
    if !(wanted - start).is_multiple_of(STEP) || wanted == start {
        return Ok(None);
    }
    let mut window = vec![];
    let mut at = wanted - STEP;
    while at < size && at < wanted + REACH {
        window.resize((STEP + GLANCE).min(size - at), 0);
        bytes.read(at, &mut window)?;
        if let Some(gap) = gap(&window, wanted - at.min(wanted)) {
            let bracket = at + gap.start;
            let followed = if bracket < wanted { wanted - start + STEP } else { bracket - start };
            let is_found = start + followed.next_multiple_of(STEP) <= size;
            return Ok(is_found.then(|| bracket.max(wanted)));
        }
        at += GLANCE;
    }
    Ok(None)
}

/// The first white space with a line end between two records that ends at `from` or behind it.
fn gap(text: &[u8], from: usize) -> Option<Range<usize>> {
    memchr::memchr_iter(b'\n', text).find_map(|line_end| {
        let start = text[..line_end].iter().rposition(|&byte| !is_space(byte))? + 1;
        let end = line_end + text[line_end..].iter().position(|&byte| !is_space(byte))?;
        (text[start - 1] == b'}' && text[end] == b'{' && end >= from).then_some(start..end)
    })
}

/// Number of lines that end before a place.
pub fn lines(bytes: &dyn Bytes, to: usize) -> Result<u64> {
    let (mut lines, mut buffer) = (0, vec![0; GLANCE.min(to)]);
    for at in (0..to).step_by(GLANCE) {
        let piece = &mut buffer[..GLANCE.min(to - at)];
        bytes.read(at, piece)?;
        lines += memchr::memchr_iter(b'\n', piece).count() as u64;
    }
    Ok(lines)
}

/// The text of a part in its file.
pub struct Stretch {
    pub bytes: Arc<dyn Bytes>,
    pub start: usize,
    pub end: usize,
    /// The place behind which the end was guessed; none if the input ends here.
    pub wanted: Option<usize>,
    /// How much is read at once.
    pub read_bytes: usize,
}

impl Stretch {
    /// Adds all records to `stream`, and gives the hashes of the pieces of the file that end here. Errors tell
    /// their place in the file.
    pub fn parse(
        &self,
        parser: &mut dyn PartParser,
        buffer: &mut Vec<u8>,
        stream: &mut Stream,
    ) -> Result<Vec<u8>> {
        let mut pieces = Pieces::from(&*self.bytes, self.start)?;
        self.records(parser, buffer, stream, &mut pieces)?;
        // The thread that comes to the end of the last piece takes what is left of it.
        Ok(pieces.ended())
    }

    fn records(
        &self,
        parser: &mut dyn PartParser,
        buffer: &mut Vec<u8>,
        stream: &mut Stream,
        pieces: &mut Pieces,
    ) -> Result<()> {
        let (mut at, mut filled, mut gulp) = (self.start, 0, self.read_bytes);
        let mut last = 0..0;
        // The part does not end before the place where it should, so that what comes before is sure.
        let mut sure = self.wanted;
        while at < self.end {
            let mut more = gulp.min(self.end - at - filled);
            if let Some(wanted) = sure {
                more = more.min(wanted - at - filled);
                if more == 0 {
                    stream.hold();
                    sure = None;
                    continue;
                }
            }
            if buffer.len() < filled + more {
                buffer.resize(filled + more, 0);
            }
            self.read(at + filled, &mut buffer[filled..filled + more])?;
            pieces.update(&buffer[filled..filled + more]);
            filled += more;
            let text = &buffer[..filled];
            let is_all = at + filled == self.end;
            // Most records end with their line.
            let line_end = memchr::memrchr(b'\n', text).filter(|_| !is_all);
            let found = parser.whole(&text[..line_end.map_or(filled, |end| end + 1)], stream);
            let whole = found.map_err(|error| self.placed(error, at))?;
            if let Some(record) = whole.last {
                last = at + record.start..at + record.end;
            }
            if is_all && whole.end < filled {
                let (at, text) = (at + whole.end, &text[whole.end..]);
                let context = PartContext { start: 0, last: true };
                return match self.wanted {
                    Some(_) => Err(wrong_guess(at)),
                    None => parser
                        .parse(text, context, stream, &mut Rejects::default())
                        .map_err(|error| self.placed(error, at)),
                };
            }
            gulp = if whole.end == 0 { 2 * gulp } else { self.read_bytes };
            buffer.copy_within(whole.end..filled, 0);
            at += whole.end;
            filled -= whole.end;
        }
        match self.wanted {
            // The first place behind the one wanted where no record is open.
            Some(wanted) if last.start >= wanted || last.end.max(wanted) != self.end => {
                Err(wrong_guess(self.end))
            }
            _ => Ok(()),
        }
    }

    fn read(&self, at: usize, out: &mut [u8]) -> Result<()> {
        self.bytes.read(at, out).map_err(|error| match error {
            Error::Read { code: None, .. } => Error::syntax(at, "the file became shorter while it was read"),
            other => other,
        })
    }

    /// An error in text that starts at `at`. Its line counts only in the part that nothing is fed after.
    fn placed(&self, error: Error, at: usize) -> Error {
        let line = match error.line() {
            Some(line) if line > 0 && self.wanted.is_none() => line + lines(&*self.bytes, at).unwrap_or(0),
            _ => 0,
        };
        error.shifted(at as u64).at_line(line)
    }
}

#[cold]
fn wrong_guess(at: usize) -> Error {
    Error::syntax(at, "a part of the text does not end where it was expected to")
}
