//! Blocks on their way from Python through the threads.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use zion::block::runs::{Failure, Form, Next, Runs};

use crate::errors::to_py;
use crate::source::{self, Meter};

/// How long a wait lasts before signals are looked at.
const PATIENCE: Duration = Duration::from_millis(50);

/// Where blocks of one packfile come from.
pub struct Source {
    /// Gives a block: `read(number)`, see [`source::block`].
    pub read: Py<PyAny>,
    /// Makes an exception say where it comes from: `blame(exception, number)`.
    pub blame: Option<Py<PyAny>>,
    /// The number of chunks of each block.
    pub chunks: Vec<usize>,
    /// How the chunks are stored.
    pub form: Form,
}

impl Source {
    /// What Python learns of a failure in one of its blocks.
    pub fn exception(&self, py: Python<'_>, (number, error): Failure) -> PyErr {
        let exception = to_py(error);
        let Some(blame) = &self.blame else { return exception };
        match blame.call1(py, (exception, number)) {
            Ok(blamed) => PyErr::from_value(blamed.into_bound(py)),
            Err(failure) => failure,
        }
    }
}

/// The source of each block, and its number there.
pub fn blocks(sources: &[Source]) -> Vec<(usize, usize)> {
    let of = |(number, source): (usize, &Source)| (0..source.chunks.len()).map(move |block| (number, block));
    sources.iter().enumerate().flat_map(of).collect()
}

/// Blocks on their way through the threads.
pub struct Feed<R> {
    sources: Arc<Vec<Source>>,
    meter: Arc<Meter>,
    runs: Runs<R>,
    /// The blocks to be read, each with its source.
    queue: VecDeque<(usize, usize)>,
    /// Those that were read.
    read: Vec<(usize, usize)>,
}

impl<R: Send + 'static> Feed<R> {
    pub fn new(sources: Arc<Vec<Source>>, meter: Arc<Meter>, runs: Runs<R>) -> Self {
        let queue = blocks(&sources).into();
        Self { sources, meter, runs, queue, read: Vec::new() }
    }

    /// Reads these blocks, and no others.
    pub fn over(
        sources: Arc<Vec<Source>>,
        meter: Arc<Meter>,
        runs: Runs<R>,
        blocks: impl IntoIterator<Item = (usize, usize)>,
    ) -> Self {
        Self { sources, meter, runs, queue: blocks.into_iter().collect(), read: Vec::new() }
    }

    /// Reads more blocks; after the end, too.
    pub fn extend(&mut self, blocks: impl IntoIterator<Item = (usize, usize)>) {
        self.queue.extend(blocks);
    }

    /// The blocks that were read, in the order in which they were.
    pub fn read_blocks(&self) -> &[(usize, usize)] {
        &self.read
    }

    /// The next result. Blocks are read when all of the one before is on its way.
    pub fn next(&mut self, py: Python<'_>) -> PyResult<Option<R>> {
        loop {
            let wants = self.runs.queued() == 0 && !self.runs.is_done();
            let more = if wants { self.queue.front().copied() } else { None };
            let patience = if more.is_some() { Duration::ZERO } else { PATIENCE };
            match py.detach(|| self.runs.next(patience)) {
                Next::Ready(result) => return Ok(Some(result)),
                Next::Failed(failure) => return Err(self.exception(py, failure)),
                Next::Idle if more.is_none() => return Ok(None),
                Next::Idle | Next::Pending => {}
            }
            py.check_signals()?;
            if let Some(next) = more {
                self.read(py, next)?;
            }
        }
    }

    fn read(&mut self, py: Python<'_>, next: (usize, usize)) -> PyResult<()> {
        self.queue.pop_front();
        let Some(source) = self.sources.get(next.0) else { return Ok(()) };
        let chunks = source.chunks.get(next.1).copied();
        let block = source::block(source.read.call1(py, (next.1,))?.bind(py), &self.meter)?;
        let pushed = py.detach(|| self.runs.push(block, source.form, chunks));
        pushed.map_err(|error| source.exception(py, (next.1, error)))?;
        self.read.push(next);
        Ok(())
    }

    fn exception(&self, py: Python<'_>, (number, error): Failure) -> PyErr {
        match self.read.get(number).and_then(|(source, block)| Some((self.sources.get(*source)?, *block))) {
            Some((source, block)) => source.exception(py, (block, error)),
            None => to_py(error),
        }
    }
}

/// Record batches in the making.
pub struct Batches {
    feed: Feed<Vec<RecordBatch>>,
    ready: std::vec::IntoIter<RecordBatch>,
}

impl Batches {
    pub fn new(feed: Feed<Vec<RecordBatch>>) -> Self {
        Self { feed, ready: Vec::new().into_iter() }
    }

    pub fn next(&mut self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.ready.next() {
                return Ok(Some(batch));
            }
            match self.feed.next(py)? {
                Some(batches) => self.ready = batches.into_iter(),
                None => return Ok(None),
            }
        }
    }
}
