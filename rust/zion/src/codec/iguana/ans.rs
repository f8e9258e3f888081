//! The coders: range ANS with states of 32 bits, words of 16 bits and frequencies of 12 bits.

use super::LAYER;
use super::table::{Frequencies, SCALE, SCALE_BITS, Slots};
use crate::error::{Error, Result};
use crate::simd::ans::Lanes;

/// States stay at or above this between steps; it is where an encoder begins and a decoder ends.
const LOW: u32 = 1 << 16;
const LANES: usize = 32;

#[cold]
fn damaged(message: &'static str) -> Error {
    Error::corrupt(LAYER, 0, message)
}

/// One step of a decoder without reading a word: the symbol, and the state after it.
#[inline]
fn step(state: u32, slots: &Slots) -> (u8, u32) {
    let slot = slots.0[(state % SCALE) as usize];
    ((slot >> 24) as u8, (slot & 0xFFF) * (state >> SCALE_BITS) + (slot >> 12 & 0xFFF))
}

fn word(data: &[u8], at: usize) -> Option<u32> {
    let bytes = data.get(at..)?.first_chunk::<2>()?;
    Some(u32::from(u16::from_le_bytes(*bytes)))
}

fn state_at(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*data.get(at..)?.first_chunk::<4>()?))
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
        if slots.0[(self.state % SCALE) as usize] == 0 {
            return Err(damaged("a state that stands for no symbol"));
        }
        let (symbol, mut state) = step(self.state, slots);
        if state < LOW {
            let Some((words, word)) = self.words.split_last_chunk::<2>() else {
                return Err(damaged("a coded stream that ends too early"));
            };
            self.words = words;
            state = state << 16 | u32::from(u16::from_le_bytes(*word));
        }
        self.state = state;
        Ok(symbol)
    }

    fn finish(self) -> Result<()> {
        if self.state == LOW && self.words.is_empty() {
            return Ok(());
        }
        Err(damaged("a coded stream whose end does not fit its beginning"))
    }
}

/// Appends the `count` bytes of an ANS1 stream, whose table was taken off.
pub fn decode_ans1(data: &[u8], slots: &Slots, count: usize, out: &mut Vec<u8>) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    let mut decoder = Single::new(data)?;
    for _ in 0..count {
        out.push(decoder.next(slots)?);
    }
    decoder.finish()
}

/// Appends the `count` bytes of a stream of nibbles, whose table was taken off.
pub fn decode_nibbles(data: &[u8], slots: &Slots, count: usize, out: &mut Vec<u8>) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    let mut decoder = Single::new(data)?;
    for _ in 0..count {
        let low = decoder.next(slots)?;
        out.push(low | decoder.next(slots)? << 4);
    }
    decoder.finish()
}

/// Appends the `count` bytes of an ANS32 stream, whose table was taken off.
///
/// `complete` tells that every slot belongs to a symbol, so that no state can miss.
pub fn decode_ans32(
    data: &[u8],
    slots: &Slots,
    complete: bool,
    count: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    if data.len() < 4 * LANES {
        return Err(damaged("a coded stream of fewer than 128 bytes"));
    }
    let start = out.len();
    out.resize(start + count, 0);
    let mut lanes = Lanes { states: [0; LANES], forward: 64, backward: data.len() - 64 };
    for lane in 0..LANES / 2 {
        lanes.states[lane] = state_at(data, 4 * lane).unwrap_or(LOW);
        lanes.states[lane + 16] = state_at(data, data.len() - 64 + 4 * lane).unwrap_or(LOW);
    }
    let target = &mut out[start..];
    let done = if complete { lanes.run(data, &slots.0, target) } else { 0 };
    for group in target[done..].chunks_mut(LANES) {
        lanes_group(&mut lanes, data, slots, group)?;
    }
    if lanes.forward != lanes.backward || lanes.states.iter().any(|&state| state != LOW) {
        return Err(damaged("a coded stream whose end does not fit its beginning"));
    }
    Ok(())
}

