//! What is looked for in a block, and what is found.

use crate::chunk::fields::Fields;
use crate::chunk::paths::{Path, Range};

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Number of the chunk in its block.
    pub chunk: usize,
    /// Number of the row in its block; none when the whole chunk is concerned.
    pub row: Option<u64>,
    /// What is wrong.
    pub text: String,
}

/// What the rows must have in a top-level field, if they have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Constant {
    /// A string, or a symbol with this text.
    Text(Box<[u8]>),
    /// A value with these bytes.
    Bytes(Box<[u8]>),
}

/// What to look for.
#[derive(Debug, Clone, Default)]
pub struct Checks {
    /// Time ranges are told for these paths.
    pub paths: Vec<Path>,
    /// Fields whose value is the same in all rows.
    pub constants: Vec<(Box<[u8]>, Constant)>,
    /// No more findings than this are kept.
    pub max_findings: usize,
}

/// What a block holds and what is wrong with it.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// What is wrong, in order.
    pub findings: Vec<Finding>,
    /// Number of findings that were not kept.
    pub dropped: u64,
    /// Number of chunks that could be decoded.
    pub chunks: usize,
    /// Number of rows in them.
    pub rows: u64,
    /// For each chunk the time ranges at the paths that were asked for.
    pub ranges: Vec<Vec<(Path, Range)>>,
    /// All fields that occur; symbols are taken for strings.
    pub fields: Fields,
}

impl Report {
    /// The time range of a path over all chunks.
    pub fn range(&self, path: &[Box<[u8]>]) -> Option<Range> {
        let found = self.ranges.iter().flatten().filter(|(known, _)| **known == *path);
        found.map(|(_, range)| *range).reduce(|a, b| Range {
            min: a.min.min(b.min),
            max: a.max.max(b.max),
            count: a.count + b.count,
        })
    }
}
