//! Packing: input text goes in, compressed frames come out, in order, whatever the number of threads.
//!
//! The text of an input is cut into parts of some megabytes at record boundaries; small inputs share a part. Each
//! part is a stream of its own: with its own symbol table, starting a block. So the frames depend on the text and the settings
//! only. A part is parsed by one thread; its chunks are compressed by that thread or by one that is idle.

pub mod content;
mod encoding;
mod feed;
mod format;
mod handout;
pub mod inflate;
mod open;
mod output;
mod packer;
mod pool;
mod records;
mod resume;
mod stored;
mod unfold;
mod worker;

pub use format::{Columns, Format};
pub use packer::{Packer, Run, Stop, Taken};
pub use resume::Resumed;

pub use crate::ingest::{
    Constants, Fields, OnError, PartContext, PartParser, Rejected, Rejects, Splitter, Whole,
};

use std::sync::Arc;

use crate::chunk::paths::Path;
use crate::codec::Algorithm;
use crate::error::Error;
use crate::index::statistics::Choice;
use crate::index::statistics::ngrams::NgramPaths;

/// How to pack.
#[derive(Debug, Clone)]
pub struct Options {
    /// Compression of the chunks.
    pub algorithm: Algorithm,
    /// Level of zstd.
    pub level: i32,
    /// Decompressed size of a chunk in bytes: a power of two.
    pub align: usize,
    /// Size that a chunk may have in bytes, for rows that are larger than `align`.
    pub max_row: usize,
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
    /// Paths of whose texts the pieces are known, or the prefixes, see [`crate::index::statistics::ngrams`].
    pub ngrams: NgramPaths,
}

/// An error and the input that it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputError {
    /// The name given to the input.
    pub input: String,
    /// What is wrong, with its place in the input.
    pub error: Error,
}
