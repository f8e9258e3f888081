//! Statistics of blocks: what the values at a path are between, and which there are (`docs/format.md`, section 10).
//!
//! The rows of a chunk are looked at once more before it is compressed, while they are in the cache, and in them
//! only what lies at some paths: all else is passed over by its length. Those paths are chosen by the first
//! rows of a part, so that they depend on these alone.

mod gather;
mod tree;
mod zone;

use std::sync::Arc;

pub use self::gather::{BlockStatistics, Gatherer, PathStatistics, RunStatistics, ValueSet};
use self::tree::Tree;
pub use self::tree::{MAX_DEPTH, StatPath};
pub use self::zone::{TEXT_BYTES, Texts, Zone};
use crate::block::BlockReader;
use crate::codec::Algorithm;
use crate::error::{Error, Result};
use crate::ion::{self, Header, SymbolTable, kind, timestamp, varuint};
use crate::membership;
use crate::rows::Rows;

/// So many hashes are kept of a path in a part.
const MAX_HASHES: usize = 1 << 19;
/// So many hashes tell whether values repeat.
const SAMPLE: usize = 256;
/// Values are many if at most so many of the first ones are equal on average.
const MOST_EQUAL: u64 = 4;

/// What is known of a path in a block.
pub type Measured = Option<PathStatistics>;

/// Looks through a block for what is at some paths; of a path that something cannot be told of, nothing is.
pub fn measure(
    block: &[u8],
    algorithm: Algorithm,
    align: usize,
    paths: Arc<[StatPath]>,
) -> Result<Vec<Measured>> {
    let count = paths.len();
    let Some(mut builder) = Builder::new(&Choice::Paths(paths), true, 0) else { return Ok(vec![]) };
    let mut reader = BlockReader::new(block, algorithm, align)?;
    while let Some(chunk) = reader.next_chunk()? {
        let rows = chunk.data.get(chunk.rows_at..).unwrap_or_default();
        builder.chunk(rows, chunk.table, chunk.resets)?;
    }
    let mut known = builder.take_all();
    known.resize(count, None);
    Ok(known)
}

/// Which paths have statistics.
#[derive(Debug, Clone, Default)]
pub enum Choice {
    /// None.
    #[default]
    Off,
    /// Those that most rows have values at, and these.
    Auto(Arc<[StatPath]>),
    /// These.
    Paths(Arc<[StatPath]>),
}

/// What is known of the values at a path.
#[derive(Debug, Default)]
struct Slot {
    zone: Zone,
    /// Hashes of the texts, unless they are not wanted.
    texts: Option<Vec<u64>>,
    /// Hashes of the integers, unless they are not wanted.
    integers: Option<Vec<u64>>,
    /// The symbols that were values here.
    symbols: Vec<u64>,
    /// Whether there was a value that nothing can be said of.
    is_lost: bool,
}

/// Makes the statistics of a stream of rows.
#[derive(Debug)]
pub struct Builder {
    /// Set once paths are chosen.
    tree: Option<Tree>,
    paths: Arc<[StatPath]>,
    slots: Vec<Slot>,
    /// Whether somebody else wrote the symbol tables.
    is_foreign: bool,
    /// Rows that are in the counts of the block already.
    uncounted: u64,
    /// Whether it is known which paths have many values.
    is_settled: bool,
}

impl Builder {
    /// A builder for rows of which so many are in the counts of the block already; none if nothing is wanted.
    pub fn new(choice: &Choice, is_foreign: bool, uncounted: u64) -> Option<Self> {
        let (tree, paths) = match choice {
            Choice::Off => return None,
            Choice::Auto(also) => (None, Arc::clone(also)),
            Choice::Paths(paths) => (Some(Tree::of(paths)), Arc::clone(paths)),
        };
        let is_settled = tree.is_some();
        let slots = vec![];
        Some(Self { tree, paths, slots, is_foreign, uncounted, is_settled })
    }

