//! Rows become chunks: each with the symbols that it needs, none larger than the alignment unless one row needs it,
//! and blocks end
//! when they are long enough (`docs/format.md`, "Writing").

use std::sync::Arc;

use crate::chunk::fields::Fields;
use crate::chunk::frequent::{self, Frequent};
use crate::chunk::paths::{NodeId, Path, Paths, Range};
use crate::chunk::placement::Placement;
use crate::error::{Error, Result};
use crate::index::statistics::ngrams::{NgramHashes, Ngrams};
use crate::index::statistics::{Builder, PathStatistics};
use crate::ion::remap::remap;
use crate::ion::symtab::FIRST_USER;
use crate::ion::{self, SymbolTable};
use crate::times::Times;

/// Free bytes kept before the rows of a chunk, so that its symbol table can be put there in the end.
const HEADROOM: usize = 64 << 10;
/// Frequent strings become symbols until all symbols together fill this part of a chunk.
const SYMBOLS_SHARE: usize = 16;

/// A chunk that is complete, without its padding.
#[derive(Debug)]
pub struct Chunk {
    buffer: Vec<u8>,
    start: usize,
    rows: usize,
    /// Whether it starts with a full symbol table.
    pub resets: bool,
    /// The selector that its symbols were numbered for.
    pub selector: Option<u8>,
}

impl Chunk {
    /// The rows alone.
    pub fn rows(&self) -> &[u8] {
        &self.buffer[self.rows..]
    }

    /// Symbol table and rows.
    pub fn data(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Where the data begins in the memory.
    pub fn start(&self) -> usize {
        self.start
    }

    /// The memory, for the next chunk.
    pub fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }
}

/// What is known of a block when it ends.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockInfo {
    /// Number of chunks, without those that were there before.
    pub chunks: u64,
    /// Number of rows.
    pub rows: u64,
    /// For each path with timestamps: their range.
    pub ranges: Vec<(Path, Range)>,
    /// What the values at some paths are; none where that is not known.
    pub statistics: Option<Vec<PathStatistics>>,
    /// The pieces of texts at the paths that they are wanted of; none where that is not known.
    pub ngrams: NgramHashes,
}

/// Takes the chunks of a stream, and lends memory for them.
pub trait Sink {
    /// A chunk is complete.
    fn chunk(&mut self, chunk: Chunk) -> Result<()>;
    /// An empty buffer for a chunk; one that was used before is cheaper.
    fn buffer(&mut self) -> Vec<u8>;
    /// The chunks from now on are of no use if the stream fails.
    fn hold(&mut self) {}
}

/// What a row is written with.
pub struct Row<'a> {
    /// The bytes of the chunk under construction: exactly one struct is appended.
    pub out: &'a mut Vec<u8>,
    /// Names get their ids here.
    pub symbols: &'a mut SymbolTable,
    /// Types and times of the fields are noted here.
    pub paths: &'a mut Paths,
    /// Where the row begins in `out`.
    pub start: usize,
    /// Largest size of a row in bytes.
    pub limit: usize,
}

impl Row<'_> {
    /// Appends text and notes its type. It becomes a symbol if it is one, and that is no longer.
    #[inline]
    pub fn put_text(&mut self, text: &[u8], node: NodeId) {
        match self.paths.saw_text(node, text, self.symbols) {
            Some(id) if frequent::LENGTHS.contains(&text.len()) => ion::put_symbol(self.out, id),
            _ => ion::put_string(self.out, text),
        }
    }
}

