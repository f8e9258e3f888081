//! A packer: its threads, the input at hand, and what the output consists of.
//!
//! Input comes in by `feed`, or by `handout` where the threads read files by themselves; frames go out by `output`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::content;
use super::encoding::Decoder;
use super::format::{self, Input};
use super::inflate::Inflater;
use super::pool::{Fed, Part, PartJob, Piece, Pool};
use super::records::Unwrapper;
use super::resume::{Resumed, Seed};
use super::unfold::Unfolder;
use super::{Constants, InputError, Options, PartContext, Rejects, Splitter, worker};
use crate::block::runs::Form;
use crate::chunk::fields::Joiner;
use crate::chunk::grouping;
use crate::chunk::paths::{Path, Range};
use crate::chunk::placement::Placement;
use crate::codec::Algorithm;
use crate::error::{Error, Result};
use crate::index::statistics::{BlockStatistics, Gatherer, StatPath};
use crate::input::Bytes;

/// The most that a part may have: positions in its text are numbers of 32 bits, and while its end is looked for
/// there may be twice as much of it.
const MAX_PART_BYTES: usize = 1 << 30;

/// Chunks that follow each other in the output, the first one with a full symbol table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Place of the first frame in the output.
    pub offset: u64,
    /// Number of chunks.
    pub chunks: u64,
    /// Number of rows.
    pub rows: u64,
    /// Times per path.
    pub ranges: Vec<(Path, Range)>,
    /// Whether `ranges` tells of every path with times.
    pub complete: bool,
    /// The hashes of its frames, see [`crate::block::digest`].
    pub hashes: Vec<u8>,
}

/// What became of an input.
#[derive(Debug, Default)]
pub struct Taken {
    /// Rows in the frames that were taken.
    pub rows: u64,
    /// Its size as it was given, in bytes.
    pub bytes: u64,
    /// Size of its text in bytes, decompressed.
    pub text_bytes: u64,
    /// The digest of these bytes.
    pub digest: content::Digester,
}

/// Packs inputs one after the other.
pub struct Packer {
    pub(super) pool: Arc<Pool>,
    pub(super) workers: Vec<JoinHandle<()>>,
    pub(super) constants: Arc<Constants>,
    pub(super) current: Option<Current>,
    /// The part that small inputs share.
    pub(super) open: Open,
    /// The block that the first part goes on with.
    pub(super) seed: Option<Arc<Seed>>,
    /// Where fields go, once it is known.
    pub(super) placement: Option<Arc<Placement>>,
    pub(super) next_part: u64,
    pub(super) position: u64,
    /// What the output consists of.
    pub runs: Vec<Run>,
    /// The fields of the rows that are packed; those that stay of a block are not counted.
    pub fields: Joiner,
    /// What became of each input, in order.
    pub inputs: Vec<Taken>,
    /// Paths with timestamps that are not in the ranges.
    pub hidden: BTreeSet<Path>,
    /// Records that were passed over, part by part, with the name of their input.
    pub rejected: Vec<(String, Rejects)>,
    /// Rows in the frames that were taken.
    pub rows: u64,
    /// Text that was packed, in bytes.
    pub text_bytes: u64,
    /// Times that lost digits beyond microseconds.
    pub cut_times: u64,
    /// Texts with bytes that are no UTF-8, which were replaced.
    pub replaced: u64,
    /// Values that do not count, since their object has the name twice.
    pub dropped: u64,
    /// Texts of fields that are taken apart, which are no JSON.
    pub kept_whole: u64,
    /// Objects that were to be unfolded, and have another form.
    pub not_unfolded: u64,
    /// Decompressed size of the largest chunk, in bytes.
    pub largest_chunk: usize,
    /// Inputs that are damaged behind the rows that were taken, and what is wrong.
    pub damages: Vec<InputError>,
    /// Inputs whose rows are records in objects, and some names of members beside these.
    pub left_out: Vec<(String, Vec<String>)>,
    /// What is known of the blocks.
    pub(super) gatherer: Gatherer,
}

/// Small inputs that are gathered for a part.
#[derive(Default)]
pub(super) struct Open {
    pub(super) text: Vec<u8>,
    pub(super) pieces: Vec<Piece>,
}

