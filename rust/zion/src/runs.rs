//! Blocks cut into runs of chunks that threads work on; the results come in the order of the rows.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::block::{BlockReader, Codecs, FRAME_HEADER, Position, frame};
use crate::codec::Algorithm;
use crate::error::{Error, Result};
use crate::ion::SymbolTable;
use crate::pipeline::{OrderedPool, Taken};

/// The bytes of a block, shared with the threads that decode it.
pub type Block = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// An error, and the number of the block that it comes from: blocks are counted as they are pushed.
pub type Failure = (usize, Error);

/// How the chunks of a block are stored.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// How they are compressed.
    pub algorithm: Algorithm,
    /// The size of one that is decompressed.
    pub align: usize,
}

impl Form {
    /// Checks the size of a decompressed chunk.
    pub fn new(algorithm: Algorithm, align: usize) -> Result<Self> {
        if align.is_power_of_two() && (1 << 9..=1 << 26).contains(&align) {
            return Ok(Self { algorithm, align });
        }
        Err(Error::argument(format!("a chunk size of {align}: a power of two from 2^9 to 2^26 is needed")))
    }
}

/// How blocks are cut.
#[derive(Debug, Clone, Copy)]
pub struct Cut {
    /// Bytes of decompressed chunks that one job covers.
    pub run_bytes: usize,
    /// Whether the symbols before a chunk do not matter, because rows are not looked at.
    pub verbatim: bool,
}

/// A run of chunks of one block.
pub struct Job {
    /// Number of the block.
    pub number: usize,
    /// The bytes of the whole block.
    pub block: Block,
    /// How its chunks are stored.
    pub form: Form,
    /// Where the run starts.
    pub position: Position,
    /// Number of chunks.
    pub chunks: usize,
    /// No more rows than this are wanted.
    pub limit: u64,
}

/// What came out.
#[derive(Debug)]
pub enum Next<R> {
    /// The result of the next run.
    Ready(R),
    /// The next run is not finished.
    Pending,
    /// Nothing is left of what was pushed.
    Idle,
    /// The next run failed; nothing more comes.
    Failed(Failure),
}

/// Works on blocks in order.
pub struct Runs<R> {
    cut: Cut,
    pool: OrderedPool<Job, Result<(R, u64), Failure>>,
    in_flight: usize,
    queue: VecDeque<(usize, Block, Form)>,
    pushed: usize,
    current: Option<Current>,
    codecs: Option<Codecs>,
    limit: Option<u64>,
    failed: bool,
}

/// The block whose chunks are being handed out.
struct Current {
    number: usize,
    block: Block,
    form: Form,
    position: Position,
    chunks: usize,
}

