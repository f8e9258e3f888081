//! The side of a packer that takes input.

use std::sync::Arc;

use super::content;
use super::encoding::Decoder;
use super::format::{Format, Input};
use super::inflate::{Compression, Inflater};
use super::packer::{Current, Interrupt, Packer, Stop, Taken, in_input};
use super::pool::Text;
use super::{Constants, Fields, InputError, OnError};
use crate::error::{Error, Result};
use crate::times::Times;

/// Text that may be gathered while no place to cut is found: a record of more than that cannot be stored.
const MAX_PART: usize = 64 << 20;

/// The most white space that stands for what is left out between records.
const MAX_BLANKS: u64 = 64 << 10;

impl Packer {
    /// Begins an input.
    pub fn begin(&mut self, name: &str, format: Format, compression: Compression) -> Result<()> {
        self.begin_with(name, format, compression, vec![], Arc::default(), self.pool.options.on_error)
            .map(drop)
    }

    /// Begins an input whose times are read by `times`, and whose rows get the fields of `defaults` that they lack;
    /// gives what tells whether one had such a field.
    pub fn begin_with(
        &mut self,
        name: &str,
        format: Format,
        compression: Compression,
        defaults: Fields,
        times: Arc<Times>,
        on_error: OnError,
    ) -> Result<Arc<Constants>> {
        let constants = if defaults.is_empty() {
            Arc::clone(&self.constants)
        } else {
            Arc::new(self.constants.with_defaults(defaults))
        };
        format.read_times(&times);
        let on_error = match on_error {
            // What is no text has none that a row could have.
            OnError::Keep if !format.is_text() => OnError::Skip,
            on_error => on_error,
        };
        let input = Arc::new(Input {
            name: name.to_owned(),
            format,
            constants: Arc::clone(&constants),
            on_error,
            times,
        });
        let splitter = input.splitter();
        self.inputs.push(Taken::default());
        self.current = Some(Current {
            splitter,
            inflater: Inflater::new(compression)?,
            decoder: Decoder::new(input.format.is_text()),
            damage: None,
            unwrapper: input.format.unwrapper(),
            unfolder: input.format.unfolder(),
            input,
            text: vec![],
            context: 0,
            parts: 0,
            offset: 0,
            line: 0,
            stored: None,
            content: content::Pieces::default(),
        });
        Ok(constants)
    }

    /// Takes bytes of the current input. Waits while there is more to do than the threads can take.
    pub fn feed(&mut self, data: &[u8], interrupt: Interrupt) -> Result<(), Stop> {
        let Some(mut current) = self.current.take() else {
            return Err(Error::argument("no input was begun").into());
        };
        current.content.update(data);
        let result = match &mut current.inflater {
            _ if current.damage.is_some() => Ok(()),
            None => self.decode(&mut current, data, interrupt),
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
            let piece = match piece {
                Err(error @ Error::Corrupt { .. }) if current.input.on_error != OnError::Fail => {
                    current.damage = Some(error);
                    return Ok(());
                }
                piece => piece,
            };
            result = piece.map_err(|error| in_input(current, error)).and_then(|piece| {
                let done = self.decode(current, &piece, interrupt);
                inflater.recycle(piece);
                done
            });
        }
        current.inflater = Some(inflater);
        result
    }

    fn decode(&mut self, current: &mut Current, data: &[u8], interrupt: Interrupt) -> Result<(), Stop> {
        if current.decoder.is_plain() {
            return self.text(current, data, interrupt);
        }
        let text = current.decoder.feed(data).into_owned();
        self.text(current, &text, interrupt)
    }

    /// Says that the current input is damaged from here on, where what is malformed is passed over.
    pub fn damage(&mut self, error: Error) {
        if let Some(current) = &mut self.current {
            current.damage.get_or_insert(error);
        }
    }

