//! Rows of no schema as typed columns: for each path that a query mentions a few lanes.
//!
//! A lane shows one side of a value: the bit of its type, the number, the string, a key that is equal for
//! equal values, the JSON text. Where the value is of another type, or is not there, the lane is null.

mod column;
pub mod key;
mod plan;
mod predicate;
mod render;
mod value;
mod walk;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::RecordBatch;

pub use plan::{Inside, Lane, Letter, MAX_STEPS, Path, Plan, Step, Unnest};
pub use predicate::{Constant, Op, Pattern, Predicate};
pub use render::{Member, Page, Renderer};
pub use value::{Number, bits};
use walk::{Ask, Walker};

use crate::block::{BlockReader, Codecs};
use crate::codec::Algorithm;
use crate::error::{Error, Result};
use crate::runs::{Cut, Form, Job, Runs};

/// Bytes of chunks that one job covers.
const RUN_BYTES: usize = 4 << 20;
/// Bits of the number of a row that tell its place in its block.
pub const ROW_BITS: u32 = 36;

/// Which rows, and how they are put into batches.
#[derive(Clone)]
pub struct Request {
    /// What is wanted of them.
    pub plan: Arc<Plan>,
    /// At most so many rows come out.
    pub limit: Option<u64>,
    /// Number of threads; 0: one for each processor.
    pub threads: usize,
    /// Rows of a batch.
    pub batch_rows: usize,
    /// Counts the rows that were looked at.
    pub looked: Arc<AtomicU64>,
}

impl Request {
    /// Record batches of the lanes.
    pub fn batches(&self) -> Result<Runs<Vec<RecordBatch>>> {
        self.run(false, |walker, _| walker.take())
    }

    /// Numbers of rows that come out.
    pub fn count(&self) -> Result<Runs<u64>> {
        self.run(self.plan.counts_all(), |walker, rows| walker.take().map(|_| rows))
    }

    fn run<R, T>(&self, shapes_only: bool, take: T) -> Result<Runs<R>>
    where
        R: Send + 'static,
        T: Fn(&mut Walker, u64) -> Result<R> + Send + Sync + 'static,
    {
        let cut = Cut { run_bytes: RUN_BYTES, verbatim: shapes_only };
        let request = self.clone();
        let make = move || Worker {
            walker: Walker::new(Arc::clone(&request.plan), request.batch_rows),
            request: request.clone(),
            codecs: None,
        };
        let work = move |worker: &mut Worker, job: &Job| {
            let rows = worker.work(job, shapes_only)?;
            Ok((take(&mut worker.walker, rows)?, rows))
        };
        Runs::new(cut, self.threads, self.limit, make, work)
    }
}

/// One thread's decompressors, and the columns that it makes.
struct Worker {
    request: Request,
    codecs: Option<Codecs>,
    walker: Walker,
}

impl Worker {
    /// Adds the rows of a run; gives how many came out.
    fn work(&mut self, job: &Job, shapes_only: bool) -> Result<u64> {
        let codecs = match self.codecs.take() {
            Some(codecs) => codecs,
            None => Codecs::new()?,
        };
        let plan = Arc::clone(&self.request.plan);
        let Form { algorithm, align } = job.form;
        let mut reader =
            BlockReader::resume((*job.block).as_ref(), algorithm, align, job.position.clone(), codecs)
                .project(plan.fields.as_deref());
        let rows = if shapes_only && algorithm != Algorithm::Zstd {
            self.count(&mut reader, job)
        } else {
            self.walk(&mut reader, job)
        };
        self.codecs = Some(reader.into_codecs());
        rows
    }

    fn walk(&mut self, reader: &mut BlockReader<'_>, job: &Job) -> Result<u64> {
        let mut rows = 0;
        for number in 0..job.chunks {
            if rows >= job.limit {
                break;
            }
            let Some(chunk) = reader.next_chunk()? else { break };
            self.walker.sync(chunk.table, number == 0 || chunk.resets);
            let ask = Ask { first: row_number(job, chunk.number)?, limit: job.limit - rows };
            let (looked, out) = self.walker.chunk(&chunk, ask).map_err(|error| chunk.error(&error))?;
            self.request.looked.fetch_add(looked, Ordering::Relaxed);
            rows += out;
        }
        Ok(rows)
    }

    fn count(&mut self, reader: &mut BlockReader<'_>, job: &Job) -> Result<u64> {
        let mut rows = 0;
        for _ in 0..job.chunks {
            let Some(count) = reader.count_chunk()? else { break };
            rows += count;
        }
        self.request.looked.fetch_add(rows, Ordering::Relaxed);
        Ok(rows.min(job.limit))
    }
}

/// The number of the first row of a chunk. Numbers grow from row to row, with gaps: above [`ROW_BITS`] that
/// of the block, below the size of a chunk times its number, plus that of the row in the chunk.
fn row_number(job: &Job, chunk: usize) -> Result<i64> {
    let place = chunk as u64 * job.form.align as u64;
    if place >> ROW_BITS != 0 || job.number >> (63 - ROW_BITS) != 0 {
        return Err(Error::unsupported("more rows than can be numbered"));
    }
    Ok((job.number as i64) << ROW_BITS | place as i64)
}
