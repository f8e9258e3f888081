//! The side of a packer that gives frames, and says what they hold.

use std::collections::VecDeque;
use std::sync::Arc;

use super::packer::{Interrupt, Packer, Run, Stop};
use super::pool::Part;
use crate::index::statistics::RunStatistics;

impl Packer {
    /// The frames that are ready, in order.
    pub fn take(&mut self) -> Result<VecDeque<Vec<u8>>, Stop> {
        let pool = Arc::clone(&self.pool);
        let mut state = pool.lock();
        if let Some((number, error)) = state.settled_failure() {
            let error = error.clone();
            // Where the end of a part was guessed wrong, `advance` sees to it.
            if !state.part(number).is_some_and(|part| part.is_doubtful()) {
                return Err(Stop::Failed(error));
            }
        }
        let failed = state.failed.as_ref().map(|(number, _)| *number);
        let (mut ready, mut known) = (VecDeque::new(), vec![]);
        while failed.is_none_or(|number| state.first_part < number)
            && let Some(part) = state.parts.front_mut()
        {
            while !part.is_held()
                && let Some(Some(_)) = part.frames.front()
            {
                let Some(Some((frame, hash))) = part.frames.pop_front() else { break };
                part.taken += 1;
                part.places.push((self.position, hash));
                self.position += frame.len() as u64;
                ready.push_back(frame);
            }
            if !part.frames.is_empty() || part.summary.is_none() {
                break;
            }
            if let Some(part) = state.parts.pop_front() {
                state.first_part += 1;
                known.extend(self.account(part));
            }
        }
        drop(state);
        for run in known {
            self.gatherer.add(run);
        }
        Ok(ready)
    }

    /// Gives the memory of frames back.
    pub fn recycle(&self, frames: impl IntoIterator<Item = Vec<u8>>) {
        self.pool.lock().frames.extend(frames);
    }

    /// Notes what a part that was taken consists of; gives what is known of the values in it.
    fn account(&mut self, part: Part) -> Vec<RunStatistics> {
        let Some(summary) = part.summary else { return vec![] };
        let mut known = vec![];
        let mut at = 0;
        for block in summary.blocks {
            let places = part.places.get(at..).unwrap_or_default();
            let places = &places[..places.len().min(block.chunks as usize)];
            let offset = places.first().map_or(self.position, |(offset, _)| *offset);
            let hashes = places.iter().flat_map(|(_, hash)| hash).copied().collect();
            at += block.chunks as usize;
            self.rows += block.rows;
            let (chunks, rows, paths) = (block.chunks, block.rows, block.statistics);
            known.push(RunStatistics { offset, chunks, rows, paths, ngrams: block.ngrams });
            self.runs.push(Run {
                offset,
                chunks: block.chunks,
                rows: block.rows,
                ranges: block.ranges,
                complete: summary.fields.complete,
                hashes,
            });
        }
        self.hidden.extend(summary.hidden);
        self.cut_times += summary.cut_times;
        self.replaced += summary.replaced;
        self.dropped += summary.dropped;
        self.kept_whole += summary.kept_whole;
        self.largest_chunk = self.largest_chunk.max(summary.largest_chunk);
        self.fields.add(summary.fields);
        for parsed in part.parsed {
            if let Some(input) = self.inputs.get_mut(parsed.number) {
                input.rows += parsed.rows;
                input.text_bytes += parsed.bytes;
                input.digest.add(parsed.hashes);
            }
            self.text_bytes += parsed.bytes;
            self.rejected.extend(parsed.rejected.map(|(input, records)| (input.name.clone(), records)));
        }
        known
    }

    /// Whether all that was fed is taken.
    pub fn is_drained(&self) -> bool {
        self.open.is_empty() && self.pool.lock().parts.is_empty()
    }

    /// Waits until something may be ready. Between inputs, it ends the part that is open: call it when all were fed.
    pub fn wait(&mut self, interrupt: Interrupt) -> Result<(), Stop> {
        if self.current.is_none() {
            self.close_part();
        }
        let state = self.pool.lock();
        if state.has_news() {
            return Ok(());
        }
        drop(self.pool.wait_for_news(state));
        if interrupt() { Err(Stop::Interrupted) } else { Ok(()) }
    }

    /// Length of the frames that were taken, in bytes.
    pub fn position(&self) -> u64 {
        self.position
    }
}