/// Turns rows into chunks.
pub struct Stream<'s> {
    align: usize,
    /// Size that a chunk with a single row may have.
    most: usize,
    block_chunks: u64,
    symbols: SymbolTable,
    /// What new tables begin with.
    placement: Option<Arc<Placement>>,
    /// Symbols below this id are those that the table began with.
    base: u32,
    frequent: Frequent,
    paths: Paths,
    sink: &'s mut dyn Sink,
    buffer: Vec<u8>,
    /// End of the last committed row in `buffer`.
    done: usize,
    /// Size of the symbol table that goes before the committed rows.
    head: usize,
    /// Symbols below this id are in that table or in earlier ones of the block.
    included: u32,
    /// Symbols below this id were written in earlier chunks of the block; 0: a full table is due.
    sent: u32,
    /// Chunks of the block that were there before the stream began.
    kept: u64,
    chunks: u64,
    rows: u64,
    blocks: Vec<BlockInfo>,
    largest_chunk: usize,
    /// Makes statistics of the rows, if they are wanted.
    statistics: Option<Builder>,
    /// Gathers the pieces of texts, if they are wanted.
    ngrams: Option<Ngrams>,
}

/// What a stream knows in the end.
#[derive(Debug)]
pub struct Summary {
    /// Its blocks, in order.
    pub blocks: Vec<BlockInfo>,
    /// The fields of its rows; if `complete` is set there, the ranges tell of every path, too.
    pub fields: Fields,
    /// Paths with timestamps that are not in the ranges.
    pub hidden: Vec<Path>,
    /// Times that lost digits beyond microseconds.
    pub cut_times: u64,
    /// Texts with bytes that are no UTF-8, which were replaced.
    pub replaced: u64,
    /// Values that do not count, since their object has the name twice.
    pub dropped: u64,
    /// Texts of fields that are taken apart, which are no JSON.
    pub kept_whole: u64,
    /// Size of the largest chunk in bytes.
    pub largest_chunk: usize,
}

impl<'s> Stream<'s> {
    /// A stream of chunks of `align` bytes whose blocks end after `block_bytes` (at least one chunk).
    pub fn new(align: usize, block_bytes: usize, sink: &'s mut dyn Sink) -> Self {
        let mut stream = Self {
            align,
            most: align,
            block_chunks: block_bytes.div_ceil(align).max(1) as u64,
            symbols: SymbolTable::new(),
            placement: None,
            base: FIRST_USER,
            frequent: Frequent::new(align),
            paths: Paths::default(),
            buffer: vec![],
            sink,
            done: 0,
            head: 0,
            included: 0,
            sent: 0,
            kept: 0,
            chunks: 0,
            rows: 0,
            blocks: vec![],
            largest_chunk: 0,
            statistics: None,
            ngrams: None,
        };
        stream.begin_chunk();
        stream
    }

    /// Admits rows that take chunks of their own, of at most so many bytes.
    #[must_use]
    pub fn with_larger_rows(mut self, most: usize) -> Self {
        self.most = most.max(self.align);
        self
    }

    /// Follows the fields with a tree of its own kind, as long as there are no rows.
    #[must_use]
    pub fn with_paths(mut self, paths: Paths) -> Self {
        self.paths = paths;
        self
    }

    /// Begins all new symbol tables with the symbols of a placement, as long as there are no rows.
    #[must_use]
    pub fn with_placement(mut self, placement: Option<Arc<Placement>>) -> Self {
        self.placement = placement;
        self.begin_table();
        self
    }

    /// Makes statistics of the rows, as long as there are none.
    #[must_use]
    pub fn with_statistics(mut self, statistics: Option<Builder>) -> Self {
        self.statistics = statistics;
        self
    }

    /// Gathers the pieces of texts.
    #[must_use]
    pub fn with_ngrams(mut self, ngrams: Option<Ngrams>) -> Self {
        self.ngrams = ngrams;
        self
    }

    /// Goes on inside a block: after `kept` chunks that wrote the symbols below `sent` (0: none, a full table
    /// is due) of `symbols`.
    #[must_use]
    pub fn after(mut self, kept: u64, symbols: SymbolTable, sent: u32) -> Self {
        self.kept = kept;
        self.symbols = symbols;
        self.base = FIRST_USER;
        self.sent = sent;
        self.included = sent;
        self
    }

    /// Says that the rows from now on are of no use if the stream fails.
    pub fn hold(&mut self) {
        self.sink.hold();
    }

