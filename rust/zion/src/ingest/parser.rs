//! What packing asks of a format: to cut a text into parts, and to make rows of a part.

use std::ops::Range;

use super::Rejects;
use crate::chunk::Stream;
use crate::error::Result;

/// Finds where a part may end. Sequential; keeps its progress, so that a text is followed only once.
pub trait Splitter: Send + Sync {
    /// `text` starts where the part does. The first record boundary at or after `min`, if the text goes that
    /// far; else call again with the same text grown.
    fn cut(&mut self, text: &[u8], min: usize) -> Result<Option<usize>>;

    /// The part was taken and the next one starts where it ended; gives what its parser must know of the
    /// place. The first part has 0.
    fn next_part(&mut self) -> u64;
}

/// What a parser must know of a part besides its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartContext {
    /// What [`Splitter::next_part`] said of the place where the part starts.
    pub start: u64,
    /// Whether the input ends with the part.
    pub last: bool,
}

/// What to do with a record that is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// The whole input fails.
    Fail,
    /// It is passed over and reported.
    Skip,
    /// It is reported, and its text is a row.
    Keep,
}

/// Turns the text of parts into rows. Every worker has its own.
pub trait PartParser: Send {
    /// Adds all records of `text` to `stream`. Offsets in errors are those in `text`, lines are counted from 1.
    fn parse(
        &mut self,
        text: &[u8],
        context: PartContext,
        stream: &mut Stream,
        rejected: &mut Rejects,
    ) -> Result<()>;

    /// Adds the records at the front of `text` that are whole, as far as can be told without what follows:
    /// none of them unless the format is one for files that the threads read by themselves.
    fn whole(&mut self, _text: &[u8], _stream: &mut Stream) -> Result<Whole> {
        Ok(Whole::default())
    }
}

/// The records at the front of a text that are whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Whole {
    /// Up to where the text was taken: the end of the last record, or of the white space at the end.
    pub end: usize,
    /// The last record.
    pub last: Option<Range<usize>>,
}
