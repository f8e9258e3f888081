//! What is decided row by row while rows are decoded: which fields, which rows, how many, which come first.
//!
//! Rows of no schema become typed columns, for each path that a query mentions a few lanes; or, in [`typed`],
//! tables of one schema. What sums up many rows is in [`crate::aggregate`].
//!
//! A lane shows one side of a value: the bit of its type, the number, the string, a key that is equal for
//! equal values, the JSON text. Where the value is of another type, or is not there, the lane is null.

mod accumulator;
mod again;
mod cache;
mod cached;
mod column;
mod first;
mod ion;
pub(crate) mod order;
mod origin;
mod picks;
pub(crate) mod plan;
pub(crate) mod predicate;
mod render;
mod request;
mod tally;
mod truths;
pub mod typed;
mod walk;
mod worker;

use arrow_array::RecordBatch;

pub use accumulator::Accumulator;
pub use cache::{CACHE, ColumnCache};
pub use first::{First, Front, Ranking};
pub use ion::IonRows;
pub use order::Sort;
pub use origin::Origins;
pub use picks::{Picks, ROW_BITS, arranged};
pub use plan::{Inside, Lane, Letter, Path, Plan, Step, Unnest};
pub use predicate::{Constant, Op, Pattern, Predicate};
pub use render::{Member, Page, Renderer};
pub use request::Request;
use walk::Walker;
use worker::Worker;

use crate::block::runs::{Cut, Job, Runs};
use crate::error::Result;

/// Bytes of chunks that one job covers.
const RUN_BYTES: usize = 4 << 20;
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