    /// Says whether the rows from now on are counted for their fields.
    pub(crate) fn counting(&mut self, counts: bool) {
        self.paths.counting(counts);
    }

    /// Says how texts that are times are read: before there are rows.
    pub fn read_times(&mut self, times: &Arc<Times>) {
        self.paths.read_times(Arc::clone(times));
    }

    /// Appends one row: `write` puts exactly one struct to the end of [`Row::out`].
    #[inline]
    pub fn add_row(&mut self, write: impl FnOnce(&mut Row) -> Result<()>) -> Result<()> {
        let before = self.symbols.max_id();
        let mut row = Row {
            start: self.done,
            out: &mut self.buffer,
            symbols: &mut self.symbols,
            paths: &mut self.paths,
            limit: self.most,
        };
        match write(&mut row) {
            Ok(()) => self.commit(),
            Err(error) => {
                self.take_back(before);
                Err(error)
            }
        }
    }

    /// Largest size of a row in bytes.
    pub fn row_limit(&self) -> usize {
        self.align
    }

    /// Forgets the row that was not committed, and its symbols from `max_id` on.
    fn take_back(&mut self, max_id: u32) {
        self.buffer.truncate(self.done);
        self.paths.forget_row();
        if self.symbols.max_id() != max_id {
            self.symbols.truncate(max_id);
            self.paths.forget_symbols();
        }
    }

    fn commit(&mut self) -> Result<()> {
        let size = self.buffer.len() - self.done;
        if size > self.most {
            self.take_back(self.included.max(self.base));
            return Err(Error::too_large(0, format!("a row of {size} bytes, the limit is {}", self.most)));
        }
        if self.fits() {
            let start = std::mem::replace(&mut self.done, self.buffer.len());
            if self.frequent.wants_rows() && self.symbols.text_bytes() < self.align / SYMBOLS_SHARE {
                self.frequent.look_at(&self.buffer[start..], &mut self.symbols);
            }
        } else {
            self.flush_chunk(false)?;
        }
        self.rows += 1;
        self.paths.commit();
        Ok(())
    }

    /// Whether the rows in the buffer and the table that they need fit the chunk.
    #[inline]
    fn fits(&mut self) -> bool {
        let rows = self.buffer.len() - HEADROOM;
        if self.symbols.max_id() == self.included && rows + self.head <= self.align {
            return true;
        }
        let most = if self.done == HEADROOM { self.most } else { self.align };
        let head = self.table_size();
        if rows + head > most {
            return false;
        }
        self.head = head;
        self.included = self.symbols.max_id();
        true
    }

    /// Size of the table that is due now.
    fn table_size(&self) -> usize {
        if self.sent == 0 {
            self.symbols.full_size()
        } else if self.symbols.max_id() > self.sent {
            self.symbols.appending_size(self.sent)
        } else {
            0
        }
    }

    /// Begins a symbol table, and gives the one before.
    fn begin_table(&mut self) -> SymbolTable {
        let fresh = self.placement.as_ref().map(|placement| placement.symbols.clone()).unwrap_or_default();
        self.base = fresh.max_id();
        std::mem::replace(&mut self.symbols, fresh)
    }

    fn begin_chunk(&mut self) {
        self.buffer = self.sink.buffer();
        self.buffer.clear();
        self.buffer.reserve(HEADROOM + self.align + self.align / 4);
        self.buffer.resize(HEADROOM, 0);
        self.done = HEADROOM;
        self.head = 0;
    }

