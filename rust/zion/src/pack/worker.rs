//! The threads that parse parts and compress chunks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::format::Input;
use super::pool::{ChunkJob, Parsed, PartJob, Piece, Pool, Text};
use super::{InputError, Options, PartParser};
use crate::block::digest;
use crate::block::{FRAME_HEADER, frame_header};
use crate::bucket::{Encoder, choose_selector};
use crate::chunk::paths::Paths;
use crate::chunk::{Chunk, Sink, Stream};
use crate::codec::{Algorithm, effort::Effort};
use crate::error::{Error, Result};
use crate::index::statistics::Builder;
use crate::index::statistics::ngrams::Ngrams;
use crate::ion::pad;

/// Works until the pool is closed.
pub fn run(pool: &Arc<Pool>) {
    let mut worker = Worker::new(pool);
    while let Some(job) = next(pool) {
        let number = match &job {
            Job::Chunk(job) => job.part,
            Job::Part(job) => job.number,
        };
        // The feeder would wait forever for a part whose thread is gone.
        if catch_unwind(AssertUnwindSafe(|| worker.work(job))).is_err() {
            let error = Error::panicked("packs");
            pool.lock().fail(number, InputError { input: String::new(), error });
            pool.tell_feeder();
            worker = Worker::new(pool);
        }
    }
}

/// What a thread keeps from job to job.
struct Worker<'a> {
    pool: &'a Arc<Pool>,
    encoder: Result<Encoder>,
    parser: Option<(Arc<Input>, Box<dyn PartParser>)>,
    /// What is read at once of an input in a file.
    buffer: Vec<u8>,
}

impl<'a> Worker<'a> {
    fn new(pool: &'a Arc<Pool>) -> Self {
        let encoder = Encoder::new(pool.options.algorithm, pool.options.level);
        Self { pool, encoder, parser: None, buffer: vec![] }
    }

    fn work(&mut self, job: Job) {
        match (&mut self.encoder, job) {
            (Err(error), Job::Part(job)) => fail(self.pool, job.number, String::new(), error.clone()),
            (Err(_), Job::Chunk(_)) => {}
            (Ok(encoder), Job::Chunk(job)) => {
                compress(self.pool, encoder, job);
            }
            (Ok(_), Job::Part(job)) => self.part(job),
        }
    }

    fn part(&mut self, job: PartJob) {
        let Self { pool, encoder: Ok(encoder), parser, buffer } = self else { return };
        let selector = job.seed.as_ref().map_or(0, |seed| seed.selector);
        let effort = Effort::QUICK;
        let is_seeded = job.seed.is_some();
        let mut sink = PartSink { pool, encoder, part: job.number, selector, is_seeded, effort, chunks: 0 };
        let options = &pool.options;
        // The input that an error is in.
        let mut at = job.pieces.first();
        let result = begun(options, &job, &mut sink).and_then(|mut stream| {
            let mut all = Vec::with_capacity(job.pieces.len());
            for piece in &job.pieces {
                at = Some(piece);
                let parser = parser_for(&piece.input, parser);
                all.push(parse(piece, &job.text, parser, buffer, &mut stream)?);
            }
            Ok((all, stream.finish()?))
        });
        let mut state = pool.lock();
        match result {
            Ok((parsed, summary)) => {
                if let Some(part) = state.part(job.number) {
                    (part.parsed, part.summary) = (parsed, Some(summary));
                }
            }
            Err(error) => {
                let input = at.map_or_else(String::new, |piece| piece.input.name.clone());
                state.fail(job.number, InputError { input, error });
            }
        }
        if job.text.capacity() > 0 {
            state.texts.push(job.text);
        }
        drop(state);
        pool.tell_feeder();
    }
}

/// A parser for an input: the last one, if it reads inputs like this.
fn parser_for<'p>(
    input: &Arc<Input>,
    last: &'p mut Option<(Arc<Input>, Box<dyn PartParser>)>,
) -> &'p mut dyn PartParser {
    let known = last.take().filter(|(known, _)| known.is_read_like(input));
    let parser = known.map_or_else(|| input.parser(), |(_, parser)| parser);
    &mut *last.insert((Arc::clone(input), parser)).1
}

