//! Rows summed up in groups, from where they lie: no column is made of them.
//!
//! Each run of chunks gives groups of its own, which are joined in the order of the rows. So the groups stand
//! in the order in which they are first met, and sums do not depend on the number of threads.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::answer::{self, Answer};
use super::grain::Grain;
use super::keytable::{KEY_BYTES, KeyTable};
use super::recent::{self, Recent};
use super::totals::{Function, Scene, Total};
use crate::error::{Error, Result};
use crate::ion::{self, SymbolTable, kind};
use crate::limits;
use crate::scan::Accumulator;
use crate::scan::plan::{Path, Plan};
use crate::scan::predicate::{Predicate, Row};
use crate::value::Value;
use crate::value::key::{self, Members};

/// Groups are given up at the latest when they take so much memory.
const MOST_BYTES: usize = 64 << 30;

/// What rows of a group have in common.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The lane of the value.
    pub lane: usize,
    /// What the value, which must be a time, is rounded down to.
    pub grain: Option<Grain>,
}

/// What is found out about the rows of a group.
#[derive(Debug, Clone)]
pub struct Call {
    /// How.
    pub function: Function,
    /// The lane of the value; none for [`Function::Rows`].
    pub lane: Option<usize>,
    /// Only rows of which this is true count. Its paths are those of lanes.
    pub filter: Option<Predicate<Path>>,
}

/// How rows are summed up.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Without a key all rows are one group, which is there even if there is no row.
    pub keys: Vec<Key>,
    /// Whether rows without a value (or without a time, where a key has a grain) are in the group of NULL; else
    /// they are left out.
    pub keeps: bool,
    /// What is found out.
    pub calls: Vec<Call>,
    /// Groups that take more memory than this are given up.
    pub most_bytes: usize,
}

/// A summary with nodes in the place of lanes.
#[derive(Debug)]
struct Places {
    keys: Vec<(usize, Option<Grain>)>,
    keeps: bool,
    calls: Vec<Counted>,
    most_bytes: usize,
    hasher: RandomState,
}

#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) function: Function,
    node: usize,
    filter: Option<Predicate<usize>>,
}

impl Places {
    fn new(plan: &Plan, summary: &Summary) -> Result<Self> {
        let place = |lane: usize| match plan.columns.get(lane) {
            Some(column) => Ok(column.node),
            None => Err(Error::argument(format!("there is no lane {lane}"))),
        };
        let key = |key: &Key| Ok((place(key.lane)?, key.grain));
        let call = |call: &Call| {
            let node = match call.lane {
                Some(lane) => place(lane)?,
                None if call.function == Function::Rows => 0,
                None => return Err(Error::argument(format!("{:?} of no lane", call.function))),
            };
            let filter = call.filter.as_ref().map(|filter| found(plan, filter)).transpose()?;
            Ok(Counted { function: call.function, node, filter })
        };
        Ok(Self {
            keys: summary.keys.iter().map(key).collect::<Result<_>>()?,
            keeps: summary.keeps,
            calls: summary.calls.iter().map(call).collect::<Result<_>>()?,
            most_bytes: summary.most_bytes.min(MOST_BYTES),
            hasher: RandomState::new(),
        })
    }
}

/// A predicate with nodes in the place of paths.
fn found(plan: &Plan, filter: &Predicate<Path>) -> Result<Predicate<usize>> {
    let mut is_known = true;
    filter.each(&mut |path| is_known &= plan.node(path).is_some());
    if !is_known {
        return Err(Error::argument("a filter of something that no lane is about"));
    }
    Ok(filter.map(&mut |path| plan.node(path).unwrap_or(0)))
}

/// Groups of rows.
#[derive(Debug, Clone)]
pub struct Groups {
    places: Arc<Places>,
    /// The keys of each group, as [`answer`] has them.
    keys: KeyTable,
    /// For each group a total for each call.
    totals: Vec<Total>,
    bytes: usize,
    recent: Recent,
    /// For each symbol of the table in force the number of the group of which it is the only key, plus 1; 0: it was
    /// not met.
    symbols: Vec<u32>,
    /// Of the last row by a time that is rounded down: from and up to where times are in its group, and its number.
    last: (i64, i64, usize),
    scratch: Vec<u8>,
    /// Bytes of the keys that were made, kept or not: short rows can stand for long ones.
    read: usize,
}

