//! Columns that stay decoded: what the rows of a chunk have at a path, for the next query that asks for it.
//!
//! A column is named by the identity of the bytes that it was decoded from, so that it is right for as long as
//! there is anybody who asks for it. The one that saved the least work for its size goes first.

use std::collections::hash_map::Entry as Place;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use super::plan::Step;
use super::predicate::Extremes;
use crate::error::Result;
use crate::ion::{self, SymbolTable};
use crate::value::Value;

/// Memory of a column, and of a chunk, beside what is in them.
const ENTRY_BYTES: usize = 256;
/// Memory of a symbol beside its text.
const SYMBOL_BYTES: usize = 48;

/// A path from the row.
pub(super) type Path = Arc<[Step]>;
/// Identity of a block, and number of a chunk in it.
type Key = (Arc<[u8]>, usize);
/// What a column was worth when it was last asked for, and when that was: the least goes first.
type Rank = (u64, u64);

/// The values of the rows of a chunk at a path, one behind the other.
pub(super) struct Column {
    pub(super) data: Box<[u8]>,
    /// Where the value of each row ends; a row without a value has no bytes.
    pub(super) ends: Box<[u32]>,
    extremes: OnceLock<Option<Extremes>>,
}

impl Column {
    pub(super) fn new(data: Box<[u8]>, ends: Box<[u32]>) -> Self {
        Self { data, ends, extremes: OnceLock::new() }
    }

    /// What the row has.
    #[inline]
    pub(super) fn value(&self, row: usize) -> Result<Option<Value>> {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        self.value_in(start..self.ends[row] as usize)
    }

    /// What lies between two places.
    #[allow(clippy::inline_always, reason = "its six words would go through memory")]
    #[inline(always)]
    pub(super) fn value_in(&self, range: Range<usize>) -> Result<Option<Value>> {
        let at = range.start;
        if range.is_empty() {
            return Ok(None);
        }
        match ion::look(&self.data, at) {
            Some(header) => Ok(Some(Value { at, header })),
            None => Err(ion::bad_header(&self.data, at)),
        }
    }

    /// The least and the greatest of its times and numbers, found when a condition first asks; none if a value is
    /// damaged.
    pub(super) fn extremes(&self) -> Option<&Extremes> {
        let find = || {
            let mut found = Extremes::default();
            for row in 0..self.ends.len() {
                if let Some(value) = self.value(row).ok()? {
                    found.add(value.time(&self.data).ok()?, value.number(&self.data).ok()?);
                }
            }
            Some(found)
        };
        self.extremes.get_or_init(find).as_ref()
    }

    fn bytes(&self) -> usize {
        self.data.len() + size_of_val(&*self.ends) + ENTRY_BYTES
    }
}

/// A chunk whose rows need not be decoded.
pub(super) struct Chunk {
    /// The symbols in force.
    pub(super) table: Arc<SymbolTable>,
    pub(super) rows: usize,
    /// The columns that were asked for, as far as they are there.
    pub(super) columns: Vec<Option<Arc<Column>>>,
}

struct Held {
    column: Arc<Column>,
    /// Nanoseconds that it saves, for each KiB.
    worth: u64,
    rank: Rank,
}

struct Entry {
    table: Arc<SymbolTable>,
    rows: usize,
    columns: HashMap<Path, Held>,
}

impl Entry {
    fn bytes(&self) -> usize {
        ENTRY_BYTES + self.table.text_bytes() + SYMBOL_BYTES * self.table.max_id() as usize
    }
}

#[derive(Default)]
struct State {
    chunks: HashMap<Key, Entry>,
    order: BTreeMap<Rank, (Key, Path)>,
    bytes: usize,
    /// The worth of the column that went last: those that are asked for now rank above it.
    floor: u64,
    clock: u64,
}

impl State {
    fn rank(&mut self, worth: u64) -> Rank {
        self.clock += 1;
        (self.floor.saturating_add(worth), self.clock)
    }

    fn get(&mut self, key: &Key, wanted: &[Path]) -> Option<Chunk> {
        let mut columns = Vec::with_capacity(wanted.len());
        for path in wanted {
            let worth = self.chunks.get(key)?.columns.get(path).map(|held| held.worth);
            let rank = worth.map(|worth| self.rank(worth));
            let held = self.chunks.get_mut(key)?.columns.get_mut(path);
            columns.push(held.zip(rank).map(|(held, rank)| {
                if let Some(place) = self.order.remove(&held.rank) {
                    self.order.insert(rank, place);
                }
                held.rank = rank;
                Arc::clone(&held.column)
            }));
        }
        let entry = self.chunks.get(key)?;
        Some(Chunk { table: Arc::clone(&entry.table), rows: entry.rows, columns })
    }

    fn put(&mut self, key: &Key, path: &Path, column: Arc<Column>, worth: u64) {
        let rank = self.rank(worth);
        let Some(entry) = self.chunks.get_mut(key) else { return };
        self.bytes += column.bytes();
        if let Some(old) = entry.columns.insert(Arc::clone(path), Held { column, worth, rank }) {
            self.bytes -= old.column.bytes();
            self.order.remove(&old.rank);
        }
        self.order.insert(rank, (key.clone(), Arc::clone(path)));
    }

