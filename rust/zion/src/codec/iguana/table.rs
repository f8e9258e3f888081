//! Frequency tables of the entropy coders.

use super::layout::LAYER;
use crate::error::{Error, Result};
use crate::simd::ans;

/// Bits of the sum of all frequencies.
pub const SCALE_BITS: u32 = 12;
/// Sum of all frequencies.
pub const SCALE: u32 = 1 << SCALE_BITS;
/// The largest frequency.
const MAX_FREQUENCY: u32 = SCALE - 1;

/// Frequencies of `N` symbols, 256 bytes or 16 nibbles; they add up to 4096, or to 4095 for a single symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frequencies<const N: usize>(pub [u16; N]);

impl<const N: usize> Frequencies<N> {
    /// Frequencies in proportion to counts, at least 1 for each symbol that occurs.
    pub fn of_counts(counts: &[u32; N]) -> Self {
        let total: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        let mut frequencies = [0u16; N];
        if total == 0 {
            frequencies[N - 2..].fill(2048);
            return Self(frequencies);
        }
        if let Some(only) = counts.iter().position(|&count| u64::from(count) == total) {
            frequencies[only] = MAX_FREQUENCY as u16;
            return Self(frequencies);
        }
        let (mut sum, mut before) = (0u64, 0u64);
        for (frequency, &count) in frequencies.iter_mut().zip(counts) {
            sum += u64::from(count);
            let after = u64::from(SCALE) * sum / total;
            *frequency = (after - before) as u16;
            before = after;
        }
        for symbol in 0..N {
            if counts[symbol] > 0 && frequencies[symbol] == 0 {
                // The rarest symbol that has one to spare gives it.
                let donors = frequencies.iter_mut().filter(|frequency| **frequency > 1);
                if let Some(donor) = donors.min_by_key(|frequency| **frequency) {
                    *donor -= 1;
                }
                frequencies[symbol] = 1;
            }
        }
        Self(frequencies)
    }

    /// Appends the dense form: nibbles, then three bits for each symbol.
    pub fn put(&self, out: &mut Vec<u8>) {
        let mut nibbles = vec![];
        let mut fields = [0u8; 96];
        for (symbol, &frequency) in self.0.iter().enumerate() {
            let frequency = u32::from(frequency);
            let (field, rest, count) = match frequency {
                0..5 => (frequency, 0, 0),
                5..21 => (5, frequency - 5, 1),
                21..277 => (6, frequency - 21, 2),
                _ => (7, frequency - 277, 3),
            };
            nibbles.extend((0..count).map(|nibble| (rest >> (4 * nibble)) as u8 & 15));
            let wide = field << (3 * symbol % 8);
            fields[3 * symbol / 8] |= wide as u8;
            if wide >> 8 != 0 {
                fields[3 * symbol / 8 + 1] |= (wide >> 8) as u8;
            }
        }
        let bytes = nibbles.chunks(2).map(|pair| pair[0] | pair.get(1).unwrap_or(&0) << 4);
        out.extend(bytes.collect::<Vec<u8>>().into_iter().rev());
        out.extend_from_slice(&fields[..3 * N / 8]);
    }

    /// Reads the dense form at the end of `data`; gives what is before it.
    fn read_dense(data: &[u8]) -> Result<(Self, &[u8])> {
        let Some((before, fields)) = data.split_at_checked(data.len().wrapping_sub(3 * N / 8)) else {
            return Err(cut(data));
        };
        let mut nibbles = Nibbles { data: before, high: false };
        let mut frequencies = [0u16; N];
        for (symbol, frequency) in frequencies.iter_mut().enumerate() {
            let low = u32::from(fields[3 * symbol / 8]);
            let high = u32::from(fields.get(3 * symbol / 8 + 1).copied().unwrap_or(0));
            let field = (low | high << 8) >> (3 * symbol % 8) & 7;
            *frequency = match field {
                5 => 5 + nibbles.number(1)?,
                6 => 21 + nibbles.number(2)?,
                7 => 277 + nibbles.number(3)?,
                small => small as u16,
            };
        }
        let table = Self(frequencies);
        table.check(data)?;
        Ok((table, nibbles.rest()))
    }

    fn check(&self, data: &[u8]) -> Result<()> {
        let sum: u32 = self.0.iter().map(|&frequency| u32::from(frequency)).sum();
        if sum > SCALE {
            let message = format!("frequencies that add up to {sum}, the limit is {SCALE}");
            return Err(Error::corrupt(LAYER, data.len(), message));
        }
        Ok(())
    }
}