/// The stream of a part.
fn begun<'s>(options: &Options, job: &PartJob, sink: &'s mut PartSink) -> Result<Stream<'s>> {
    let paths = Paths::wanting(Arc::clone(&options.time_paths));
    let stream = Stream::new(options.align, options.block_bytes, sink).with_paths(paths);
    let mut stream = stream.with_larger_rows(options.max_row);
    if let Some(first) = job.pieces.first() {
        stream.read_times(&first.input.times);
    }
    let again = job.seed.as_ref().map_or(0, |seed| seed.rows_counted_before());
    let stream = stream.with_placement(job.placement.clone());
    let stream = stream.with_statistics(Builder::new(&options.statistics, job.seed.is_some(), again));
    let stream = stream.with_ngrams(Ngrams::new(&options.ngrams, job.seed.is_some()));
    match &job.seed {
        Some(seed) => seed.plant(stream),
        None => Ok(stream),
    }
}

enum Job {
    Chunk(ChunkJob),
    Part(PartJob),
}

fn next(pool: &Pool) -> Option<Job> {
    let mut state = pool.lock();
    loop {
        if let Some(job) = state.chunk_jobs.pop_front() {
            return Some(Job::Chunk(job));
        }
        if state.closed {
            return None;
        }
        if let Some(job) = state.part_jobs.pop_front() {
            drop(state);
            pool.tell_feeder();
            return Some(Job::Part(job));
        }
        state.idle += 1;
        if state.failed.is_some() {
            // The feeder may want to take parts back.
            pool.tell_feeder();
        }
        state = pool.wait_for_work(state);
        state.idle -= 1;
    }
}

fn fail(pool: &Pool, number: u64, input: String, error: Error) {
    pool.lock().fail(number, InputError { input, error });
    pool.tell_feeder();
}

/// Parses a piece of a part with this text into `stream`.
fn parse(
    piece: &Piece,
    text: &[u8],
    parser: &mut dyn PartParser,
    buffer: &mut Vec<u8>,
    stream: &mut Stream,
) -> Result<Parsed> {
    let before = stream.rows();
    let mut rejected = piece.input.rejects();
    let mut hashes = vec![];
    match &piece.text {
        Text::Stored(stretch) => hashes = stretch.parse(parser, buffer, stream)?,
        Text::Fed(fed) => {
            let placed = |error: Error| {
                let line = error.line().map_or(0, |line| if line == 0 { 0 } else { fed.line + line });
                error.shifted(fed.offset).at_line(line)
            };
            let text = &text[fed.range.clone()];
            let (whole, cut_off) = text.split_at(fed.whole);
            parser.parse(whole, fed.context, stream, &mut rejected).map_err(placed)?;
            if !cut_off.is_empty() {
                let line = memchr::memchr_iter(b'\n', whole).count() as u64 + 1;
                let error = Error::syntax(fed.whole, "the input is cut off in this line").at_line(line);
                rejected.push(&error, text, fed.whole..text.len(), stream)?;
            }
            rejected.place(fed.offset, fed.line);
        }
    }
    Ok(Parsed {
        number: piece.number,
        rows: stream.rows() - before,
        bytes: piece.len() as u64,
        hashes,
        rejected: (!rejected.is_empty()).then(|| (Arc::clone(&piece.input), rejected)),
    })
}

/// Hands the chunks of a part to an idle worker, or compresses them on the spot: they are still in the cache.
struct PartSink<'a> {
    pool: &'a Arc<Pool>,
    encoder: &'a mut Encoder,
    part: u64,
    selector: u8,
    /// Whether it goes on with a block.
    is_seeded: bool,
    effort: Effort,
    chunks: usize,
}

impl PartSink<'_> {
    /// Finds out once more what a chunk told that was taken already.
    fn ask(&mut self, job: ChunkJob) -> Result<()> {
        let mut effort = job.effort;
        let (result, buffer) =
            encode(self.pool, self.encoder, job.chunk, job.selector, &mut effort, &mut vec![]);
        self.effort = effort.settled();
        self.pool.lock().chunks.push(buffer);
        result
    }
}

