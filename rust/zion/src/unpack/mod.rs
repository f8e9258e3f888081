//! Whole blocks to text or Ion on several threads: blocks go in, pieces of output come out in order.

mod worker;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

pub use worker::{Format, Job, Output, Request, Worker};

use crate::block::{BlockReader, Codecs, FRAME_HEADER, Position, frame};
use crate::error::{Error, Result};
use crate::ion::SymbolTable;
use crate::pipeline::{OrderedPool, Taken};

/// Bytes of chunks that one job covers.
const RUN_BYTES: usize = 1 << 20;

/// The bytes of a block, shared with the threads that decode it.
pub type Block = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// An error, and the number of the block that it comes from: blocks are counted as they are pushed.
pub type Failure = (usize, Error);

/// Unpacks blocks in order.
pub struct Unpack {
    request: Arc<Request>,
    pool: OrderedPool<Job, Result<Output, Failure>>,
    in_flight: usize,
    queue: VecDeque<(usize, Block)>,
    pushed: usize,
    current: Option<Current>,
    codecs: Option<Codecs>,
    ready: VecDeque<Vec<u8>>,
    failure: Option<Failure>,
    limit: Option<u64>,
}

/// The block whose chunks are being handed out.
struct Current {
    number: usize,
    block: Block,
    position: Position,
    chunks: usize,
}

