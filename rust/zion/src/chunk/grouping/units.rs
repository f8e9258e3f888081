//! Units of fields are joined for as long as that pays: the pair first that gains most.

use super::likeness::Likeness;
use super::pieces::{Piece, length};
use crate::bucket::hash::BUCKETS;
use crate::codec::zstd::{self, Compressor};
use crate::error::Result;

/// From this level of zstd on, size is worth more work.
const HIGH_LEVEL: i32 = 10;

/// How much work is done to find groups.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    /// Bytes of rows that are looked at.
    pub(super) rows: usize,
    /// Bytes of fields that are compressed, all trials together.
    pub(super) trials: usize,
    /// The level of zstd for that.
    pub(super) level: i32,
    /// What is read more for the average field, of all fields, may be so many times what is saved.
    pub(super) price: usize,
}

impl Work {
    pub(super) fn new(level: i32) -> Self {
        if level >= HIGH_LEVEL {
            Self { rows: 1 << 20, trials: 64 << 20, level: 6, price: 4 }
        } else {
            Self { rows: 256 << 10, trials: 6 << 20, level: zstd::DEFAULT_LEVEL, price: 3 }
        }
    }
}

/// What short fields are taken to be compressed to, without a trial.
const GUESSED_RATIO: usize = 4;

/// Fields that stay in one bucket.
struct Unit {
    fields: Vec<(u32, usize)>,
    pieces: Vec<Piece>,
    /// Compressed, in bytes.
    size: usize,
}

/// Two units together, as far as that was tried.
#[derive(Clone, Copy)]
struct Trial {
    size: usize,
    /// What it gains: where positive, it pays.
    gain: i64,
}

/// The fields of each group, by id, with their sizes when they are compressed alone. There are no more groups than
/// buckets.
pub(super) fn groups(
    data: &[u8],
    fields: Vec<(u32, Vec<Piece>)>,
    work: Work,
    compressor: &mut Compressor,
) -> Result<Vec<Vec<(u32, usize)>>> {
    let mut trials = Trials { data, work, fields: fields.len(), compressor, buffer: vec![] };
    let mut units = trials.begin(fields)?;
    let mut tried = trials.first_round(&units)?;
    while let Some((one, other, trial)) = best(&tried) {
        let joined = Unit {
            fields: [&units[one].fields[..], &units[other].fields].concat(),
            pieces: merged(&units[one].pieces, &units[other].pieces),
            size: trial.size,
        };
        units[one] = joined;
        units.remove(other);
        // Only with what one of the two would have gained there is hope for more.
        let pays = |trial: Option<Trial>| trial.is_some_and(|trial| trial.gain > 0);
        let hopes: Vec<bool> =
            (0..tried.len()).map(|unit| pays(tried[one][unit]) || pays(tried[other][unit])).collect();
        for (unit, mut hope) in hopes.into_iter().enumerate() {
            hope &= unit != one && unit != other;
            let at = unit - usize::from(unit > other);
            let trial = if hope { trials.together(&units[one], &units[at])? } else { None };
            tried[one][unit] = trial;
            tried[unit][one] = trial;
        }
        tried.remove(other);
        for row in &mut tried {
            row.remove(other);
        }
    }
    Ok(units.into_iter().map(|unit| unit.fields).collect())
}

/// The pair that gains most, if any does; the later one second.
fn best(tried: &[Vec<Option<Trial>>]) -> Option<(usize, usize, Trial)> {
    let pairs = (0..tried.len()).flat_map(|other| (0..other).map(move |one| (one, other)));
    let paying = pairs.filter_map(|(one, other)| Some((one, other, tried[one][other]?)));
    paying.filter(|pair| pair.2.gain > 0).max_by_key(|&(one, other, trial)| (trial.gain, !one, !other))
}

/// Tries what units take alone and together, as long as there is work left to do.
struct Trials<'a> {
    data: &'a [u8],
    work: Work,
    /// Number of fields.
    fields: usize,
    compressor: &'a mut Compressor,
    buffer: Vec<u8>,
}

