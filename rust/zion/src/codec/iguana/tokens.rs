//! The tokens of a structural command: literals and matches put together again.

use super::{LAYER, MIN_FAR_MATCH, SHORT_LENGTH, stream};
use crate::error::{Error, Result};

/// Copies are made in units of this size and may go beyond their end by less than one unit.
const WIDE: usize = 32;
/// Bytes that the output has behind the content, for copies that go beyond their end.
pub const SLACK: usize = 2 * WIDE;
/// The 24-bit token whose match length goes on in the stream of lengths, and what it stands for.
const FAR_LONG: u8 = 0x1F;

#[cold]
fn damaged(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::corrupt(LAYER, 0, message)
}

/// The six streams while they are read.
pub struct Tokens<'a> {
    codes: &'a [u8],
    near: &'a [u8],
    far: &'a [u8],
    literal_lengths: &'a [u8],
    match_lengths: &'a [u8],
    literals: &'a [u8],
}

impl<'a> Tokens<'a> {
    /// The streams in their order.
    pub fn new(streams: [&'a [u8]; stream::COUNT]) -> Self {
        let [codes, near, far, literal_lengths, match_lengths, literals] = streams;
        Self { codes, near, far, literal_lengths, match_lengths, literals }
    }

    /// Writes the content to `out`, which has [`SLACK`] bytes more than it may take; gives its length.
    pub fn run(mut self, out: &mut [u8]) -> Result<usize> {
        let room = out.len() - SLACK;
        let (mut at, mut last) = (0, 0);
        for &token in self.codes {
            let length = if token >= 0x20 {
                let mut count = usize::from(token & 7);
                if count == 7 {
                    count += length(&mut self.literal_lengths)?;
                }
                if count > self.literals.len() || count > room - at {
                    return Err(damaged("a token with more literals than there are"));
                }
                self.copy_literals(out, at, count);
                at += count;
                // Without a branch: which of the two it is cannot be foreseen.
                let fresh = token < 0x80;
                let offset =
                    self.near.first_chunk().map_or(0, |bytes| usize::from(u16::from_le_bytes(*bytes)));
                last = if fresh { offset } else { last };
                self.near = self.near.get(2 * usize::from(fresh)..).unwrap_or_default();
                match usize::from(token >> 3 & 15) {
                    0 => continue,
                    15 => 15 + length(&mut self.match_lengths)?,
                    short => short,
                }
            } else {
                last = self.far_offset()?;
                let short = usize::from(token) + MIN_FAR_MATCH;
                if token == FAR_LONG { short + length(&mut self.match_lengths)? } else { short }
            };
            if last.wrapping_sub(1) >= at {
                return Err(damaged(format!("a match at distance {last} from byte {at}")));
            }
            if length > room - at {
                return Err(damaged("a match that goes beyond the end"));
            }
            copy_match(out, at, last, length);
            at += length;
        }
        self.finish(out, at, room)
    }

    /// What is left of the literals is the end of the content; nothing else may be left.
    fn finish(self, out: &mut [u8], at: usize, room: usize) -> Result<usize> {
        let end = at + self.literals.len();
        if end > room {
            return Err(damaged("more literals than the content has room for"));
        }
        out[at..end].copy_from_slice(self.literals);
        let unread = [self.near, self.far, self.literal_lengths, self.match_lengths];
        if unread.iter().any(|stream| !stream.is_empty()) {
            return Err(damaged("offsets or lengths that no token uses"));
        }
        Ok(end)
    }

    #[inline]
    fn copy_literals(&mut self, out: &mut [u8], at: usize, count: usize) {
        if count <= WIDE
            && let Some(source) = self.literals.first_chunk::<WIDE>()
            && let Some(target) = out.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<WIDE>)
        {
            *target = *source;
        } else {
            out[at..at + count].copy_from_slice(&self.literals[..count]);
        }
        self.literals = &self.literals[count..];
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
        [254, x, y, rest @ ..] => (usize::from(*x) + SHORT_LENGTH * usize::from(*y), rest),
        [255, x, y, z, rest @ ..] => {
            let high = usize::from(*y) + SHORT_LENGTH * usize::from(*z);
            (usize::from(*x) + SHORT_LENGTH * high, rest)
        }
        _ => return Err(damaged("a length that is cut off")),
    };
    *stream = rest;
    Ok(value)
}

/// Copies `length` bytes from `distance` bytes back; there are [`SLACK`] bytes of room behind them.
#[inline]
fn copy_match(out: &mut [u8], at: usize, distance: usize, length: usize) {
    let end = at + length;
    if distance >= WIDE {
        copy_units::<WIDE>(out, at, distance, end);
    } else if distance >= WIDE / 2 {
        copy_units::<{ WIDE / 2 }>(out, at, distance, end);
    } else {
        repeat(out, at, distance, end);
    }
}

#[inline]
fn copy_units<const N: usize>(out: &mut [u8], at: usize, distance: usize, end: usize) {
    let mut to = at;
    loop {
        out.copy_within(to - distance..to - distance + N, to);
        to += N;
        if to >= end {
            break;
        }
    }
}

/// A match that overlaps itself: the last `distance` bytes, below 16, over and over.
fn repeat(out: &mut [u8], at: usize, distance: usize, end: usize) {
    let Some(bytes) = out.get(at - distance..).and_then(<[u8]>::first_chunk::<16>) else { return };
    let bits = 8 * distance as u32;
    let mut pattern = u128::from_le_bytes(*bytes) & ((1 << bits) - 1);
    for double in 0..4 {
        pattern |= pattern.checked_shl(bits << double).unwrap_or(0);
    }
    let step = 16 - 16 % distance;
    let mut to = at;
    while to < end {
        let Some(target) = out.get_mut(to..).and_then(<[u8]>::first_chunk_mut::<16>) else { return };
        *target = pattern.to_le_bytes();
        to += step;
    }
}
