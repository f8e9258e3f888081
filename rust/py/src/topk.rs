//! Top k: the first rows in some order, found by the columns they are sorted by; only these become whole rows.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_schema::SchemaRef;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use zion::scan::{First, Front, Picks, ROW_BITS, Request, arranged};
use zion::{Error, Result};

use crate::errors::to_py;
use crate::feed::{Feed, Source, blocks};
use crate::groups::ArrowTable;
use crate::source::Meter;

/// Rows that take more memory are not put in order.
const MOST_BYTES: usize = 1 << 30;

/// For each source and each of its blocks what none of its values is in front of, if that is known.
pub type Fronts = Vec<Vec<Front>>;
/// Source and number of a block.
type Place = (usize, usize);
/// Numbers of rows, and the blocks that were read.
pub type Found = (Vec<i64>, Vec<Place>);

/// What is read, and who may stop it.
pub struct Scene<'a> {
    pub sources: &'a Arc<Vec<Source>>,
    pub meter: &'a Arc<Meter>,
    pub stopped: &'a AtomicBool,
}

impl Scene<'_> {
    fn check(&self) -> PyResult<()> {
        if self.stopped.load(Ordering::Relaxed) {
            return Err(PyKeyboardInterrupt::new_err("the scan was stopped"));
        }
        Ok(())
    }

    /// Return the numbers of the first rows, in order, or `None` when the rows take too much memory.
    ///
    /// Blocks without a bound are read first. The others are read in the order of their bounds, until all rows
    /// found so far come before the bound of the next block: no block that is left can have an earlier row. Each
    /// round reads as many blocks as all rounds before it, so that threads have work, and at most twice the
    /// necessary number of blocks is read.
    pub fn first(
        &self,
        py: Python<'_>,
        request: &Request,
        start: First,
        bounds: Fronts,
    ) -> PyResult<Option<Found>> {
        let all = blocks(self.sources);
        let mut left = ordered(&all, bounds, &start).map_err(to_py)?;
        let unknown = left.partition_point(|(bound, _)| *bound == Front::Unknown);
        let unknown: Vec<Place> = left.drain(..unknown).map(|(_, place)| place).collect();
        let runs = py.detach(|| request.gather(start.clone())).map_err(to_py)?;
        let mut feed = Feed::over(Arc::clone(self.sources), Arc::clone(self.meter), runs, unknown);
        let mut rows = start;
        loop {
            while let Some(more) = feed.next(py)? {
                self.check()?;
                let read = feed.read_blocks();
                let renumber = |number: i64| renumbered(number, read, &all);
                py.detach(|| more.into_iter().for_each(|more| rows.join(more, renumber)));
                if rows.is_full() {
                    return Ok(None);
                }
            }
            let most = feed.read_blocks().len().max(1);
            let is_wanted = |(bound, _): &&(Front, Place)| !rows.is_settled(bound);
            let wanted = left.iter().take(most).take_while(is_wanted).count();
            if wanted == 0 {
                break;
            }
            feed.extend(left.drain(..wanted).map(|(_, place)| place));
        }
        Ok(Some((py.detach(|| rows.finish()), feed.read_blocks().to_vec())))
    }

    /// The rows of these numbers, in this order. None when they take too much memory, or more than one array of
    /// texts can have.
    pub fn pick(
        &self,
        py: Python<'_>,
        mut request: Request,
        rows: &[i64],
        most_bytes: usize,
    ) -> PyResult<Option<ArrowTable>> {
        let (numbers, picks) = Picks::new(rows).map_err(to_py)?;
        let all = blocks(self.sources);
        let found = numbers.iter().map(|&number| all.get(number).copied());
        let places = found.collect::<Option<Vec<_>>>().ok_or_else(|| Error::argument("no such block"));
        request.origins = request.origins.map(|origins| Arc::new(origins.of(&numbers)));
        request.picks = Some(Arc::new(picks));
        let runs = py.detach(|| request.batches()).map_err(to_py)?;
        let (sources, meter) = (Arc::clone(self.sources), Arc::clone(self.meter));
        let mut feed = Feed::over(sources, meter, runs, places.map_err(to_py)?);
        let (mut batches, mut bytes) = (Vec::new(), 0);
        while let Some(more) = feed.next(py)? {
            self.check()?;
            bytes += more.iter().map(arrow_array::RecordBatch::get_array_memory_size).sum::<usize>();
            if bytes > most_bytes.min(MOST_BYTES) {
                return Ok(None);
            }
            batches.extend(more);
        }
        let schema = SchemaRef::clone(&request.plan.schema);
        let whole = py.detach(|| arranged(&schema, &batches, rows)).map_err(to_py)?;
        Ok(Some(ArrowTable { schema, batches: vec![whole] }))
    }
}

/// Blocks with their bounds: those without one, then the others from the very first rows on.
fn ordered(all: &[Place], bounds: Fronts, start: &First) -> Result<VecDeque<(Front, Place)>> {
    let bounds: Vec<Front> = bounds.into_iter().flatten().collect();
    if bounds.len() != all.len() {
        return Err(Error::argument(format!("{} bounds for {} blocks", bounds.len(), all.len())));
    }
    let mut blocks: Vec<_> = bounds.into_iter().zip(all.iter().copied()).collect();
    blocks.sort_by(|(a, _), (b, _)| start.order(a, b));
    Ok(blocks.into())
}

/// Numbers of rows start with that of their block, first as it was read, then as it stands in the table.
fn renumbered(number: i64, read: &[Place], all: &[Place]) -> i64 {
    let place = read.get((number >> ROW_BITS) as usize);
    let block = place.and_then(|place| all.binary_search(place).ok()).unwrap_or_default();
    (block as i64) << ROW_BITS | number & ((1 << ROW_BITS) - 1)
}
