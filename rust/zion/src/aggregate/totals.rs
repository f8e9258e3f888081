//! What is found out about the rows of a group.

use std::cmp::Ordering;
use std::hash::{BuildHasher, RandomState};

use super::keytable::{KEY_BYTES, KeyTable};
use crate::error::{Error, Result};
use crate::ion::SymbolTable;
use crate::key::Key;
use crate::key::{self, Members};
use crate::number::Number;
use crate::number::Sum;
use crate::number::order;
use crate::value::Value;

/// What is found out about the rows of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// Number of rows.
    Rows,
    /// Number of values, nulls too.
    Present,
    /// Number of different values, null too.
    Distinct,
    /// Sum of the numbers: exact when all of them are whole and 64 bits hold it, else a double.
    Sum,
    /// Sum of the numbers by their number.
    Average,
    /// The least number.
    Least,
    /// The greatest number.
    Greatest,
    /// The first timestamp.
    Earliest,
    /// The last timestamp.
    Latest,
}

impl Function {
    /// The function of a name.
    pub fn from_name(name: &str) -> Result<Self> {
        Ok(match name {
            "rows" => Self::Rows,
            "present" => Self::Present,
            "distinct" => Self::Distinct,
            "sum" => Self::Sum,
            "average" => Self::Average,
            "least" => Self::Least,
            "greatest" => Self::Greatest,
            "earliest" => Self::Earliest,
            "latest" => Self::Latest,
            _ => return Err(Error::argument(format!("there is no function {name:?} of groups"))),
        })
    }

    pub(super) fn total(self) -> Total {
        match self {
            Self::Rows | Self::Present => Total::Count(0),
            Self::Distinct => Total::Distinct(Box::default()),
            Self::Sum | Self::Average => Total::Sum(Sums::default()),
            Self::Least | Self::Greatest => Total::Number(None),
            Self::Earliest | Self::Latest => Total::Time(None),
        }
    }

    /// Whether a value that compares so with the one before takes its place.
    fn replaces(self, ordering: Ordering) -> bool {
        match self {
            Self::Least | Self::Earliest => ordering.is_lt(),
            _ => ordering.is_gt(),
        }
    }
}

/// The sum of numbers, and how many there are.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    /// Whole numbers add up exactly.
    whole: i128,
    rest: Sum,
    /// How many numbers are not whole.
    others: u64,
    count: u64,
}

impl Sums {
    fn add(&mut self, number: Number) {
        match number {
            // 2^62 of them fit at least.
            Number::Int(value) => self.whole += value,
            Number::Float(value) => {
                self.rest.add(value);
                self.others += 1;
            }
        }
        self.count += 1;
    }

    /// The sum.
    fn total(self) -> Number {
        let is_exact =
            self.others == 0 && (i64::try_from(self.whole).is_ok() || u64::try_from(self.whole).is_ok());
        if is_exact { Number::Int(self.whole) } else { self.value().into() }
    }

    /// The nearest double.
    fn value(self) -> f64 {
        let mut sum = self.rest;
        let near = self.whole as f64;
        sum.add(near);
        sum.add((self.whole - near as i128) as f64);
        sum.value()
    }
}

/// What is known of the rows of a group so far.
#[derive(Debug, Clone)]
pub(super) enum Total {
    Count(u64),
    Distinct(Box<KeyTable>),
    Sum(Sums),
    Number(Option<Number>),
    Time(Option<i64>),
}

/// What a value needs to be understood and remembered.
pub(super) struct Scene<'a> {
    pub(super) data: &'a [u8],
    pub(super) table: &'a SymbolTable,
    pub(super) hasher: &'a RandomState,
    pub(super) scratch: &'a mut Vec<u8>,
}

impl Total {
    /// Adds a row; gives how much more memory is taken.
    #[inline]
    pub(super) fn add(
        &mut self,
        function: Function,
        scene: &mut Scene<'_>,
        value: Option<&Value>,
    ) -> Result<usize> {
        if function == Function::Rows {
            self.add_row();
            return Ok(0);
        }
        let Some(value) = value else { return Ok(0) };
        match self {
            Self::Count(count) => *count += 1,
            Self::Distinct(keys) => {
                scene.scratch.clear();
                key::put(scene.data, scene.table, *value, Members::Sorted, scene.scratch)?;
                let hash = scene.hasher.hash_one(&**scene.scratch);
                return Ok(grown(keys, hash, scene.scratch));
            }
            Self::Sum(sums) => {
                if let Some(number) = value.number(scene.data)? {
                    sums.add(number);
                }
            }
            Self::Number(best) => {
                put_best(function, best, value.number(scene.data)?, order);
            }
            Self::Time(best) => put_best(function, best, value.time(scene.data)?, |a, b| a.cmp(&b)),
        }
        Ok(0)
    }

