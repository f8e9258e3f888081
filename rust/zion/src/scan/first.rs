//! The first rows in some order, of which no more is kept than what tells their places.

use std::cmp::Ordering;
use std::sync::Arc;

use super::accumulator::Accumulator;
use super::order::{Rank, Sort};
use super::plan::Plan;
use super::predicate::Constant;
use crate::error::{Error, Result};
use crate::ion::SymbolTable;
use crate::limits;
use crate::value::Value;

/// Which rows come first.
#[derive(Debug, Clone)]
pub struct Ranking {
    /// What they are sorted by; places are those of lanes. Rows without such a value are left out.
    pub by: Vec<Sort>,
    /// Number of rows that are wanted.
    pub most: usize,
    /// Rows are given up when what tells their places takes more memory.
    pub most_bytes: usize,
}

/// What is known of the values that rows of a block are sorted by first.
#[derive(Debug, Clone, PartialEq)]
pub enum Front {
    /// Nothing.
    Unknown,
    /// None is in front of this one.
    Value(Constant),
    /// No value, so that no row comes out.
    NoValue,
}

impl Front {
    fn group(&self) -> u8 {
        match self {
            Self::Unknown => 0,
            Self::Value(_) => 1,
            Self::NoValue => 2,
        }
    }
}

fn rank(bound: &Constant) -> Rank<&[u8]> {
    match bound {
        Constant::Null => Rank::Null,
        Constant::Bool(flag) => Rank::Bool(*flag),
        Constant::Number(number) => Rank::Number(*number),
        Constant::Text(text) => Rank::Text(text),
        Constant::Time(us) => Rank::Time(*us),
    }
}

/// A row: its number, and what it is sorted by.
#[derive(Debug, Clone)]
struct Entry {
    number: i64,
    key: Box<[Rank<Box<[u8]>>]>,
}

impl Entry {
    fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.key) + self.key.iter().map(Rank::text_bytes).sum::<usize>()
    }
}

/// A ranking whose places are nodes.
#[derive(Debug)]
struct Places {
    by: Vec<Sort>,
    most: usize,
    most_bytes: usize,
}

impl Places {
    /// Rows that are equal stay as they stand in the table.
    fn compare(&self, a: &Entry, b: &Entry) -> Ordering {
        let pairs = self.by.iter().zip(a.key.iter().zip(&b.key));
        pairs
            .fold(Ordering::Equal, |so_far, (sort, (a, b))| so_far.then_with(|| sort.compare(a, b)))
            .then(a.number.cmp(&b.number))
    }
}

/// The first rows of those that were added.
#[derive(Debug, Clone)]
pub struct First {
    places: Arc<Places>,
    /// As long as they are less than twice as many as are wanted, rows are only added.
    rows: Vec<Entry>,
    /// Whether the last of those wanted stands in its place, none of those before it behind it.
    is_cut: bool,
    bytes: usize,
    /// Bytes of texts that were looked at since the last time that rows were taken.
    read: usize,
    is_full: bool,
}

impl First {
    /// No rows yet.
    pub fn new(plan: &Plan, ranking: &Ranking) -> Result<Self> {
        if plan.levels.len() > 1 {
            return Err(Error::argument("rows that are unnested have no numbers of their own"));
        }
        let node = |sort: &Sort| match plan.columns.get(sort.place) {
            Some(column) => Ok(Sort { place: column.node, ..*sort }),
            None => Err(Error::argument(format!("there is no lane {}", sort.place))),
        };
        let by = ranking.by.iter().map(node).collect::<Result<_>>()?;
        let places = Places { by, most: ranking.most, most_bytes: ranking.most_bytes };
        Ok(Self::empty(Arc::new(places)))
    }

    fn empty(places: Arc<Places>) -> Self {
        Self { places, rows: Vec::new(), is_cut: false, bytes: 0, read: 0, is_full: false }
    }

