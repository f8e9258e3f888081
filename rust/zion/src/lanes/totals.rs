//! What is found out about the rows of a group.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::answer;
use super::groups::GROUP_BYTES;
use super::key;
use super::predicate::order;
use super::value::{Number, Value};
use crate::error::{Error, Result};
use crate::ion::SymbolTable;
use crate::natives::number::Sum;

/// What is found out about the rows of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// Number of rows.
    Rows,
    /// Number of values, nulls too.
    Present,
    /// Number of different values, null too.
    Distinct,
    /// Sum of the numbers, which are doubles here.
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
            Self::Distinct => Total::Distinct(HashSet::new()),
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
    count: u64,
}

impl Sums {
    fn add(&mut self, number: Number) {
        match number {
            Number::Int(value) => self.whole += value as f64 as i128,
            Number::Float(value) => self.rest.add(value),
        }
        self.count += 1;
    }

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
    Distinct(HashSet<Box<[u8]>>),
    Sum(Sums),
    Number(Option<f64>),
    Time(Option<i64>),
}

impl Total {
    /// Adds a row; gives how much more memory is taken.
    #[inline]
    pub(super) fn add(
        &mut self,
        function: Function,
        data: &[u8],
        table: &SymbolTable,
        value: Option<Value>,
        scratch: &mut Vec<u8>,
    ) -> Result<usize> {
        if function == Function::Rows {
            if let Self::Count(count) = self {
                *count += 1;
            }
            return Ok(0);
        }
        let Some(value) = value else { return Ok(0) };
        match self {
            Self::Count(count) => *count += 1,
            Self::Distinct(keys) => {
                key::put(data, table, value, scratch)?;
                if !keys.contains(&**scratch) {
                    keys.insert(scratch.as_slice().into());
                    return Ok(scratch.len() + GROUP_BYTES);
                }
            }
            Self::Sum(sums) => {
                if let Some(number) = value.number(data)? {
                    sums.add(number);
                }
            }
            Self::Number(best) => {
                put_best(function, best, value.number(data)?.map(Number::to_f64), by_value);
            }
            Self::Time(best) => put_best(function, best, value.time(data)?, |a, b| a.cmp(&b)),
        }
        Ok(0)
    }

    /// Adds what is known of other rows; gives how much more memory is taken.
    pub(super) fn join(&mut self, function: Function, other: Self) -> usize {
        match (self, other) {
            (Self::Count(count), Self::Count(more)) => *count += more,
            (Self::Distinct(keys), Self::Distinct(more)) => {
                let is_new = more.into_iter().filter_map(|key| {
                    let bytes = key.len() + GROUP_BYTES;
                    keys.insert(key).then_some(bytes)
                });
                return is_new.sum();
            }
            (Self::Sum(sums), Self::Sum(more)) => {
                sums.whole += more.whole;
                sums.rest.join(more.rest);
                sums.count += more.count;
            }
            (Self::Number(best), Self::Number(more)) => put_best(function, best, more, by_value),
            (Self::Time(best), Self::Time(more)) => put_best(function, best, more, |a, b| a.cmp(&b)),
            // Totals of one call are of one kind.
            _ => {}
        }
        0
    }

    /// Appends the key of the result.
    pub(super) fn put(self, function: Function, row: &mut Vec<u8>) {
        match self {
            Self::Count(count) => answer::put_number(row, Number::Int(count as i64)),
            Self::Distinct(keys) => answer::put_number(row, Number::Int(keys.len() as i64)),
            Self::Sum(sums) if sums.count == 0 => answer::put_null(row),
            Self::Sum(sums) if function == Function::Average => {
                answer::put_number(row, (sums.value() / sums.count as f64).into());
            }
            Self::Sum(sums) => answer::put_number(row, sums.value().into()),
            Self::Number(Some(number)) => answer::put_number(row, number.into()),
            Self::Time(Some(us)) => answer::put_time(row, us),
            Self::Number(None) | Self::Time(None) => answer::put_null(row),
        }
    }
}

fn by_value(a: f64, b: f64) -> Ordering {
    order(Number::Float(a), Number::Float(b))
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
        assert_eq!(sum(&[int(1), float(1e100), int(1), float(-1e100)]), 2.0);
        assert_eq!(sum(&[float(0.1); 10]), 1.0);
        assert_eq!(sum(&[int(i64::MAX), int(i64::MAX), int(-5)]), 2.0 * i64::MAX as f64 - 5.0);
        assert_eq!(sum(&[int(1 << 53), int(1), int(1), float(0.5)]), 9_007_199_254_740_994.0);
        assert_eq!(sum(&[float(f64::INFINITY), int(1)]), f64::INFINITY);
        assert!(sum(&[float(f64::INFINITY), float(f64::NEG_INFINITY)]).is_nan());
    }
}