    /// Takes the rows of a chunk. With `resets` its symbols are others than those of the chunk before.
    pub fn chunk(&mut self, rows: &[u8], symbols: &SymbolTable, resets: bool) -> Result<()> {
        let mut tree = if let Some(tree) = self.tree.take() {
            tree
        } else {
            let mut paths = tree::chosen(rows, symbols)?;
            let also: Vec<_> = self.paths.iter().filter(|path| !paths.contains(path)).cloned().collect();
            paths.extend(also);
            self.paths = paths.into();
            Tree::of(&self.paths)
        };
        tree.resolve(symbols, self.is_foreign);
        self.slots.resize_with(self.paths.len(), Slot::new);
        if resets {
            self.slots.iter_mut().for_each(|slot| slot.symbols.clear());
        }
        for row in Rows::new(rows, 0) {
            let counts = self.uncounted == 0;
            self.uncounted = self.uncounted.saturating_sub(1);
            let mut walk = Walk { data: rows, tree: &tree, slots: &mut self.slots, symbols, counts };
            walk.fields(row?.1, 0)?;
        }
        self.tree = Some(tree);
        if !self.is_settled {
            self.is_settled = true;
            self.slots.iter_mut().for_each(Slot::settle);
        }
        Ok(())
    }

    /// Takes what is known of the block that ends.
    pub fn take(&mut self) -> Vec<PathStatistics> {
        self.take_all().into_iter().flatten().collect()
    }

    /// The same for each path in order.
    fn take_all(&mut self) -> Vec<Measured> {
        let slots = self.slots.iter_mut().zip(self.paths.iter());
        let known = slots.map(|(slot, path)| {
            let zone = std::mem::take(&mut slot.zone);
            let [texts, integers] =
                [&mut slot.texts, &mut slot.integers].map(|hashes| hashes.as_mut().map(std::mem::take));
            slot.symbols.clear();
            let is_lost = std::mem::take(&mut slot.is_lost);
            (!is_lost).then(|| PathStatistics { path: path.clone(), zone, texts, integers })
        });
        known.collect()
    }
}

impl Slot {
    fn new() -> Self {
        Self { texts: Some(vec![]), integers: Some(vec![]), ..Self::default() }
    }

    /// Lets go of hashes where values repeat.
    fn settle(&mut self) {
        let values = self.zone.values;
        for hashes in [&mut self.texts, &mut self.integers] {
            let Some(found) = hashes else { continue };
            let mut first = found.get(..SAMPLE.min(found.len())).unwrap_or_default().to_vec();
            let count = first.len().max(1) as u64;
            first.sort_unstable();
            first.dedup();
            let different = first.len() as u64 * found.len() as u64 / count;
            if different * MOST_EQUAL < values {
                *hashes = None;
            }
        }
    }

    #[inline]
    fn note(hashes: &mut Option<Vec<u64>>, hash: u64) {
        let Some(found) = hashes else { return };
        if found.last() == Some(&hash) {
            return;
        }
        if found.len() >= MAX_HASHES {
            *hashes = None;
            return;
        }
        found.push(hash);
    }

    #[inline]
    fn text(&mut self, text: &[u8]) {
        self.zone.text(text);
        if self.texts.is_some() {
            Self::note(&mut self.texts, membership::of_text(text));
        }
    }

    #[inline]
    fn integer(&mut self, number: i128) {
        if self.integers.is_some() {
            Self::note(&mut self.integers, membership::of_integer(number as u64));
        }
    }

    fn symbol(&mut self, id: u64, symbols: &SymbolTable) {
        let (word, bit) = ((id / 64) as usize, 1 << (id % 64));
        if self.symbols.get(word).is_some_and(|word| word & bit != 0) {
            return;
        }
        let Some(text) = u32::try_from(id).ok().and_then(|id| symbols.name(id)) else {
            self.is_lost = true;
            return;
        };
        if self.symbols.len() <= word {
            self.symbols.resize(word + 1, 0);
        }
        if let Some(word) = self.symbols.get_mut(word) {
            *word |= bit;
        }
        self.text(text);
    }
}