impl Unpack {
    /// Starts the threads (0: one for each processor). With `limit` only so many rows come out.
    pub fn new(request: Request, threads: usize, limit: Option<u64>) -> Result<Self> {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            given => given,
        };
        let request = Arc::new(request);
        let own = Arc::clone(&request);
        let make = move || Worker::new(Arc::clone(&own));
        let work = |worker: &mut Worker, job: Job| worker.work(&job).map_err(|error| (job.number, error));
        let pool = OrderedPool::new(threads, 2 * threads + 1, make, work)
            .map_err(|error| Error::argument(format!("no thread can be started: {error}")))?;
        Ok(Self {
            request,
            pool,
            in_flight: 0,
            queue: VecDeque::new(),
            pushed: 0,
            current: None,
            codecs: None,
            ready: VecDeque::new(),
            failure: None,
            limit,
        })
    }

    /// Queues a block. When the number of its chunks is known, it must be right.
    pub fn push(&mut self, block: Block, chunks: Option<usize>) -> Result<()> {
        if let Some(expected) = chunks {
            // What is damaged is found by the thread that decodes it, after the chunks before.
            let (found, whole) = count_frames((*block).as_ref());
            if found != expected && whole {
                let message = format!("the block has {found} chunks, the trailer says {expected}");
                return Err(Error::corrupt("frame", 0, message));
            }
        }
        if !self.is_done() {
            self.queue.push_back((self.pushed, block));
        }
        self.pushed += 1;
        Ok(())
    }

    /// Number of blocks of which not all chunks were handed to a thread.
    pub fn queued(&self) -> usize {
        self.queue.len() + usize::from(self.current.is_some())
    }

    /// Whether nothing more comes out, whatever is pushed: the limit is reached, or there was an error.
    pub fn is_done(&self) -> bool {
        self.limit == Some(0) || self.failure.is_some()
    }

    /// Whether all output of what was pushed is ready.
    pub fn is_idle(&self) -> bool {
        self.in_flight == 0 && self.queued() == 0
    }

    /// Hands out work and collects what is finished. If nothing is, waits for it at most `patience`.
    pub fn pump(&mut self, patience: Duration) {
        let before = self.ready.len();
        loop {
            self.dispatch();
            let fresh = self.ready.len() > before;
            match self.pool.take(if fresh { Duration::ZERO } else { patience }) {
                Taken::Ready(Ok(output)) => self.accept(output),
                Taken::Ready(Err(failure)) => self.fail(failure),
                Taken::Lost => self.fail((self.pushed, Error::argument("a thread of the unpacker was lost"))),
                Taken::Pending | Taken::Idle => return,
            }
        }
    }

    /// The next piece of output, if one is ready.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        self.ready.pop_front()
    }

    /// How many rows may still come out, if their number is limited.
    pub fn remaining(&self) -> Option<u64> {
        self.limit
    }

    /// The error that ended the output, once all pieces before it were taken.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref().filter(|_| self.ready.is_empty())
    }

    /// Takes a used piece back, to be filled again.
    pub fn recycle(&self, buffer: Vec<u8>) {
        self.request.recycle(buffer);
    }

    fn accept(&mut self, output: Output) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if self.failure.is_some() || self.limit == Some(0) {
            return;
        }
        if !output.data.is_empty() {
            self.ready.push_back(output.data);
        }
        if let Some(left) = &mut self.limit {
            *left = left.saturating_sub(output.rows);
            if *left == 0 {
                self.stop();
            }
        }
    }

    fn fail(&mut self, failure: Failure) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.failure.get_or_insert(failure);
        self.stop();
    }

    fn stop(&mut self) {
        self.queue.clear();
        self.current = None;
    }

    fn dispatch(&mut self) {
        loop {
            if self.limit.is_some() && self.in_flight > 0 {
                return;
            }
            let current = match self.current.take() {
                Some(current) => current,
                None => match self.queue.pop_front() {
                    Some((number, block)) => Current::new(number, block),
                    None => return,
                },
            };
            if self.pool.is_full() {
                self.current = Some(current);
                return;
            }
            if current.chunks > 0 {
                self.hand_out(current);
            }
        }
    }

    /// Hands out the next run of a block.
    fn hand_out(&mut self, current: Current) {
        let run = match self.limit {
            Some(_) => 1,
            None if self.request.is_verbatim() => ((1 << 20) / self.request.align()).max(1),
            None => (RUN_BYTES / self.request.align()).max(1),
        };
        let mut run = run.min(current.chunks);
        let mut next = None;
        if run < current.chunks {
            // What cannot be passed over cannot be decoded: the thread finds the error in its place.
            match self.pass(&current, run) {
                Ok(position) => next = Some(position),
                Err(_) => run = current.chunks,
            }
        }
        self.current = next.map(|position| Current {
            number: current.number,
            block: Arc::clone(&current.block),
            position,
            chunks: current.chunks - run,
        });
        let limit = self.limit.unwrap_or(u64::MAX);
        let Current { number, block, position, .. } = current;
        if self.pool.submit(Job { number, block, position, chunks: run, limit }).is_none() {
            self.in_flight += 1;
        }
    }

    /// The position behind a run.
    fn pass(&mut self, current: &Current, run: usize) -> Result<Position> {
        let block = (*current.block).as_ref();
        if self.request.is_verbatim() && self.limit.is_none() {
            let mut position = current.position.clone();
            for _ in 0..run {
                position.offset += FRAME_HEADER + frame(block, position.offset)?;
            }
            position.chunk += run;
            // The symbols mean nothing to chunks that pass as they are.
            position.table = Some(Arc::new(SymbolTable::new()));
            return Ok(position);
        }
        let codecs = match self.codecs.take() {
            Some(codecs) => codecs,
            None => Codecs::new()?,
        };
        let (algorithm, align) = (self.request.algorithm(), self.request.align());
        let mut reader = BlockReader::resume(block, algorithm, align, current.position.clone(), codecs);
        let passed = (0..run).try_for_each(|_| reader.skip_chunk().map(drop));
        let position = reader.position().clone();
        self.codecs = Some(reader.into_codecs());
        passed.map(|()| position)
    }
}

impl Current {
    fn new(number: usize, block: Block) -> Self {
        let (chunks, _) = count_frames((*block).as_ref());
        Self { number, block, position: Position::default(), chunks }
    }
}

/// Number of frames in a block, and whether all are whole: one that is damaged counts, and is the last.
fn count_frames(block: &[u8]) -> (usize, bool) {
    let (mut at, mut count) = (0, 0);
    while at < block.len() {
        count += 1;
        match frame(block, at) {
            Ok(length) => at += FRAME_HEADER + length,
            Err(_) => return (count, false),
        }
    }
    (count, true)
}