impl Trials<'_> {
    /// The longest fields are a unit each, and all others one together.
    fn begin(&mut self, mut fields: Vec<(u32, Vec<Piece>)>) -> Result<Vec<Unit>> {
        fields.sort_by_key(|(id, pieces)| (std::cmp::Reverse(length(pieces)), *id));
        let later = fields.split_off(fields.len().min(3 * BUCKETS));
        let mut units = vec![];
        for (id, pieces) in fields {
            let size = self.compressed(&pieces)?;
            units.push(Unit { fields: vec![(id, size)], pieces, size });
        }
        units.sort_by_key(|unit| (std::cmp::Reverse(unit.size), unit.fields[0].0));
        let mut small = units.split_off(units.len().min(BUCKETS - 1));
        small.extend(later.into_iter().map(|(id, pieces)| {
            let size = length(&pieces) / GUESSED_RATIO;
            Unit { fields: vec![(id, size)], pieces, size }
        }));
        if !small.is_empty() {
            let fields = small.iter().flat_map(|unit| unit.fields.iter().copied()).collect();
            let mut pieces: Vec<Piece> = small.into_iter().flat_map(|unit| unit.pieces).collect();
            pieces.sort_unstable();
            let size = self.compressed(&pieces)?;
            units.push(Unit { fields, pieces, size });
        }
        Ok(units)
    }

    /// Tries pairs, beginning with those that are most alike.
    fn first_round(&mut self, units: &[Unit]) -> Result<Vec<Vec<Option<Trial>>>> {
        let likeness = Likeness::new(self.data, units.iter().map(|unit| &unit.pieces[..]));
        let mut pairs = vec![];
        for other in 0..units.len() {
            for one in 0..other {
                // In thousandths of the smaller one.
                let smaller = units[one].size.min(units[other].size).max(1);
                let alike = (1000 * likeness.of(one, other) / smaller).min(1000);
                let bytes = length(&units[one].pieces) + length(&units[other].pieces);
                pairs.push((std::cmp::Reverse(alike), bytes, one, other));
            }
        }
        pairs.sort_unstable();
        let mut tried = vec![vec![None; units.len()]; units.len()];
        // The rest of the work is for units that were joined.
        let kept = self.work.trials / 2;
        self.work.trials -= kept;
        for (_, _, one, other) in pairs {
            let trial = self.together(&units[one], &units[other])?;
            tried[one][other] = trial;
            tried[other][one] = trial;
        }
        self.work.trials += kept;
        Ok(tried)
    }

    /// Compresses two units as one, if there is as much work left to do.
    fn together(&mut self, one: &Unit, other: &Unit) -> Result<Option<Trial>> {
        let bytes = length(&one.pieces) + length(&other.pieces);
        let Some(left) = self.work.trials.checked_sub(bytes) else { return Ok(None) };
        self.work.trials = left;
        let size = self.compressed(&merged(&one.pieces, &other.pieces))?;
        // What all fields together, each read alone, read more.
        let [size, first, second, ones, others, fields, price] =
            [size, one.size, other.size, one.fields.len(), other.fields.len(), self.fields, self.work.price]
                .map(|number| number as i64);
        let more = (ones + others) * size - ones * first - others * second;
        Ok(Some(Trial { size: size as usize, gain: price * fields * (first + second - size) - more }))
    }

    fn compressed(&mut self, pieces: &[Piece]) -> Result<usize> {
        self.buffer.clear();
        for &(start, end) in pieces {
            self.buffer.extend_from_slice(&self.data[start as usize..end as usize]);
        }
        self.compressor.make(&self.buffer, false)
    }
}

/// The pieces of two units in the order of rows, neighbours as one.
fn merged(one: &[Piece], other: &[Piece]) -> Vec<Piece> {
    let mut all: Vec<Piece> = Vec::with_capacity(one.len() + other.len());
    let (mut one, mut other) = (one.iter().peekable(), other.iter().peekable());
    loop {
        let next = match (one.peek(), other.peek()) {
            (Some(first), Some(second)) if first < second => one.next(),
            (_, Some(_)) => other.next(),
            (Some(_), None) => one.next(),
            (None, None) => return all,
        };
        match (all.last_mut(), next) {
            (Some(last), Some(&(start, end))) if last.1 == start => last.1 = end,
            (_, next) => all.extend(next),
        }
    }
}
