//! Rows summed up in groups, from where they lie: no column is made of them.
//!
//! Each run of chunks gives groups of its own, which are joined in the order of the rows. So the groups stand
//! in the order in which they are first met, and sums do not depend on the number of threads.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::answer::{self, Answer};
use super::key;
use super::plan::Plan;
use super::predicate::order;
use super::recent::{self, Recent};
use super::value::{Number, Value};
use crate::error::{Error, Result};
use crate::ion::SymbolTable;
use crate::natives::number::Sum;

/// What a group takes in memory besides its key and its totals, about.
const GROUP_BYTES: usize = 64;

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

    fn total(self) -> Total {
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

/// How rows are summed up.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Lanes that rows of one group have in common; rows without a value there are left out. Without a key
    /// all rows are one group, which is there even if there is no row.
    pub keys: Vec<usize>,
    /// What is found out, of which lane.
    pub calls: Vec<(Function, Option<usize>)>,
    /// Groups that take more memory than this are given up.
    pub most_bytes: usize,
}

/// The places of a summary.
#[derive(Debug)]
struct Places {
    keys: Vec<usize>,
    calls: Vec<(Function, usize)>,
    most_bytes: usize,
}

/// Groups of rows.
#[derive(Debug, Clone)]
pub struct Groups {
    places: Arc<Places>,
    /// The number of each group, by its keys as [`answer`] has them.
    numbers: HashMap<Box<[u8]>, usize>,
    /// For each group a total for each call.
    totals: Vec<Total>,
    bytes: usize,
    recent: Recent,
    scratch: Vec<u8>,
}

impl Groups {
    /// No rows yet.
    pub fn new(plan: &Plan, summary: &Summary) -> Result<Self> {
        let place = |lane: usize| {
            let column = plan.columns.get(lane);
            column.map(|column| column.node).ok_or_else(|| Error::argument(format!("there is no lane {lane}")))
        };
        let call = |&(function, lane): &(Function, Option<usize>)| match lane {
            Some(lane) => Ok((function, place(lane)?)),
            None if function == Function::Rows => Ok((function, 0)),
            None => Err(Error::argument(format!("{function:?} of no lane"))),
        };
        let places = Places {
            keys: summary.keys.iter().copied().map(place).collect::<Result<_>>()?,
            calls: summary.calls.iter().map(call).collect::<Result<_>>()?,
            most_bytes: summary.most_bytes,
        };
        Ok(Self::empty(Arc::new(places)))
    }

    fn empty(places: Arc<Places>) -> Self {
        let (numbers, totals) = (HashMap::new(), Vec::new());
        let (recent, scratch) = (Recent::default(), Vec::new());
        let mut groups = Self { places, numbers, totals, bytes: 0, recent, scratch };
        if groups.places.keys.is_empty() {
            groups.number();
        }
        groups
    }

    /// The groups of the rows that were added since the last time.
    pub(super) fn take(&mut self) -> Self {
        let fresh = Self::empty(Arc::clone(&self.places));
        std::mem::replace(self, fresh)
    }

    /// Whether there were more groups than memory allows; then they are not to be used.
    pub fn is_full(&self) -> bool {
        self.bytes > self.places.most_bytes
    }

    /// Adds a row.
    pub(super) fn add(&mut self, data: &[u8], table: &SymbolTable, slots: &[Option<Value>]) -> Result<()> {
        if self.is_full() {
            return Ok(());
        }
        let Some(number) = self.group(data, table, slots)? else { return Ok(()) };
        let calls = &self.places.calls;
        for (total, &(function, node)) in self.totals[number * calls.len()..].iter_mut().zip(calls) {
            self.scratch.clear();
            self.bytes += total.add(function, data, table, slots[node], &mut self.scratch)?;
        }
        Ok(())
    }

    /// The number of the group of a row; none if it has not all keys.
    #[inline]
    fn group(&mut self, data: &[u8], table: &SymbolTable, slots: &[Option<Value>]) -> Result<Option<usize>> {
        let &[node] = &*self.places.keys else { return self.group_of_keys(data, table, slots) };
        let Some(raw) = slots[node].and_then(|value| recent::raw(data, value)) else {
            return self.group_of_keys(data, table, slots);
        };
        if let Some(number) = self.recent.group(raw) {
            return Ok(Some(number));
        }
        let number = self.group_of_keys(data, table, slots)?;
        if let Some(number) = number {
            self.recent.put(raw, number);
        }
        Ok(number)
    }

