//! The match finder: recent positions by the hash of what is there.

use super::layout::{FAR, MIN_FAR_MATCH};

/// The shortest match that is worth a token.
pub const MIN_MATCH: usize = 4;
/// A match at a new distance must be longer by this than one at the last distance.
const REPEAT_BONUS: usize = 2;
/// Distances are below this.
const WINDOW: usize = 1 << 24;
const HASH_BITS: u32 = 16;
const WAYS: usize = 4;
/// From this length on no better match is looked for.
const ENOUGH: usize = 128;

/// A match: how far back, and how long.
#[derive(Clone, Copy)]
pub struct Match {
    pub distance: usize,
    pub length: usize,
}

/// The positions of one buffer after the other.
pub struct Finder {
    table: Box<[[u32; WAYS]]>,
    /// Added to the positions in the table, so that it need not be cleared between buffers: what is below is old.
    base: u32,
}

impl Finder {
    pub fn new() -> Self {
        Self { table: vec![[0; WAYS]; 1 << HASH_BITS].into_boxed_slice(), base: 1 }
    }

    /// The view on the next buffer, of less than 2^31 bytes.
    pub fn start<'a>(&'a mut self, data: &'a [u8]) -> Search<'a> {
        if self.base > u32::MAX / 2 {
            self.table.fill([0; WAYS]);
            self.base = 1;
        }
        let base = self.base;
        self.base += data.len() as u32;
        Search { table: &mut self.table, base, data }
    }
}

/// The search in one buffer.
pub struct Search<'a> {
    table: &'a mut [[u32; WAYS]],
    base: u32,
    pub data: &'a [u8],
}

impl Search<'_> {
    #[inline]
    fn word<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.data.get(at..).and_then(<[u8]>::first_chunk::<N>).copied()
    }

    /// The row of the table for what is at `at`, whose place is entered: what was there before.
    #[inline]
    pub fn enter(&mut self, at: usize) -> [u32; WAYS] {
        let word = self.word(at).map_or(0, u64::from_le_bytes);
        // Six bytes count: shorter matches hardly pay for their offset.
        let hash = (word << 16).wrapping_mul(0x9E37_79B1_85EB_CA87) >> (64 - HASH_BITS);
        let row = &mut self.table[hash as usize];
        let before = *row;
        let new = self.base + at as u32;
        if before[0] != new {
            *row = [new, before[0], before[1], before[2]];
        }
        before
    }

    /// The best match at `at`, which is entered.
    #[inline]
    pub fn best(&mut self, at: usize, last: usize) -> Option<Match> {
        let row = self.enter(at);
        let start = self.word::<4>(at)?;
        let mut best = None;
        let mut beat = MIN_MATCH - 1;
        if (1..=at).contains(&last) && self.word(at - last) == Some(start) {
            let length = common(self.data, at - last, at);
            best = Some(Match { distance: last, length });
            beat = length + REPEAT_BONUS - 1;
        }
        for entry in row {
            let Some(from) = entry.checked_sub(self.base) else { break };
            let from = from as usize;
            if from >= at || beat >= ENOUGH || self.word(from) != Some(start) {
                continue;
            }
            if self.data.get(from + beat) != self.data.get(at + beat) {
                continue;
            }
            let found = Match { distance: at - from, length: common(self.data, from, at) };
            let near = found.distance <= FAR || (found.distance < WINDOW && found.length >= MIN_FAR_MATCH);
            if found.length > beat && near {
                (best, beat) = (Some(found), found.length);
            }
        }
        best
    }

    /// Moves the start of a match back while the bytes before agree, not below `floor`.
    pub fn extend_back(&self, at: &mut usize, found: &mut Match, floor: usize) {
        let data = self.data;
        while *at > floor && *at > found.distance && data[*at - 1] == data[*at - 1 - found.distance] {
            *at -= 1;
            found.length += 1;
        }
    }
}

/// How many bytes from `from` and `to` on are equal, `from` being the lower one.
#[inline]
fn common(data: &[u8], from: usize, to: usize) -> usize {
    let (a_words, a_rest) = data[from..data.len() - (to - from)].as_chunks::<8>();
    let (b_words, b_rest) = data[to..].as_chunks::<8>();
    for (index, (a, b)) in a_words.iter().zip(b_words).enumerate() {
        let differ = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differ != 0 {
            return 8 * index + (differ.trailing_zeros() / 8) as usize;
        }
    }
    8 * a_words.len() + a_rest.iter().zip(b_rest).take_while(|(a, b)| a == b).count()
}
