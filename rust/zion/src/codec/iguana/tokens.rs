//! The tokens of a structural command: literals and matches put together again.

use super::layout::{LAYER, SHORT_LENGTH};
use crate::error::{Error, Result};
use crate::simd::lz::{Cursor, Kernel, MEANINGS, SLACK, Side};

/// Copies are made in units of this size and may go beyond their end by less than one unit.
const WIDE: usize = 32;
#[cold]
fn damaged(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::corrupt(LAYER, 0, message)
}

/// The next four bytes of a stream as a number.
#[inline]
fn peek(side: &Side) -> Result<usize> {
    side.peek().map(|word| word as usize).ok_or_else(|| damaged("a token without its offset or length"))
}

/// The next length of a stream, if `more` is not 0; else 0.
#[inline]
pub(super) fn next_length(side: &mut Side, more: u8) -> Result<usize> {
    if more == 0 {
        return Ok(0);
    }
    let word = peek(side)?;
    let [first, x, y, z] = [word & 0xFF, word >> 8 & 0xFF, word >> 16 & 0xFF, word >> 24];
    let (size, value) = match first {
        0..SHORT_LENGTH => (1, first),
        SHORT_LENGTH => (3, x + SHORT_LENGTH * y),
        _ => (4, x + SHORT_LENGTH * (y + SHORT_LENGTH * z)),
    };
    side.skip(size);
    Ok(value)
}

/// Writes what the tokens say to `out`, which has [`SLACK`] bytes more than it may take; gives the length.
pub fn run(tokens: &[u8], cursor: Cursor, out: &mut [u8]) -> Result<usize> {
    run_with(Kernel::available().next().unwrap_or(Kernel::Portable), tokens, cursor, out)
}

fn run_with(kernel: Kernel, tokens: &[u8], mut cursor: Cursor, out: &mut [u8]) -> Result<usize> {
    let mut done = 0;
    while done < tokens.len() {
        done += cursor.run(kernel, &tokens[done..], out);
        if let Some(&token) = tokens.get(done) {
            follow(&mut cursor, token, out)?;
            done += 1;
        }
    }
    finish(&cursor, out)
}

/// Follows one token.
#[inline]
fn follow(cursor: &mut Cursor, token: u8, out: &mut [u8]) -> Result<()> {
    let meaning = MEANINGS[usize::from(token)];
    let count =
        usize::from(meaning.literals) + next_length(&mut cursor.literal_lengths, meaning.more_literals)?;
    let length = usize::from(meaning.length) + next_length(&mut cursor.match_lengths, meaning.more_length)?;
    let (near, far) = (peek(&cursor.near)? & 0xFFFF, peek(&cursor.far)? & 0xFF_FFFF);
    let offset = if meaning.near > 0 { near } else { cursor.last() };
    let offset = if meaning.far > 0 { far } else { offset };
    cursor.near.skip(usize::from(meaning.near));
    cursor.far.skip(usize::from(meaning.far));
    let (literals, at) = (cursor.literals(), cursor.at());
    if count > literals.len() || count + length > out.len() - SLACK - at {
        return Err(damaged("more literals than there are, or a match that goes beyond the end"));
    }
    copy_literals(out, at, literals, count);
    let at = at + count;
    if length > 0 {
        if offset == 0 || offset > at {
            return Err(damaged(format!("a match at distance {offset} from byte {at}")));
        }
        copy_match(out, at, offset, length);
    }
    cursor.advance(count, offset, length);
    Ok(())
}

/// What is left of the literals is the end of the content; nothing else may be left.
fn finish(cursor: &Cursor, out: &mut [u8]) -> Result<usize> {
    let (at, literals) = (cursor.at(), cursor.literals());
    let end = at + literals.len();
    if end > out.len() - SLACK {
        return Err(damaged("more literals than the content has room for"));
    }
    out[at..end].copy_from_slice(literals);
    if !cursor.sides().iter().all(|side| side.is_used_up()) {
        return Err(damaged("offsets or lengths that no token uses, or tokens without theirs"));
    }
    Ok(end)
}

#[inline]
fn copy_literals(out: &mut [u8], at: usize, literals: &[u8], count: usize) {
    if count <= WIDE
        && let Some(source) = literals.first_chunk::<WIDE>()
        && let Some(target) = out.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<WIDE>)
    {
        *target = *source;
    } else {
        out[at..at + count].copy_from_slice(&literals[..count]);
    }
}

/// Copies `length` bytes from `distance` bytes back; there are [`SLACK`] bytes of room behind them.
#[inline]
fn copy_match(out: &mut [u8], at: usize, distance: usize, length: usize) {
    let end = at + length;
    if distance >= WIDE {
        // Two units without looking: most matches are shorter, but not all are shorter than one.
        out.copy_within(at - distance..at - distance + WIDE, at);
        out.copy_within(at - distance + WIDE..at - distance + 2 * WIDE, at + WIDE);
        if length > 2 * WIDE {
            copy_units::<WIDE>(out, at + 2 * WIDE, distance, end);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::lz::SIDE_SLACK;
    use proptest::prelude::*;

    fn one_by_one(tokens: &[u8], mut cursor: Cursor, out: &mut [u8]) -> Result<usize> {
        for &token in tokens {
            follow(&mut cursor, token, out)?;
        }
        finish(&cursor, out)
    }

    proptest! {
        /// Streams of anything: mostly errors, but the kernels must make the same ones.
        #[test]
        fn every_kernel_does_the_same(
            tokens in prop::collection::vec(prop_oneof![4 => 0x20u8.., 1 => any::<u8>()], 0..300),
            small in 1u8..100,
            side in prop::collection::vec(any::<u8>(), 0..700),
            literals in prop::collection::vec(any::<u8>(), 100..3000),
            room in 0usize..20_000,
        ) {
            let mut near: Vec<u8> = side.iter().flat_map(|&low| [low % small + 1, 0]).collect();
            let near_length = near.len();
            near.resize(near.len() + SIDE_SLACK, 1);
            let mut far: Vec<u8> = side.iter().flat_map(|&low| [low % small + 1, 0, 0]).collect();
            let far_length = far.len();
            far.resize(far.len() + SIDE_SLACK, 1);
            let mut lengths = side.clone();
            lengths.resize(side.len() + SIDE_SLACK, 1);
            let lengths = Side::new(&lengths, side.len());
            let sides =
                [Side::new(&near, near_length), Side::new(&far, far_length), lengths.clone(), lengths];
            let mut cursor = Cursor::new(sides, &literals);
            let mut again = cursor.clone();
            let mut scratch = vec![0; room + SLACK];
            let mut done = 0;
            while done < tokens.len() && follow(&mut cursor, tokens[done], &mut scratch).is_ok() {
                done += 1;
            }
            // When all of them work the streams are cut to what they use, so that the end is right too.
            if done == tokens.len() {
                again = Cursor::new(cursor.sides().map(Side::as_used), &literals);
            }
            let mut one = vec![0; room + SLACK];
            let first = one_by_one(&tokens, again.clone(), &mut one);
            for kernel in Kernel::available() {
                let mut two = vec![0; room + SLACK];
                let second = run_with(kernel, &tokens, again.clone(), &mut two);
                prop_assert_eq!(first.is_ok(), second.is_ok(), "{:?}", kernel);
                if let (Ok(first), Ok(second)) = (&first, second) {
                    prop_assert_eq!(&one[..*first], &two[..second], "{:?}", kernel);
                }
            }
        }
    }
}