    fn group_of_keys(
        &mut self,
        data: &[u8],
        table: &SymbolTable,
        slots: &[Option<Value>],
    ) -> Result<Option<usize>> {
        self.scratch.clear();
        for &node in &self.places.keys {
            let Some(value) = slots[node] else { return Ok(None) };
            answer::put(&mut self.scratch, |out| key::put(data, table, value, out))?;
        }
        Ok(Some(self.number()))
    }

    /// The number of the group of the keys at hand.
    fn number(&mut self) -> usize {
        let next = self.numbers.len();
        if self.places.keys.is_empty() && next > 0 {
            return 0;
        }
        if let Some(number) = self.numbers.get(&*self.scratch) {
            return *number;
        }
        self.insert(self.scratch.as_slice().into())
    }

    fn insert(&mut self, keys: Box<[u8]>) -> usize {
        let number = self.numbers.len();
        self.bytes += keys.len() + GROUP_BYTES + self.places.calls.len() * size_of::<Total>();
        self.numbers.insert(keys, number);
        self.totals.extend(self.places.calls.iter().map(|(function, _)| function.total()));
        number
    }

    /// Adds the groups of the rows that follow.
    pub fn join(&mut self, other: Self) {
        if self.is_full() || other.is_full() {
            self.bytes = usize::MAX;
            return;
        }
        let width = self.places.calls.len();
        let places = Arc::clone(&self.places);
        let mut keys: Vec<_> = other.numbers.into_iter().collect();
        keys.sort_unstable_by_key(|(_, number)| *number);
        let mut totals = other.totals.into_iter();
        for (keys, _) in keys {
            let number = self.numbers.get(&keys).copied();
            let first = width * number.unwrap_or_else(|| self.insert(keys));
            let pairs = self.totals[first..].iter_mut().zip(&places.calls);
            for ((total, (function, _)), more) in pairs.zip(totals.by_ref().take(width)) {
                self.bytes += total.join(*function, more);
            }
        }
    }

    /// What was found out: the keys and totals of each group.
    pub fn finish(self) -> Answer {
        let mut rows: Vec<_> = self.numbers.into_iter().collect();
        rows.sort_unstable_by_key(|(_, number)| *number);
        let mut totals = self.totals.into_iter();
        let calls = &self.places.calls;
        let finished = |(keys, _): (Box<[u8]>, usize)| {
            let mut row = keys.into_vec();
            for ((function, _), total) in calls.iter().zip(totals.by_ref()) {
                total.put(*function, &mut row);
            }
            row
        };
        Answer::new(rows.into_iter().map(finished).collect())
    }
}

/// The sum of numbers, and how many there are.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
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
enum Total {
    Count(u64),
    Distinct(HashSet<Box<[u8]>>),
    Sum(Sums),
    Number(Option<f64>),
    Time(Option<i64>),
}

impl Total {
    /// Adds a row; gives how much more memory is taken.
    #[inline]
    fn add(
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
            Self::Sum(sums) => value.number(data)?.into_iter().for_each(|number| sums.add(number)),
            Self::Number(best) => {
                let numbers = value.number(data)?;
                numbers.into_iter().for_each(|number| put_best(function, best, number.to_f64(), compare));
            }
            Self::Time(best) => {
                value.time(data)?.into_iter().for_each(|us| put_best(function, best, us, i64::cmp));
            }
        }
        Ok(0)
    }

    /// Adds what is known of other rows; gives how much more memory is taken.
    fn join(&mut self, function: Function, other: Self) -> usize {
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
            (Self::Number(best), Self::Number(more)) => {
                more.into_iter().for_each(|number| put_best(function, best, number, compare));
            }
            (Self::Time(best), Self::Time(more)) => {
                more.into_iter().for_each(|us| put_best(function, best, us, i64::cmp));
            }
            // Totals of one call are of one kind.
            _ => {}
        }
        0
    }

    /// Appends the key of the result.
    fn put(self, function: Function, row: &mut Vec<u8>) {
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

fn compare(a: &f64, b: &f64) -> Ordering {
    order(Number::Float(*a), Number::Float(*b))
}

/// Keeps the better one of two values.
#[inline]
fn put_best<T: Copy>(function: Function, best: &mut Option<T>, value: T, compare: fn(&T, &T) -> Ordering) {
    match best {
        Some(known) if !function.replaces(compare(&value, known)) => {}
        _ => *best = Some(value),
    }
}
