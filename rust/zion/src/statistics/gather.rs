//! Statistics of runs of chunks become those of blocks.

use std::sync::Arc;

use super::words::{self, WordHashes};
use super::{StatPath, Zone};
use crate::membership::{Hashes, MAX_PLANES};

/// What is known of the values at a path in a run of chunks.
#[derive(Debug, Clone, PartialEq)]
pub struct PathStatistics {
    /// The path.
    pub path: StatPath,
    /// What the values are between.
    pub zone: Zone,
    /// Hashes of its texts, unless they are not wanted.
    pub texts: Option<Vec<u32>>,
    /// The same of its integers.
    pub integers: Option<Vec<u32>>,
}

/// What is known of a run of chunks.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStatistics {
    /// Place of the first frame in the output.
    pub offset: u64,
    /// Number of chunks.
    pub chunks: u64,
    /// Number of rows.
    pub rows: u64,
    /// What is known of the paths; none if nothing is.
    pub paths: Option<Vec<PathStatistics>>,
    /// The pieces of texts at the paths that they are wanted of.
    pub words: WordHashes,
}

/// Hashes of values, if they are known.
pub type KnownHashes = Option<Arc<Hashes>>;

/// What is known of a block that was packed.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockStatistics {
    /// Place of the first frame in the output.
    pub offset: u64,
    /// Number of rows.
    pub rows: u64,
    /// For each path of which something is known: zone, hashes of texts, hashes of integers. Which of them become
    /// sets is chosen when all blocks are known.
    pub paths: Vec<(StatPath, Zone, KnownHashes, KnownHashes)>,
    /// The sets of the pieces of texts at the paths that they are wanted of, with all planes.
    pub words: Vec<Option<Vec<u8>>>,
}

/// Joins runs to the blocks that they will be: until they have enough chunks, and what is left at the end with
/// the block before if it is too short.
#[derive(Debug, Default)]
pub struct Gatherer {
    block_chunks: u64,
    /// Blocks with fewer chunks are joined with those before.
    least_chunks: u64,
    /// Chunks of the first block that were there before.
    kept: u64,
    /// The runs of a block that is long enough, but may still grow.
    full: Vec<RunStatistics>,
    /// The runs since then.
    waiting: Vec<RunStatistics>,
    /// The blocks that are known.
    blocks: Vec<BlockStatistics>,
}

impl Gatherer {
    /// Joins runs to blocks of so many bytes, and chunks of that size.
    pub fn new(block_bytes: usize, align: usize) -> Self {
        let block_chunks = block_bytes.div_ceil(align).max(1) as u64;
        Self { block_chunks, least_chunks: (block_bytes / align / 2) as u64, ..Self::default() }
    }

    /// The first block has so many chunks already.
    pub fn keep(&mut self, chunks: u64) {
        self.kept = chunks;
    }

    /// Takes the next run.
    pub fn add(&mut self, run: RunStatistics) {
        self.waiting.push(run);
        if self.waiting_chunks() >= self.block_chunks {
            self.end_full();
            self.full = std::mem::take(&mut self.waiting);
        }
    }

    fn waiting_chunks(&self) -> u64 {
        let is_first = self.blocks.is_empty() && self.full.is_empty();
        let kept = if is_first { self.kept } else { 0 };
        kept + self.waiting.iter().map(|run| run.chunks).sum::<u64>()
    }

    fn end_full(&mut self) {
        let runs = std::mem::take(&mut self.full);
        self.blocks.extend(joined(runs));
    }

    /// The blocks; afterwards no run may follow.
    pub fn finish(&mut self) -> &[BlockStatistics] {
        if !self.waiting.is_empty() && self.waiting_chunks() >= self.least_chunks {
            self.end_full();
        }
        let rest = std::mem::take(&mut self.waiting);
        self.full.extend(rest);
        self.end_full();
        &self.blocks
    }
}

/// What is known of all of some runs: only paths that each of them knows.
fn joined(runs: Vec<RunStatistics>) -> Option<BlockStatistics> {
    let mut runs = runs.into_iter();
    let first = runs.next()?;
    let (offset, mut rows) = (first.offset, first.rows);
    let mut known = first.paths.unwrap_or_default();
    let mut pieces = first.words;
    for run in runs {
        rows += run.rows;
        words::join(&mut pieces, run.words);
        let mut more = run.paths.unwrap_or_default().into_iter();
        // Mostly the paths are the same in the same order.
        let mut others: Vec<PathStatistics> = Vec::new();
        known.retain_mut(|mine| {
            let passed = others.iter().position(|other| other.path == mine.path);
            let found = passed.map(|at| others.swap_remove(at)).or_else(|| {
                more.by_ref().find_map(|other| {
                    if other.path == mine.path {
                        return Some(other);
                    }
                    others.push(other);
                    None
                })
            });
            let Some(other) = found else { return false };
            mine.zone.join(&other.zone);
            mine.texts = chained(mine.texts.take(), other.texts);
            mine.integers = chained(mine.integers.take(), other.integers);
            true
        });
    }
    let once = |hashes: Option<Vec<u32>>| hashes.map(|hashes| Arc::new(Hashes::of(hashes)));
    let paths = known.into_iter().map(|one| (one.path, one.zone, once(one.texts), once(one.integers)));
    let words = pieces.into_iter().map(|hashes| hashes.map(|hashes| Hashes::of(hashes).set(MAX_PLANES)));
    Some(BlockStatistics { offset, rows, paths: paths.collect(), words: words.collect() })
}

fn chained(one: Option<Vec<u32>>, other: Option<Vec<u32>>) -> Option<Vec<u32>> {
    let (mut one, other) = one.zip(other)?;
    one.extend(other);
    Some(one)
}