impl Groups {
    /// No rows yet.
    pub fn new(plan: &Plan, summary: &Summary) -> Result<Self> {
        Ok(Self::empty(Arc::new(Places::new(plan, summary)?)))
    }

    fn empty(places: Arc<Places>) -> Self {
        let mut groups = Self {
            places,
            keys: KeyTable::default(),
            totals: Vec::new(),
            bytes: 0,
            recent: Recent::default(),
            symbols: Vec::new(),
            last: (0, 0, 0),
            scratch: Vec::new(),
            read: 0,
        };
        if groups.places.keys.is_empty() {
            groups.number();
        }
        groups
    }

    /// Whether there were more groups than memory allows; then they are not to be used.
    pub fn is_full(&self) -> bool {
        self.bytes > self.places.most_bytes
    }

    /// The number of the group of a row; none if it has not all keys.
    #[inline]
    fn group(&mut self, data: &[u8], table: &SymbolTable, slots: &[Option<Value>]) -> Result<Option<usize>> {
        let node = match *self.places.keys {
            [] => return Ok(Some(0)),
            [(node, Some(grain))] => {
                let time = slots[node].as_ref().map_or(Ok(None), |value| value.time(data))?;
                return match time {
                    Some(us) => self.group_of_time(us, grain).map(Some),
                    None => self.group_of_keys(data, table, slots),
                };
            }
            [(node, None)] => node,
            _ => return self.group_of_keys(data, table, slots),
        };
        if let Some(value) = slots[node].as_ref().filter(|value| value.header.kind == kind::SYMBOL) {
            return self.group_of_symbol(data, table, slots, value);
        }
        let raw = match &slots[node] {
            Some(value) => recent::raw(data, value),
            None => self.places.keeps.then_some(recent::NULL),
        };
        let Some(raw) = raw else { return self.group_of_keys(data, table, slots) };
        if let Some(number) = self.recent.group(raw) {
            return Ok(Some(number));
        }
        let number = self.group_of_keys(data, table, slots)?;
        if let Some(number) = number {
            self.recent.put(raw, number);
        }
        Ok(number)
    }

    /// The same where the only key is a symbol, or a null of that type.
    fn group_of_symbol(
        &mut self,
        data: &[u8],
        table: &SymbolTable,
        slots: &[Option<Value>],
        value: &Value,
    ) -> Result<Option<usize>> {
        let id = if value.header.is_null() { u64::MAX } else { ion::magnitude(value.body(data), value.at)? };
        let at = usize::try_from(id).unwrap_or(usize::MAX);
        if let Some(number) = self.symbols.get(at).and_then(|number| number.checked_sub(1)) {
            return Ok(Some(number as usize));
        }
        let number = self.group_of_keys(data, table, slots)?;
        if let Some(number) = number.filter(|_| id < u64::from(table.max_id())) {
            self.symbols.resize(table.max_id() as usize, 0);
            self.symbols[at] = number as u32 + 1;
        }
        Ok(number)
    }

    /// The number of the group of a time that is rounded down: mostly that of the row before.
    #[inline]
    fn group_of_time(&mut self, us: i64, grain: Grain) -> Result<usize> {
        let (from, until, number) = self.last;
        if from <= us && us < until {
            return Ok(number);
        }
        let from = grain.floor(us);
        self.scratch.clear();
        answer::put_time(&mut self.scratch, from)?;
        self.read += self.scratch.len();
        limits::check_run(self.read, 0)?;
        let number = self.number();
        self.last = (from, from.saturating_add(grain.least()), number);
        Ok(number)
    }

