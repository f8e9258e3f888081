//! The side of a packer that takes input.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::format::{Format, Input};
use super::handout::Stored;
use super::output::{Run, Taken};
use super::pool::{Fed, Part, PartJob, Pool, Text};
use super::resume::{Resumed, Seed};
use super::{Constants, InputError, Options, PartContext, Rejects, Splitter, worker};
use crate::cloudtrail::Unwrapper;
use crate::codec::Algorithm;
use crate::content;
use crate::error::{Error, Result};
use crate::fields::Joiner;
use crate::grouping::{self, Placement};
use crate::inflate::{Compression, Inflater};
use crate::paths::Path;
use crate::runs::Form;
use crate::statistics::{BlockStatistics, Gatherer, StatPath};

/// Text that may be gathered while no place to cut is found: a record of more than that cannot be stored.
const MAX_PART: usize = 64 << 20;

/// The most that a part may have: positions in its text are numbers of 32 bits, and while its end is looked for
/// there may be twice as much of it.
const MAX_PART_BYTES: usize = 1 << 30;

/// Packs inputs one after the other.
pub struct Packer {
    pub(super) pool: Arc<Pool>,
    pub(super) workers: Vec<JoinHandle<()>>,
    constants: Arc<Constants>,
    pub(super) current: Option<Current>,
    /// The block that the first part goes on with.
    pub(super) seed: Option<Arc<Seed>>,
    /// Where fields go, once it is known.
    placement: Option<Arc<Placement>>,
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
    /// What is known of the blocks.
    pub(super) gatherer: Gatherer,
}

/// The input that is being fed.
pub(super) struct Current {
    pub(super) input: Arc<Input>,
    splitter: Box<dyn Splitter>,
    pub(super) inflater: Option<Inflater>,
    unwrapper: Option<Unwrapper>,
    text: Vec<u8>,
    context: u64,
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
}

/// Asked while waiting: whether to give up.
pub type Interrupt<'a> = &'a mut dyn FnMut() -> bool;