    /// Whether rows took more memory than is allowed; then they are not to be used.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// The last of the rows that are wanted, once there are enough.
    fn last(&self) -> Option<&Entry> {
        if self.is_cut { self.rows.get(self.places.most.checked_sub(1)?) } else { None }
    }

    /// Whether a row is not known to be behind all that are wanted.
    fn admits(
        &mut self,
        data: &[u8],
        table: &SymbolTable,
        slots: &[Option<Value>],
        number: i64,
    ) -> Result<bool> {
        let Some(last) = self.last() else { return Ok(self.places.most > 0) };
        let (mut read, mut order) = (0, Ordering::Equal);
        for (sort, rank) in self.places.by.iter().zip(&last.key) {
            let Some(value) = &slots[sort.place] else { return Ok(false) };
            let found = Rank::of(data, table, value)?;
            read += found.text_bytes();
            order = sort.compare(&found, rank);
            if order.is_ne() {
                break;
            }
        }
        let is_before = order.then(number.cmp(&last.number)).is_lt();
        self.count(read)?;
        Ok(is_before)
    }

    /// Bounds how much is read: a symbol of a megabyte takes two bytes wherever it occurs.
    fn count(&mut self, bytes: usize) -> Result<()> {
        self.read += bytes;
        limits::check_run(self.read, 0)
    }

    fn put(&mut self, entry: Entry) {
        self.bytes += entry.bytes();
        self.rows.push(entry);
        if self.rows.len() / 2 >= self.places.most || self.bytes > self.places.most_bytes {
            self.cut();
        }
    }

    /// Drops the rows that are not wanted.
    fn cut(&mut self) {
        let Some(last) = self.places.most.checked_sub(1) else { return };
        if last < self.rows.len() {
            self.rows.select_nth_unstable_by(last, |a, b| self.places.compare(a, b));
            self.rows.truncate(last + 1);
            self.is_cut = true;
            self.bytes = self.rows.iter().map(Entry::bytes).sum();
        }
        if self.bytes > self.places.most_bytes {
            self.is_full = true;
            self.rows = Vec::new();
        }
    }

    /// Adds rows whose numbers get another beginning, that of their block.
    pub fn join(&mut self, other: Self, renumber: impl Fn(i64) -> i64) {
        self.is_full |= other.is_full;
        for mut entry in other.rows {
            entry.number = renumber(entry.number);
            let is_behind = |last: &Entry| self.places.compare(&entry, last).is_gt();
            if !self.is_full && !self.last().is_some_and(is_behind) {
                self.put(entry);
            }
        }
    }

    /// Whether all rows that are wanted are known, if others have no value that is in front of a bound.
    pub fn is_settled(&mut self, bound: &Front) -> bool {
        self.cut();
        let Some(sort) = self.places.by.first().filter(|_| self.places.most > 0) else { return true };
        let Front::Value(bound) = bound else { return *bound == Front::NoValue };
        let last = self.last().and_then(|last| last.key.first());
        last.is_some_and(|last| sort.compare(last, &rank(bound)).is_lt())
    }

    /// Which of two bounds is in front, of blocks that have to be read in any case none.
    pub fn order(&self, a: &Front, b: &Front) -> Ordering {
        match (a, b, self.places.by.first()) {
            (Front::Value(a), Front::Value(b), Some(sort)) => sort.compare(&rank(a), &rank(b)),
            _ => a.group().cmp(&b.group()),
        }
    }

    /// The numbers of the rows, in order.
    pub fn finish(mut self) -> Vec<i64> {
        self.cut();
        self.rows.sort_unstable_by(|a, b| self.places.compare(a, b));
        self.rows.iter().map(|row| row.number).collect()
    }
}

impl Accumulator for First {
    fn add(&mut self, data: &[u8], table: &SymbolTable, slots: &[Option<Value>], number: i64) -> Result<()> {
        if self.is_full || !self.admits(data, table, slots, number)? {
            return Ok(());
        }
        let mut key = Vec::with_capacity(self.places.by.len());
        let mut read = 0;
        for sort in &self.places.by {
            let Some(value) = &slots[sort.place] else { return Ok(()) };
            let found = Rank::of(data, table, value)?;
            read += found.text_bytes();
            key.push(found.map(|text| text.into_owned().into_boxed_slice()));
        }
        self.count(read)?;
        self.put(Entry { number, key: key.into() });
        Ok(())
    }