    fn flush_chunk(&mut self, last: bool) -> Result<()> {
        let tail = self.buffer.split_off(self.done);
        if self.done > HEADROOM {
            self.emit()?;
            self.sent = self.included;
            self.chunks += 1;
            if self.kept + self.chunks >= self.block_chunks || last {
                self.end_block();
            }
            if last {
                return Ok(());
            }
            self.begin_chunk();
        }
        if !tail.is_empty() {
            // Where the symbols of other rows leave this one no room, a new table has only its own.
            let size = tail.len() + self.table_size();
            if self.sent == 0 || self.symbols.text_bytes() >= self.align / 2 || size > self.most {
                let old = self.begin_table();
                remap(&tail, &old, &mut self.symbols, &mut self.buffer)?;
                self.paths.forget_symbols();
                self.frequent.restart();
                self.included = 0;
                self.sent = 0;
                if self.base > FIRST_USER && self.buffer.len() - HEADROOM + self.table_size() > self.most {
                    // A row that has no room beside the symbols of others.
                    (self.symbols, self.base) = (SymbolTable::new(), FIRST_USER);
                    self.buffer.truncate(HEADROOM);
                    remap(&tail, &old, &mut self.symbols, &mut self.buffer)?;
                }
            } else {
                self.buffer.extend_from_slice(&tail);
            }
            if !self.fits() {
                let size = self.buffer.len() - HEADROOM + self.table_size();
                self.take_back(self.sent.max(self.base));
                return Err(Error::too_large(
                    0,
                    format!("a row that takes {size} bytes with its names, the limit is {}", self.most),
                ));
            }
            self.done = self.buffer.len();
        }
        Ok(())
    }

    /// Hands the committed rows to the sink, their symbol table before them.
    fn emit(&mut self) -> Result<()> {
        let mut table = Vec::with_capacity(self.head);
        let resets = self.sent == 0;
        if resets {
            self.symbols.put_full(&mut table, self.included);
        } else if self.included > self.sent {
            self.symbols.put_appending(&mut table, self.sent, self.included);
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        self.look_at(&buffer[HEADROOM..], resets);
        let start = HEADROOM.saturating_sub(table.len());
        if table.len() > HEADROOM {
            buffer.splice(0..0, std::iter::repeat_n(0, table.len() - HEADROOM));
        }
        let rows = start + table.len();
        buffer[start..rows].copy_from_slice(&table);
        self.largest_chunk = self.largest_chunk.max(buffer.len() - start);
        let placement = self.placement.as_ref().filter(|_| self.base > FIRST_USER);
        let selector = placement.map(|placement| placement.selector);
        self.sink.chunk(Chunk { buffer, start, rows, resets, selector })
    }

    /// Looks at the rows of a chunk for their statistics.
    fn look_at(&mut self, rows: &[u8], resets: bool) {
        if let Some(builder) = &mut self.statistics
            && builder.chunk(rows, &self.symbols, resets).is_err()
        {
            // Without them the rows are as good.
            self.statistics = None;
        }
        if let Some(ngrams) = &mut self.ngrams
            && ngrams.chunk(rows, &self.symbols).is_err()
        {
            self.ngrams = None;
        }
    }

    fn end_block(&mut self) {
        self.included = 0;
        self.sent = 0;
        self.kept = 0;
        self.blocks.push(BlockInfo {
            chunks: std::mem::take(&mut self.chunks),
            rows: std::mem::take(&mut self.rows),
            ranges: self.paths.take_ranges(),
            statistics: self.statistics.as_mut().map(Builder::take),
            ngrams: self.ngrams.as_mut().map(Ngrams::take).unwrap_or_default(),
        });
    }

    /// Rows so far in all blocks.
    pub fn rows(&self) -> u64 {
        self.rows + self.blocks.iter().map(|block| block.rows).sum::<u64>()
    }

    /// Writes what is left.
    pub fn finish(mut self) -> Result<Summary> {
        if self.done > HEADROOM {
            self.flush_chunk(true)?;
        } else if self.chunks > 0 {
            self.end_block();
        }
        let Self { blocks, paths, largest_chunk, .. } = self;
        Ok(Summary {
            blocks,
            fields: paths.fields(),
            hidden: paths.hidden(),
            cut_times: paths.cut(),
            replaced: paths.replaced(),
            dropped: paths.dropped(),
            kept_whole: paths.kept_whole(),
            largest_chunk,
        })
    }
}