impl Packer {
    /// A packer with its threads.
    pub fn new(options: Options, constants: Constants) -> Result<Self> {
        if !options.align.is_power_of_two() || !(9..=26).contains(&options.align.trailing_zeros()) {
            return Err(Error::argument("the chunk size must be a power of two from 512 bytes to 64 MiB"));
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
        let form = Form::new(options.algorithm, options.align)?.verifying(verify);
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

    /// Begins an input.
    pub fn begin(&mut self, name: &str, format: Format, compression: Compression) -> Result<()> {
        let input = Arc::new(Input {
            name: name.to_owned(),
            format,
            constants: Arc::clone(&self.constants),
            on_error: self.pool.options.on_error,
        });
        let splitter = input.splitter();
        self.inputs.push(Taken::default());
        self.current = Some(Current {
            splitter,
            inflater: Inflater::new(compression)?,
            unwrapper: input.format.unwrapper(),
            input,
            text: vec![],
            context: 0,
            parts: 0,
            offset: 0,
            line: 0,
            stored: None,
            content: content::Pieces::default(),
        });
        Ok(())
    }

    /// Takes bytes of the current input. Waits while there is more to do than the threads can take.
    pub fn feed(&mut self, data: &[u8], interrupt: Interrupt) -> Result<(), Stop> {
        let Some(mut current) = self.current.take() else {
            return Err(Error::argument("no input was begun").into());
        };
        current.content.update(data);
        let result = match &mut current.inflater {
            None => self.text(&mut current, data, interrupt),
            Some(_) => self.inflate(&mut current, data, interrupt),
        };
        self.current = Some(current);
        result
    }

    fn inflate(&mut self, current: &mut Current, data: &[u8], interrupt: Interrupt) -> Result<(), Stop> {
        let Some(mut inflater) = current.inflater.take() else { return Ok(()) };
        inflater.feed(data);
        let mut result = Ok(());
        while result.is_ok()
            && let Some(piece) = inflater.take()
        {
            result = piece.map_err(|error| in_input(current, error)).and_then(|piece| {
                let done = self.text(current, &piece, interrupt);
                inflater.recycle(piece);
                done
            });
        }
        current.inflater = Some(inflater);
        result
    }

    fn text(&mut self, current: &mut Current, mut data: &[u8], interrupt: Interrupt) -> Result<(), Stop> {
        let full = self.pool.options.part_bytes;
        if let Some(unwrapper) = &mut current.unwrapper {
            let records = unwrapper.feed(data);
            let begins = current.offset == 0 && current.text.is_empty();
            if begins {
                (current.offset, current.line) = unwrapper.prefix();
            }
            data = &data[records.map_err(|error| in_input(current, error))?];
        }
        while !data.is_empty() {
            if current.text.capacity() == 0 {
                current.text = self.empty_text();
            }
            // Up to where a cut may be; then a little more at a time until there is one.
            let room = current.part_bytes(full).saturating_sub(current.text.len()).max(256 << 10);
            let (now, later) = data.split_at(room.min(data.len()));
            current.text.extend_from_slice(now);
            data = later;
            while current.text.len() >= current.part_bytes(full) {
                let cut = current.splitter.cut(&current.text, current.part_bytes(full));
                match cut.map_err(|error| in_input(current, error.shifted(current.offset)))? {
                    Some(end) => self.submit(current, Some(end), interrupt)?,
                    None if current.text.len() > MAX_PART.max(2 * full) => {
                        return self.give_up(current, interrupt);
                    }
                    None => break,
                }
            }
        }
        Ok(())
    }

    /// Ends an input in which no record ends any more, once the parts before have their say.
    fn give_up(&self, current: &Current, interrupt: Interrupt) -> Result<(), Stop> {
        let message =
            "no record ends within 64 MiB of text: one is too large, or a quote or bracket is not closed";
        let offset = current.offset;
        let error = Error::TooLarge { offset, line: current.line + 1, message: message.into() };
        self.pool.lock().fail(self.next_part, InputError { input: current.input.name.clone(), error });
        self.wait_for_room(interrupt)
    }

    /// Memory for the text of a part; that of an earlier one, if it can be.
    fn empty_text(&self) -> Vec<u8> {
        let mut text = self.pool.lock().texts.pop().unwrap_or_default();
        text.clear();
        text.reserve(self.pool.options.part_bytes + (2 << 20));
        text
    }

    /// Hands a part to the workers: the text up to `end`, or all of it as the last one. The next one is
    /// begun when a worker has taken it, so that there is never more text than the workers have, and one.
    fn submit(
        &mut self,
        current: &mut Current,
        end: Option<usize>,
        interrupt: Interrupt,
    ) -> Result<(), Stop> {
        let mut text = std::mem::take(&mut current.text);
        let rest = end.map(|end| text.split_off(end));
        let context = PartContext { start: current.context, last: end.is_none() };
        let (offset, line) = (current.offset, current.line);
        current.offset += text.len() as u64;
        current.line += memchr::memchr_iter(b'\n', &text).count() as u64;
        current.context = current.splitter.next_part();
        current.parts += 1;
        if current.parts == 1 {
            let sample = &text[..self.sample_bytes().min(text.len())];
            self.look_at(current, sample);
        }
        self.enqueue(current, Text::Fed(Fed { text, context, offset, line }));
        if let Some(rest) = rest {
            self.wait_for_room(interrupt)?;
            current.text = self.empty_text();
            current.text.extend_from_slice(&rest);
        }
        Ok(())
    }

    /// How much of the first text of an input tells where fields go: there is always as much of it in a part.
    pub(super) fn sample_bytes(&self) -> usize {
        self.pool.options.part_bytes.div_ceil(4).min(grouping::TEXT_BYTES)
    }

    /// Finds out where fields go by the first text of an input, if that is not known.
    pub(super) fn look_at(&mut self, current: &Current, text: &[u8]) {
        let Options { algorithm, align, level, .. } = self.pool.options;
        if self.placement.is_none() && algorithm == Algorithm::ZionZstd {
            // What is wrong with the text is told by those who read all of it.
            self.placement = current.input.placement(text, align, level).ok().flatten().map(Arc::new);
        }
    }

    pub(super) fn enqueue(&mut self, current: &Current, text: Text) {
        let number = self.next_part;
        self.next_part += 1;
        let seed = if number == 0 { self.seed.clone() } else { None };
        let mut state = self.pool.lock();
        let guessed = text.guessed();
        let input = self.inputs.len().saturating_sub(1);
        match state.part(number) {
            Some(begun) => (begun.guessed, begun.input) = (guessed, input),
            None => state.parts.push_back(Part { input, guessed, ..Part::default() }),
        }
        // Also a part whose end is guessed has as much text as it should have.
        let length = text.len().min(current.part_bytes(self.pool.options.part_bytes));
        let placement = self.placement.clone().filter(|placement| placement.pays(length));
        let input = Arc::clone(&current.input);
        state.part_jobs.push_back(PartJob { number, input, text, seed, placement });
        drop(state);
        self.pool.tell_workers();
    }

    /// Waits until all parts that were handed over are being parsed, or will be at once.
    fn wait_for_room(&self, interrupt: Interrupt) -> Result<(), Stop> {
        let mut state = self.pool.lock();
        loop {
            if let Some((_, error)) = state.settled_failure() {
                return Err(Stop::Failed(error.clone()));
            }
            // A part that failed keeps all later ones waiting for those before it.
            if state.failed.is_none() && state.part_jobs.len() <= state.idle {
                return Ok(());
            }
            state = self.pool.wait_for_news(state);
            if interrupt() {
                return Err(Stop::Interrupted);
            }
        }
    }

    /// Ends the current input.
    pub fn end(&mut self, interrupt: Interrupt) -> Result<(), Stop> {
        let Some(mut current) = self.current.take() else { return Ok(()) };
        if current.inflater.is_some() {
            self.inflate(&mut current, &[], interrupt)?;
        }
        if !current.text.is_empty() || current.context != 0 {
            self.submit(&mut current, None, interrupt)?;
        }
        if let Some(input) = self.inputs.last_mut() {
            input.bytes = current.content.position();
            input.digest.end(current.content.finish());
        }
        let wrapper = current.unwrapper.as_ref().map_or(Ok(()), Unwrapper::finish);
        wrapper.map_err(|error| in_input(&current, error))
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