/// Reads the table at the end of a coded stream of bytes; gives what is before it.
pub fn read_bytes(data: &[u8]) -> Result<(Frequencies<256>, &[u8])> {
    match data.split_last() {
        Some((0, before)) => Frequencies::read_dense(before),
        Some((&count, before)) => read_sparse(before, count),
        None => Err(cut(data)),
    }
}

/// Reads the table at the end of a stream of nibbles; gives what is before it.
pub fn read_nibbles(data: &[u8]) -> Result<(Frequencies<16>, &[u8])> {
    Frequencies::read_dense(data)
}

/// The form of few exceptions: all other symbols have frequency 1.
fn read_sparse(data: &[u8], count: u8) -> Result<(Frequencies<256>, &[u8])> {
    let mut table = Frequencies([1u16; 256]);
    let mut nibbles = Nibbles { data, high: false };
    for _ in 0..count {
        let frequency = nibbles.grouped()?;
        let symbol = nibbles.grouped()?;
        let Some(entry) = table.0.get_mut(symbol as usize).filter(|_| frequency <= SCALE) else {
            return Err(Error::corrupt(LAYER, data.len(), "a frequency table with a symbol above 255"));
        };
        *entry = frequency as u16;
    }
    table.check(data)?;
    Ok((table, nibbles.rest()))
}

#[cold]
fn cut(data: &[u8]) -> Error {
    Error::corrupt(LAYER, data.len(), "a frequency table that is cut off")
}

/// Reads nibbles from the end of some bytes, the low one of each byte first.
struct Nibbles<'a> {
    data: &'a [u8],
    high: bool,
}

impl<'a> Nibbles<'a> {
    fn next(&mut self) -> Result<u16> {
        let Some((&last, before)) = self.data.split_last() else { return Err(cut(self.data)) };
        self.high = !self.high;
        if self.high {
            return Ok(u16::from(last & 15));
        }
        self.data = before;
        Ok(u16::from(last >> 4))
    }

    fn number(&mut self, count: u32) -> Result<u16> {
        let mut value = 0;
        for nibble in 0..count {
            value |= self.next()? << (4 * nibble);
        }
        Ok(value)
    }

    fn grouped(&mut self) -> Result<u32> {
        let mut value = 0;
        for group in 0..5 {
            let nibble = u32::from(self.next()?);
            value |= (nibble & 7) << (3 * group);
            if nibble & 8 != 0 {
                return Ok(value);
            }
        }
        Err(Error::corrupt(LAYER, self.data.len(), "a number in a frequency table that does not end"))
    }

    fn rest(&self) -> &'a [u8] {
        if self.high { &self.data[..self.data.len() - 1] } else { self.data }
    }
}

/// For each value of the low bits of a state: the symbol (bits 24..32), the place in the range of the symbol
/// (bits 12..24) and its frequency (bits 0..12). A slot of 0 belongs to no symbol.
pub struct Slots(Box<[u32]>);

/// Slots are filled in units of this size, which may go beyond the end.
const UNIT: usize = 8;

impl Default for Slots {
    fn default() -> Self {
        Self(vec![0; SCALE as usize + UNIT].into_boxed_slice())
    }
}

impl Slots {
    /// Fills the slots.
    pub fn fill<const N: usize>(&mut self, frequencies: &Frequencies<N>) {
        let mut start = 0;
        for (symbol, &frequency) in (0u32..).zip(&frequencies.0) {
            let end = start + usize::from(frequency);
            let mut slot = symbol << 24 | u32::from(frequency);
            // The first unit is written even for none: most ranges are short, and which are cannot be foreseen.
            let mut at = start;
            loop {
                let Some(unit) = self.0.get_mut(at..).and_then(<[u32]>::first_chunk_mut::<UNIT>) else {
                    return;
                };
                *unit = std::array::from_fn(|place| slot + ((place as u32) << SCALE_BITS));
                slot = slot.wrapping_add((UNIT as u32) << SCALE_BITS);
                at += UNIT;
                if at >= end {
                    break;
                }
            }
            start = end;
        }
        self.0[start..].fill(0);
    }

    /// All slots.
    pub fn all(&self) -> &[u32; SCALE as usize] {
        self.0.first_chunk().unwrap_or(&[0; SCALE as usize])
    }

    /// One step of a decoder without reading a word: the symbol, and the state after it.
    #[inline]
    pub fn step(&self, state: u32) -> Option<(u8, u32)> {
        ans::step(self.all(), state)
    }
}
