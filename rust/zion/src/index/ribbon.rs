//! Homogeneous ribbon filters: sets of values that answer "certainly not" or "perhaps", in a few bits a value
//! (`docs/format.md`, section 10).
//!
//! Peter C. Dillinger and Stefan Walzer describe them in "Ribbon filter: practically smaller than Bloom and Xor"
//! (arXiv:2103.02515, 2021).
//!
//! A filter has one to eight bit planes. A value selects about half of 64 neighbouring bits, the same ones in each
//! plane. Of these an even number is set if the value is in the set; for any other value each plane has an even
//! number by chance with probability 1/2. Planes are independent: a filter without its last planes is smaller, and
//! has more false positives.
//!
//! Building a plane solves a homogeneous system of linear equations modulo 2, one equation a value, by Gaussian
//! elimination. Zero is always a solution, so building never fails; unknowns that the equations leave free are
//! random, which is what refuses other values. Each equation has its unknowns in a window of 64, the ribbon, and
//! equations are taken in the order of their windows: eliminating one takes 64 steps at most, whatever the values.

use twox_hash::XxHash3_64;

use crate::error::{Error, Result};

/// The most bit planes that a filter may have.
pub const MAX_PLANES: usize = 8;
/// Bytes of the window of a value in each plane.
pub(crate) const WINDOW: usize = 8;
/// Seeds of the hashes.
const TEXTS: u64 = 0;
const INTEGERS: u64 = 1;
/// So many numbers are sorted faster by their digits, of so many bits.
const MANY: usize = 1 << 10;
const DIGIT: u32 = 11;
/// So many hashes of a set are asked for, to find out in which other blocks its values are.
const SAMPLE: usize = 32;

/// The hash of a text.
#[inline]
pub fn of_text(text: &[u8]) -> u32 {
    (XxHash3_64::oneshot_with_seed(TEXTS, text) >> 32) as u32
}

/// The hash of an integer, modulo 2^64.
#[inline]
pub fn of_integer(number: u64) -> u32 {
    (whole_of_integer(number) >> 32) as u32
}

#[inline]
fn whole_of_integer(number: u64) -> u64 {
    XxHash3_64::oneshot_with_seed(INTEGERS, &number.to_le_bytes())
}

/// The hash that a section of statistics begins with.
pub fn checksum(data: &[u8]) -> u64 {
    XxHash3_64::oneshot(data)
}

/// The window of a value, and the bits in it that it selects.
#[derive(Debug, Clone, Copy)]
pub struct Probe {
    hash: u32,
    /// The bits of the window, the first one the least.
    bits: u64,
}

impl Probe {
    /// The probe of a value with this hash.
    #[inline]
    pub fn of(hash: u32) -> Self {
        Self { hash, bits: whole_of_integer(u64::from(hash)) }
    }

    /// Where the window begins in planes of so many bytes.
    #[inline]
    pub(crate) fn start(self, plane_bytes: usize) -> usize {
        let starts = plane_bytes.saturating_sub(WINDOW) as u64 + 1;
        ((u64::from(self.hash) * starts) >> 32) as usize
    }

    /// Whether an even number of the selected bits is set in a plane.
    #[inline]
    fn is_even(self, plane: &[u8], start: usize) -> bool {
        let window = match plane.get(start..).and_then(<[u8]>::first_chunk::<WINDOW>) {
            Some(window) => u64::from_le_bytes(*window),
            None => plane.iter().rev().fold(0, |window, &byte| window << 8 | u64::from(byte)),
        };
        (window & self.bits).count_ones().is_multiple_of(2)
    }
}

/// A ribbon filter as it is stored, plane after plane.
#[derive(Debug, Clone, Copy)]
pub struct Ribbon<'a> {
    bits: &'a [u8],
    plane_bytes: usize,
}

impl<'a> Ribbon<'a> {
    /// The filter in some bytes; their number must be a multiple of that of the planes.
    pub fn new(bits: &'a [u8], planes: usize) -> Result<Self> {
        if !(1..=MAX_PLANES).contains(&planes) || !bits.len().is_multiple_of(planes) {
            return Err(Error::argument("a set of values has other planes than bytes"));
        }
        Ok(Self { bits, plane_bytes: bits.len() / planes })
    }

    /// Whether a value may be in the set; false only if it is not. The empty filter holds no value.
    #[inline]
    pub fn may_hold(self, probe: Probe) -> bool {
        if self.bits.is_empty() {
            return false;
        }
        let start = probe.start(self.plane_bytes);
        self.bits.chunks_exact(self.plane_bytes).all(|plane| probe.is_even(plane, start))
    }
}