impl Sink for PartSink<'_> {
    fn chunk(&mut self, chunk: Chunk) -> Result<()> {
        if chunk.resets && self.pool.options.algorithm != Algorithm::Zstd {
            self.selector = match (chunk.selector, self.chunks) {
                (Some(selector), _) => selector,
                // Symbols that go on are where they were.
                (None, 0) if self.is_seeded => self.selector,
                (None, _) => choose_selector(chunk.rows())?,
            };
        }
        if chunk.resets || self.chunks == 0 {
            self.effort = Effort::begin(self.pool.options.level, self.part == 0);
        }
        let (part, index, selector, effort) = (self.part, self.chunks, self.selector, self.effort);
        let job = ChunkJob { part, index, chunk, selector, effort };
        self.chunks += 1;
        let mut state = self.pool.lock();
        if state.closed || state.failed.as_ref().is_some_and(|(number, _)| *number < self.part) {
            return Err(Error::argument("an earlier part of the input failed"));
        }
        if let Some(part) = state.part(self.part) {
            if job.index < part.known {
                if !effort.asks() {
                    state.chunks.push(job.chunk.into_buffer());
                    return Ok(());
                }
                drop(state);
                return self.ask(job);
            }
            part.frames.push_back(None);
        }
        if state.idle > state.chunk_jobs.len() && !effort.asks() {
            state.chunk_jobs.push_back(job);
            drop(state);
            self.pool.tell_workers();
        } else {
            drop(state);
            self.effort = compress(self.pool, self.encoder, job);
        }
        Ok(())
    }

    fn buffer(&mut self) -> Vec<u8> {
        self.pool.lock().chunks.pop().unwrap_or_default()
    }

    fn hold(&mut self) {
        if let Some(part) = self.pool.lock().part(self.part) {
            part.held = Some(self.chunks);
        }
    }
}

/// Compresses a chunk and puts the frame to its place; gives the effort that those after it are worth.
fn compress(pool: &Pool, encoder: &mut Encoder, job: ChunkJob) -> Effort {
    let mut frame = pool.lock().frames.pop().unwrap_or_default();
    let ChunkJob { part, index, chunk, selector, mut effort } = job;
    let (result, buffer) = match encode(pool, encoder, chunk, selector, &mut effort, &mut frame) {
        (Ok(()), buffer) => {
            let hash = digest::of_frame(&frame);
            (Ok((frame, hash)), buffer)
        }
        (Err(error), buffer) => (Err(error), buffer),
    };
    let mut state = pool.lock();
    state.chunks.push(buffer);
    match result {
        Ok(frame) => {
            if let Some(entry) = state.part(part) {
                let at = index - entry.taken;
                if let Some(slot) = entry.frames.get_mut(at) {
                    *slot = Some(frame);
                }
            }
        }
        Err(error) => state.fail(part, InputError { input: String::new(), error }),
    }
    let has_news = state.has_news() || state.failed.is_some();
    drop(state);
    if has_news {
        pool.tell_feeder();
    }
    effort.settled()
}

/// One frame: five bytes with the length of the payload, then the payload.
fn encode(
    pool: &Pool,
    encoder: &mut Encoder,
    chunk: Chunk,
    selector: u8,
    effort: &mut Effort,
    frame: &mut Vec<u8>,
) -> (Result<()>, Vec<u8>) {
    frame.clear();
    frame.extend_from_slice(&[0; FRAME_HEADER]);
    let (result, buffer) = if pool.options.algorithm == Algorithm::Zstd {
        let start = chunk.start();
        let mut buffer = chunk.into_buffer();
        let missing = pool.options.align - (buffer.len() - start);
        pad::put(&mut buffer, missing);
        (encoder.encode_with(selector, effort, &buffer[start..], frame), buffer)
    } else {
        (encoder.encode_with(selector, effort, chunk.data(), frame), chunk.into_buffer())
    };
    let result = result.and_then(|()| frame_header(frame.len() - FRAME_HEADER));
    (result.map(|header| frame[..FRAME_HEADER].copy_from_slice(&header)), buffer)
}
