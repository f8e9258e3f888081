//! Runs of chunks to columns: the work of one thread.
#![allow(
    clippy::inline_always,
    reason = "fields that pass through memory between calls cost more than the calls"
)]

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::accumulator::Accumulator;
use super::cache::CACHE;
use super::cached::{Drafts, Part, Wanted};
use super::picks::ROW_BITS;
use super::plan::Plan;
use super::request::Request;
use super::walk::Walker;
use crate::block::rows::Rows;
use crate::block::runs::Job;
use crate::block::{BlockReader, Chunk, Codecs, OpenChunk};
use crate::bucket::Visit;
use crate::codec::Algorithm;
use crate::error::{Error, Result};
use crate::ion::{Header, SymbolTable};
use crate::value::Value;

/// One thread's decompressors, and the columns that it makes.
pub(super) struct Worker<A> {
    pub(super) request: Request,
    /// The columns that may stay.
    pub(super) wanted: Option<Arc<Wanted>>,
    codecs: Option<Codecs>,
    pub(super) walker: Walker<A>,
    /// For each row of the chunk at hand whether it is known to pass the predicate.
    pub(super) passes: Vec<bool>,
    /// The symbols that the walker knows.
    pub(super) synced: Option<Arc<SymbolTable>>,
}

/// Rows of a chunk: how they are numbered, and how many may still come out.
#[derive(Clone, Copy)]
pub(super) struct Ask {
    pub(super) first: i64,
    pub(super) limit: u64,
}

/// How many rows were looked at, and how many came out.
#[derive(Clone, Copy, Default)]
pub(super) struct Seen {
    pub(super) rows: u64,
    pub(super) out: u64,
}

impl<A: Accumulator> Worker<A> {
    pub(super) fn new(request: Request, accumulator: Option<A>) -> Self {
        let is_on = CACHE.most_bytes() > 0;
        let wanted = is_on.then(|| Wanted::new(&request.plan, accumulator.as_ref())).flatten().map(Arc::new);
        let walker = Walker::new(&request, accumulator);
        Self { request, wanted, codecs: None, walker, passes: Vec::new(), synced: None }
    }

    /// Adds the rows of a run; gives how many came out.
    pub(super) fn work(&mut self, job: &Job, shapes_only: bool) -> Result<u64> {
        let start = job.position.chunk;
        if self.lacks_picks(job, start..usize::MAX) {
            return Ok(0);
        }
        let plan = Arc::clone(&self.request.plan);
        if !shapes_only && let Some(out) = self.again(&plan, job)? {
            return Ok(out);
        }
        let codecs = match self.codecs.take() {
            Some(codecs) => codecs,
            None => Codecs::new()?,
        };
        let mut reader = job.reader(codecs)?.project(plan.fields.as_deref());
        let mut all = Seen::default();
        // Without a row that is asked for, the reader has told the next one its symbols: that is enough.
        let chunks = if self.lacks_picks(job, start..start + job.chunks) { 0 } else { job.chunks };
        for number in 0..chunks {
            if all.out >= job.limit {
                break;
            }
            let limit = job.limit - all.out;
            let seen = match job.form.algorithm {
                Algorithm::Zstd => self.plain(&plan, &mut reader, job, limit, number == 0)?,
                _ if shapes_only => count(&mut reader, limit)?,
                _ => self.zion(&plan, &mut reader, job, limit, number == 0)?,
            };
            let Some(seen) = seen else { break };
            all = Seen { rows: all.rows + seen.rows, out: all.out + seen.out };
        }
        self.codecs = Some(reader.into_codecs());
        self.request.looked.fetch_add(all.rows, Ordering::Relaxed);
        Ok(all.out)
    }

    /// Whether only some rows are asked for, and none in these chunks.
    fn lacks_picks(&self, job: &Job, chunks: Range<usize>) -> bool {
        let picks = self.request.picks.as_ref();
        picks.is_some_and(|picks| picks.within(job.number, &places(job, chunks)).is_empty())
    }

    /// Marks the rows of a chunk that are asked for, and gives their number; none if all are.
    pub(super) fn mark(&mut self, job: &Job, chunk: usize) -> Option<u64> {
        self.passes.clear();
        let range = places(job, chunk..chunk + 1);
        let picks = self.request.picks.as_ref()?.within(job.number, &range);
        for place in picks {
            self.passes.resize((place - range.start) as usize, false);
            self.passes.push(true);
        }
        Some(picks.len() as u64)
    }

    /// The number of the first row of a chunk, after the walker knows where the chunk comes from.
    pub(super) fn locate(&mut self, job: &Job, chunk: usize) -> Result<i64> {
        let first = row_number(job, chunk)?;
        if let Some(origins) = self.request.origins.as_ref().filter(|_| self.request.plan.tells_origins()) {
            self.walker.origin = Some(origins.chunk(job, chunk, first)?);
        }
        Ok(first)
    }

