//! The coders: range ANS with states of 32 bits, words of 16 bits and frequencies of 12 bits.

use super::layout::LAYER;
use super::table::{Frequencies, SCALE, Slots};
use crate::error::{Error, Result};
use crate::simd::ans::{Fault, LANES, LOW, Lanes};

const NO_SYMBOL: &str = "a state that stands for no symbol";
const TOO_EARLY: &str = "a coded stream that ends too early";
const NO_END: &str = "a coded stream whose end does not fit its beginning";

#[cold]
fn damaged(message: &'static str) -> Error {
    Error::corrupt(LAYER, 0, message)
}

/// A decoder of one state, which reads its words backward.
struct Single<'a> {
    words: &'a [u8],
    state: u32,
}

impl<'a> Single<'a> {
    fn new(data: &'a [u8]) -> Result<Self> {
        let Some((words, state)) = data.split_last_chunk::<4>() else {
            return Err(damaged("a coded stream of fewer than 4 bytes"));
        };
        Ok(Self { words, state: u32::from_le_bytes(*state) })
    }

    #[inline]
    fn next(&mut self, slots: &Slots) -> Result<u8> {
        let Some((symbol, mut state)) = slots.step(self.state) else {
            return Err(damaged(NO_SYMBOL));
        };
        if state < LOW {
            let Some((words, word)) = self.words.split_last_chunk::<2>() else {
                return Err(damaged(TOO_EARLY));
            };
            self.words = words;
            state = state << 16 | u32::from(u16::from_le_bytes(*word));
        }
        self.state = state;
        Ok(symbol)
    }

    fn finish(self) -> Result<()> {
        if self.state == LOW && self.words.is_empty() { Ok(()) } else { Err(damaged(NO_END)) }
    }
}

/// Fills `target` from an ANS1 stream, whose table was taken off.
pub fn decode_ans1(data: &[u8], slots: &Slots, target: &mut [u8]) -> Result<()> {
    let mut decoder = Single::new(data)?;
    for byte in target.iter_mut() {
        *byte = decoder.next(slots)?;
    }
    if target.is_empty() { Ok(()) } else { decoder.finish() }
}

/// Fills `target` from a stream of nibbles, whose table was taken off.
pub fn decode_nibbles(data: &[u8], slots: &Slots, target: &mut [u8]) -> Result<()> {
    let mut decoder = Single::new(data)?;
    for byte in target.iter_mut() {
        let low = decoder.next(slots)?;
        *byte = low | decoder.next(slots)? << 4;
    }
    if target.is_empty() { Ok(()) } else { decoder.finish() }
}

/// Fills `target` from an ANS32 stream, whose table was taken off.
pub fn decode_ans32(data: &[u8], slots: &Slots, target: &mut [u8]) -> Result<()> {
    let empty = target.is_empty();
    let stream = Ans32::new(data, slots, target)?;
    if empty { Ok(()) } else { stream.finish() }
}

/// An ANS32 stream while it is decoded.
pub struct Ans32<'a> {
    lanes: Lanes,
    data: &'a [u8],
    slots: &'a Slots,
    /// What is left to fill.
    target: &'a mut [u8],
}

impl<'a> Ans32<'a> {
    /// The start of a stream, whose table was taken off.
    pub fn new(data: &'a [u8], slots: &'a Slots, target: &'a mut [u8]) -> Result<Self> {
        let Some(lanes) = Lanes::new(data) else {
            return Err(damaged("a coded stream of fewer than 128 bytes"));
        };
        Ok(Self { lanes, data, slots, target })
    }

    /// Decodes as much of two streams as can be done with both, which takes little longer than one of them.
    pub fn advance_with(&mut self, other: &mut Ans32) {
        let done = Lanes::run_both(
            [&mut self.lanes, &mut other.lanes],
            [self.data, other.data],
            [self.slots.all(), other.slots.all()],
            [self.target, other.target],
        );
        self.skip(done);
        other.skip(done);
    }

    fn skip(&mut self, done: usize) {
        self.target = &mut std::mem::take(&mut self.target)[done..];
    }

    /// Decodes the rest.
    pub fn finish(self) -> Result<()> {
        let Self { mut lanes, data, slots, target } = self;
        let done = lanes.run(data, slots.all(), target);
        for group in target[done..].chunks_mut(LANES) {
            lanes.round(data, slots.all(), group).map_err(|fault| match fault {
                Fault::NoSymbol => damaged(NO_SYMBOL),
                Fault::NoWord => damaged(TOO_EARLY),
            })?;
        }
        if !lanes.are_finished() {
            return Err(damaged(NO_END));
        }
        Ok(())
    }
}

