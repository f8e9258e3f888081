//! Sets of values that answer "certainly not" or "perhaps", in a few bits a value (`docs/format.md`, section 10).
//!
//! A set is a Bloom filter split into blocks of 256 bits, so that a question touches one cache line. Its blocks
//! are chosen by the upper half of a hash, in proportion: blocks next to each other are one block of a set of
//! half the size, and sets can be made first and shrunk when it is known how full they are.

use twox_hash::XxHash3_64;

use crate::error::{Error, Result};

/// Bytes of a block.
pub const BLOCK: usize = 32;
/// Words of a block; each value sets one bit in each.
const WORDS: usize = 8;
/// Values for which a block has room: at so many half of the bits are set.
const VALUES: usize = 21;
/// Blocks that a set has at most.
pub const MAX_BLOCKS: usize = 3 << 16;
/// Spreads a hash over the bits of a block: 2^64 divided by the golden ratio.
pub(crate) const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
/// Seeds of the hashes.
const TEXTS: u64 = 0;
const INTEGERS: u64 = 1;

/// The hash of a text.
#[inline]
pub fn of_text(text: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(TEXTS, text)
}

/// The hash of an integer, modulo 2^64.
#[inline]
pub fn of_integer(number: u64) -> u64 {
    XxHash3_64::oneshot_with_seed(INTEGERS, &number.to_le_bytes())
}

/// The hash that a section of statistics begins with.
pub fn checksum(data: &[u8]) -> u64 {
    XxHash3_64::oneshot(data)
}

/// The bits that a hash has in its block.
#[inline]
fn bits(hash: u64) -> [u32; WORDS] {
    let spread = hash.wrapping_mul(SPREAD) >> 24;
    std::array::from_fn(|word| 1 << (spread >> (5 * word) & 31))
}

/// The block of a hash among so many.
#[inline]
fn place(hash: u64, blocks: usize) -> usize {
    (((hash >> 32) * blocks as u64) >> 32) as usize
}

