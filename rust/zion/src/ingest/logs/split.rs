//! Where records begin and end, in parts and between them.

use std::sync::Arc;

use memchr::memchr;

use super::journal;
use super::ready::Ready;
use crate::error::Result;
use crate::ingest::Splitter;

/// What the parser of a part that is not the first one learns: there is something before it.
const LATER: u64 = 1;
/// A record has no more lines once it is so long: a row has at most 1 MiB.
const MOST_BYTES: usize = 768 << 10;

/// How a text is cut into records.
#[derive(Debug, Clone)]
pub(super) enum Records {
    /// Each line is one.
    Lines,
    /// Lines that begin none belong to the one before them.
    Begun(Arc<Ready>),
    /// An empty line ends each.
    Journal,
}

/// A record in the text of a part.
pub(super) struct Place<'t> {
    /// Its first line, or all of it where it does not consist of lines.
    pub line: &'t [u8],
    /// Its other lines.
    pub rest: &'t [u8],
    /// Where its text ends, and where the next record begins.
    pub end: usize,
    pub next: usize,
    /// Whether its first line begins no record.
    pub is_stray: bool,
}

/// A line without its end, and where the next one begins.
fn line_at(text: &[u8], at: usize) -> (&[u8], usize) {
    let end = memchr(b'\n', &text[at..]).map_or(text.len(), |length| at + length);
    let line = &text[at..end];
    (line.strip_suffix(b"\r").unwrap_or(line), (end + 1).min(text.len()))
}

impl Records {
    /// The record at `at`, which is before the end of the text.
    #[inline]
    pub(super) fn at<'t>(&self, text: &'t [u8], at: usize) -> Place<'t> {
        let (line, next) = line_at(text, at);
        match self {
            Self::Lines => Place { line, rest: b"", end: at + line.len(), next, is_stray: false },
            Self::Journal => {
                let end = journal::end(text, at).unwrap_or(text.len());
                Place { line: &text[at..end], rest: b"", end, next: end, is_stray: false }
            }
            Self::Begun(ready) => {
                let mut behind = next;
                while behind < text.len() {
                    let (line, next) = line_at(text, behind);
                    if next - at > MOST_BYTES || ready.begins(line) {
                        break;
                    }
                    behind = next;
                }
                let rest = text[next..behind].trim_ascii_end();
                let end = if rest.is_empty() { at + line.len() } else { next + rest.len() };
                let is_stray = !line.trim_ascii().is_empty() && !ready.begins(line);
                Place { line, rest, end, next: behind, is_stray }
            }
        }
    }
}

/// Cuts between records.
#[derive(Debug)]
pub struct LogSplitter {
    records: Records,
    position: usize,
}

impl LogSplitter {
    pub(super) fn new(records: Records) -> Self {
        Self { records, position: 0 }
    }
}

impl Splitter for LogSplitter {
    fn cut(&mut self, text: &[u8], min: usize) -> Result<Option<usize>> {
        if let Records::Journal = self.records {
            while let Some(end) = journal::end(text, self.position) {
                self.position = end;
                if end >= min.max(1) {
                    return Ok(Some(end));
                }
            }
            return Ok(None);
        }
        let mut from = self.position.max(min.saturating_sub(1)).min(text.len());
        while let Some(length) = memchr(b'\n', &text[from..]) {
            let at = from + length + 1;
            let Records::Begun(ready) = &self.records else { return Ok(Some(at)) };
            let Some(end) = memchr(b'\n', &text[at..]) else {
                // The line behind is not whole: it is looked at again.
                self.position = at - 1;
                return Ok(None);
            };
            let line = &text[at..at + end];
            if at - min.min(at) > MOST_BYTES || ready.begins(line.strip_suffix(b"\r").unwrap_or(line)) {
                return Ok(Some(at));
            }
            from = at;
        }
        self.position = text.len();
        Ok(None)
    }

    fn next_part(&mut self) -> u64 {
        self.position = 0;
        LATER
    }
}
