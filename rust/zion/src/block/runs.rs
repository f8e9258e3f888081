//! Blocks cut into runs of chunks that threads work on; the results come in the order of the rows.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::block::{BlockReader, Codecs, FRAME_HEADER, Position, frame};
use crate::codec::Algorithm;
use crate::error::{Error, Result};
use crate::input::Bytes;
use crate::ion::SymbolTable;
use crate::pipeline::{OrderedPool, Taken};

/// The bytes of a block, shared with the threads that decode it.
pub type Block = Arc<dyn Bytes>;

/// An error, and the number of the block that it comes from: blocks are counted as they are pushed.
pub type Failure = (usize, Error);

/// How the chunks of a block are stored.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// How they are compressed.
    pub algorithm: Algorithm,
    /// The size of one that is decompressed.
    pub align: usize,
    /// Whether a wrong checksum is an error.
    pub verify: bool,
}

impl Form {
    /// Checks the size of a decompressed chunk.
    pub fn new(algorithm: Algorithm, align: usize) -> Result<Self> {
        if align.is_power_of_two() && (1 << 9..=1 << 26).contains(&align) {
            return Ok(Self { algorithm, align, verify: true });
        }
        Err(Error::argument(format!("a chunk size of {align}: a power of two from 2^9 to 2^26 is needed")))
    }

    /// The same with checksums that count, or do not.
    #[must_use]
    pub fn verifying(self, verify: bool) -> Self {
        Self { verify, ..self }
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
    /// The runs before and behind.
    pub neighbours: Neighbours,
}

/// The symbols in force between two runs; none when they cannot be told.
type Symbols = Arc<OnceLock<Option<Arc<SymbolTable>>>>;

/// What a run has to do with those beside it: symbols go from each to the next.
#[derive(Default)]
pub struct Neighbours {
    before: Option<Symbols>,
    behind: Option<Symbols>,
}

impl Drop for Neighbours {
    /// A run that was not worked on, or did not get far enough, must not let the next one wait.
    fn drop(&mut self) {
        if let Some(behind) = &self.behind {
            behind.get_or_init(|| None);
        }
    }
}

impl Job {
    /// The first chunks of a block, on their own.
    pub fn alone(block: Block, form: Form, chunks: usize) -> Self {
        let (position, neighbours) = (Position::default(), Neighbours::default());
        Self { number: 0, block, form, position, chunks, limit: u64::MAX, neighbours }
    }

    /// Tells the next run the symbols behind this one, for those who have them from elsewhere than a reader.
    pub(crate) fn tell(&self, table: &Arc<SymbolTable>) {
        if let Some(behind) = &self.neighbours.behind {
            behind.get_or_init(|| Some(Arc::clone(table)));
        }
    }

    /// A reader of the run. The symbols before it are waited for; those behind it are told before
    /// anything else is done.
    pub fn reader(&self, codecs: Codecs) -> Result<BlockReader<'_>> {
        let Form { algorithm, align, verify } = self.form;
        let mut position = self.position.clone();
        if let Some(before) = &self.neighbours.before {
            let Some(table) = before.wait() else {
                return Err(Error::corrupt("frame", position.offset, "a chunk before is damaged"));
            };
            position.table = Some(Arc::clone(table));
        }
        let mut reader = BlockReader::of(&*self.block, algorithm, align, position, codecs.verifying(verify)?);
        if let Some(behind) = &self.neighbours.behind {
            let table = reader.look_ahead(self.chunks)?;
            behind.get_or_init(|| table);
        }
        Ok(reader)
    }
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
    queue: VecDeque<Current>,
    pushed: usize,
    current: Option<Current>,
    limit: Option<u64>,
    failed: bool,
}

/// The block whose chunks are being handed out.
struct Current {
    number: usize,
    block: Block,
    form: Form,
    position: Position,
    /// The offsets of the chunks that are left.
    frames: VecDeque<usize>,
    before: Option<Symbols>,
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
            limit,
            failed: false,
        })
    }

    /// Queues a block. When the number of its chunks is known, it must be right.
    pub fn push(&mut self, block: Block, form: Form, chunks: Option<usize>) -> Result<()> {
        let (frames, whole) = frames(&*block)?;
        if let Some(expected) = chunks
            && frames.len() != expected
            && whole
        {
            // What is damaged is found by the thread that decodes it, after the chunks before.
            let message = format!("the block has {} chunks, the trailer says {expected}", frames.len());
            return Err(Error::corrupt("frame", 0, message));
        }
        if !self.is_done() && !frames.is_empty() {
            let (number, position) = (self.pushed, Position::default());
            self.queue.push_back(Current { number, block, form, position, frames, before: None });
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
            Taken::Lost => self.fail((self.pushed, Error::panicked("reads blocks"))),
            Taken::Pending => Next::Pending,
            Taken::Idle => Next::Idle,
        }
    }

    fn fail(&mut self, failure: Failure) -> Next<R> {
        self.failed = true;
        self.clear();
        Next::Failed(failure)
    }

    /// Lets nothing more come out: who takes the results has enough.
    pub fn stop(&mut self) {
        self.limit = Some(0);
        self.clear();
    }

    fn clear(&mut self) {
        self.queue.clear();
        self.current = None;
    }

    fn dispatch(&mut self) {
        while !self.is_done() && !self.pool.is_full() && (self.limit.is_none() || self.in_flight == 0) {
            let Some(current) = self.current.take().or_else(|| self.queue.pop_front()) else { return };
            self.hand_out(current);
        }
    }

    /// Hands out the next run of a block.
    fn hand_out(&mut self, mut current: Current) {
        let run = match self.limit {
            Some(_) => 1,
            None => (self.cut.run_bytes / current.form.align).max(1),
        };
        let chunks = run.min(current.frames.len());
        current.frames.drain(..chunks);
        let mut job = Job {
            number: current.number,
            block: Arc::clone(&current.block),
            form: current.form,
            position: current.position.clone(),
            chunks,
            limit: self.limit.unwrap_or(u64::MAX),
            neighbours: Neighbours { before: current.before.take(), behind: None },
        };
        if let Some(&offset) = current.frames.front() {
            current.position.offset = offset;
            current.position.chunk += chunks;
            if self.cut.verbatim {
                current.position.table = Some(Arc::new(SymbolTable::new()));
            } else {
                let symbols = Symbols::default();
                job.neighbours.behind = Some(Arc::clone(&symbols));
                current.before = Some(symbols);
            }
            self.current = Some(current);
        }
        if self.pool.submit(job).is_none() {
            self.in_flight += 1;
        }
    }
}

/// The offsets of the frames of a block, and whether all are whole: one that is damaged counts, and is the
/// last.
fn frames(block: &dyn Bytes) -> Result<(VecDeque<usize>, bool)> {
    let size = block.size();
    let (mut at, mut frames) = (0, VecDeque::new());
    while at < size {
        frames.push_back(at);
        let mut header = [0; FRAME_HEADER];
        let header = &mut header[..FRAME_HEADER.min(size - at)];
        block.read(at, header)?;
        match frame(header, at, size) {
            Ok(length) => at += FRAME_HEADER + length,
            Err(_) => return Ok((frames, false)),
        }
    }
    Ok((frames, true))
}