impl<R: Send + 'static> Runs<R> {
    /// Starts the threads (0: one for each processor). Each makes a state with `make`; `work` gives a
    /// result and the number of its rows. With `limit` no more runs are done than so many rows need.
    pub fn new<S, M, W>(cut: Cut, threads: usize, limit: Option<u64>, make: M, work: W) -> Result<Self>
    where
        M: Fn() -> S + Send + Sync + 'static,
        W: Fn(&mut S, &Job) -> Result<(R, u64)> + Send + Sync + 'static,
    {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            given => given,
        };
        let work = move |state: &mut S, job: Job| work(state, &job).map_err(|error| (job.number, error));
        let pool = OrderedPool::new(threads, 2 * threads + 1, make, work)
            .map_err(|error| Error::argument(format!("no thread can be started: {error}")))?;
        Ok(Self {
            cut,
            pool,
            in_flight: 0,
            queue: VecDeque::new(),
            pushed: 0,
            current: None,
            codecs: None,
            limit,
            failed: false,
        })
    }

    /// Queues a block. When the number of its chunks is known, it must be right.
    pub fn push(&mut self, block: Block, form: Form, chunks: Option<usize>) -> Result<()> {
        if let Some(expected) = chunks {
            // What is damaged is found by the thread that decodes it, after the chunks before.
            let (found, whole) = count_frames((*block).as_ref());
            if found != expected && whole {
                let message = format!("the block has {found} chunks, the trailer says {expected}");
                return Err(Error::corrupt("frame", 0, message));
            }
        }
        if !self.is_done() {
            self.queue.push_back((self.pushed, block, form));
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
        self.limit == Some(0) || self.failed
    }

    /// Whether all results of what was pushed were taken.
    pub fn is_idle(&self) -> bool {
        self.in_flight == 0 && self.queued() == 0
    }

    /// How many rows may still come, if their number is limited.
    pub fn remaining(&self) -> Option<u64> {
        self.limit
    }

    /// The next result. If none is ready, waits for it at most `patience`.
    pub fn next(&mut self, patience: Duration) -> Next<R> {
        self.dispatch();
        if self.is_done() {
            return Next::Idle;
        }
        match self.pool.take(patience) {
            Taken::Ready(Ok((result, rows))) => {
                self.in_flight = self.in_flight.saturating_sub(1);
                if let Some(left) = &mut self.limit {
                    *left = left.saturating_sub(rows);
                }
                if self.is_done() {
                    self.clear();
                }
                self.dispatch();
                Next::Ready(result)
            }
            Taken::Ready(Err(failure)) => self.fail(failure),
            Taken::Lost => self.fail((self.pushed, Error::argument("a thread was lost"))),
            Taken::Pending => Next::Pending,
            Taken::Idle => Next::Idle,
        }
    }

    fn fail(&mut self, failure: Failure) -> Next<R> {
        self.failed = true;
        self.clear();
        Next::Failed(failure)
    }

    fn clear(&mut self) {
        self.queue.clear();
        self.current = None;
    }

    fn dispatch(&mut self) {
        while !self.is_done() && !self.pool.is_full() && (self.limit.is_none() || self.in_flight == 0) {
            let current = match self.current.take() {
                Some(current) => current,
                None => match self.queue.pop_front() {
                    Some((number, block, form)) => Current::new(number, block, form),
                    None => return,
                },
            };
            if current.chunks > 0 {
                self.hand_out(current);
            }
        }
    }

    /// Hands out the next run of a block.
    fn hand_out(&mut self, current: Current) {
        let run = match self.limit {
            Some(_) => 1,
            None => (self.cut.run_bytes / current.form.align).max(1),
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
        let Current { number, block, form, position, chunks } = current;
        self.current = next.map(|position| Current {
            number,
            block: Arc::clone(&block),
            form,
            position,
            chunks: chunks - run,
        });
        let limit = self.limit.unwrap_or(u64::MAX);
        if self.pool.submit(Job { number, block, form, position, chunks: run, limit }).is_none() {
            self.in_flight += 1;
        }
    }

    /// The position behind a run.
    fn pass(&mut self, current: &Current, run: usize) -> Result<Position> {
        let Form { algorithm, align } = current.form;
        let block = (*current.block).as_ref();
        let mut position = current.position.clone();
        if self.cut.verbatim {
            for _ in 0..run {
                position.offset += FRAME_HEADER + frame(block, position.offset)?;
            }
            position.chunk += run;
            position.table = Some(Arc::new(SymbolTable::new()));
            return Ok(position);
        }
        let codecs = match self.codecs.take() {
            Some(codecs) => codecs,
            None => Codecs::new()?,
        };
        let mut reader = BlockReader::resume(block, algorithm, align, position, codecs);
        let passed = (0..run).try_for_each(|_| reader.skip_chunk().map(drop));
        let position = reader.position().clone();
        self.codecs = Some(reader.into_codecs());
        passed.map(|()| position)
    }
}

impl Current {
    fn new(number: usize, block: Block, form: Form) -> Self {
        let (chunks, _) = count_frames((*block).as_ref());
        Self { number, block, form, position: Position::default(), chunks }
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
