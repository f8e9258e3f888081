//! Statistics of runs of chunks become those of blocks.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::ngrams::{self, NgramHashes};
use super::{StatPath, Zone};
use crate::index::ribbon::{Hashes, MAX_PLANES};

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

/// So many hashes are held at once: of more paths, or of more values, a packfile has no room for sets anyway.
const MOST_HASHES: usize = 1 << 25;

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
    pub ngrams: NgramHashes,
}

/// What is known of a path in a block that was packed. Which of the hashes become sets is chosen when all blocks
/// are known.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownPath {
    /// The path.
    pub path: StatPath,
    /// What the values are between.
    pub zone: Zone,
    /// Hashes of its texts, if they are known.
    pub texts: Option<Arc<Hashes>>,
    /// The same of its integers.
    pub integers: Option<Arc<Hashes>>,
}

impl KnownPath {
    fn count(&self) -> usize {
        [&self.texts, &self.integers].into_iter().flatten().map(|hashes| hashes.count()).sum()
    }

    fn forget(&mut self) {
        (self.texts, self.integers) = (None, None);
    }
}

/// What is known of a block that was packed.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockStatistics {
    /// Place of the first frame in the output.
    pub offset: u64,
    /// Number of rows.
    pub rows: u64,
    /// The paths of which something is known.
    pub paths: Vec<KnownPath>,
    /// The sets of the pieces of texts at the paths that they are wanted of, with all planes.
    pub ngrams: Vec<Option<Vec<u8>>>,
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
    held: HeldHashes,
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
        if let Some(block) = joined(runs) {
            self.blocks.push(block);
            self.held.take(&mut self.blocks, MOST_HASHES);
        }
    }

    /// Paths of which the hashes were let go since there were too many.
    pub fn crowded(&self) -> impl Iterator<Item = &StatPath> {
        self.held.crowded.iter()
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

/// How many hashes blocks have at each path.
#[derive(Debug, Default)]
struct HeldHashes {
    counts: HashMap<StatPath, usize>,
    crowded: HashSet<StatPath>,
}

impl HeldHashes {
    /// Takes the last block. While there are too many hashes, those of the path with most of them go.
    fn take(&mut self, blocks: &mut [BlockStatistics], most: usize) {
        let Some(last) = blocks.last_mut() else { return };
        for path in &mut last.paths {
            if self.crowded.contains(&path.path) {
                path.forget();
            }
            *self.counts.entry(path.path.clone()).or_default() += path.count();
        }
        while self.counts.values().sum::<usize>() > most {
            let Some((path, _)) = self.counts.iter().max_by_key(|&(path, count)| (count, path)) else {
                return;
            };
            let path = path.clone();
            let of_blocks = blocks.iter_mut().flat_map(|block| &mut block.paths);
            of_blocks.filter(|one| one.path == path).for_each(KnownPath::forget);
            self.counts.remove(&path);
            self.crowded.insert(path);
        }
    }
}

/// What is known of all of some runs: only paths that each of them knows.
fn joined(runs: Vec<RunStatistics>) -> Option<BlockStatistics> {
    let mut runs = runs.into_iter();
    let first = runs.next()?;
    let (offset, mut rows) = (first.offset, first.rows);
    let mut known = first.paths.unwrap_or_default();
    let mut pieces = first.ngrams;
    for run in runs {
        rows += run.rows;
        ngrams::join(&mut pieces, run.ngrams);
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
    let paths = known.into_iter().map(|one| {
        let (texts, integers) = (once(one.texts), once(one.integers));
        KnownPath { path: one.path, zone: one.zone, texts, integers }
    });
    let ngrams = pieces.into_iter().map(|hashes| hashes.map(|hashes| Hashes::of(hashes).set(MAX_PLANES)));
    Some(BlockStatistics { offset, rows, paths: paths.collect(), ngrams: ngrams.collect() })
}

fn chained(one: Option<Vec<u32>>, other: Option<Vec<u32>>) -> Option<Vec<u32>> {
    let (mut one, other) = one.zip(other)?;
    one.extend(other);
    Some(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(values: &[(&str, u32)]) -> BlockStatistics {
        let known = |&(name, count): &(&str, u32)| KnownPath {
            path: vec![Some(name.as_bytes().into())],
            zone: Zone::default(),
            texts: Some(Arc::new(Hashes::of((0..count).collect()))),
            integers: None,
        };
        BlockStatistics { offset: 0, rows: 9, paths: values.iter().map(known).collect(), ngrams: vec![] }
    }

    #[test]
    fn the_path_with_most_hashes_goes_when_there_are_too_many() {
        let (mut held, mut blocks) = (HeldHashes::default(), vec![]);
        for next in [block(&[("a", 5), ("b", 4)]), block(&[("b", 4), ("a", 2)]), block(&[("a", 1), ("b", 9)])]
        {
            blocks.push(next);
            held.take(&mut blocks, 14);
        }
        let left: Vec<usize> =
            blocks.iter().flat_map(|block| block.paths.iter().map(KnownPath::count)).collect();
        assert_eq!(left, [5, 0, 0, 2, 1, 0]);
        assert!(held.crowded.iter().eq([&vec![Some(b"b"[..].into())]]));
    }
}