    /// Gives up columns until the others take no more than `most` bytes.
    fn shrink(&mut self, most: usize) {
        while self.bytes > most
            && let Some(((worth, _), (key, path))) = self.order.pop_first()
        {
            self.floor = worth;
            let Place::Occupied(mut place) = self.chunks.entry(key) else { continue };
            if let Some(held) = place.get_mut().columns.remove(&path) {
                self.bytes -= held.column.bytes();
            }
            if place.get().columns.is_empty() {
                self.bytes -= place.remove().bytes();
            }
        }
    }
}

/// Columns of all packfiles that this process reads, shared by its threads.
#[derive(Default)]
pub struct ColumnCache {
    state: Mutex<State>,
    most_bytes: AtomicUsize,
}

/// The one of this process; it holds nothing until it is given memory.
pub static CACHE: LazyLock<ColumnCache> = LazyLock::new(ColumnCache::default);

impl ColumnCache {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How much memory it may take; 0: it is off.
    pub fn most_bytes(&self) -> usize {
        self.most_bytes.load(Ordering::Relaxed)
    }

    /// Sets how much memory it may take.
    pub fn set_most_bytes(&self, bytes: usize) {
        self.most_bytes.store(bytes, Ordering::Relaxed);
        self.state().shrink(bytes);
    }

    /// How much memory it takes.
    pub fn bytes(&self) -> usize {
        self.state().bytes
    }

    /// What one scan may put in: a larger one would drive out its own beginning, and all others.
    pub(super) fn share(&self) -> usize {
        self.most_bytes() / 2
    }

    /// Chunks of a block, if something is known of each of them.
    pub(super) fn get(&self, block: &Arc<[u8]>, chunks: Range<usize>, wanted: &[Path]) -> Option<Vec<Chunk>> {
        let mut state = self.state();
        chunks.map(|number| state.get(&(Arc::clone(block), number), wanted)).collect()
    }

    /// Keeps columns of a chunk that took some time to decode; gives the bytes that they take.
    pub(super) fn put(
        &self,
        key: (&Arc<[u8]>, usize),
        table: &Arc<SymbolTable>,
        columns: Vec<(Path, Column)>,
        took: Duration,
    ) -> usize {
        let Some((_, first)) = columns.first() else { return 0 };
        let bytes: usize = columns.iter().map(|(_, column)| column.bytes()).sum();
        let rows = first.ends.len();
        let worth = took.as_nanos().saturating_mul(1 << 10) / bytes.max(1) as u128;
        let worth = u64::try_from(worth).unwrap_or(u64::MAX);
        let key = (Arc::clone(key.0), key.1);
        let mut state = self.state();
        if let Place::Vacant(place) = state.chunks.entry(key.clone()) {
            let entry = Entry { table: Arc::clone(table), rows, columns: HashMap::new() };
            let more = entry.bytes();
            place.insert(entry);
            state.bytes += more;
        }
        for (path, column) in columns {
            state.put(&key, &path, Arc::new(column), worth);
        }
        state.shrink(self.most_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> Path {
        Arc::new([Step::Field(name.into())])
    }

    fn column(bytes: usize) -> Column {
        Column::new(vec![0x0F; bytes].into(), vec![bytes as u32].into())
    }

    fn put(cache: &ColumnCache, number: usize, name: &str, bytes: usize, ns: u64) {
        let table = Arc::new(SymbolTable::new());
        let block: Arc<[u8]> = b"block".as_slice().into();
        cache.put((&block, number), &table, vec![(path(name), column(bytes))], Duration::from_nanos(ns));
    }

    fn has(cache: &ColumnCache, number: usize, name: &str) -> bool {
        let block: Arc<[u8]> = b"block".as_slice().into();
        let found = cache.get(&block, number..number + 1, &[path(name)]);
        found.is_some_and(|chunks| chunks.iter().all(|chunk| chunk.columns.iter().all(Option::is_some)))
    }

    #[test]
    fn it_takes_no_more_memory_than_it_may() {
        let cache = ColumnCache::default();
        put(&cache, 0, "a", 10, 10);
        assert_eq!((cache.bytes(), has(&cache, 0, "a")), (0, false));
        cache.set_most_bytes(100_000);
        for number in 0..100 {
            put(&cache, number, "a", 5000, 1000);
            assert!(cache.bytes() <= 100_000);
        }
        assert!(has(&cache, 99, "a") && !has(&cache, 0, "a"));
        cache.set_most_bytes(0);
        assert_eq!(cache.bytes(), 0);
        assert!(cache.state().chunks.is_empty() && cache.state().order.is_empty());
    }

    #[test]
    fn what_was_dear_and_what_is_asked_for_stays() {
        let cache = ColumnCache::default();
        cache.set_most_bytes(60_000);
        put(&cache, 0, "dear", 5000, 1_000_000);
        put(&cache, 1, "used", 5000, 1000);
        for number in 2..100 {
            put(&cache, number, "a", 5000, 1000);
            assert!(has(&cache, 1, "used"));
        }
        assert!(has(&cache, 0, "dear") && !has(&cache, 2, "a"));
    }

    #[test]
    fn a_column_that_is_put_twice_counts_once() {
        let cache = ColumnCache::default();
        cache.set_most_bytes(60_000);
        put(&cache, 0, "a", 5000, 1000);
        let bytes = cache.bytes();
        put(&cache, 0, "a", 5000, 1000);
        assert_eq!(cache.bytes(), bytes);
    }
}
