//! Decompression.

use super::control::Control;
use super::table::{self, Slots};
use super::{LAYER, command, decode_ans1, decode_ans32, decode_nibbles, stream};
use crate::error::{Error, Result};

/// Bytes that a copy may write beyond its end; they are overwritten or cut off.
const SLACK: usize = 32;

#[cold]
fn damaged(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::corrupt(LAYER, 0, message)
}

/// Decompresses a single buffer, see [`Decoder::decompress`].
pub fn decompress(buffer: &[u8], out: &mut Vec<u8>, limit: usize) -> Result<()> {
    Decoder::default().decompress(buffer, out, limit)
}

/// Decompresses buffers one by one; its memory is kept.
#[derive(Default)]
pub struct Decoder {
    slots: Slots,
    streams: [Vec<u8>; stream::COUNT],
}

impl Decoder {
    /// Replaces `out` by the content of an iguana buffer: at most `limit` bytes, and never more memory than that.
    pub fn decompress(&mut self, buffer: &[u8], out: &mut Vec<u8>, limit: usize) -> Result<()> {
        out.clear();
        let mut control = Control::new(buffer);
        let total = control.varuint()?;
        if total > limit as u64 {
            return Err(damaged(format!("content of {total} bytes, {limit} are allowed")));
        }
        let total = total as usize;
        if total == 0 {
            return Ok(());
        }
        out.reserve(total + SLACK);
        let mut structured = false;
        loop {
            let code = control.byte()?;
            let left = total - out.len();
            match code & !command::LAST {
                command::COPY => {
                    let length = room(control.varuint()?, left)?;
                    out.extend_from_slice(control.take(length as u64)?);
                }
                command::STRUCTURAL if structured => {
                    return Err(damaged("more than one structural command"));
                }
                command::STRUCTURAL => {
                    structured = true;
                    self.structural(&mut control, out, total)?;
                }
                coder @ (command::ANS32 | command::ANS1 | command::NIBBLE) => {
                    let length = room(control.varuint()?, left)?;
                    let packed = control.varuint()?;
                    entropy(coder, control.take(packed)?, length, &mut self.slots, out)?;
                }
                other => return Err(damaged(format!("an unknown command {other:02x}"))),
            }
            if code & command::LAST != 0 {
                break;
            }
        }
        if out.len() != total {
            return Err(damaged(format!("content of {} bytes where {total} were announced", out.len())));
        }
        if control.data != control.end {
            return Err(damaged(format!("{} bytes that no command uses", control.end - control.data)));
        }
        Ok(())
    }

    /// The six streams of a structural command, and the tokens over them.
    fn structural(&mut self, control: &mut Control, out: &mut Vec<u8>, total: usize) -> Result<()> {
        let header = control.varuint()?;
        if header >> (4 * stream::COUNT) != 0 {
            return Err(damaged("an entropy mode for a seventh stream"));
        }
        let mode = |number: usize| (header >> (4 * number) & 15) as u8;
        let mut lengths = [0; stream::COUNT];
        for length in &mut lengths {
            // A stream never holds more than a byte per byte of content and a few per token.
            *length = room(control.varuint()?, 4 * total + 64)?;
        }
        let mut packed = [0; stream::COUNT];
        for number in 0..stream::COUNT {
            packed[number] = if mode(number) == 0 { lengths[number] as u64 } else { control.varuint()? };
        }
        let Self { slots, streams } = self;
        for number in 0..stream::COUNT {
            let data = control.take(packed[number])?;
            let content = &mut streams[number];
            content.clear();
            let coder = match mode(number) {
                0 => {
                    content.extend_from_slice(data);
                    continue;
                }
                1 => command::ANS32,
                2 => command::ANS1,
                3 => command::NIBBLE,
                other => return Err(damaged(format!("an unknown entropy mode {other}"))),
            };
            entropy(coder, data, lengths[number], slots, content)?;
        }
        Tokens::new(streams).run(out, total)
    }
}

fn room(length: u64, left: usize) -> Result<usize> {
    if length > left as u64 {
        return Err(damaged(format!("a command that yields {length} bytes, {left} are left")));
    }
    Ok(length as usize)
}

/// Appends the content of a coded stream.
fn entropy(coder: u8, data: &[u8], count: usize, slots: &mut Slots, out: &mut Vec<u8>) -> Result<()> {
    if coder == command::NIBBLE {
        let (frequencies, data) = table::read_nibbles(data)?;
        slots.fill(&frequencies);
        return decode_nibbles(data, slots, count, out);
    }
    let (frequencies, data) = table::read_bytes(data)?;
    let complete = slots.fill(&frequencies);
    if coder == command::ANS1 {
        decode_ans1(data, slots, count, out)
    } else {
        decode_ans32(data, slots, complete, count, out)
    }
}

/// The streams while they are read.
struct Tokens<'a> {
    tokens: &'a [u8],
    near: &'a [u8],
    far: &'a [u8],
    literal_lengths: &'a [u8],
    match_lengths: &'a [u8],
    literals: &'a [u8],
    literal: usize,
    last: usize,
}

