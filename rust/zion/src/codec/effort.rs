//! How much work a segment is worth: what it saves to compress it thoroughly, held against what that takes.
//!
//! Segments of the same rows differ in it by a factor of a hundred. So the first chunk after a full symbol table
//! is compressed both ways, and decides for those that follow. It goes by sizes and never by clocks: the bytes
//! must be the same every time.

use super::zstd;
use crate::error::Result;

/// Of a long segment so much is compressed both ways.
const SAMPLE: usize = 64 << 10;
/// What a thorough compressor takes longer than a quick one, in nanoseconds for two bytes of content.
const NANOSECONDS_FOR_TWO_BYTES: usize = 3;
/// And for each byte that is left of it, for what does not repeat has to be looked for in vain.
const NANOSECONDS_A_BYTE_LEFT: usize = 22;
/// What a byte less may take in the first part of all text: a small packfile may take time, for that is lost among
/// everything else.
const PRICE_AT_FIRST: usize = 1000;
/// And in later parts.
const PRICE: usize = 175;

/// What has to be found out of segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    /// Nothing: it is known.
    None,
    /// Whether they become smaller.
    Smaller,
    /// Whether what they become smaller is worth the time, of which a byte less may take so many nanoseconds.
    Worth(usize),
}

/// Which segments of a chunk are compressed thoroughly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// A bit for each segment.
    thorough: u32,
    question: Question,
}

impl Effort {
    /// All segments are compressed quickly.
    pub const QUICK: Self = Self { thorough: 0, question: Question::None };

    /// What to do with the first chunk after a full symbol table, in the first part of all text or in a later one.
    pub fn begin(level: i32, is_first_part: bool) -> Self {
        let question = match level {
            zstd::DEFAULT_LEVEL => Question::Worth(if is_first_part { PRICE_AT_FIRST } else { PRICE }),
            _ if zstd::has_choice(level) => Question::Smaller,
            _ => Question::None,
        };
        Self { thorough: 0, question }
    }

    /// Whether the chunk that has it decides for those that follow.
    pub fn asks(self) -> bool {
        self.question != Question::None
    }

    /// The effort for chunks that follow.
    #[must_use]
    pub fn settled(self) -> Self {
        Self { question: Question::None, ..self }
    }

    /// Appends the frame of a segment, and notes how those like it should be compressed, if that is asked.
    pub(crate) fn compress(
        &mut self,
        compressor: &mut zstd::Compressor,
        number: usize,
        content: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let bit = 1 << (number & 31);
        if self.asks() {
            let sample = content.get(..SAMPLE).unwrap_or(content);
            let quick = compressor.make(sample, false)?;
            let thorough = compressor.make(sample, true)?;
            let is_worth_it = match self.question {
                Question::Worth(price) => pays(sample.len(), quick, thorough, price),
                _ => thorough < quick,
            };
            if is_worth_it {
                self.thorough |= bit;
                if sample.len() == content.len() {
                    out.extend_from_slice(compressor.made());
                    return Ok(());
                }
            }
        }
        compressor.make(content, self.thorough & bit != 0)?;
        out.extend_from_slice(compressor.made());
        Ok(())
    }
}

/// Whether the bytes that are saved are worth the time, at a price in nanoseconds a byte.
fn pays(length: usize, quick: usize, thorough: usize, price: usize) -> bool {
    let nanoseconds = NANOSECONDS_FOR_TWO_BYTES * length / 2 + NANOSECONDS_A_BYTE_LEFT * quick;
    quick.saturating_sub(thorough) * price >= nanoseconds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(effort: &mut Effort, content: &[u8]) -> Result<usize> {
        let mut out = vec![];
        effort.compress(&mut zstd::Compressor::new(zstd::DEFAULT_LEVEL)?, 3, content, &mut out)?;
        Ok(out.len())
    }

    /// Lines of a log, with words in no order.
    fn lines() -> Vec<u8> {
        let words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"];
        let word = |mixed: u32, at: u32| words[(mixed >> at & 7) as usize];
        let line = |number: u32| {
            let mixed = number.wrapping_mul(2_654_435_761);
            let [host, folder, file] = [29, 26, 23].map(|at| word(mixed, at));
            format!("GET /{host}/{folder}/{file} HTTP/1.1 {}\n", number % 7)
        };
        (0..6000).map(line).collect::<String>().into_bytes()
    }

    #[test]
    fn one_segment_decides_for_those_like_it() -> Result<()> {
        let content = lines();
        assert!(content.len() > SAMPLE, "longer than what is compressed both ways");
        let mut quick = Effort::QUICK;
        let quick = of(&mut quick, &content)?;
        for first in [true, false] {
            let mut effort = Effort::begin(zstd::DEFAULT_LEVEL, first);
            assert!(effort.asks());
            assert!(of(&mut effort, &content)? < quick);
            assert_eq!(effort.thorough, 1 << 3);
            let mut settled = effort.settled();
            assert!(!settled.asks());
            assert!(of(&mut settled, &content)? < quick);
            assert_eq!(settled.thorough, 1 << 3);
        }
        Ok(())
    }

    #[test]
    fn what_does_not_become_smaller_is_not_worth_any_time() -> Result<()> {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        let content: Vec<u8> = std::iter::repeat_with(&mut random).take(SAMPLE).collect();
        let mut quick = Effort::QUICK;
        let expected = of(&mut quick, &content)?;
        for first in [true, false] {
            let mut effort = Effort::begin(zstd::DEFAULT_LEVEL, first);
            assert_eq!(of(&mut effort, &content)?, expected);
            assert_eq!(effort.settled(), Effort::QUICK);
        }
        Ok(())
    }

    #[test]
    fn levels_without_a_choice_ask_nothing() {
        let asks = |level| Effort::begin(level, true).asks();
        assert!(!asks(1) && asks(3) && asks(12) && !asks(19));
    }
}
