//! The coders: range ANS with states of 32 bits, words of 16 bits and frequencies of 12 bits.

use super::LAYER;
use super::table::{Frequencies, SCALE, Slots};
use crate::error::{Error, Result};
use crate::simd::ans::{LANES, LOW, Lanes};

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
    let Some(mut lanes) = Lanes::new(data) else {
        return Err(damaged("a coded stream of fewer than 128 bytes"));
    };
    if target.is_empty() {
        return Ok(());
    }
    let done = lanes.run(data, &slots.0, target);
    for group in target[done..].chunks_mut(LANES) {
        step_lanes(&mut lanes, data, slots, group)?;
    }
    if lanes.forward != lanes.backward || lanes.states != [LOW; LANES] {
        return Err(damaged(NO_END));
    }
    Ok(())
}

/// One round of all lanes; a partial one is the last and reads no words.
fn step_lanes(lanes: &mut Lanes, data: &[u8], slots: &Slots, group: &mut [u8]) -> Result<()> {
    for (state, byte) in lanes.states.iter_mut().zip(group.iter_mut()) {
        (*byte, *state) = slots.step(*state).ok_or_else(|| damaged(NO_SYMBOL))?;
    }
    if group.len() < LANES {
        return Ok(());
    }
    for lane in 0..LANES {
        if lanes.states[lane] >= LOW {
            continue;
        }
        let at = if lane < LANES / 2 { lanes.forward } else { lanes.backward.wrapping_sub(2) };
        let left = lanes.forward + 2 <= lanes.backward;
        let Some(word) = data.get(at..).filter(|_| left).and_then(<[u8]>::first_chunk::<2>) else {
            return Err(damaged(TOO_EARLY));
        };
        if lane < LANES / 2 {
            lanes.forward += 2;
        } else {
            lanes.backward -= 2;
        }
        lanes.states[lane] = lanes.states[lane] << 16 | u32::from(u16::from_le_bytes(*word));
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
