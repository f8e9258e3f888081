//! Where a long JSON text may be cut: between records, also inside a top-level array.

use crate::error::Result;
use crate::ingest::Splitter;
use crate::simd::json::{Skim, skim};

/// Where the text of a part begins, as the parser has to know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// Between top-level values.
    #[default]
    Top,
    /// In a top-level array, after `[`.
    ArrayOpen,
    /// In a top-level array, after an element.
    AfterElement,
    /// In a top-level array, after a comma.
    AfterComma,
    /// Where malformed text is passed over: somewhere between records, perhaps in an array.
    Anywhere,
}

impl Start {
    /// The start that [`Splitter::next_part`] gave as a number.
    pub fn from_context(context: u64) -> Self {
        match context {
            1 => Self::ArrayOpen,
            2 => Self::AfterElement,
            3 => Self::AfterComma,
            4 => Self::Anywhere,
            _ => Self::Top,
        }
    }
}

/// Cuts between records.
#[derive(Debug, Default)]
pub struct JsonSplitter {
    skim: Skim,
    start: Start,
    next: Start,
}

impl Splitter for JsonSplitter {
    fn cut(&mut self, text: &[u8], min: usize) -> Result<Option<usize>> {
        let Some(end) = skim(text, &mut self.skim, min.max(1)) else { return Ok(None) };
        self.next = match (self.skim.in_array, text[..end].trim_ascii_end().last()) {
            (false, _) => Start::Top,
            (true, Some(b',')) => Start::AfterComma,
            (true, Some(b'[')) => Start::ArrayOpen,
            (true, Some(_)) => Start::AfterElement,
            (true, None) => self.start,
        };
        Ok(Some(end))
    }

    fn next_part(&mut self) -> u64 {
        self.skim.restart();
        self.start = self.next;
        self.start as u64
    }
}

/// Cuts at the ends of lines, for inputs whose bad lines are passed over.
#[derive(Debug, Default)]
pub struct LineSplitter {
    position: usize,
}

impl Splitter for LineSplitter {
    fn cut(&mut self, text: &[u8], min: usize) -> Result<Option<usize>> {
        let from = self.position.max(min.saturating_sub(1)).min(text.len());
        let found = memchr::memchr(b'\n', &text[from..]).map(|at| from + at + 1);
        self.position = text.len();
        Ok(found)
    }

    fn next_part(&mut self) -> u64 {
        self.position = 0;
        Start::Anywhere as u64
    }
}