    /// Counts a row.
    #[inline]
    pub(super) fn add_row(&mut self) {
        if let Self::Count(count) = self {
            *count += 1;
        }
    }

    /// Adds what is known of other rows; gives how much more memory is taken.
    pub(super) fn join(&mut self, function: Function, other: Self) -> usize {
        match (self, other) {
            (Self::Count(count), Self::Count(more)) => *count += more,
            (Self::Distinct(keys), Self::Distinct(more)) if keys.len() == 0 => *keys = more,
            (Self::Distinct(keys), Self::Distinct(more)) => {
                return more.iter().map(|(hash, key)| grown(keys, hash, key)).sum();
            }
            (Self::Sum(sums), Self::Sum(more)) => {
                sums.whole += more.whole;
                sums.rest.join(more.rest);
                sums.others += more.others;
                sums.count += more.count;
            }
            (Self::Number(best), Self::Number(more)) => put_best(function, best, more, order),
            (Self::Time(best), Self::Time(more)) => put_best(function, best, more, |a, b| a.cmp(&b)),
            // Totals of one call are of one kind.
            _ => {}
        }
        0
    }

    /// The result.
    pub(super) fn value(&self, function: Function) -> Key<'static> {
        let number = |number: Number| match number {
            Number::Int(value) => Key::Int(value),
            Number::Float(value) => Key::Float(value),
        };
        match self {
            Self::Count(count) => Key::Int(i128::from(*count)),
            Self::Distinct(keys) => Key::Int(keys.len() as i128),
            Self::Sum(sums) if sums.count == 0 => Key::Null,
            Self::Sum(sums) if function == Function::Average => {
                number((sums.value() / sums.count as f64).into())
            }
            Self::Sum(sums) => number(sums.total()),
            Self::Number(best) => best.map_or(Key::Null, number),
            Self::Time(best) => best.map_or(Key::Null, Key::Time),
        }
    }
}

/// Adds a key to a set; gives how much more memory is taken.
fn grown(keys: &mut KeyTable, hash: u64, key: &[u8]) -> usize {
    let (_, is_new) = keys.number(hash, key);
    if is_new { key.len() + KEY_BYTES } else { 0 }
}

/// Keeps the better one of two values.
#[inline]
fn put_best<T: Copy>(
    function: Function,
    best: &mut Option<T>,
    value: Option<T>,
    compare: fn(T, T) -> Ordering,
) {
    let Some(value) = value else { return };
    if best.is_none_or(|known| function.replaces(compare(value, known))) {
        *best = Some(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact_where_doubles_are_not() {
        let sum = |numbers: &[Number]| {
            let mut halves = [Sums::default(), Sums::default()];
            numbers.iter().enumerate().for_each(|(at, number)| halves[at % 2].add(*number));
            let mut all = Total::Sum(Sums::default());
            for half in halves {
                all.join(Function::Sum, Total::Sum(half));
            }
            if let Total::Sum(sums) = all { sums.value() } else { f64::NAN }
        };
        let (int, float) = (Number::Int, Number::Float);
        let i64_max = i128::from(i64::MAX);
        assert_eq!(sum(&[int(1), float(1e100), int(1), float(-1e100)]), 2.0);
        assert_eq!(sum(&[float(0.1); 10]), 1.0);
        let total = |whole, others| Sums { whole, others, ..Sums::default() }.total();
        assert_eq!(total(u64::MAX.into(), 0), int(u64::MAX.into()));
        assert_eq!(total(-i128::from(u64::MAX), 0), int(-(1 << 64)));
        assert_eq!(total(u64::MAX.into(), 1), int(1 << 64));
        assert_eq!(total(i128::from(u64::MAX) * 2, 0), float(36_893_488_147_419_103_232.0));
        assert_eq!(sum(&[int(i64_max), int(i64_max), int(-5)]), 2.0 * i64::MAX as f64 - 5.0);
        assert_eq!(sum(&[int(1 << 53), int(1), int(1), float(0.5)]), 9_007_199_254_740_994.0);
        assert_eq!(sum(&[float(f64::INFINITY), int(1)]), f64::INFINITY);
        assert!(sum(&[float(f64::INFINITY), float(f64::NEG_INFINITY)]).is_nan());
    }
}