impl Open {
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }
}

/// The input that is being fed.
pub(super) struct Current {
    pub(super) input: Arc<Input>,
    pub(super) splitter: Box<dyn Splitter>,
    pub(super) inflater: Option<Inflater>,
    pub(super) decoder: Decoder,
    /// What is wrong with it behind the text that was taken.
    pub(super) damage: Option<Error>,
    pub(super) unwrapper: Option<Unwrapper>,
    pub(super) unfolder: Option<Unfolder>,
    pub(super) text: Vec<u8>,
    pub(super) context: u64,
    /// Number of parts that were handed over.
    pub(super) parts: u32,
    pub(super) offset: u64,
    pub(super) line: u64,
    pub(super) stored: Option<Stored>,
    /// The digest of what is fed.
    pub(super) content: content::Pieces,
}

impl Current {
    /// The size of the part being gathered: the first one is smaller, so that all threads soon have
    /// something to do.
    pub(super) fn part_bytes(&self, full: usize) -> usize {
        if self.parts == 0 { full.div_ceil(4) } else { full }
    }

    /// What is known of the text of its next part, which may be the last one.
    pub(super) fn fed(&self, text: &[u8], last: bool) -> Fed {
        let is_cut_off = last && self.damage.is_some() && self.input.format.has_open_ends();
        let whole = if is_cut_off { memchr::memrchr(b'\n', text).map_or(0, |at| at + 1) } else { text.len() };
        let context = PartContext { start: self.context, last };
        Fed { range: 0..text.len(), context, offset: self.offset, line: self.line, whole }
    }
}

/// A file that the threads read by themselves.
pub(super) struct Stored {
    pub(super) bytes: Arc<dyn Bytes>,
    /// Number of its first part.
    pub(super) first: u64,
    /// Up to where it is handed out.
    pub(super) at: usize,
    /// Whether all that can be is handed out.
    pub(super) is_over: bool,
}

/// Asked while waiting: whether to give up.
pub type Interrupt<'a> = &'a mut dyn FnMut() -> bool;

impl Packer {
    /// A packer with its threads.
    pub fn new(options: Options, constants: Constants) -> Result<Self> {
        if !options.align.is_power_of_two() || !(9..=26).contains(&options.align.trailing_zeros()) {
            return Err(Error::argument("the chunk size must be a power of two from 512 bytes to 64 MiB"));
        }
        let is_fixed = options.algorithm == Algorithm::Zstd && options.max_row != options.align;
        if is_fixed || !(options.align..=1 << 26).contains(&options.max_row) {
            return Err(Error::argument(
                "a row must have room in a chunk of at most 64 MiB, and those of zstd are of one size",
            ));
        }
        if !(1..=MAX_PART_BYTES).contains(&options.part_bytes) {
            return Err(Error::argument("the size of a part must be from 1 byte to 1 GiB"));
        }
        let threads = options.threads.clamp(1, 256);
        let gatherer = Gatherer::new(options.block_bytes, options.align);
        let pool = Arc::new(Pool::new(options));
        let mut packer = Self {
            pool,
            workers: vec![],
            constants: Arc::new(constants),
            current: None,
            open: Open::default(),
            seed: None,
            placement: None,
            next_part: 0,
            position: 0,
            runs: vec![],
            fields: Joiner::default(),
            inputs: vec![],
            hidden: BTreeSet::new(),
            rejected: vec![],
            rows: 0,
            text_bytes: 0,
            cut_times: 0,
            replaced: 0,
            dropped: 0,
            kept_whole: 0,
            not_unfolded: 0,
            largest_chunk: 0,
            damages: vec![],
            left_out: vec![],
            gatherer,
        };
        for number in 0..threads {
            let pool = Arc::clone(&packer.pool);
            let worker = std::thread::Builder::new()
                .name(format!("sdb-pack-{number}"))
                .spawn(move || worker::run(&pool))
                .map_err(|error| Error::argument(format!("a thread cannot be started: {error}")))?;
            packer.workers.push(worker);
        }
        Ok(packer)
    }