/// One round of all lanes; a partial one is the last and reads no words.
fn lanes_group(lanes: &mut Lanes, data: &[u8], slots: &Slots, group: &mut [u8]) -> Result<()> {
    for (state, symbol) in lanes.states.iter_mut().zip(group.iter_mut()) {
        if slots.0[(*state % SCALE) as usize] == 0 {
            return Err(damaged("a state that stands for no symbol"));
        }
        (*symbol, *state) = step(*state, slots);
    }
    if group.len() < LANES {
        return Ok(());
    }
    for lane in 0..LANES {
        let state = &mut lanes.states[lane];
        if *state >= LOW {
            continue;
        }
        if lanes.forward + 2 > lanes.backward {
            return Err(damaged("a coded stream that ends too early"));
        }
        let at = if lane < LANES / 2 {
            lanes.forward += 2;
            lanes.forward - 2
        } else {
            lanes.backward -= 2;
            lanes.backward
        };
        *state = *state << 16 | word(data, at).unwrap_or(0);
    }
    Ok(())
}

/// What an encoder needs of each symbol: frequency and sum of the frequencies before it.
struct Ranges<const N: usize>([(u32, u32); N]);

impl<const N: usize> Ranges<N> {
    fn of(frequencies: &Frequencies<N>) -> Self {
        let mut ranges = [(0, 0); N];
        let mut start = 0;
        for (range, &frequency) in ranges.iter_mut().zip(&frequencies.0) {
            *range = (u32::from(frequency), start);
            start += u32::from(frequency);
        }
        Self(ranges)
    }

    /// Encodes a symbol: the word that has to be written, if any.
    #[inline]
    fn step(&self, state: &mut u32, symbol: usize) -> Option<u16> {
        let (frequency, start) = self.0[symbol];
        let mut word = None;
        if u64::from(*state) >= u64::from(frequency) << 20 {
            word = Some(*state as u16);
            *state >>= 16;
        }
        let frequency = frequency.max(1);
        *state = (*state / frequency) * SCALE + *state % frequency + start;
        word
    }
}

/// Appends an ANS1 stream, without its table.
pub fn encode_ans1(data: &[u8], frequencies: &Frequencies<256>, out: &mut Vec<u8>) {
    let ranges = Ranges::of(frequencies);
    let mut state = LOW;
    for &byte in data.iter().rev() {
        if let Some(word) = ranges.step(&mut state, usize::from(byte)) {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }
    out.extend_from_slice(&state.to_le_bytes());
}

/// Appends a stream of nibbles, without its table.
pub fn encode_nibbles(data: &[u8], frequencies: &Frequencies<16>, out: &mut Vec<u8>) {
    let ranges = Ranges::of(frequencies);
    let mut state = LOW;
    for &byte in data.iter().rev() {
        for nibble in [byte >> 4, byte & 15] {
            if let Some(word) = ranges.step(&mut state, usize::from(nibble)) {
                out.extend_from_slice(&word.to_le_bytes());
            }
        }
    }
    out.extend_from_slice(&state.to_le_bytes());
}

/// Appends an ANS32 stream, without its table. `words` is memory for words.
pub fn encode_ans32(
    data: &[u8],
    frequencies: &Frequencies<256>,
    words: &mut [Vec<u16>; 2],
    out: &mut Vec<u8>,
) {
    let ranges = Ranges::of(frequencies);
    let mut states = [LOW; LANES];
    words.iter_mut().for_each(Vec::clear);
    let partial = data.len() % LANES;
    let (groups, rest) = data.split_at(data.len() - partial);
    let [forward, backward] = words;
    for group in [rest].into_iter().chain(groups.rchunks(LANES)) {
        for (half, words) in [(0, &mut *forward), (1, &mut *backward)] {
            for lane in (16 * half..(16 * half + 16).min(group.len())).rev() {
                words.extend(ranges.step(&mut states[lane], usize::from(group[lane])));
            }
        }
    }
    out.extend(states[..16].iter().flat_map(|state| state.to_le_bytes()));
    out.extend(forward.iter().rev().flat_map(|word| word.to_le_bytes()));
    out.extend(backward.iter().flat_map(|word| word.to_le_bytes()));
    out.extend(states[16..].iter().flat_map(|state| state.to_le_bytes()));
}
