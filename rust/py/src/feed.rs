//! Blocks on their way from Python through the threads.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use zion::runs::{Failure, Form, Next, Runs};

use crate::errors::to_py;
use crate::place::{self, Meter};

/// How long a wait lasts before signals are looked at.
const PATIENCE: Duration = Duration::from_millis(50);

/// Where blocks of one packfile come from.
pub struct Source {
    /// Gives a block: `read(number)`, see [`place::block`].
    pub read: Py<PyAny>,
    /// Makes an exception say where it comes from: `blame(exception, number)`.
    pub blame: Option<Py<PyAny>>,
    /// The number of chunks of each block.
    pub chunks: Vec<usize>,
    /// How the chunks are stored.
    pub form: Form,
}

impl Source {
    fn exception(&self, py: Python<'_>, (number, error): Failure) -> PyErr {
        let exception = to_py(error);
        let Some(blame) = &self.blame else { return exception };
        match blame.call1(py, (exception, number)) {
            Ok(blamed) => PyErr::from_value(blamed.into_bound(py)),
            Err(failure) => failure,
        }
    }
}

/// Blocks on their way through the threads.
pub struct Feed<R> {
    sources: Arc<Vec<Source>>,
    meter: Arc<Meter>,
    runs: Runs<R>,
    /// The source and block to be read next.
    next: (usize, usize),
    /// The sources and blocks that were read.
    read: Vec<(usize, usize)>,
}

impl<R: Send + 'static> Feed<R> {
    pub fn new(sources: Arc<Vec<Source>>, meter: Arc<Meter>, runs: Runs<R>) -> Self {
        Self { sources, meter, runs, next: (0, 0), read: Vec::new() }
    }

    /// The next result. Blocks are read when all of the one before is on its way.
    pub fn next(&mut self, py: Python<'_>) -> PyResult<Option<R>> {
        loop {
            let wants = self.runs.queued() == 0 && !self.runs.is_done();
            let more = if wants { self.more() } else { None };
            let patience = if more.is_some() { Duration::ZERO } else { PATIENCE };
            match py.detach(|| self.runs.next(patience)) {
                Next::Ready(result) => return Ok(Some(result)),
                Next::Failed(failure) => return Err(self.exception(py, failure)),
                Next::Idle if more.is_none() => return Ok(None),
                Next::Idle | Next::Pending => {}
            }
            py.check_signals()?;
            if let Some(chunks) = more {
                self.read(py, chunks)?;
            }
        }
    }

    /// The number of chunks of the next block, if there is one.
    fn more(&mut self) -> Option<usize> {
        while let Some(source) = self.sources.get(self.next.0) {
            if let Some(chunks) = source.chunks.get(self.next.1) {
                return Some(*chunks);
            }
            self.next = (self.next.0 + 1, 0);
        }
        None
    }

    fn read(&mut self, py: Python<'_>, chunks: usize) -> PyResult<()> {
        let (source, number) = self.next;
        let Some(source) = self.sources.get(source) else { return Ok(()) };
        let block = place::block(source.read.call1(py, (number,))?.bind(py), &self.meter)?;
        let pushed = py.detach(|| self.runs.push(block, source.form, Some(chunks)));
        pushed.map_err(|error| source.exception(py, (number, error)))?;
        self.read.push(self.next);
        self.next.1 += 1;
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
