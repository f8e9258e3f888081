//! What is found out about the rows of a group.

use std::cmp::Ordering;
use std::hash::{BuildHasher, RandomState};

use super::keytable::{KEY_BYTES, KeyTable};
use crate::error::{Error, Result};
use crate::ion::SymbolTable;
use crate::value::Value;
use crate::value::key::Key;
use crate::value::key::{self, Members};
use crate::value::number::Number;
use crate::value::number::Sum;
use crate::value::number::order;

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
            Self::Sum | Self::Average => Total::Whole(0, 0),
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

    fn join(&mut self, other: Self) {
        self.whole += other.whole;
        self.rest.join(other.rest);
        self.others += other.others;
        self.count += other.count;
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

/// What is known of the rows of a group so far. Groups are many: what takes more than 16 bytes is a box.
#[derive(Debug, Clone)]
pub(super) enum Total {
    Count(u64),
    Distinct(Box<KeyTable>),
    /// The sum of numbers that are whole, as most are, and how many there are.
    Whole(i64, u64),
    Sum(Box<Sums>),
    Number(Option<Box<Number>>),
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
            self.add_rows(1);
            return Ok(0);
        }
        let Some(value) = value else { return Ok(0) };
        if let Self::Whole(sum, count) = self
            && let Some(small) = value.small(scene.data)
            && let Some(more) = sum.checked_add(small)
        {
            (*sum, *count) = (more, *count + 1);
            return Ok(0);
        }
        match self {
            Self::Count(count) => *count += 1,
            Self::Distinct(keys) => {
                scene.scratch.clear();
                key::put(scene.data, scene.table, *value, Members::Sorted, scene.scratch)?;
                let hash = scene.hasher.hash_one(&**scene.scratch);
                return Ok(grown(keys, hash, scene.scratch));
            }
            Self::Whole(..) | Self::Sum(_) => {
                return Ok(value.number(scene.data)?.map_or(0, |number| self.add_number(number)));
            }
            Self::Number(best) => {
                return Ok(value.number(scene.data)?.map_or(0, |number| put_number(function, best, number)));
            }
            Self::Time(best) => put_best(function, best, value.time(scene.data)?),
        }
        Ok(0)
    }

    /// Counts rows.
    #[inline]
    pub(super) fn add_rows(&mut self, rows: u64) {
        if let Self::Count(count) = self {
            *count += rows;
        }
    }

    /// Adds a number to a sum; gives how much more memory is taken.
    #[inline]
    fn add_number(&mut self, number: Number) -> usize {
        if let (Self::Whole(sum, count), Number::Int(value)) = (&mut *self, number)
            && let Some(more) = i64::try_from(value).ok().and_then(|value| sum.checked_add(value))
        {
            (*sum, *count) = (more, *count + 1);
            return 0;
        }
        self.change_sums(|sums| sums.add(number))
    }

    /// Changes a sum of any numbers, which it is from now on; gives how much more memory is taken.
    fn change_sums(&mut self, change: impl FnOnce(&mut Sums)) -> usize {
        if let Self::Sum(sums) = self {
            change(sums);
            return 0;
        }
        let mut sums = Box::new(self.sums());
        change(&mut sums);
        *self = Self::Sum(sums);
        size_of::<Sums>()
    }

    /// The sum, of any numbers; 0 of no numbers if this counts something else.
    fn sums(&self) -> Sums {
        match self {
            Self::Sum(sums) => **sums,
            Self::Whole(sum, count) => Sums { whole: i128::from(*sum), count: *count, ..Sums::default() },
            _ => Sums::default(),
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
            (sums @ (Self::Whole(..) | Self::Sum(_)), more @ (Self::Whole(..) | Self::Sum(_))) => {
                return sums.join_sums(&more);
            }
            (Self::Number(best), Self::Number(more)) => {
                return more.map_or(0, |more| put_number(function, best, *more));
            }
            (Self::Time(best), Self::Time(more)) => put_best(function, best, more),
            // Totals of one call are of one kind.
            _ => {}
        }
        0
    }

    fn join_sums(&mut self, other: &Self) -> usize {
        if let (Self::Whole(sum, count), Self::Whole(value, more)) = (&mut *self, other)
            && let Some(total) = sum.checked_add(*value)
        {
            (*sum, *count) = (total, *count + more);
            return 0;
        }
        self.change_sums(|sums| sums.join(other.sums()))
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
            Self::Whole(..) | Self::Sum(_) => {
                let sums = self.sums();
                match function {
                    _ if sums.count == 0 => Key::Null,
                    Function::Average => number((sums.value() / sums.count as f64).into()),
                    _ => number(sums.total()),
                }
            }
            Self::Number(best) => best.as_deref().copied().map_or(Key::Null, number),
            Self::Time(best) => best.map_or(Key::Null, Key::Time),
        }
    }
}

/// Adds a key to a set; gives how much more memory is taken.
fn grown(keys: &mut KeyTable, hash: u64, key: &[u8]) -> usize {
    let (_, is_new) = keys.number(hash, key);
    if is_new { key.len() + KEY_BYTES } else { 0 }
}

/// Keeps the better one of two numbers; gives how much more memory is taken.
#[inline]
fn put_number(function: Function, best: &mut Option<Box<Number>>, value: Number) -> usize {
    let Some(known) = best else {
        *best = Some(Box::new(value));
        return size_of::<Number>();
    };
    if function.replaces(order(value, **known)) {
        **known = value;
    }
    0
}

/// Keeps the better one of two times.
#[inline]
fn put_best(function: Function, best: &mut Option<i64>, value: Option<i64>) {
    let Some(value) = value else { return };
    if best.is_none_or(|known| function.replaces(value.cmp(&known))) {
        *best = Some(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact_where_doubles_are_not() {
        let sum = |numbers: &[Number]| {
            let mut halves = [Function::Sum.total(), Function::Sum.total()];
            for (at, number) in numbers.iter().enumerate() {
                halves[at % 2].add_number(*number);
            }
            let mut all = Function::Sum.total();
            for half in halves {
                all.join(Function::Sum, half);
            }
            all.sums().value()
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

    #[test]
    fn groups_take_little_memory_for_what_most_of_them_are() {
        assert!(size_of::<Total>() <= 24);
        let mut total = Function::Average.total();
        assert_eq!(total.add_number(Number::Int(i64::MAX.into())), 0);
        assert_eq!(total.add_number(Number::Int(-5)), 0);
        assert_eq!(total.add_number(Number::Int(6)), size_of::<Sums>());
        assert_eq!(total.add_number(Number::Float(0.5)), 0);
        assert_eq!(total.sums().count, 4);
        let mut other = Function::Average.total();
        assert_eq!(other.join(Function::Average, total), size_of::<Sums>());
        let expected = (i64::MAX as f64 + 1.5) / 4.0;
        assert_eq!(other.value(Function::Average), Key::Int(expected as i128));
    }
}