/// Goes through the rows of a chunk.
struct Walk<'a> {
    data: &'a [u8],
    tree: &'a Tree,
    slots: &'a mut [Slot],
    symbols: &'a SymbolTable,
    /// Whether values are counted.
    counts: bool,
}

impl Walk<'_> {
    fn fields(&mut self, inside: Header, place: u32) -> Result<()> {
        let Some(node) = self.tree.nodes.get(place as usize) else { return Ok(()) };
        let data = &self.data[..inside.end];
        let (mut at, mut next) = (inside.body, 0);
        while at < inside.end {
            let (label, value_at) = varuint::read(data, at)?;
            let value = ion::header(data, value_at)?;
            at = value.end;
            // Names come in the order of their symbols; elsewhere they are looked for once more.
            if next > 0 && node.labels.get(next - 1).is_some_and(|&(known, _)| u64::from(known) >= label) {
                next = 0;
            }
            while node.labels.get(next).is_some_and(|&(known, _)| u64::from(known) < label) {
                next += 1;
            }
            if let Some(&(known, field)) = node.labels.get(next)
                && u64::from(known) == label
            {
                next += 1;
                self.value(value, value_at, field)?;
            }
        }
        Ok(())
    }

    fn value(&mut self, value: Header, at: usize, place: u32) -> Result<()> {
        let Some(node) = self.tree.nodes.get(place as usize) else { return Ok(()) };
        if value.is_pad() {
            return Ok(());
        }
        if let Some(slot) = node.slot.and_then(|slot| self.slots.get_mut(slot as usize)) {
            note(slot, self.data, (value, at), self.symbols, self.counts)?;
        }
        match value.kind {
            _ if value.is_null() => Ok(()),
            kind::STRUCT if !node.labels.is_empty() => self.fields(value, place),
            kind::LIST => match node.element {
                Some(element) => self.elements(value, element),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn elements(&mut self, list: Header, place: u32) -> Result<()> {
        let mut at = list.body;
        while at < list.end {
            let value = ion::header(&self.data[..list.end], at)?;
            self.value(value, at, place)?;
            at = value.end;
        }
        Ok(())
    }
}

/// Notes a value.
#[inline]
fn note(
    slot: &mut Slot,
    data: &[u8],
    (value, at): (Header, usize),
    symbols: &SymbolTable,
    counts: bool,
) -> Result<()> {
    if value.is_null() {
        slot.zone.null(counts);
        return Ok(());
    }
    let body = &data[value.body..value.end];
    let kind = if value.kind == kind::SYMBOL { kind::STRING } else { value.kind };
    slot.zone.count(kind, counts);
    match value.kind {
        kind::STRING => slot.text(body),
        kind::SYMBOL => slot.symbol(ion::magnitude(body, at)?, symbols),
        kind::BOOL => slot.zone.booleans |= 1 << (value.low & 1),
        kind::UINT => {
            let number = i128::from(ion::magnitude(body, at)?);
            slot.zone.integer(number);
            slot.integer(number);
        }
        kind::NEGINT => {
            let number = -i128::from(ion::magnitude(body, at)?);
            // Rows do not have lower ones, and neither can statistics.
            slot.is_lost |= number < i128::from(i64::MIN);
            slot.zone.integer(number);
            slot.integer(number);
        }
        kind::FLOAT => {
            if let Some(number) = slot.zone.float(float(body, at)?) {
                slot.integer(number);
            }
        }
        kind::TIMESTAMP => slot.zone.time(timestamp::read(body, at)?),
        _ => {}
    }
    Ok(())
}

fn float(body: &[u8], at: usize) -> Result<f64> {
    match *body {
        [] => Ok(0.0),
        [a, b, c, d] => Ok(f64::from(f32::from_be_bytes([a, b, c, d]))),
        [a, b, c, d, e, f, g, h] => Ok(f64::from_be_bytes([a, b, c, d, e, f, g, h])),
        _ => Err(Error::corrupt("ion", at, format!("a float of {} bytes", body.len()))),
    }
}