/// Makes the set of some hashes: the smallest in which at most half of the bits are set.
pub fn set_of(hashes: &[u64]) -> Vec<u8> {
    if hashes.is_empty() {
        return vec![];
    }
    let wanted = hashes.len().div_ceil(VALUES);
    let mut blocks = 3;
    // A set of twice the size can become one of two thirds of what is wanted first.
    while blocks < 2 * wanted && blocks < MAX_BLOCKS {
        blocks *= 2;
    }
    let mut set = vec![[0_u32; WORDS]; blocks];
    for &hash in hashes {
        if let Some(block) = set.get_mut(place(hash, blocks)) {
            for (word, bit) in block.iter_mut().zip(bits(hash)) {
                *word |= bit;
            }
        }
    }
    let folded = fold(set);
    let mut bytes = Vec::with_capacity(folded.len() * BLOCK);
    for word in folded.iter().flatten() {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// The set at half its size, for somebody who would rather have more false answers; itself if it cannot be halved.
pub fn halved(set: &[u8]) -> Vec<u8> {
    if !set.len().is_multiple_of(2 * BLOCK) {
        return set.to_vec();
    }
    let pairs = set.chunks_exact(2 * BLOCK).map(|pair| pair.split_at(BLOCK));
    pairs.flat_map(|(one, other)| one.iter().zip(other).map(|(a, b)| a | b)).collect()
}

/// Shrinks a set as far as at most half of its bits are set.
fn fold(set: Vec<[u32; WORDS]>) -> Vec<[u32; WORDS]> {
    let firsts = [joined::<2>(&set), joined::<3>(&set)];
    let mut least = set;
    for first in firsts {
        let mut part = first;
        while let Some(folded) = part.filter(|folded| !is_full(folded)) {
            part = joined::<2>(&folded);
            if folded.len() < least.len() {
                least = folded;
            }
        }
    }
    least
}

/// A set in which so many blocks that lie next to each other are one, if that leaves none over.
fn joined<const COUNT: usize>(set: &[[u32; WORDS]]) -> Option<Vec<[u32; WORDS]>> {
    let (parts, []) = set.as_chunks::<COUNT>() else { return None };
    Some(parts.iter().map(|blocks| blocks.iter().fold([0; WORDS], union)).collect())
}

fn union(one: [u32; WORDS], other: &[u32; WORDS]) -> [u32; WORDS] {
    std::array::from_fn(|word| one[word] | other[word])
}

fn is_full(set: &[[u32; WORDS]]) -> bool {
    let ones: u64 = set.iter().flatten().map(|word| u64::from(word.count_ones())).sum();
    2 * ones > (set.len() * BLOCK * 8) as u64
}

/// Whether a value with this hash may be in a set; in the empty one there is none.
pub fn may_hold(set: &[u8], hash: u64) -> bool {
    let start = place(hash, set.len() / BLOCK) * BLOCK;
    let Some(block) = set.get(start..start + BLOCK) else { return false };
    let words = block.chunks_exact(4).zip(bits(hash));
    words
        .into_iter()
        .all(|(word, bit)| matches!(word, &[a, b, c, d] if u32::from_le_bytes([a, b, c, d]) & bit != 0))
}

/// For each of some sets that lie one behind the other whether it may hold a value. Sizes are in blocks.
pub fn held(sets: &[u8], sizes: &[usize], hash: u64) -> Result<Vec<bool>> {
    let mut at = 0;
    let mut found = Vec::with_capacity(sizes.len());
    for &size in sizes {
        let end = size.checked_mul(BLOCK).and_then(|bytes| bytes.checked_add(at));
        let set = end.and_then(|end| sets.get(at..end));
        let set = set.ok_or_else(|| Error::argument("sets of values beyond their bytes"))?;
        found.push(may_hold(set, hash));
        at += set.len();
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_it_was_made_of_and_little_else() {
        for count in [1, 7, 100, 5_000, 60_000] {
            let hashes: Vec<u64> = (0..count).map(of_integer).collect();
            let set = set_of(&hashes);
            assert!(hashes.iter().all(|&hash| may_hold(&set, hash)), "{count}");
            let others = (count..count + 200_000).filter(|&n| may_hold(&set, of_integer(n))).count();
            assert!(others < 2_600, "{others} of 200,000 wrongly, {count} values");
            if count > 1_000 {
                let bits = 8 * set.len() as u64 / count;
                assert!((11..25).contains(&bits), "{bits} bits a value");
            }
        }
    }

    #[test]
    fn repeated_values_take_no_room() {
        let hashes: Vec<u64> = (0..100_000).map(|n| of_text(format!("{}", n % 64).as_bytes())).collect();
        let once: Vec<u64> = hashes.iter().take(64).copied().collect();
        assert_eq!(set_of(&hashes).len(), set_of(&once).len());
        assert!(set_of(&[]).is_empty() && !may_hold(&[], 5));
    }

    #[test]
    fn half_a_set_holds_what_the_whole_one_does() {
        let hashes: Vec<u64> = (0..5_000).map(of_integer).collect();
        let (set, half) = (set_of(&hashes), halved(&set_of(&hashes)));
        assert_eq!(2 * half.len(), set.len());
        assert!(hashes.iter().all(|&hash| may_hold(&half, hash)));
        let wrong = (5_000..105_000).filter(|&n| may_hold(&half, of_integer(n))).count();
        assert!(wrong < 15_000, "{wrong} of 100,000");
        assert_eq!(halved(&half[..BLOCK]), half[..BLOCK]);
    }

    #[test]
    fn sizes_beyond_the_bytes_are_refused() {
        assert_eq!(held(&[0xFF; 64], &[1, 0, 1], 7), Ok(vec![true, false, true]));
        for sizes in [&[3][..], &[1, 2], &[usize::MAX], &[usize::MAX / BLOCK]] {
            assert!(held(&[0xFF; 64], sizes, 7).is_err(), "{sizes:?}");
        }
    }
}
