//! The side of a packer that hands out files which the threads read by themselves.

use std::sync::Arc;

use super::encoding::{self, Decoder};
use super::packer::{Current, Interrupt, Packer, Stop, Stored, in_input};
use super::pool::{Part, Text};
use super::stored::{Stretch, guess, lines};
use crate::input::Bytes;
use crate::pack::content::Pieces;

impl Packer {
    /// Takes the current input from a file: all of it if it is small, else as far as the threads can read it by
    /// themselves. `advance` hands it out.
    pub fn store(&mut self, bytes: Arc<dyn Bytes>, interrupt: Interrupt) -> Result<(), Stop> {
        if self.is_small(bytes.size()) {
            let mut text = vec![0; bytes.size()];
            // One that cannot be read, or is shorter by now, is fed.
            return if bytes.read(0, &mut text).is_ok() { self.feed(&text, interrupt) } else { Ok(()) };
        }
        // The open part goes before those of the file.
        let first = self.next_part + u64::from(!self.open.is_empty());
        let mut start = [0; encoding::START];
        let start = &mut start[..encoding::START.min(bytes.size())];
        if let Some(current) = &mut self.current
            && current.input.is_stored()
            && current.inflater.is_none()
            && bytes.read(0, start).is_ok()
            && Decoder::of_start(start).0.is_plain()
        {
            current.decoder = Decoder::Plain;
            current.stored = Some(Stored { bytes, first, at: 0, is_over: false });
        }
        Ok(())
    }

    /// Hands out parts of the file, and waits until there are frames to take, or nothing more to do here: then
    /// gives the place from where on the file is to be fed.
    pub fn advance(&mut self, interrupt: Interrupt) -> Result<Option<u64>, Stop> {
        let Some(mut current) = self.current.take() else { return Ok(Some(0)) };
        let result = match current.stored.take() {
            Some(mut stored) => {
                let result = self.hand_out(&mut current, &mut stored, interrupt);
                if matches!(result, Ok(None)) {
                    current.stored = Some(stored);
                }
                result
            }
            None => Ok(Some(current.content.position())),
        };
        self.current = Some(current);
        result
    }

    fn hand_out(
        &mut self,
        current: &mut Current,
        stored: &mut Stored,
        interrupt: Interrupt,
    ) -> Result<Option<u64>, Stop> {
        let pool = Arc::clone(&self.pool);
        let mut state = pool.lock();
        loop {
            if let Some((number, error)) = state.settled_failure() {
                let error = error.clone();
                let doubtful = state.part(number).filter(|part| part.is_doubtful());
                let guessed = doubtful.and_then(|part| part.guessed);
                drop(state);
                let Some(start) = guessed else { return Err(Stop::Failed(error)) };
                self.take_back(number, interrupt)?;
                current.parts = (number - stored.first) as u32;
                return rest(current, &*stored.bytes, start);
            }
            let has_failed = state.failed.is_some();
            if !has_failed && !stored.is_over && state.part_jobs.len() <= state.idle {
                drop(state);
                self.next_stretch(current, stored);
                state = pool.lock();
                continue;
            }
            // What comes after a part whose end was guessed is not begun before the guess is known to be right.
            if !has_failed && stored.is_over && !state.parts.iter().any(Part::is_doubtful) {
                drop(state);
                return rest(current, &*stored.bytes, stored.at);
            }
            if state.has_news() {
                return Ok(None);
            }
            state = pool.wait_for_news(state);
            if interrupt() {
                return Err(Stop::Interrupted);
            }
        }
    }

    /// Hands out the next part of the file.
    fn next_stretch(&mut self, current: &mut Current, stored: &mut Stored) {
        let (start, size) = (stored.at, stored.bytes.size());
        let wanted = start + current.part_bytes(self.pool.options.part_bytes);
        let Ok(Some(end)) = guess(&*stored.bytes, start, wanted) else {
            stored.is_over = true;
            return;
        };
        (stored.at, stored.is_over) = (end, end == size);
        if start < end {
            current.parts += 1;
            let wanted = (end < size).then_some(wanted);
            let bytes = Arc::clone(&stored.bytes);
            let read_bytes = self.pool.options.read_bytes.max(1);
            let text = Text::Stored(Stretch { bytes, start, end, wanted, read_bytes });
            let pieces = vec![self.piece(current, text)];
            if start == 0 {
                self.close_part();
                self.look_at(&[], &pieces);
            }
            self.enqueue(vec![], pieces);
        }
    }

    /// Forgets the parts from `number` on, once no thread works on them. Of that part itself, chunks may have
    /// been taken.
    fn take_back(&mut self, number: u64, interrupt: Interrupt) -> Result<(), Stop> {
        let mut state = self.pool.lock();
        state.part_jobs.clear();
        state.chunk_jobs.retain(|job| job.part < number);
        while state.idle < self.workers.len() || !state.chunk_jobs.is_empty() {
            state = self.pool.wait_for_news(state);
            if interrupt() {
                return Err(Stop::Interrupted);
            }
        }
        if let Some((_, error)) = state.failed.as_ref().filter(|(failed, _)| *failed < number) {
            // A chunk of a part that was parsed could not be compressed.
            return Err(Stop::Failed(error.clone()));
        }
        let kept = number.saturating_sub(state.first_part) as usize;
        state.parts.truncate(kept + 1);
        if let Some(part) = state.part(number) {
            let (taken, places) = (part.taken, std::mem::take(&mut part.places));
            *part = Part { taken, places, known: taken, ..Part::default() };
        }
        state.failed = None;
        self.next_part = number;
        Ok(())
    }
}

/// The place from where on a file is fed.
fn rest(current: &mut Current, bytes: &dyn Bytes, start: usize) -> Result<Option<u64>, Stop> {
    current.offset = start as u64;
    current.content = Pieces::from(bytes, start).map_err(|error| in_input(current, error))?;
    if start < bytes.size() {
        current.line = lines(bytes, start).map_err(|error| in_input(current, error))?;
    }
    Ok(Some(current.offset))
}