    fn group_of_keys(
        &mut self,
        data: &[u8],
        table: &SymbolTable,
        slots: &[Option<Value>],
    ) -> Result<Option<usize>> {
        self.scratch.clear();
        for &(node, grain) in &self.places.keys {
            match (slots[node], grain) {
                (Some(value), None) => {
                    answer::put(&mut self.scratch, |out| key::put(data, table, value, Members::Sorted, out))?;
                    continue;
                }
                (Some(value), Some(grain)) => {
                    if let Some(us) = value.time(data)? {
                        answer::put_time(&mut self.scratch, grain.floor(us))?;
                        continue;
                    }
                }
                (None, _) => {}
            }
            if !self.places.keeps {
                return Ok(None);
            }
            answer::put_null(&mut self.scratch)?;
        }
        self.read += self.scratch.len();
        limits::check_run(self.read, 0)?;
        Ok(Some(self.number()))
    }

    /// The number of the group of the keys at hand.
    fn number(&mut self) -> usize {
        let hash = self.places.hasher.hash_one(&*self.scratch);
        let (number, is_new) = self.keys.number(hash, &self.scratch);
        if is_new {
            self.enter(self.scratch.len());
        }
        number
    }

    /// Makes room for a new group.
    fn enter(&mut self, key_bytes: usize) {
        let calls = &self.places.calls;
        self.bytes += key_bytes + KEY_BYTES + calls.len() * size_of::<Total>();
        self.totals.extend(calls.iter().map(|call| call.function.total()));
    }

    /// Counts rows that metadata tells of: those of a group of times.
    pub fn count(&mut self, us: i64, rows: u64) -> Result<()> {
        self.scratch.clear();
        answer::put_time(&mut self.scratch, us)?;
        let first = self.number() * self.places.calls.len();
        self.totals[first..].iter_mut().take(self.places.calls.len()).for_each(|total| total.add_rows(rows));
        Ok(())
    }

    /// Adds the groups of the rows that follow. They must come from the same start.
    pub fn join(&mut self, other: Self) {
        if self.is_full() || other.is_full() {
            self.bytes = usize::MAX;
            return;
        }
        let width = self.places.calls.len();
        let mut totals = other.totals.into_iter();
        for (hash, key) in other.keys.iter() {
            let (number, is_new) = self.keys.number(hash, key);
            if is_new {
                self.enter(key.len());
            }
            let pairs = self.totals[number * width..].iter_mut().zip(&self.places.calls);
            for ((total, call), more) in pairs.zip(totals.by_ref().take(width)) {
                self.bytes += total.join(call.function, more);
            }
        }
    }

    /// What was found out: the keys and totals of each group.
    pub fn finish(self) -> Answer {
        let functions = self.places.calls.iter().map(|call| call.function).collect();
        Answer::new(self.places.keys.len(), self.keys, functions, self.totals)
    }
}

impl Accumulator for Groups {
    fn sync(&mut self, is_new: bool) {
        if is_new {
            self.symbols.clear();
        }
    }

    fn each_filtered(&self, visit: &mut impl FnMut(usize)) {
        for filter in self.places.calls.iter().filter_map(|call| call.filter.as_ref()) {
            filter.each(&mut |&node| visit(node));
        }
    }

    fn add(&mut self, data: &[u8], table: &SymbolTable, slots: &[Option<Value>], _: i64) -> Result<()> {
        if self.is_full() {
            return Ok(());
        }
        let Some(number) = self.group(data, table, slots)? else { return Ok(()) };
        let calls = &self.places.calls;
        for (total, call) in self.totals[number * calls.len()..].iter_mut().zip(calls) {
            let test = |filter: &Predicate<usize>| filter.test(&Row { data, table, slots });
            if call.filter.as_ref().map_or(Ok(Some(true)), test)? == Some(true) {
                self.scratch.clear();
                let mut scene =
                    Scene { data, table, hasher: &self.places.hasher, scratch: &mut self.scratch };
                self.bytes += total.add(call.function, &mut scene, slots[call.node].as_ref())?;
                self.read += self.scratch.len();
            }
        }
        Ok(())
    }

    fn take(&mut self) -> Self {
        let mut fresh = Self::empty(Arc::clone(&self.places));
        std::mem::swap(&mut fresh.symbols, &mut self.symbols);
        fresh.symbols.clear();
        std::mem::replace(self, fresh)
    }

    fn is_about(&self, node: usize) -> bool {
        let is_known =
            |call: &Counted| call.filter.is_none() && (call.function == Function::Rows || call.node == node);
        self.places.keys.is_empty() && self.places.calls.iter().all(is_known)
    }