    /// Adds the rows of a plain chunk.
    fn plain(
        &mut self,
        plan: &Plan,
        reader: &mut BlockReader<'_>,
        job: &Job,
        limit: u64,
        is_first: bool,
    ) -> Result<Option<Seen>> {
        let Some(chunk) = reader.next_chunk()? else { return Ok(None) };
        self.walker.sync(chunk.table, is_first || chunk.resets);
        self.synced = None;
        let marked = self.mark(job, chunk.number);
        let first = self.locate(job, chunk.number)?;
        let ask = Ask { first, limit: limit.min(marked.unwrap_or(limit)) };
        let mut drafts = self.drafts(job, marked);
        let seen = self.rows(plan, &chunk, ask, marked.is_some(), drafts.as_mut());
        let seen = seen.map_err(|error| chunk.error(&error))?;
        self.keep(drafts.filter(|_| seen.out < ask.limit), (chunk.number, chunk.table), seen.rows as usize);
        Ok(Some(seen))
    }

    /// Adds the rows of a zion chunk. The predicate is tried first, where it needs only some of the fields:
    /// the others are decompressed when there is a row that passes.
    fn zion(
        &mut self,
        plan: &Plan,
        reader: &mut BlockReader<'_>,
        job: &Job,
        limit: u64,
        is_first: bool,
    ) -> Result<Option<Seen>> {
        let Some(chunk) = reader.open_chunk()? else { return Ok(None) };
        if !self.synced.as_ref().is_some_and(|synced| Arc::ptr_eq(synced, &chunk.table)) {
            self.walker.sync(&chunk.table, is_first || chunk.resets());
            self.synced = Some(Arc::clone(&chunk.table));
        }
        let marked = self.mark(job, chunk.number);
        if marked == Some(0) {
            reader.close(chunk);
            return Ok(Some(Seen::default()));
        }
        let first = self.locate(job, chunk.number)?;
        let ask = Ask { first, limit: limit.min(marked.unwrap_or(limit)) };
        let is_open = marked.is_none() && plan.predicate.is_some();
        let mut drafts = self.drafts(job, marked);
        let tested = plan.tested.as_deref().filter(|_| is_open && plan.fields != plan.tested);
        if let Some(tested) = tested {
            let Self { walker, passes, .. } = &mut *self;
            walker.begin(plan);
            let mut probe = Probe { walker, plan, table: &chunk.table, passes, drafts: drafts.as_mut() };
            reader.visit(&chunk, Some(tested), &mut probe)?;
            if !self.passes.contains(&true) {
                self.keep(drafts, (chunk.number, &chunk.table), self.passes.len());
                reader.close(chunk);
                return Ok(Some(Seen { rows: self.passes.len() as u64, out: 0 }));
            }
        }
        let is_tested = tested.is_some() || marked.is_some();
        if let Some(fields) = &plan.fields {
            let seen = self.direct(plan, reader, (&chunk, fields), ask, is_tested, drafts.as_mut())?;
            // Where the limit was reached, there may be more rows.
            let kept = drafts.filter(|_| seen.out < ask.limit);
            self.keep(kept, (chunk.number, &chunk.table), seen.rows as usize);
            reader.close(chunk);
            return Ok(Some(seen));
        }
        let chunk = reader.assemble(chunk)?;
        let seen = self.rows(plan, &chunk, ask, is_tested, None).map_err(|error| chunk.error(&error))?;
        Ok(Some(seen))
    }

    /// Adds rows that are put together; those that passed the predicate if they were tested.
    fn rows(
        &mut self,
        plan: &Plan,
        chunk: &Chunk<'_>,
        ask: Ask,
        is_tested: bool,
        mut drafts: Option<&mut Drafts>,
    ) -> Result<Seen> {
        let mut seen = Seen::default();
        for row in Rows::new(chunk.data, chunk.rows_at) {
            let (at, header) = row?;
            let number = seen.rows;
            seen.rows += 1;
            if is_tested && self.passes.get(number as usize) != Some(&true) {
                continue;
            }
            self.walker.whole(plan, chunk.data, Value { at, header })?;
            if let Some(drafts) = &mut drafts {
                drafts.add(chunk.data, &self.walker.slots, Part::All);
            }
            if is_tested || self.walker.admits(plan, chunk.data, chunk.table)? {
                let number = ask.first + number as i64;
                seen.out += self.walker.emit(plan, chunk.data, chunk.table, number, ask.limit - seen.out)?;
            }
            if seen.out >= ask.limit {
                break;
            }
        }
        Ok(seen)
    }

    /// Adds rows whose fields stay in their buckets.
    fn direct(
        &mut self,
        plan: &Plan,
        reader: &mut BlockReader<'_>,
        (chunk, fields): (&OpenChunk, &[Box<[u8]>]),
        ask: Ask,
        is_tested: bool,
        drafts: Option<&mut Drafts>,
    ) -> Result<Seen> {
        let table = &*chunk.table;
        if drafts.is_none()
            && let Some(mut tally) = self.walker.tally(table, ask.limit)
        {
            reader.visit(chunk, Some(fields), &mut tally)?;
            return Ok(Seen { rows: tally.rows, out: tally.rows });
        }
        self.walker.begin(plan);
        let passes = is_tested.then_some(&self.passes[..]);
        let (walker, seen) = (&mut self.walker, Seen::default());
        let mut direct = Direct { walker, plan, table, passes, drafts, ask, seen };
        reader.visit(chunk, Some(fields), &mut direct)?;
        Ok(direct.seen)
    }

