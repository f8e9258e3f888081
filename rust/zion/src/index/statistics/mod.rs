//! Statistics of blocks: zone maps, and the values and n-grams for ribbon filters (`docs/format.md`, section 10).
//!
//! They are gathered from the rows of a chunk before it is compressed, while these are in the cache, and at some
//! paths only: all else is skipped by its length. The paths are chosen by the first rows of a part, and depend on
//! these alone.

mod gather;
pub mod joints;
pub mod ngrams;
pub mod prefixes;
mod slot;
mod tree;
mod walk;
mod zone;

use std::sync::Arc;

pub use self::gather::{BlockStatistics, Gatherer, KnownPath, PathStatistics, RunStatistics};
use self::slot::Slot;
pub use self::tree::StatPath;
use self::tree::Tree;
use self::walk::Walk;
pub use self::zone::{TEXT_BYTES, Texts, Zone};
use crate::block::BlockReader;
use crate::block::rows::Rows;
use crate::codec::Algorithm;
use crate::error::Result;
use crate::ion::SymbolTable;
use crate::value::Value;

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
            let (at, header) = row?;
            let counts = self.uncounted == 0;
            self.uncounted = self.uncounted.saturating_sub(1);
            let mut walk = Walk { data: rows, tree: &tree, slots: &mut self.slots, symbols, counts };
            walk.fields(Value { at, header }.fields(rows), 0)?;
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
