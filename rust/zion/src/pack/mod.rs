//! Packing: input text goes in, compressed frames come out, in order, whatever the number of threads.
//!
//! The text of an input is cut into parts of some megabytes at record boundaries. Each part is a stream of
//! its own: with its own symbol table, starting a block. So the frames depend on the text and the settings
//! only. A part is parsed by one thread; its chunks are compressed by that thread or by one that is idle.

mod feed;
mod format;
mod handout;
mod output;
mod pool;
mod rejected;
mod resume;
mod stored;
mod worker;

pub use feed::{Packer, Stop};
pub use format::Format;
pub use output::{Run, Taken};
pub use rejected::{Rejected, Rejects};
pub use resume::Resumed;
pub use stored::Whole;

use std::sync::Arc;

use crate::chunker::Stream;
use crate::codec::Algorithm;
use crate::error::{Error, Result};
use crate::paths::Path;
use crate::statistics::Choice;
use crate::statistics::words::WordPaths;

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
    /// Its line is passed over and reported.
    Skip,
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

/// Fields with the same value in every row.
#[derive(Debug, Default)]
pub struct Constants {
    /// Names and canonical Ion values without symbols, in the order in which rows get them.
    pub fields: Vec<(Box<[u8]>, Vec<u8>)>,
}

/// How to pack.
#[derive(Debug, Clone)]
pub struct Options {
    /// Compression of the chunks.
    pub algorithm: Algorithm,
    /// Level of zstd.
    pub level: i32,
    /// Decompressed size of a chunk in bytes: a power of two.
    pub align: usize,
    /// Decompressed size after which a block ends, in bytes.
    pub block_bytes: usize,
    /// Size of the text of a part in bytes.
    pub part_bytes: usize,
    /// How much text of a file a thread reads at once, in bytes.
    pub read_bytes: usize,
    /// Number of threads that parse and compress.
    pub threads: usize,
    /// What to do with malformed records.
    pub on_error: OnError,
    /// Paths whose timestamps are noted wherever they lie.
    pub time_paths: Arc<[Path]>,
    /// Which paths have statistics.
    pub statistics: Choice,
    /// Paths of whose texts the pieces are known, or the prefixes, see [`crate::statistics::words`].
    pub words: WordPaths,
}

/// An error and the input that it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputError {
    /// The name given to the input.
    pub input: String,
    /// What is wrong, with its place in the input.
    pub error: Error,
}