    fn text(&mut self, current: &mut Current, data: &[u8], interrupt: Interrupt) -> Result<(), Stop> {
        let Some(mut unwrapper) = current.unwrapper.take() else {
            return self.unfold(current, data, interrupt);
        };
        let mut at = 0;
        let result = loop {
            let piece = match unwrapper.next(data, &mut at) {
                Ok(Some(piece)) => piece,
                Ok(None) => break Ok(()),
                Err(error) => break Err(in_input(current, error)),
            };
            let (bytes, lines) = piece.skipped;
            if current.offset == 0 && current.text.is_empty() {
                (current.offset, current.line) = (bytes, lines);
            } else if bytes > 0 {
                // So that places in the text stay those in the input, as far as they are told.
                let lines = lines.min(MAX_BLANKS);
                let mut blanks = vec![b'\n'; lines as usize];
                blanks.resize(bytes.clamp(lines, MAX_BLANKS) as usize, b' ');
                if let Err(stop) = self.unfold(current, &blanks, interrupt) {
                    break Err(stop);
                }
            }
            if let Err(stop) = self.unfold(current, &data[piece.range], interrupt) {
                break Err(stop);
            }
        };
        current.unwrapper = Some(unwrapper);
        result
    }

    fn unfold(&mut self, current: &mut Current, data: &[u8], interrupt: Interrupt) -> Result<(), Stop> {
        let Some(mut unfolder) = current.unfolder.take() else {
            return self.gather(current, data, interrupt);
        };
        let mut at = 0;
        let result = loop {
            let done = match unfolder.next(data, &mut at) {
                Ok(Some(text)) => self.gather(current, text, interrupt),
                Ok(None) => break Ok(()),
                Err(error) => {
                    let lines = current.line + memchr::memchr_iter(b'\n', &current.text).count() as u64;
                    Err(in_input(current, error.shifted(current.offset).at_line(lines + 1)))
                }
            };
            if done.is_err() {
                break done;
            }
        };
        current.unfolder = Some(unfolder);
        result
    }

    fn gather(&mut self, current: &mut Current, mut data: &[u8], interrupt: Interrupt) -> Result<(), Stop> {
        let full = self.pool.options.part_bytes;
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
        let fed = current.fed(&text, end.is_none());
        let piece = self.piece(current, Text::Fed(fed));
        current.offset += text.len() as u64;
        current.line += memchr::memchr_iter(b'\n', &text).count() as u64;
        current.context = current.splitter.next_part();
        current.parts += 1;
        let pieces = vec![piece];
        if current.parts == 1 {
            let input = &current.input;
            input.format.learn(&text, &input.constants, &input.times);
            self.close_part();
            self.look_at(&text, &pieces);
        }
        self.enqueue(text, pieces);
        if let Some(rest) = rest {
            self.wait_for_room(interrupt)?;
            current.text = self.empty_text();
            current.text.extend_from_slice(&rest);
        }
        Ok(())
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
        let rest = current.decoder.end();
        self.text(&mut current, &rest, interrupt)?;
        self.replaced += current.decoder.take_replaced();
        if let Some(mut unfolder) = current.unfolder.take() {
            self.gather(&mut current, unfolder.end(), interrupt)?;
            self.not_unfolded += unfolder.others;
        }
        if current.parts == 0 && current.context == 0 && self.is_small(current.text.len()) {
            if !current.text.is_empty() {
                self.share(&mut current);
            }
        } else if !current.text.is_empty() || current.context != 0 {
            self.submit(&mut current, None, interrupt)?;
        }
        if self.is_full() {
            self.close_part();
            self.wait_for_room(interrupt)?;
        }
        if let Some(input) = self.inputs.last_mut() {
            input.bytes = current.content.position();
            input.digest.end(current.content.finish());
        }
        if let Some(error) = current.damage.take() {
            self.damages.push(InputError { input: current.input.name.clone(), error });
            return Ok(());
        }
        let Some(unwrapper) = &current.unwrapper else { return Ok(()) };
        self.left_out.push((current.input.name.clone(), unwrapper.left_out().collect()));
        unwrapper.finish().map_err(|error| in_input(&current, error))
    }
}