    fn take(&mut self) -> Self {
        self.cut();
        let fresh = Self::empty(Arc::clone(&self.places));
        std::mem::replace(self, fresh)
    }

    /// The number of a row is wanted too.
    fn is_about(&self, _: usize) -> bool {
        false
    }

    fn add_value(&mut self, _: &[u8], _: &SymbolTable, _: &Value) -> Result<()> {
        Ok(())
    }

    fn add_row(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::super::plan::{Inside, Lane, Letter, Step, Unnest};
    use super::*;
    use crate::ion;

    const TEXT: &[u8] = b"\x82ab";
    const ONE: &[u8] = b"\x21\x01";
    const TWO: &[u8] = b"\x21\x02";
    const NULL: &[u8] = b"\x0f";
    const YES: &[u8] = b"\x11";
    /// The last second of 1969, and the first of 1970.
    const BEFORE: i64 = -1_000_000;
    const TIME: &[u8] = b"\x68\x80\x0f\xb2\x81\x81\x80\x80\x80";

    fn ranking(most: usize, most_bytes: usize) -> Ranking {
        let sort = |place, descending| Sort { place, descending, nulls_last: descending };
        Ranking { by: vec![sort(0, true), sort(1, false)], most, most_bytes }
    }

    fn plan(unnests: &[Unnest]) -> Result<Plan> {
        let lane = |name: &str| Lane { level: 0, path: vec![Step::Field(name.into())], letter: Letter::Type };
        Plan::new(unnests, &[lane("a"), lane("b")], None)
    }

    /// Adds rows of two values, each as its Ion bytes; no bytes are no value.
    fn add(first: &mut First, rows: &[[&[u8]; 2]]) -> Result<()> {
        let places = Arc::clone(&first.places);
        for (number, row) in rows.iter().enumerate() {
            let data = row.concat();
            let mut slots = vec![None; 3];
            for (sort, at, bytes) in [(places.by[0], 0, row[0]), (places.by[1], row[0].len(), row[1])] {
                if !bytes.is_empty() {
                    slots[sort.place] = Some(Value { at, header: ion::header(&data, at)? });
                }
            }
            first.add(&data, &SymbolTable::new(), &slots, number as i64)?;
        }
        Ok(())
    }

    const ROWS: [[&[u8]; 2]; 9] = [
        [ONE, TWO],
        [NULL, ONE],
        [TEXT, TWO],
        [ONE, ONE],
        [TEXT, b""],
        [b"", ONE],
        [TEXT, TWO],
        [YES, ONE],
        [TEXT, NULL],
    ];

    #[test]
    fn rows_come_in_order_and_equal_ones_as_they_stand() -> Result<()> {
        let expected = [8, 2, 6, 3, 0, 7, 1];
        for most in 0..10 {
            let mut first = First::new(&plan(&[])?, &ranking(most, usize::MAX))?;
            add(&mut first, &ROWS)?;
            assert_eq!(first.finish(), expected[..most.min(7)], "{most}");
        }
        Ok(())
    }

    #[test]
    fn parts_are_joined_in_any_order() -> Result<()> {
        for most in 0..20 {
            let mut first = First::new(&plan(&[])?, &ranking(most, usize::MAX))?;
            let mut parts = [first.take(), first.take()];
            for part in &mut parts {
                add(part, &ROWS)?;
            }
            let [early, late] = parts;
            first.join(late, |number| number + 10);
            first.join(early, |number| number);
            let expected = [8, 18, 2, 6, 12, 16, 3, 13, 0, 10, 7, 17, 1, 11];
            assert_eq!(first.finish(), expected[..most.min(14)], "{most}");
        }
        Ok(())
    }

    #[test]
    fn other_rows_do_not_matter_when_all_that_are_wanted_are_in_front() -> Result<()> {
        let mut first = First::new(&plan(&[])?, &ranking(2, usize::MAX))?;
        add(&mut first, &[[TIME, ONE]])?;
        assert!(!first.is_settled(&time(BEFORE)), "there may be more");
        add(&mut first, &[[TIME, TWO], [ONE, ONE]])?;
        assert!(first.is_settled(&time(BEFORE)));
        assert!(!first.is_settled(&time(0)), "a row of the same time may have a lesser second value");
        add(&mut first, &[[TEXT, TWO], [TEXT, ONE]])?;
        assert!(first.is_settled(&time(i64::MAX)));
        assert!(First::new(&plan(&[])?, &ranking(0, 0))?.is_settled(&time(0)));
        Ok(())
    }

    #[test]
    fn bounds_are_of_all_types() -> Result<()> {
        let mut first = First::new(&plan(&[])?, &ranking(1, usize::MAX))?;
        let number = |value: f64| Front::Value(Constant::Number(value.into()));
        let text = |value: &[u8]| Front::Value(Constant::Text(value.into()));
        add(&mut first, &[[TWO, ONE]])?;
        assert!(first.is_settled(&number(1.5)));
        assert!(!first.is_settled(&number(2.0)), "a row of the same number may have a lesser second value");
        assert!(!first.is_settled(&number(f64::NAN)), "NaN is above all numbers");
        assert!(!first.is_settled(&text(b"")), "texts are above numbers");
        assert!(first.is_settled(&Front::Value(Constant::Bool(true))));
        assert!(first.is_settled(&Front::NoValue) && !first.is_settled(&Front::Unknown));
        let mut bounds = [Front::NoValue, number(1.0), text(b"a"), Front::Unknown, number(f64::NAN), time(0)];
        bounds.sort_by(|a, b| first.order(a, b));
        assert_eq!(bounds[..3], [Front::Unknown, text(b"a"), time(0)]);
        // NaN does not equal itself.
        assert_eq!(format!("{:?}", bounds[3]), format!("{:?}", number(f64::NAN)));
        assert_eq!(bounds[4..], [number(1.0), Front::NoValue]);
        Ok(())
    }

    fn time(us: i64) -> Front {
        Front::Value(Constant::Time(us))
    }

    #[test]
    fn rows_that_take_too_much_memory_are_given_up() -> Result<()> {
        let mut first = First::new(&plan(&[])?, &ranking(100, 1000))?;
        let mut part = first.take();
        add(&mut part, &vec![[TEXT, ONE]; 90])?;
        assert!(part.is_full());
        first.join(part, |number| number);
        assert!(first.is_full());
        let mut few = First::new(&plan(&[])?, &ranking(3, 1000))?;
        add(&mut few, &vec![[TEXT, ONE]; 90])?;
        assert!(!few.is_full());
        Ok(())
    }

    #[test]
    fn texts_that_are_read_again_and_again_are_refused() -> Result<()> {
        let mut long = vec![];
        ion::put_string(&mut long, &b"x".repeat(1 << 20));
        let mut first = First::new(&plan(&[])?, &ranking(1, usize::MAX))?;
        add(&mut first, &[[&long, ONE]; 400])?;
        let early = first.take();
        add(&mut first, &[[&long, ONE]; 400])?;
        assert!(matches!(add(&mut first, &[[&long, TWO]; 400]), Err(Error::Corrupt { .. })));
        assert_eq!(early.finish(), [0]);
        Ok(())
    }

    #[test]
    fn what_is_not_there_has_no_order() -> Result<()> {
        let by = vec![Sort { place: 2, descending: false, nulls_last: false }];
        assert!(First::new(&plan(&[])?, &Ranking { by, most: 1, most_bytes: 1 }).is_err());
        let unnest = Unnest { level: 0, path: vec![], inside: Inside::Fields };
        assert!(First::new(&plan(&[unnest])?, &ranking(1, 1)).is_err());
        Ok(())
    }
}
