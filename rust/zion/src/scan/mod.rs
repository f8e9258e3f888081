//! What is decided row by row while rows are decoded: which fields, which rows, how many, which come first.
//!
//! Rows of no schema become typed columns, for each path that a query mentions a few lanes; or, in [`typed`],
//! tables of one schema. What sums up many rows is in [`crate::aggregate`].
//!
//! A lane shows one side of a value: the bit of its type, the number, the string, a key that is equal for
//! equal values, the JSON text. Where the value is of another type, or is not there, the lane is null.

mod accumulator;
mod column;
mod first;
mod ion;
pub(crate) mod order;
mod origin;
mod picks;
pub(crate) mod plan;
pub(crate) mod predicate;
mod render;
mod tally;
pub mod typed;
mod walk;
mod watch;
mod worker;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arrow_array::RecordBatch;

pub use accumulator::Accumulator;
pub use first::{First, Front, Ranking};
pub use ion::IonRows;
pub use order::Sort;
pub use origin::Origins;
pub use picks::{Picks, arranged};
pub use plan::{Inside, Lane, Letter, MAX_STEPS, Path, Plan, Step, Unnest};
pub use predicate::{Constant, Op, Pattern, Predicate};
pub use render::{Member, Page, Renderer};
use walk::Walker;
pub use watch::Watch;
use worker::Worker;

use crate::error::Result;
use crate::runs::{Cut, Job, Runs};

/// Bytes of chunks that one job covers.
const RUN_BYTES: usize = 4 << 20;
/// Bits of the number of a row that tell its place in its block.
pub const ROW_BITS: u32 = 36;

/// Which rows, and how they are put into batches.
#[derive(Clone)]
pub struct Request {
    /// What is wanted of them.
    pub plan: Arc<Plan>,
    /// Only these rows, of which the predicate is not asked; all, if there are none.
    pub picks: Option<Arc<Picks>>,
    /// At most so many rows come out.
    pub limit: Option<u64>,
    /// Number of threads; 0: one for each processor.
    pub threads: usize,
    /// Rows of a batch.
    pub batch_rows: usize,
    /// Counts the rows that were looked at.
    pub looked: Arc<AtomicU64>,
    /// Counts those that came out without some of their values.
    pub watch: Watch,
    /// Where the rows of each block come from, for lanes that tell it.
    pub origins: Option<Arc<Origins>>,
}

impl Request {
    /// Record batches of the lanes.
    pub fn batches(&self) -> Result<Runs<Vec<RecordBatch>>> {
        self.run(None::<First>, false, |walker, _| walker.take())
    }

    /// Numbers of rows that come out.
    pub fn count(&self) -> Result<Runs<u64>> {
        self.run(None::<First>, self.plan.counts_all(), |walker, rows| walker.take().map(|_| rows))
    }

    /// What the rows of each run come to, starting from an accumulator without any; they are to be joined.
    pub fn gather<A: Accumulator>(&self, start: A) -> Result<Runs<Option<A>>> {
        self.run(Some(start), false, |walker, _| Ok(walker.taken()))
    }

    fn run<A, R, T>(&self, accumulator: Option<A>, shapes_only: bool, take: T) -> Result<Runs<R>>
    where
        A: Accumulator,
        R: Send + 'static,
        T: Fn(&mut Walker<A>, u64) -> Result<R> + Send + Sync + 'static,
    {
        let cut = Cut { run_bytes: RUN_BYTES, verbatim: shapes_only };
        let request = self.clone();
        let make = move || Worker::new(request.clone(), accumulator.clone());
        let work = move |worker: &mut Worker<A>, job: &Job| {
            let rows = worker.work(job, shapes_only)?;
            Ok((take(&mut worker.walker, rows)?, rows))
        };
        Runs::new(cut, self.threads, self.limit, make, work)
    }
}
