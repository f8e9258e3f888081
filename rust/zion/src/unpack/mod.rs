//! Whole blocks to text or Ion on several threads: blocks go in, pieces of output come out in order.

mod cells;
mod worker;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

pub use worker::{Format, Output, Request, Rest, Worker};

pub use crate::block::runs::{Block, Failure, Form, Job};
use crate::block::runs::{Cut, Next, Runs};
use crate::error::Result;

/// Bytes of chunks that one job covers.
const RUN_BYTES: usize = 1 << 20;

/// Unpacks blocks in order.
pub struct Unpack {
    request: Arc<Request>,
    runs: Runs<(usize, Output)>,
    ready: VecDeque<Vec<u8>>,
    /// The block whose text goes on, with what is left of it and who prints it.
    rest: Option<(usize, Box<Rest>, Worker)>,
    failure: Option<Failure>,
    /// Rows that may still come out of a search, which works ahead: few rows of many may match.
    left: Option<u64>,
    /// Rows that came out, as far as they are counted.
    rows: u64,
}

impl Unpack {
    /// Starts the threads (0: one for each processor). With `limit` only so many rows come out.
    pub fn new(request: Request, threads: usize, limit: Option<u64>) -> Result<Self> {
        let request = Arc::new(request);
        let cut = Cut { run_bytes: RUN_BYTES, verbatim: request.is_verbatim() && limit.is_none() };
        let own = Arc::clone(&request);
        let make = move || Worker::new(Arc::clone(&own));
        let work = |worker: &mut Worker, job: &Job| {
            let output = worker.work(job)?;
            let rows = output.rows;
            Ok(((job.number, output), rows))
        };
        let (left, limit) = if request.is_search() { (limit, None) } else { (None, limit) };
        let mut runs = Runs::new(cut, threads, limit, make, work)?;
        if left == Some(0) {
            runs.stop();
        }
        Ok(Self { request, runs, ready: VecDeque::new(), rest: None, failure: None, left, rows: 0 })
    }

    /// Queues a block. When the number of its chunks is known, it must be right.
    pub fn push(&mut self, block: Block, chunks: Option<usize>) -> Result<()> {
        self.runs.push(block, self.request.form(), chunks)
    }

    /// Number of blocks of which not all chunks were handed to a thread.
    pub fn queued(&self) -> usize {
        self.runs.queued()
    }

    /// Whether nothing more comes out, whatever is pushed: the limit is reached, or there was an error.
    pub fn is_done(&self) -> bool {
        self.runs.is_done() && self.rest.is_none()
    }

    /// Whether all output of what was pushed is ready.
    pub fn is_idle(&self) -> bool {
        (self.runs.is_idle() || self.runs.is_done()) && self.rest.is_none()
    }

    /// Hands out work and collects the next piece. If it is not finished, waits for it at most `patience`.
    /// One at a time: memory that comes back soon is still in the cache, and what is not collected does not
    /// pile up.
    pub fn pump(&mut self, patience: Duration) {
        if self.failure.is_none() && self.go_on() {
            return;
        }
        loop {
            match self.runs.next(patience) {
                Next::Ready((number, Output { data, rows, rest })) => {
                    self.rest = rest.map(|rest| (number, rest, Worker::new(Arc::clone(&self.request))));
                    let data = self.capped(data, rows);
                    if !data.is_empty() {
                        self.ready.push_back(data);
                        return;
                    }
                }
                Next::Failed(failure) => self.failure = Some(failure),
                Next::Pending | Next::Idle => return,
            }
        }
    }

    /// Makes the next piece of a text that is too long for one; false at its end.
    fn go_on(&mut self) -> bool {
        while let Some((number, rest, worker)) = &mut self.rest {
            match worker.go_on(rest) {
                Ok(Some(data)) if data.is_empty() => {}
                Ok(Some(data)) => {
                    let data = self.capped(data, 0);
                    self.ready.push_back(data);
                    return true;
                }
                Ok(None) => self.rest = None,
                Err(error) => {
                    self.failure = Some((*number, error));
                    self.rest = None;
                    return true;
                }
            }
        }
        false
    }

    /// Cuts what came out behind the last row that is wanted of a search, and notes how many rows it has.
    fn capped(&mut self, mut data: Vec<u8>, mut rows: u64) -> Vec<u8> {
        if let Some(left) = self.left {
            if !self.request.counts() {
                let wanted = usize::try_from(left).unwrap_or(usize::MAX);
                let ends = memchr::memchr_iter(b'\n', &data).take(wanted);
                let (count, end) = ends.fold((0, 0), |(count, _), end| (count + 1, end + 1));
                rows = count;
                data.truncate(end);
            }
            rows = rows.min(left);
            self.left = Some(left - rows);
            if left == rows {
                self.rest = None;
                self.runs.stop();
            }
        }
        self.rows += rows;
        data
    }

    /// How many rows came out. Where they are printed and too many for one piece, those behind are not counted.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The next piece of output, if one is ready.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        self.ready.pop_front()
    }

    /// How many rows may still come out, if their number is limited.
    pub fn remaining(&self) -> Option<u64> {
        self.left.or_else(|| self.runs.remaining())
    }

    /// The error that ended the output, once all pieces before it were taken.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref().filter(|_| self.ready.is_empty())
    }

    /// Takes a used piece back, to be filled again.
    pub fn recycle(&self, buffer: Vec<u8>) {
        self.request.recycle(buffer);
    }
}