    /// Columns of a chunk that may stay, if all of its rows are asked for.
    fn drafts(&self, job: &Job, marked: Option<u64>) -> Option<Drafts> {
        marked.is_none().then(|| Drafts::new(self.wanted.as_ref(), &self.request.filled, job)).flatten()
    }

    fn keep(&self, drafts: Option<Drafts>, chunk: (usize, &Arc<SymbolTable>), rows: usize) {
        if let Some(drafts) = drafts {
            drafts.keep(chunk, rows, &self.request.filled);
        }
    }
}

/// Counts the rows of a zion chunk.
fn count(reader: &mut BlockReader<'_>, limit: u64) -> Result<Option<Seen>> {
    Ok(reader.count_chunk()?.map(|rows| Seen { rows, out: rows.min(limit) }))
}

/// The number of the first row of a chunk. Numbers grow from row to row, with gaps: above [`ROW_BITS`] that
/// of the block, below the size of a chunk times its number, plus that of the row in the chunk.
fn row_number(job: &Job, chunk: usize) -> Result<i64> {
    let place = chunk as u64 * job.form.align as u64;
    if place >> ROW_BITS != 0 || job.number >> (63 - ROW_BITS) != 0 {
        return Err(Error::unsupported("more rows than can be numbered"));
    }
    Ok((job.number as i64) << ROW_BITS | place as i64)
}

/// The numbers of rows, within their block, that some chunks can have.
fn places(job: &Job, chunks: Range<usize>) -> Range<u64> {
    let place = |chunk: usize| (chunk as u64).saturating_mul(job.form.align as u64);
    place(chunks.start)..place(chunks.end)
}

/// Finds out which rows pass the predicate.
struct Probe<'a, A> {
    walker: &'a mut Walker<A>,
    plan: &'a Plan,
    table: &'a SymbolTable,
    passes: &'a mut Vec<bool>,
    drafts: Option<&'a mut Drafts>,
}

impl<A: Accumulator> Visit for Probe<'_, A> {
    #[inline(always)]
    fn field(&mut self, data: &[u8], id: u32, at: usize, header: Header) -> Result<()> {
        if header.is_pad() { Ok(()) } else { self.walker.field(self.plan, data, id, Value { at, header }) }
    }

    #[inline(always)]
    fn row(&mut self, data: &[u8]) -> Result<bool> {
        if let Some(drafts) = &mut self.drafts {
            drafts.add(data, &self.walker.slots, Part::Tested);
        }
        self.passes.push(self.walker.admits(self.plan, data, self.table)?);
        self.walker.begin(self.plan);
        Ok(true)
    }
}

/// Adds rows whose fields come one by one.
struct Direct<'a, A> {
    walker: &'a mut Walker<A>,
    plan: &'a Plan,
    table: &'a SymbolTable,
    /// Which rows passed the predicate, if that was tried.
    passes: Option<&'a [bool]>,
    drafts: Option<&'a mut Drafts>,
    ask: Ask,
    seen: Seen,
}

impl<A: Accumulator> Direct<'_, A> {
    #[inline]
    fn is_known_to_fail(&self) -> bool {
        self.passes.is_some_and(|passes| passes.get(self.seen.rows as usize) != Some(&true))
    }

    #[inline]
    fn admits(&self, data: &[u8]) -> Result<bool> {
        self.walker.admits(self.plan, data, self.table)
    }
}

impl<A: Accumulator> Visit for Direct<'_, A> {
    #[inline(always)]
    fn field(&mut self, data: &[u8], id: u32, at: usize, header: Header) -> Result<()> {
        if header.is_pad() || (self.drafts.is_none() && self.is_known_to_fail()) {
            return Ok(());
        }
        self.walker.field(self.plan, data, id, Value { at, header })
    }

    #[inline(always)]
    fn row(&mut self, data: &[u8]) -> Result<bool> {
        let number = self.seen.rows;
        if let Some(drafts) = &mut self.drafts {
            let part = if self.passes.is_some() { Part::Others } else { Part::All };
            drafts.add(data, &self.walker.slots, part);
        }
        if !self.is_known_to_fail() && (self.passes.is_some() || self.admits(data)?) {
            let (number, left) = (self.ask.first + number as i64, self.ask.limit - self.seen.out);
            self.seen.out += self.walker.emit(self.plan, data, self.table, number, left)?;
        }
        self.seen.rows += 1;
        self.walker.begin(self.plan);
        Ok(self.seen.out < self.ask.limit)
    }
}
