//! What is in the fields of rows: how many values of which types, how many different ones, which are frequent, from
//! where to where they go, and what each field costs.
//!
//! Rows are added to a [`Profile`], one for each run of chunks; those of all runs are joined in the order of the rows,
//! so that the answer does not depend on the number of threads. Whatever is kept of a field has a bound, and the
//! number of fields has one: files come from anybody.

mod distinct;
mod heavy;
mod scalar;
mod shape;
mod stats;
mod tree;
mod walk;
mod worker;

pub use scalar::Scalar;
pub use shape::Shaped;
pub use stats::Stats;
pub use tree::{Field, Profile};
use worker::Worker;

use crate::error::Result;
use crate::runs::{Block, Cut, Form, Job, Runs};

/// Bytes of chunks that one job covers.
const RUN_BYTES: usize = 8 << 20;

/// What is kept of fields, and of how many.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Number of fields.
    pub fields: usize,
    /// How deep a field may lie; one at the top of a row is at depth 1.
    pub depth: u32,
    /// Bytes of the paths of all fields, written out.
    pub path_bytes: usize,
    /// Whether values are compared: which are frequent, and how many different ones there are.
    pub values: bool,
}

impl Limits {
    /// For people, who want to know about values.
    pub const STATISTICS: Self = Self { fields: 4096, depth: 64, path_bytes: 4 << 20, values: true };
    /// For the sizes of the fields at the top of rows alone.
    pub const SIZES: Self = Self { fields: 4096, depth: 1, path_bytes: 4 << 20, values: false };
    /// For `SNELLER_DATASHAPE`.
    pub const SHAPE: Self = Self { fields: 10_000, depth: 500, path_bytes: 64 << 20, values: false };
}

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
