//! The ribbon filters of many blocks, laid out by hash first and by block second, so that one lookup reads a small
//! part of all of them (`docs/format.md`, section 10).

use std::ops::Range;

use crate::error::{Error, Result};
use crate::index::ribbon::{MAX_PLANES, Probe, Ribbon, WINDOW};

/// Slices are about so large.
const SLICE_BYTES: usize = 32 << 10;
/// There are at most two to this power of them.
pub const MOST_BITS: u32 = 16;
/// Sets that are too short for slices take at most this share of all.
const SHORT_SHARE: usize = 16;

/// The planes of a set: how many bytes each has, and how many there are.
type Shape = (usize, usize);

/// How some sets are cut into slices.
#[derive(Debug)]
pub struct Slices {
    shapes: Vec<Shape>,
    bits: u32,
}

impl Slices {
    /// Those of sets of such shapes, two to the power of `bits`.
    pub fn new(shapes: Vec<Shape>, bits: u32) -> Result<Self> {
        let has_planes = |&(_, planes): &Shape| (1..=MAX_PLANES).contains(&planes);
        let sizes = shapes.iter().map(|&(bytes, planes)| bytes.checked_mul(planes));
        let whole = sizes.into_iter().try_fold(0_usize, |sum, size| sum.checked_add(size?));
        if bits > MOST_BITS || !shapes.iter().all(has_planes) || whole.is_none() {
            return Err(Error::argument("sets of values have other planes or slices than there can be"));
        }
        Ok(Self { shapes, bits })
    }

    /// As many as there should be for sets of such shapes.
    pub fn of(shapes: Vec<Shape>) -> Result<Self> {
        let mut found = Self::new(shapes, 0)?;
        let whole = found.start(1);
        found.bits = (whole / SLICE_BYTES).checked_ilog2().map_or(0, |bits| (bits + 1).min(MOST_BITS));
        while found.bits > 0 && found.short_bytes() > SLICE_BYTES.max(whole / SHORT_SHARE) {
            found.bits -= 1;
        }
        Ok(found)
    }

    /// The number of slices is two to the power of this.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Whether a set is too short for slices: what a question looks at would be in more than two.
    fn is_short(&self, plane_bytes: usize) -> bool {
        plane_bytes.saturating_sub(WINDOW - 1) >> self.bits < WINDOW
    }

    /// Bytes of all sets that are too short for slices.
    pub fn short_bytes(&self) -> usize {
        self.shapes.iter().filter(|shape| self.is_short(shape.0)).map(|shape| shape.0 * shape.1).sum()
    }

    /// Where a slice begins in each plane of a set that is not short.
    fn cut(&self, plane_bytes: usize, slice: usize) -> usize {
        if slice >> self.bits > 0 {
            return plane_bytes;
        }
        let starts = plane_bytes.saturating_sub(WINDOW - 1);
        ((starts as u128 * slice as u128) >> self.bits) as usize
    }

    /// Where a slice begins among all slices.
    pub fn start(&self, slice: usize) -> usize {
        let long = self.shapes.iter().filter(|shape| !self.is_short(shape.0));
        long.map(|&(bytes, planes)| planes * self.cut(bytes, slice)).sum()
    }

    /// The slices that a question looks at: one, or two that follow each other.
    pub fn near(&self, hash: u32) -> Range<usize> {
        let slice = (u64::from(hash) << self.bits >> 32) as usize;
        slice..(slice + 2).min(1 << self.bits)
    }