impl<'a> Tokens<'a> {
    fn new(streams: &'a [Vec<u8>; stream::COUNT]) -> Self {
        Self {
            tokens: &streams[stream::TOKENS],
            near: &streams[stream::OFFSETS_16],
            far: &streams[stream::OFFSETS_24],
            literal_lengths: &streams[stream::LITERAL_LENGTHS],
            match_lengths: &streams[stream::MATCH_LENGTHS],
            literals: &streams[stream::LITERALS],
            literal: 0,
            last: 0,
        }
    }

    fn run(mut self, out: &mut Vec<u8>, total: usize) -> Result<()> {
        let start = out.len();
        out.resize(total + SLACK, 0);
        let mut at = start;
        for &token in self.tokens {
            let length = if token >= 0x20 {
                let mut literals = usize::from(token & 7);
                if literals == 7 {
                    literals += length(&mut self.literal_lengths)?;
                }
                at = self.copy_literals(out, at, literals, total)?;
                if token < 0x80 {
                    self.last = self.near_offset()?;
                }
                let short = usize::from(token >> 3 & 15);
                if short == 15 { 15 + length(&mut self.match_lengths)? } else { short }
            } else {
                self.last = self.far_offset()?;
                if token == 0x1F { 47 + length(&mut self.match_lengths)? } else { usize::from(token) + 16 }
            };
            if length > 0 {
                if self.last == 0 || self.last > at - start {
                    return Err(damaged(format!("a match at distance {} from byte {at}", self.last)));
                }
                if length > total - at {
                    return Err(damaged("a match that goes beyond the end"));
                }
                copy_match(out, at, self.last, length);
                at += length;
            }
        }
        let rest = self.literals.len() - self.literal;
        at = self.copy_literals(out, at, rest, total)?;
        out.truncate(at);
        let unread = self.near.len() + self.far.len() + self.literal_lengths.len() + self.match_lengths.len();
        if unread != 0 {
            return Err(damaged("offsets or lengths that no token uses"));
        }
        Ok(())
    }

    #[inline]
    fn copy_literals(&mut self, out: &mut [u8], at: usize, count: usize, total: usize) -> Result<usize> {
        let from = self.literal;
        if count > self.literals.len() - from || count > total - at {
            return Err(damaged("a token with more literals than there are"));
        }
        self.literal = from + count;
        // Short ones are copied by a fixed number of bytes, which is one move.
        if count <= 16
            && let Some(source) = self.literals[from..].first_chunk::<16>()
            && let Some(target) = out[at..].first_chunk_mut::<16>()
        {
            *target = *source;
        } else {
            out[at..at + count].copy_from_slice(&self.literals[from..from + count]);
        }
        Ok(at + count)
    }

    #[inline]
    fn near_offset(&mut self) -> Result<usize> {
        let Some((offset, rest)) = self.near.split_first_chunk::<2>() else {
            return Err(damaged("a token without its offset"));
        };
        self.near = rest;
        Ok(usize::from(u16::from_le_bytes(*offset)))
    }

    #[inline]
    fn far_offset(&mut self) -> Result<usize> {
        let Some((&[low, middle, high], rest)) = self.far.split_first_chunk::<3>() else {
            return Err(damaged("a token without its offset"));
        };
        self.far = rest;
        Ok(usize::from(low) | usize::from(middle) << 8 | usize::from(high) << 16)
    }
}

/// Reads a length in base 254.
#[inline]
fn length(stream: &mut &[u8]) -> Result<usize> {
    let (value, rest) = match *stream {
        [byte @ 0..=253, rest @ ..] => (usize::from(*byte), rest),
        [254, x, y, rest @ ..] => (usize::from(*x) + 254 * usize::from(*y), rest),
        [255, x, y, z, rest @ ..] => {
            (usize::from(*x) + 254 * usize::from(*y) + 254 * 254 * usize::from(*z), rest)
        }
        _ => return Err(damaged("a length that is cut off")),
    };
    *stream = rest;
    Ok(value)
}

/// Copies `length` bytes from `distance` bytes back; there are [`SLACK`] bytes of room behind them.
#[inline]
fn copy_match(out: &mut [u8], at: usize, distance: usize, length: usize) {
    let (mut from, mut to, end) = (at - distance, at, at + length);
    if distance >= 16 {
        while to < end {
            let Some(chunk) = out.get(from..).and_then(<[u8]>::first_chunk::<16>).copied() else { return };
            let Some(target) = out.get_mut(to..).and_then(<[u8]>::first_chunk_mut::<16>) else { return };
            *target = chunk;
            from += 16;
            to += 16;
        }
        return;
    }
    if distance == 1 {
        let byte = out[from];
        out[to..end].fill(byte);
        return;
    }
    // The period doubles until it is wide enough.
    let mut period = distance;
    while to < end {
        let count = period.min(end - to);
        out.copy_within(from..from + count, to);
        to += count;
        if period < 1 << 16 {
            period = to - from;
        } else {
            from += count;
        }
    }
}
