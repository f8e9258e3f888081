//! How much text fields have in common, by a sample of it that is the same wherever the text is.

use super::pieces::Piece;

/// Bytes of a sampled text: what is shorter does not pay to repeat.
const WINDOW: usize = 6;
/// One place in so many is sampled.
pub(super) const SPARSENESS: u64 = 8;

/// For each pair of units, how many texts both of them have.
pub(super) struct Likeness {
    units: usize,
    shared: Vec<u32>,
}

impl Likeness {
    /// Looks at the pieces of at most 64 units.
    pub(super) fn new<'a>(data: &[u8], units: impl ExactSizeIterator<Item = &'a [Piece]>) -> Self {
        let count = units.len();
        let mut found: Vec<(u32, u8)> = vec![];
        for (unit, pieces) in units.enumerate() {
            for &(start, end) in pieces {
                let texts = data[start as usize..end as usize].windows(WINDOW).map(hash);
                let sampled = texts.filter(|hash| hash >> 32 & (SPARSENESS - 1) == 0);
                found.extend(sampled.map(|hash| (hash as u32, unit as u8)));
            }
        }
        found.sort_unstable();
        found.dedup();
        let mut shared = vec![0; count * count];
        for same in found.chunk_by(|one, other| one.0 == other.0) {
            for (at, (_, one)) in same.iter().enumerate() {
                for (_, other) in &same[at + 1..] {
                    let (one, other) = (usize::from(*one), usize::from(*other));
                    shared[one * count + other] += 1;
                    shared[other * count + one] += 1;
                }
            }
        }
        Self { units: count, shared }
    }

    /// About how many bytes two units have in common.
    pub(super) fn of(&self, one: usize, other: usize) -> usize {
        self.shared[one * self.units + other] as usize * SPARSENESS as usize
    }
}

fn hash(text: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..text.len()].copy_from_slice(text);
    let wide = u128::from(u64::from_le_bytes(word) ^ 0x9E37_79B9_7F4A_7C15) * 0xD6E8_FEB8_6659_FD93;
    (wide as u64) ^ (wide >> 64) as u64
}