    /// The slices of these sets, and the sets that are too short for them, one behind the other.
    pub fn split(&self, sets: &[&[u8]]) -> Result<(Vec<u8>, Vec<u8>)> {
        if !sets.iter().map(|set| set.len()).eq(self.shapes.iter().map(|shape| shape.0 * shape.1)) {
            return Err(Error::argument("sets of values have other sizes than told"));
        }
        let all = sets.iter().zip(&self.shapes);
        let (short, long): (Vec<_>, Vec<_>) = all.partition(|(_, shape)| self.is_short(shape.0));
        let mut slices = Vec::with_capacity(self.start(1 << self.bits));
        for slice in 0..1 << self.bits {
            for &(set, &(bytes, _)) in &long {
                let part = self.cut(bytes, slice)..self.cut(bytes, slice + 1);
                for plane in set.chunks_exact(bytes) {
                    slices.extend_from_slice(plane.get(part.clone()).unwrap_or_default());
                }
            }
        }
        Ok((slices, short.iter().flat_map(|(set, _)| set.iter().copied()).collect()))
    }

    /// The sets that [`Self::split`] made these of.
    pub fn whole(&self, slices: &[u8], short: &[u8]) -> Result<Vec<Vec<u8>>> {
        check(slices.len() == self.start(1 << self.bits) && short.len() == self.short_bytes())?;
        let mut sets: Vec<Vec<u8>> = self.shapes.iter().map(|shape| vec![0; shape.0 * shape.1]).collect();
        let (mut slices, mut short) = (slices, short);
        let all = sets.iter_mut().zip(&self.shapes);
        let (shorts, mut longs): (Vec<_>, Vec<_>) = all.partition(|(_, shape)| self.is_short(shape.0));
        for slice in 0..1 << self.bits {
            for (set, &(bytes, _)) in longs.iter_mut().map(|(set, shape)| (set, *shape)) {
                let part = self.cut(bytes, slice)..self.cut(bytes, slice + 1);
                for plane in set.chunks_exact_mut(bytes) {
                    let Some(place) = plane.get_mut(part.clone()) else { continue };
                    place.copy_from_slice(taken(&mut slices, part.len())?);
                }
            }
        }
        for (set, _) in shorts {
            let count = set.len();
            set.copy_from_slice(taken(&mut short, count)?);
        }
        Ok(sets)
    }

    /// Whether each set may hold the value with this hash, by the slices of [`Self::near`] and the short sets.
    pub fn may_hold(&self, near: &[u8], short: &[u8], hash: u32) -> Result<Vec<bool>> {
        let Range { start, end } = self.near(hash);
        check(near.len() == self.start(end) - self.start(start) && short.len() == self.short_bytes())?;
        let (mut first, mut second) =
            near.split_at_checked(self.start(start + 1) - self.start(start)).unwrap_or((near, &[]));
        let mut short = short;
        let probe = Probe::of(hash);
        let mut held = Vec::with_capacity(self.shapes.len());
        for &(bytes, planes) in &self.shapes {
            if self.is_short(bytes) {
                held.push(Ribbon::new(taken(&mut short, bytes * planes)?, planes)?.may_hold(probe));
                continue;
            }
            let cuts = [start, start + 1, end].map(|slice| self.cut(bytes, slice));
            let skipped = probe.start(bytes) - cuts[0];
            let mut is_held = true;
            for _ in 0..planes {
                let one = taken(&mut first, cuts[1] - cuts[0])?;
                let other = taken(&mut second, cuts[2] - cuts[1])?;
                let mut window = [0; WINDOW];
                for (byte, &found) in window.iter_mut().zip(one.iter().chain(other).skip(skipped)) {
                    *byte = found;
                }
                is_held &= Ribbon::new(&window, 1)?.may_hold(probe);
            }
            held.push(is_held);
        }
        Ok(held)
    }
}

fn check(is_right: bool) -> Result<()> {
    if is_right { Ok(()) } else { Err(Error::argument("slices of sets have other sizes than told")) }
}

