//! Where rows come from: the name of their file, and their numbers in it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::block::rows::Rows;
use crate::block::runs::Job;
use crate::block::{BlockReader, Codecs, Position};
use crate::codec::Algorithm;
use crate::error::{Error, Result};

/// The rows of so many blocks are remembered: those that threads may be at.
const MOST_KNOWN: usize = 64;

/// For each chunk of a block the number of rows in front of it, as far as it is known.
type Starts = Arc<Mutex<Option<Arc<[u64]>>>>;

/// What is known of blocks, in the order in which they are read.
#[derive(Debug, Default)]
pub struct Origins {
    /// The name of the file of each block, and the number of its first row.
    blocks: Vec<(Arc<str>, u64)>,
    counted: Mutex<BTreeMap<usize, Starts>>,
}

/// Where a chunk comes from.
pub(super) struct Origin {
    pub(super) name: Arc<str>,
    /// What its rows have in the file beyond their numbers in the scan.
    beyond: i64,
}

impl Origin {
    /// The number in its file of a row of the chunk.
    pub(super) fn in_file(&self, number: i64) -> i64 {
        number.wrapping_add(self.beyond)
    }
}

impl Origins {
    /// Takes the name of the file of each block, and the number of its first row.
    pub fn new(blocks: Vec<(Arc<str>, u64)>) -> Self {
        Self { blocks, counted: Mutex::default() }
    }

    /// The same of these blocks only, which are read in this order.
    #[must_use]
    pub fn of(&self, numbers: &[usize]) -> Self {
        Self::new(numbers.iter().filter_map(|&number| self.blocks.get(number).cloned()).collect())
    }

    /// Where the rows of a chunk of the block of a job come from, of which the first one has a number in the scan.
    /// The rows in front of it are counted once for each block, and only if it is not the first one.
    pub(super) fn chunk(&self, job: &Job, chunk: usize, number: i64) -> Result<Origin> {
        let (name, first) = self.blocks.get(job.number).ok_or_else(|| Error::argument("no such block"))?;
        let before = if chunk == 0 { 0 } else { self.before(job, chunk)? };
        let first = first.saturating_add(before) as i64;
        Ok(Origin { name: Arc::clone(name), beyond: first.wrapping_sub(number) })
    }

    fn before(&self, job: &Job, chunk: usize) -> Result<u64> {
        let starts = {
            let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
            let starts = Arc::clone(counted.entry(job.number).or_default());
            while counted.len() > MOST_KNOWN {
                counted.pop_first();
            }
            starts
        };
        // Others that need the same block wait.
        let mut starts = starts.lock().unwrap_or_else(PoisonError::into_inner);
        let known = match &*starts {
            Some(known) => Arc::clone(known),
            None => Arc::clone(starts.insert(count(job)?.into())),
        };
        let start = known.get(chunk).copied();
        start.ok_or_else(|| Error::corrupt("frame", job.position.offset, "a chunk before is damaged"))
    }
}

/// The number of rows in front of each chunk of a block, up to the first one that is damaged.
fn count(job: &Job) -> Result<Vec<u64>> {
    let codecs = Codecs::new()?.verifying(job.form.verify)?;
    let position = Position::default();
    let mut reader = BlockReader::of(&*job.block, job.form.algorithm, job.form.align, position, codecs);
    let mut starts = vec![0];
    let mut all = 0;
    while let Ok(Some(rows)) = rows(&mut reader, job.form.algorithm) {
        all += rows;
        starts.push(all);
    }
    Ok(starts)
}

fn rows(reader: &mut BlockReader<'_>, algorithm: Algorithm) -> Result<Option<u64>> {
    if algorithm != Algorithm::Zstd {
        return reader.count_chunk();
    }
    let Some(chunk) = reader.next_chunk()? else { return Ok(None) };
    let mut rows = 0;
    for row in Rows::new(chunk.data, chunk.rows_at) {
        row.map_err(|error| chunk.error(&error))?;
        rows += 1;
    }
    Ok(Some(rows))
}