    #[inline]
    fn add_value(&mut self, data: &[u8], table: &SymbolTable, value: &Value) -> Result<()> {
        if self.is_full() {
            return Ok(());
        }
        for (total, call) in self.totals.iter_mut().zip(&self.places.calls) {
            if call.function != Function::Rows {
                self.scratch.clear();
                let mut scene =
                    Scene { data, table, hasher: &self.places.hasher, scratch: &mut self.scratch };
                self.bytes += total.add(call.function, &mut scene, Some(value))?;
                self.read += self.scratch.len();
                limits::check_run(self.read, value.at)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn add_row(&mut self) {
        for (total, call) in self.totals.iter_mut().zip(&self.places.calls) {
            if call.function == Function::Rows {
                total.add_rows(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Float64Type;
    use arrow_array::{Array, ArrayRef, RecordBatch};

    use super::*;
    use crate::scan::plan::{Lane, Letter, Step};

    const ALL: [Function; 7] = [
        Function::Rows,
        Function::Present,
        Function::Distinct,
        Function::Sum,
        Function::Average,
        Function::Least,
        Function::Greatest,
    ];

    fn start(keys: &[usize], most_bytes: usize) -> Result<Groups> {
        summed(keys.iter().map(|&lane| Key { lane, grain: None }).collect(), false, most_bytes)
    }

    fn summed(keys: Vec<Key>, keeps: bool, most_bytes: usize) -> Result<Groups> {
        let lane = |name: &str| Lane { level: 0, path: vec![Step::Field(name.into())], letter: Letter::Type };
        let plan = Plan::new(&[], &[lane("a"), lane("b")], None)?;
        let calls = ALL.into_iter().map(|function| Call { function, lane: Some(1), filter: None }).collect();
        Groups::new(&plan, &Summary { keys, keeps, calls, most_bytes })
    }

    /// Adds rows of two values, each as its Ion bytes; no bytes are no value.
    fn add(groups: &mut Groups, rows: &[[&[u8]; 2]]) -> Result<()> {
        let table = SymbolTable::new();
        let nodes = [groups.places.keys.first().map_or(1, |key| key.0), groups.places.calls[0].node];
        for row in rows {
            let data = row.concat();
            let mut slots = vec![None; 3];
            for (node, at, bytes) in [(nodes[0], 0, row[0]), (nodes[1], row[0].len(), row[1])] {
                if !bytes.is_empty() {
                    slots[node] = Some(Value { at, header: ion::header(&data, at)? });
                }
            }
            groups.add(&data, &table, &slots, 0)?;
        }
        Ok(())
    }

    /// Keys as JSON and results as numbers, of each group.
    fn shown(groups: Groups) -> Result<Vec<String>> {
        let keys = groups.places.keys.len();
        let letter = |place| if place < keys { Letter::Json } else { Letter::Number };
        let lanes: Vec<_> = (0..keys + ALL.len()).map(|place| (place, letter(place))).collect();
        let (_, batches) = groups.finish().batches(&lanes, 0)?;
        let cell = |column: &ArrayRef, row: usize| match column.as_primitive_opt::<Float64Type>() {
            Some(numbers) if numbers.is_null(row) => "-".to_owned(),
            Some(numbers) => numbers.value(row).to_string(),
            None => column.as_string::<i32>().value(row).to_owned(),
        };
        let line = |batch: &RecordBatch, row| {
            batch.columns().iter().map(|column| cell(column, row)).collect::<Vec<_>>().join(" ")
        };
        Ok(batches.iter().flat_map(|batch| (0..batch.num_rows()).map(|row| line(batch, row))).collect())
    }

    const A: &[u8] = b"\x81a";
    const B: &[u8] = b"\x81b";
    const ONE: &[u8] = b"\x21\x01";
    /// 1.0, which is 1.
    const ONE_FLOAT: &[u8] = b"\x48\x3f\xf0\0\0\0\0\0\0";
    const HALF: &[u8] = b"\x48\x3f\xe0\0\0\0\0\0\0";
    const MINUS_TWO: &[u8] = b"\x31\x02";
    const NULL: &[u8] = b"\x0f";

    #[test]
    fn rows_without_a_key_are_one_group_even_if_there_are_none() -> Result<()> {
        let mut groups = start(&[], 1 << 20)?;
        assert_eq!(shown(groups.clone())?, ["0 0 0 - - - -"]);
        add(
            &mut groups,
            &[[b"", ONE], [b"", MINUS_TWO], [b"", b""], [b"", A], [b"", NULL], [b"", ONE_FLOAT]],
        )?;
        assert_eq!(shown(groups)?, ["6 5 4 0 0 -2 1"]);
        Ok(())
    }

    #[test]
    fn groups_stand_in_the_order_of_their_first_rows() -> Result<()> {
        let mut groups = start(&[0], 1 << 20)?;
        let mut parts = [groups.take(), groups.take()];
        assert_eq!(shown(groups.clone())?, [""; 0]);
        add(&mut parts[0], &[[B, ONE], [A, HALF], [B, HALF], [b"", ONE], [ONE, ONE]])?;
        add(&mut parts[1], &[[NULL, ONE], [A, MINUS_TWO], [ONE_FLOAT, A], [B, HALF]])?;
        for part in parts {
            groups.join(part);
        }
        assert!(!groups.is_full());
        let expected = [
            "\"b\" 3 3 2 2 0.6666666666666666 0.5 1",
            "\"a\" 2 2 2 -1.5 -0.75 -2 0.5",
            "1 2 2 2 1 1 1 1",
            "null 1 1 1 1 1 1 1",
        ];
        assert_eq!(shown(groups)?, expected);
        Ok(())
    }

    #[test]
    fn rows_without_a_key_that_are_kept_are_in_the_group_of_null() -> Result<()> {
        let plain = Key { lane: 0, grain: None };
        let mut groups = summed(vec![plain], true, 1 << 20)?;
        let mut part = groups.take();
        add(&mut part, &[[A, ONE], [NULL, ONE], [b"", MINUS_TWO]])?;
        groups.join(part.clone());
        groups.join(part);
        assert_eq!(shown(groups)?, ["\"a\" 2 2 1 2 1 1 1", "null 4 4 2 -2 -0.5 -2 1"]);
        let day = Key { lane: 0, grain: Some(Grain::Micros { every: 86_400_000_000, from: 0 }) };
        // 2022-11-28T12:30Z, and texts and nulls, which are no times.
        let time = b"\x68\x80\x0f\xe6\x8b\x9c\x8c\x9e\x80";
        for (keeps, others) in [(true, "null 3 3 2 0 0 -2 1"), (false, "")] {
            let mut groups = summed(vec![day], keeps, 1 << 20)?;
            add(&mut groups, &[[time, ONE], [A, ONE], [NULL, ONE], [b"", MINUS_TWO]])?;
            let lines = shown(groups)?;
            assert_eq!(lines[0], "\"2022-11-28T00:00:00Z\" 1 1 1 1 1 1 1");
            assert_eq!(lines.get(1).map_or("", |line| line), others);
        }
        Ok(())
    }

    #[test]
    fn groups_that_take_too_much_memory_are_given_up() -> Result<()> {
        let mut groups = start(&[0], 2000)?;
        let mut part = groups.take();
        for number in 0..100u8 {
            add(&mut part, &[[&[0x21, number + 1], ONE]])?;
        }
        assert!(part.is_full());
        assert!(part.keys.len() < 20);
        groups.join(part);
        assert!(groups.is_full());
        Ok(())
    }

    #[test]
    fn what_is_not_there_cannot_be_asked() -> Result<()> {
        let plan = Plan::new(&[], &[], None)?;
        let call = |function, lane, filter| vec![Call { function, lane, filter }];
        let filter = Predicate::Is(vec![Step::Field("a".into())], 1);
        for (keys, calls) in [
            (vec![Key { lane: 0, grain: None }], vec![]),
            (vec![], call(Function::Sum, Some(3), None)),
            (vec![], call(Function::Sum, None, None)),
            (vec![], call(Function::Rows, None, Some(filter))),
        ] {
            assert!(Groups::new(&plan, &Summary { keys, keeps: false, calls, most_bytes: 1 }).is_err());
        }
        Ok(())
    }
}