    /// Goes on with a block of `chunks` chunks instead of beginning one, before anything is fed: all of its
    /// chunks but the last stay as they are, and the rows of the last one come first in what is packed. With
    /// `is_counted` their fields are not counted, since it is known in how many rows of the block these are.
    pub fn resume(&mut self, block: &[u8], chunks: u64, verify: bool, is_counted: bool) -> Result<Resumed> {
        if self.next_part > 0 || self.current.is_some() {
            return Err(Error::argument("a block can be resumed only before the first input"));
        }
        let options = &self.pool.options;
        let form = Form::new(options.algorithm, options.max_row.next_power_of_two())?.verifying(verify);
        let seed = Seed::read(block, chunks, form, is_counted)?;
        let resumed = seed.resumed.clone();
        self.seed = Some(Arc::new(seed));
        self.gatherer.keep(resumed.chunks);
        Ok(resumed)
    }

    /// What is known of the values in each block, once all was taken.
    pub fn statistics(&mut self) -> &[BlockStatistics] {
        self.gatherer.finish()
    }

    /// Paths of which the values were too many to be kept in mind.
    pub fn crowded(&self) -> impl Iterator<Item = &StatPath> {
        self.gatherer.crowded()
    }

    /// The size of the first part of an input: there is always as much text in one, unless the input ends.
    pub(super) fn first_part_bytes(&self) -> usize {
        self.pool.options.part_bytes.div_ceil(4)
    }

    /// Finds out where fields go by the text at the start of a part, if that is not known.
    pub(super) fn look_at(&mut self, text: &[u8], pieces: &[Piece]) {
        let Options { algorithm, align, level, .. } = self.pool.options;
        if self.placement.is_some() || algorithm != Algorithm::ZionZstd {
            return;
        }
        let (mut left, mut sample) = (self.first_part_bytes().min(grouping::TEXT_BYTES), vec![]);
        for piece in pieces {
            // Threads that read all of the text report what is wrong with it.
            let Some(start) = piece.start(text, left).ok().filter(|start| !start.is_empty()) else { break };
            left -= start.len();
            sample.push((&*piece.input, start));
        }
        self.placement = format::placement(&sample, align, level).ok().flatten().map(Arc::new);
    }

    /// Hands a part to the workers.
    pub(super) fn enqueue(&mut self, text: Vec<u8>, pieces: Vec<Piece>) {
        let number = self.next_part;
        self.next_part += 1;
        let seed = if number == 0 { self.seed.clone() } else { None };
        let mut state = self.pool.lock();
        let guessed = pieces.first().and_then(Piece::guessed);
        match state.part(number) {
            Some(begun) => begun.guessed = guessed,
            None => state.parts.push_back(Part { guessed, ..Part::default() }),
        }
        // Also a part whose end is guessed has as much text as it should have.
        let length = pieces.iter().map(Piece::len).sum::<usize>().min(self.pool.options.part_bytes);
        let placement = self.placement.clone().filter(|placement| placement.pays(length));
        state.part_jobs.push_back(PartJob { number, text, pieces, seed, placement });
        drop(state);
        self.pool.tell_workers();
    }

    /// Lets the threads end, once all is taken: nothing more is fed.
    pub fn finish(&self) {
        self.pool.lock().closed = true;
        self.pool.tell_workers();
    }

    /// How the chunks are compressed.
    pub fn algorithm(&self) -> Algorithm {
        self.pool.options.algorithm
    }
}

impl Drop for Packer {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        state.closed = true;
        state.part_jobs.clear();
        state.chunk_jobs.clear();
        // Workers in the middle of a part give up at their next chunk.
        state.fail(0, InputError { input: String::new(), error: Error::argument("the packer was closed") });
        state.first_part = u64::MAX;
        drop(state);
        self.pool.tell_workers();
        for worker in self.workers.drain(..) {
            // A worker that panicked has nothing to say any more.
            drop(worker.join());
        }
    }
}

pub(super) fn in_input(current: &Current, error: Error) -> Stop {
    Stop::Failed(InputError { input: current.input.name.clone(), error })
}

/// Why packing stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// An input is bad.
    Failed(InputError),
    /// The interrupt function said so.
    Interrupted,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(InputError { input: String::new(), error })
    }
}