/// Whether a value may be in any of some filters.
pub fn is_in_any(sets: &[Ribbon<'_>], probe: Probe) -> bool {
    sets.iter().any(|set| set.may_hold(probe))
}

/// How many of some hashes are certainly in none of some filters.
pub fn missing(hashes: &[u32], sets: &[Ribbon<'_>]) -> u64 {
    hashes.iter().filter(|&&hash| !is_in_any(sets, Probe::of(hash))).count() as u64
}

/// The hashes of values, each once, that a set can be made of.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Hashes(Vec<u32>);

impl Hashes {
    /// Takes hashes in any order.
    pub fn of(hashes: Vec<u32>) -> Self {
        let mut hashes = sorted(hashes);
        hashes.dedup();
        hashes.shrink_to_fit();
        Self(hashes)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Whether a value with this hash is there.
    pub fn has(&self, hash: u32) -> bool {
        self.0.binary_search(&hash).is_ok()
    }

    /// Some of them.
    pub fn sample(&self) -> Vec<u32> {
        let step = self.0.len().div_ceil(SAMPLE).max(1);
        self.0.iter().step_by(step).copied().collect()
    }

    /// Bytes of a plane of their set: ten bits for nine values.
    pub fn plane_bytes(&self) -> usize {
        match self.0.len() {
            0 => 0,
            count => (count + count / 9 + 8).div_ceil(8),
        }
    }

    /// Makes their set, of so many planes.
    pub fn set(&self, planes: usize) -> Vec<u8> {
        let plane_bytes = self.plane_bytes();
        let mut set = vec![0; planes.min(MAX_PLANES) * plane_bytes];
        let solution = solve(&self.equations());
        let (groups, _) = solution.as_chunks::<8>();
        for (at, &group) in groups.iter().take(plane_bytes).enumerate() {
            let places = set.get_mut(at..).unwrap_or_default().iter_mut().step_by(plane_bytes.max(1));
            for (place, byte) in places.zip(transposed(group)) {
                *place = byte;
            }
        }
        set
    }

    /// The equations, such that each begins with another unknown: at its place are the unknowns from there on
    /// that it is of; zero where no equation begins.
    fn equations(&self) -> Vec<u64> {
        let plane_bytes = self.plane_bytes();
        let mut equations = vec![0; 8 * plane_bytes];
        let unknowns = if plane_bytes < WINDOW { (1 << (8 * plane_bytes)) - 1 } else { u64::MAX };
        for &hash in &self.0 {
            let probe = Probe::of(hash);
            let (mut at, mut bits) = (8 * probe.start(plane_bytes), probe.bits & unknowns);
            while bits != 0 {
                at += bits.trailing_zeros() as usize;
                bits >>= bits.trailing_zeros();
                let Some(known) = equations.get_mut(at) else { break };
                if *known == 0 {
                    *known = bits;
                    break;
                }
                bits ^= *known;
            }
        }
        equations
    }
}

/// Sorts numbers: many by one digit after the other, from the least one on.
fn sorted(mut numbers: Vec<u32>) -> Vec<u32> {
    if numbers.len() < MANY {
        numbers.sort_unstable();
        return numbers;
    }
    let mut other = vec![0; numbers.len()];
    for shift in (0..u32::BITS).step_by(DIGIT as usize) {
        let digit = |number: u32| (number >> shift) as usize % (1 << DIGIT);
        let mut places = [0_usize; 1 << DIGIT];
        for &number in &numbers {
            places[digit(number)] += 1;
        }
        let mut next = 0;
        for place in &mut places {
            next += std::mem::replace(place, next);
        }
        for &number in &numbers {
            let place = &mut places[digit(number)];
            if let Some(there) = other.get_mut(*place) {
                *there = number;
            }
            *place += 1;
        }
        std::mem::swap(&mut numbers, &mut other);
    }
    numbers
}

/// For each number of eight bits the bytes that its bits stand for.
const SPREAD: [u64; 256] = spread();

const fn spread() -> [u64; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut bit = 0;
        while bit < 8 {
            if at >> bit & 1 == 1 {
                table[at] |= 0xFF << (8 * bit);
            }
            bit += 1;
        }
        at += 1;
    }
    table
}

/// Solves equations from the last unknown to the first, eight times at once: a byte for each unknown. Those that
/// no equation begins with are what their place hashes to.
fn solve(equations: &[u64]) -> Vec<u8> {
    let mut solution = vec![0_u8; equations.len() + 8 * WINDOW];
    for (at, &equation) in equations.iter().enumerate().rev() {
        let Some((first, rest)) = solution.get_mut(at..).and_then(<[u8]>::split_first_mut) else { break };
        if equation == 0 {
            *first = whole_of_integer(at as u64) as u8;
            continue;
        }
        let mut sum = 0;
        let (groups, _) = rest.as_chunks::<8>();
        for (bits, group) in (equation >> 1).to_le_bytes().into_iter().zip(groups) {
            sum ^= SPREAD[usize::from(bits)] & u64::from_le_bytes(*group);
        }
        sum ^= sum >> 32;
        sum ^= sum >> 16;
        *first = (sum ^ sum >> 8) as u8;
    }
    solution
}

/// Eight bytes of which the n-th has the n-th bit of each of eight bytes.
fn transposed(bytes: [u8; 8]) -> [u8; 8] {
    let mut square = u64::from_le_bytes(bytes);
    for (step, part) in [(7, 0x00AA_00AA_00AA_00AA), (14, 0x0000_CCCC_0000_CCCC), (28, 0xF0F0_F0F0)] {
        let swapped = (square ^ square >> step) & part;
        square ^= swapped ^ swapped << step;
    }
    square.to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(bits: &[u8], planes: usize, hash: u32) -> bool {
        let Ok(set) = Ribbon::new(bits, planes) else { unreachable!("{planes} planes") };
        set.may_hold(Probe::of(hash))
    }

    #[test]
    fn a_set_holds_what_it_was_made_of_and_little_else() {
        for count in [1, 7, 50, 64, 100, 5_000, 60_000] {
            let hashes = Hashes::of((0..count).map(of_integer).collect());
            let whole = hashes.set(MAX_PLANES);
            for planes in 1..=MAX_PLANES {
                let set = &whole[..planes * hashes.plane_bytes()];
                assert_eq!(set, hashes.set(planes), "planes do not depend on each other");
                assert!((0..count).all(|n| held(set, planes, of_integer(n))), "{count} {planes}");
                let others = (count..count + 200_000).filter(|&n| held(set, planes, of_integer(n))).count();
                let most = (200_000 >> planes) * 3 / 2 + 600;
                assert!(others < most, "{others} of 200,000 wrongly, {count} values, {planes} planes");
            }
            assert!(whole.len() <= 9 * count as usize + 15);
        }
    }

    #[test]
    fn sets_depend_on_the_values_alone() {
        let hashes: Vec<u32> = (0..100_000).map(|n| of_text(format!("{}", n % 64).as_bytes())).collect();
        let mut once = hashes[..64].to_vec();
        once.reverse();
        let (many, few) = (Hashes::of(hashes), Hashes::of(once));
        assert_eq!(many, few);
        assert_eq!(many.sample().len(), SAMPLE);
        assert!(many.sample().iter().all(|&hash| many.has(hash)) && !many.has(of_text(b"64")));
    }

    #[test]
    fn many_numbers_are_sorted_as_few_are() {
        let numbers: Vec<u32> = (0..5_000).map(of_integer).chain([0, u32::MAX, 0]).collect();
        let mut expected = numbers.clone();
        expected.sort_unstable();
        assert_eq!(sorted(numbers), expected);
    }

    #[test]
    fn hashes_that_somebody_has_chosen_are_held() {
        let crowded = Hashes::of((0..100_000).map(|n| n * 1_000).collect());
        let set = crowded.set(2);
        assert_eq!(set.len(), 2 * crowded.plane_bytes());
        assert!(crowded.0.iter().all(|&hash| held(&set, 2, hash)));
    }

    #[test]
    fn the_empty_set_holds_nothing() {
        let empty = Hashes::default();
        assert!(empty.set(3).is_empty() && !held(&[], 3, 5));
    }

    #[test]
    fn other_planes_than_bytes_are_refused() {
        for (bytes, planes) in [(8, 0), (9, 9), (9, 2), (1, 8)] {
            assert!(Ribbon::new(&[0xFF; 16][..bytes], planes).is_err(), "{bytes} {planes}");
        }
        assert!(Ribbon::new(&[0xFF; 16], 8).is_ok() && Ribbon::new(&[], 1).is_ok());
        for bytes in 1..16 {
            held(&[0xFF; 16][..bytes], 1, u32::MAX);
        }
    }
}