/// Takes bytes off the front.
fn taken<'a>(data: &mut &'a [u8], count: usize) -> Result<&'a [u8]> {
    data.split_off(..count).ok_or_else(|| Error::argument("slices of sets are too short"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index::ribbon::{Hashes, of_integer};

    fn sound<T>(found: Result<T>) -> std::result::Result<T, TestCaseError> {
        found.map_err(|error| TestCaseError::fail(format!("{error}")))
    }

    proptest! {
        #[test]
        fn slices_answer_as_sets_do(
            sizes in prop::collection::vec((prop_oneof![0..40_u64, 0..3_000_u64, 0..60_000_u64], 1..=MAX_PLANES), 0..9),
            bits in 0..9_u32,
            asked in prop::collection::vec(any::<u32>(), 20),
        ) {
            let sets: Vec<Vec<u8>> = sizes
                .iter()
                .map(|&(count, planes)| Hashes::of((0..count).map(|n| of_integer(n * 7)).collect()).set(planes))
                .collect();
            let shapes: Vec<Shape> = sets.iter().zip(&sizes).map(|(set, size)| (set.len() / size.1, size.1)).collect();
            let parts: Vec<&[u8]> = sets.iter().map(Vec::as_slice).collect();
            for slices in [Slices::new(shapes.clone(), bits), Slices::of(shapes.clone())] {
                let slices = sound(slices)?;
                let (sliced, short) = sound(slices.split(&parts))?;
                prop_assert_eq!(sliced.len() + short.len(), parts.concat().len());
                prop_assert_eq!(&sound(slices.whole(&sliced, &short))?, &sets);
                let known = (0..40).map(|n| of_integer(n * 7)).chain([0, u32::MAX]);
                for hash in asked.iter().copied().chain(known) {
                    let near = slices.near(hash);
                    let near = &sliced[slices.start(near.start)..slices.start(near.end)];
                    let whole = parts.iter().zip(&shapes).map(|(set, shape)| Ribbon::new(set, shape.1));
                    let expected: Result<Vec<bool>> =
                        whole.map(|set| set.map(|set| set.may_hold(Probe::of(hash)))).collect();
                    let expected = sound(expected)?;
                    prop_assert_eq!(sound(slices.may_hold(near, &short, hash))?, expected);
                }
            }
        }
    }

    #[test]
    fn a_question_reads_little_of_many_sets() -> Result<()> {
        let slices = Slices::of(vec![(12_500, 6); 100])?;
        assert_eq!((slices.bits(), slices.short_bytes()), (8, 0));
        let near = slices.near(of_integer(5));
        assert!(slices.start(near.end) - slices.start(near.start) < 3 * SLICE_BYTES);
        Ok(())
    }

    #[test]
    fn short_sets_are_not_cut_and_few() -> Result<()> {
        let mut shapes = vec![(20, 8); 50];
        shapes.push((900_000, 8));
        let slices = Slices::of(shapes)?;
        assert_eq!((slices.bits(), slices.short_bytes()), (8, 50 * 160));
        let slices = Slices::of(vec![(700, 6); 744])?;
        assert_eq!((slices.bits(), slices.short_bytes()), (6, 0));
        assert_eq!(Slices::of(vec![])?.bits(), 0);
        Ok(())
    }

    #[test]
    fn what_does_not_fit_is_refused() -> Result<()> {
        assert!(Slices::new(vec![(9, 9)], 0).is_err());
        assert!(Slices::new(vec![(9, 0)], 0).is_err());
        assert!(Slices::new(vec![(9, 1)], MOST_BITS + 1).is_err());
        assert!(Slices::new(vec![(usize::MAX, 8)], 0).is_err());
        assert!(Slices::new(vec![(usize::MAX / 8, 8), (8, 8)], 3).is_err());
        let slices = Slices::new(vec![(100, 2), (3, 2)], 1)?;
        assert!(slices.split(&[&[0; 200]]).is_err() && slices.split(&[&[0; 200], &[0; 7]]).is_err());
        assert!(slices.whole(&[0; 200], &[0; 5]).is_err() && slices.whole(&[0; 199], &[0; 6]).is_err());
        assert!(
            slices.may_hold(&[0; 199], &[0; 6], 5).is_err() && slices.may_hold(&[0; 200], &[], 5).is_err()
        );
        Ok(())
    }
}