/// What an encoder needs of a symbol.
#[derive(Clone, Copy, Default)]
struct Range {
    /// From this state on a word is written first.
    full: u32,
    /// The sum of the frequencies of all smaller symbols.
    start: u32,
    /// 4096 without the frequency.
    rest: u32,
    /// 2^44 divided by the frequency, rounded up.
    inverse: u64,
}

impl Range {
    fn all<const N: usize>(frequencies: &Frequencies<N>) -> [Self; N] {
        let mut ranges = [Self::default(); N];
        let mut start = 0;
        for (range, &frequency) in ranges.iter_mut().zip(&frequencies.0) {
            let frequency = u32::from(frequency);
            let inverse = (1u64 << 44).div_ceil(u64::from(frequency.max(1)));
            *range = Self { full: frequency << 20, start, rest: SCALE - frequency, inverse };
            start += frequency;
        }
        ranges
    }

    /// Takes a state one step on. First there may be a word to write, the low bits of the state: whether there
    /// is, and the state without it.
    #[inline]
    fn shrink(self, state: u32) -> (bool, u32) {
        let full = state >= self.full;
        (full, if full { state >> 16 } else { state })
    }

    /// The step itself. With a state below f * 2^20 and f < 2^12 the product is below 2^64 and the quotient exact.
    #[inline]
    fn step(self, state: u32) -> u32 {
        let quotient = ((u64::from(state) * self.inverse) >> 44) as u32;
        state + self.start + quotient * self.rest
    }
}

/// An encoder of one state, for symbols in reverse order.
fn encode_single<const N: usize>(
    symbols: impl Iterator<Item = u8>,
    frequencies: &Frequencies<N>,
    out: &mut Vec<u8>,
) {
    let ranges = Range::all(frequencies);
    let mut state = LOW;
    for symbol in symbols {
        let range = ranges[usize::from(symbol)];
        let (full, rest) = range.shrink(state);
        if full {
            out.extend_from_slice(&(state as u16).to_le_bytes());
        }
        state = range.step(rest);
    }
    out.extend_from_slice(&state.to_le_bytes());
}

/// Appends an ANS1 stream, without its table.
pub fn encode_ans1(data: &[u8], frequencies: &Frequencies<256>, out: &mut Vec<u8>) {
    encode_single(data.iter().rev().copied(), frequencies, out);
}

/// Appends a stream of nibbles, without its table.
pub fn encode_nibbles(data: &[u8], frequencies: &Frequencies<16>, out: &mut Vec<u8>) {
    encode_single(data.iter().rev().flat_map(|&byte| [byte >> 4, byte & 15]), frequencies, out);
}

/// Appends an ANS32 stream, without its table. `words` is memory for words.
pub fn encode_ans32(
    data: &[u8],
    frequencies: &Frequencies<256>,
    words: &mut [Vec<u16>; 2],
    out: &mut Vec<u8>,
) {
    let ranges = Range::all(frequencies);
    let mut states = [LOW; LANES];
    let most = (LANES / 2) * data.len().div_ceil(LANES);
    for words in words.iter_mut().filter(|words| words.len() < most) {
        words.resize(most, 0);
    }
    let mut counts = [0; 2];
    let (groups, rest) = data.split_at(data.len() - data.len() % LANES);
    for group in [rest].into_iter().chain(groups.rchunks(LANES)) {
        let halves = states.chunks_mut(LANES / 2).zip(group.chunks(LANES / 2));
        for ((states, group), (words, count)) in halves.zip(words.iter_mut().zip(&mut counts)) {
            for (state, &symbol) in states[..group.len()].iter_mut().zip(group).rev() {
                let range = ranges[usize::from(symbol)];
                let (full, rest) = range.shrink(*state);
                // Written in any case, and kept if it counts.
                words[*count] = *state as u16;
                *count += usize::from(full);
                *state = range.step(rest);
            }
        }
    }
    let [forward, backward] = words;
    out.extend(states[..LANES / 2].iter().flat_map(|state| state.to_le_bytes()));
    out.extend(forward[..counts[0]].iter().rev().flat_map(|word| word.to_le_bytes()));
    out.extend(backward[..counts[1]].iter().flat_map(|word| word.to_le_bytes()));
    out.extend(states[LANES / 2..].iter().flat_map(|state| state.to_le_bytes()));
}
