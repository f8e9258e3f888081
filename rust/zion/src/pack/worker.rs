//! The threads that parse parts and compress chunks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::format::Input;
use super::pool::{ChunkJob, PartJob, Pool};
use super::{InputError, PartParser, Rejected};
use crate::bucket::{Encoder, choose_selector};
use crate::chunker::{Chunk, Sink, Stream, Summary};
use crate::codec::Algorithm;
use crate::error::{Error, Result};
use crate::ion::pad;
use crate::paths::Paths;

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
            let error = Error::corrupt("packer", 0, "a thread panicked: this is a bug of sdb");
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
}

impl<'a> Worker<'a> {
    fn new(pool: &'a Arc<Pool>) -> Self {
        let encoder = Encoder::new(pool.options.algorithm, pool.options.level);
        Self { pool, encoder, parser: None }
    }

    fn work(&mut self, job: Job) {
        match (&mut self.encoder, job) {
            (Err(error), Job::Part(job)) => fail(self.pool, &job.input, job.number, error.clone()),
            (Err(_), Job::Chunk(_)) => {}
            (Ok(encoder), Job::Chunk(job)) => compress(self.pool, encoder, job),
            (Ok(encoder), Job::Part(job)) => part(self.pool, encoder, &mut self.parser, job),
        }
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
        state = pool.wait_for_work(state);
        state.idle -= 1;
    }
}

fn fail(pool: &Pool, input: &Input, number: u64, error: Error) {
    pool.lock().fail(number, InputError { input: input.name.clone(), error });
    pool.tell_feeder();
}

fn part(
    pool: &Arc<Pool>,
    encoder: &mut Encoder,
    parser: &mut Option<(Arc<Input>, Box<dyn PartParser>)>,
    job: PartJob,
) {
    if parser.as_ref().is_none_or(|(input, _)| !Arc::ptr_eq(input, &job.input)) {
        *parser = Some((Arc::clone(&job.input), job.input.parser()));
    }
    let Some((_, parser)) = parser else { return };
    let mut rejected = vec![];
    let selector = job.seed.as_ref().map_or(0, |seed| seed.selector);
    let mut sink = PartSink { pool, encoder, part: job.number, selector, chunks: 0 };
    let result = parse(&pool.options, &mut **parser, &job, &mut sink, &mut rejected);
    let mut state = pool.lock();
    match result {
        Ok(summary) => {
            if let Some(part) = state.part(job.number) {
                part.summary = Some(summary);
                part.input_bytes = job.text.len() as u64;
                part.rejected = rejected.into_iter().map(|record| (Arc::clone(&job.input), record)).collect();
            }
        }
        Err(error) => state.fail(job.number, InputError { input: job.input.name.clone(), error }),
    }
    state.texts.push(job.text);
    drop(state);
    pool.tell_feeder();
}

fn parse(
    options: &super::Options,
    parser: &mut dyn PartParser,
    job: &PartJob,
    sink: &mut PartSink,
    rejected: &mut Vec<Rejected>,
) -> Result<Summary> {
    let paths = Paths::wanting(Arc::clone(&options.time_paths));
    let mut stream = Stream::new(options.align, options.block_bytes, sink).with_paths(paths);
    if let Some(seed) = &job.seed {
        stream = seed.plant(stream)?;
    }
    let placed = |error: Error| {
        let line = error.line().map_or(0, |line| if line == 0 { 0 } else { job.line + line });
        error.shifted(job.offset).at_line(line)
    };
    parser.parse(&job.text, job.context, &mut stream, rejected).map_err(placed)?;
    for record in rejected.iter_mut() {
        record.offset += job.offset;
        record.error = placed(record.error.clone());
    }
    stream.finish()
}

/// Hands the chunks of a part to an idle worker, or compresses them on the spot: they are still in the cache.
struct PartSink<'a> {
    pool: &'a Arc<Pool>,
    encoder: &'a mut Encoder,
    part: u64,
    selector: u8,
    chunks: usize,
}

impl Sink for PartSink<'_> {
    fn chunk(&mut self, chunk: Chunk) -> Result<()> {
        if chunk.resets && self.pool.options.algorithm != Algorithm::Zstd {
            self.selector = choose_selector(chunk.rows())?;
        }
        let job = ChunkJob { part: self.part, index: self.chunks, chunk, selector: self.selector };
        self.chunks += 1;
        let mut state = self.pool.lock();
        if state.closed || state.failed.as_ref().is_some_and(|(number, _)| *number < self.part) {
            return Err(Error::argument("an earlier part of the input failed"));
        }
        if let Some(part) = state.part(self.part) {
            part.frames.push_back(None);
        }
        if state.idle > state.chunk_jobs.len() {
            state.chunk_jobs.push_back(job);
            drop(state);
            self.pool.tell_workers();
        } else {
            drop(state);
            compress(self.pool, self.encoder, job);
        }
        Ok(())
    }

    fn buffer(&mut self) -> Vec<u8> {
        self.pool.lock().chunks.pop().unwrap_or_default()
    }
}

/// Compresses a chunk and puts the frame to its place.
fn compress(pool: &Pool, encoder: &mut Encoder, job: ChunkJob) {
    let mut frame = pool.lock().frames.pop().unwrap_or_default();
    let ChunkJob { part, index, chunk, selector } = job;
    let (result, buffer) = match encode(pool, encoder, chunk, selector, &mut frame) {
        (Ok(()), buffer) => (Ok(frame), buffer),
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
    drop(state);
    pool.tell_feeder();
}

/// One frame: five bytes with the length of the payload, then the payload.
fn encode(
    pool: &Pool,
    encoder: &mut Encoder,
    chunk: Chunk,
    selector: u8,
    frame: &mut Vec<u8>,
) -> (Result<()>, Vec<u8>) {
    frame.clear();
    frame.extend_from_slice(&[0; 5]);
    let (result, buffer) = if pool.options.algorithm == Algorithm::Zstd {
        let start = chunk.start();
        let mut buffer = chunk.into_buffer();
        let missing = pool.options.align - (buffer.len() - start);
        pad::put(&mut buffer, missing);
        (encoder.encode_with(selector, &buffer[start..], frame), buffer)
    } else {
        (encoder.encode_with(selector, chunk.data(), frame), chunk.into_buffer())
    };
    let length = frame.len() - 5;
    let header = [0xAE, length >> 21 & 0x7F, length >> 14 & 0x7F, length >> 7 & 0x7F, length & 0x7F | 0x80];
    frame[..5].copy_from_slice(&header.map(|byte| byte as u8));
    (result, buffer)
}
