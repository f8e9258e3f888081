//! What is in the fields of rows: how many values of which types, how many different ones, which are frequent, from
//! where to where they go, and what each field costs.
//!
//! Rows are added to a [`Profile`], one for each run of chunks; those of all runs are joined in the order of the rows,
//! so that the answer does not depend on the number of threads. Whatever is kept of a field has a bound, and the
//! number of fields has one: files come from anybody.

mod distinct;
mod heavy;
mod limits;
mod scalar;
mod shape;
mod stats;
mod tree;
mod walk;
mod worker;

pub use limits::Limits;
pub use scalar::Scalar;
pub use shape::Shaped;
pub use stats::Stats;
pub use tree::{Field, Profile};
use worker::Worker;

use crate::block::runs::{Block, Cut, Form, Job, Runs};
use crate::error::Result;

/// Bytes of chunks that one job covers.
const RUN_BYTES: usize = 8 << 20;

/// The profiles of runs of chunks, to be joined in their order.
pub fn profiles(limits: Limits, threads: usize) -> Result<Runs<Profile>> {
    let cut = Cut { run_bytes: RUN_BYTES, verbatim: false };
    let make = move || Worker::new(limits);
    let work = move |worker: &mut Worker, job: &Job| {
        let profile = worker.work(job)?;
        let rows = profile.rows();
        Ok((profile, rows))
    };
    Runs::new(cut, threads, None, make, work)
}

/// The profile of the first chunks of a block alone.
pub fn sample(limits: Limits, block: Block, form: Form, chunks: usize) -> Result<Profile> {
    Worker::new(limits).work(&Job::alone(block, form, chunks))
}
