//! What a scan is asked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use super::origin::Origins;
use super::picks::Picks;
use super::plan::Plan;

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
    /// Counts the bytes of the columns that it leaves to later scans.
    pub filled: Arc<AtomicUsize>,
    /// Where the rows of each block come from, for lanes that tell it.
    pub origins: Option<Arc<Origins>>,
}
