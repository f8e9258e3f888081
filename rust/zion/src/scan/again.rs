//! Rows from columns that have stayed decoded.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::accumulator::Accumulator;
use super::cache::{CACHE, Chunk};
use super::cached::{Part, Wanted};
use super::plan::Plan;
use super::walk::Walker;
use super::worker::{Ask, Seen, Worker};
use crate::block::runs::Job;
use crate::error::{Error, Result};
use crate::ion::{self, SymbolTable};
use crate::value::Value;

/// The columns of a chunk beside each other, as its rows would be.
struct Rows<'a> {
    data: Vec<u8>,
    /// For each column its node, where it starts, and where the values end.
    columns: Vec<(usize, usize, &'a [u32])>,
}

impl<'a> Rows<'a> {
    fn of(chunk: &'a Chunk, wanted: &Wanted, part: Part) -> Self {
        let mut rows = Self { data: Vec::new(), columns: Vec::new() };
        let all = chunk.columns.iter().zip(&wanted.nodes).zip(&wanted.tested);
        for ((column, &node), _) in all.filter(|(_, is_tested)| !part.leaves_out(**is_tested)) {
            if let Some(column) = column {
                rows.columns.push((node, rows.data.len(), &column.ends));
                rows.data.extend_from_slice(&column.data);
            }
        }
        rows
    }

    /// Puts what a row has into the slots of the nodes.
    #[inline]
    fn show(&self, row: usize, slots: &mut [Option<Value>]) -> Result<()> {
        for &(node, base, ends) in &self.columns {
            let start = row.checked_sub(1).map_or(0, |before| ends[before] as usize);
            slots[node] = if start == ends[row] as usize {
                None
            } else {
                let at = base + start;
                Some(Value { at, header: ion::header(&self.data, at)? })
            };
        }
        Ok(())
    }
}

impl<A: Accumulator> Worker<A> {
    /// Adds the rows of a run whose columns have stayed; gives how many came out, or none if some have not.
    pub(super) fn again(&mut self, plan: &Plan, job: &Job) -> Result<Option<u64>> {
        let Some(wanted) = self.wanted.clone() else { return Ok(None) };
        let Some(block) = job.block.identity().filter(|_| job.form.verify && CACHE.most_bytes() > 0) else {
            return Ok(None);
        };
        let start = job.position.chunk;
        let Some(chunks) = CACHE.get(block, start..start + job.chunks, &wanted.paths) else {
            return Ok(None);
        };
        for (chunk, number) in chunks.iter().zip(start..) {
            if !self.suffices(plan, job, &wanted, (chunk, number))? {
                return Ok(None);
            }
        }
        let mut all = Seen::default();
        for (chunk, number) in chunks.iter().zip(start..) {
            if all.out >= job.limit {
                break;
            }
            let seen = self.chunk_again(plan, job, &wanted, (chunk, number), job.limit - all.out)?;
            all = Seen { rows: all.rows + seen.rows, out: all.out + seen.out };
        }
        if let Some(last) = chunks.last() {
            job.tell(&last.table);
        }
        self.request.looked.fetch_add(all.rows, Ordering::Relaxed);
        Ok(Some(all.out))
    }

    /// Whether a chunk has all columns, or only those of the predicate and no row that passes.
    fn suffices(
        &mut self,
        plan: &Plan,
        job: &Job,
        wanted: &Wanted,
        (chunk, number): (&Chunk, usize),
    ) -> Result<bool> {
        if chunk.columns.iter().all(Option::is_some) {
            return Ok(true);
        }
        if let Some(marked) = self.mark(job, number) {
            return Ok(marked == 0);
        }
        let lacks = |(column, is_tested): (&Option<_>, &bool)| *is_tested && column.is_none();
        if Self::is_excluded(plan, wanted, chunk) {
            return Ok(true);
        }
        if plan.predicate.is_none() || chunk.columns.iter().zip(&wanted.tested).any(lacks) {
            return Ok(false);
        }
        self.take_symbols(&chunk.table);
        let rows = Rows::of(chunk, wanted, Part::Tested);
        self.walker.begin(plan);
        for row in 0..chunk.rows {
            rows.show(row, &mut self.walker.slots)?;
            if self.walker.admits(plan, &rows.data, &chunk.table)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether what is known of the columns of a chunk rules out that a row passes.
    fn is_excluded(plan: &Plan, wanted: &Wanted, chunk: &Chunk) -> bool {
        let extremes = |node: usize| {
            let at = wanted.nodes.iter().position(|&known| known == node)?;
            chunk.columns[at].as_ref()?.extremes()
        };
        plan.predicate.as_ref().is_some_and(|predicate| predicate.excludes(&extremes))
    }

    fn take_symbols(&mut self, table: &Arc<SymbolTable>) {
        if !self.synced.as_ref().is_some_and(|synced| Arc::ptr_eq(synced, table)) {
            self.walker.sync(table, true);
            self.synced = Some(Arc::clone(table));
        }
    }

    fn chunk_again(
        &mut self,
        plan: &Plan,
        job: &Job,
        wanted: &Wanted,
        (chunk, number): (&Chunk, usize),
        limit: u64,
    ) -> Result<Seen> {
        let marked = self.mark(job, number);
        if marked == Some(0) {
            return Ok(Seen::default());
        }
        let is_excluded = marked.is_none() && Self::is_excluded(plan, wanted, chunk);
        if is_excluded || chunk.columns.iter().any(Option::is_none) {
            return Ok(Seen { rows: chunk.rows as u64, out: 0 });
        }
        self.take_symbols(&chunk.table);
        let ask = Ask { first: self.locate(job, number)?, limit: limit.min(marked.unwrap_or(limit)) };
        let passes = marked.is_some().then_some(&self.passes[..]);
        let rows = Rows::of(chunk, wanted, Part::All);
        let seen = match passes {
            None if self.walker.is_tally => tally(&mut self.walker, (chunk, &rows), ask.limit),
            _ => emit(&mut self.walker, plan, (chunk, &rows), ask, passes),
        };
        seen.map_err(|error| match error {
            Error::Corrupt { message, .. } => {
                Error::corrupt("ion", job.position.offset, format!("chunk {number}: {message}"))
            }
            other => other,
        })
    }
}

/// Adds the rows of a chunk where all is about one path of them, see [`super::tally`].
fn tally<A: Accumulator>(
    walker: &mut Walker<A>,
    (chunk, rows): (&Chunk, &Rows<'_>),
    limit: u64,
) -> Result<Seen> {
    let Walker { accumulator: Some(accumulator), slots, .. } = walker else { return Ok(Seen::default()) };
    let some = chunk.rows.min(usize::try_from(limit).unwrap_or(usize::MAX));
    let node = rows.columns.first().map_or(0, |&(node, ..)| node);
    for row in 0..some {
        rows.show(row, slots)?;
        if let Some(value) = &slots[node] {
            accumulator.add_value(&rows.data, &chunk.table, value)?;
        }
        accumulator.add_row();
    }
    Ok(Seen { rows: some as u64, out: some as u64 })
}

/// Adds the rows of a chunk; those that passed, if that is known.
fn emit<A: Accumulator>(
    walker: &mut Walker<A>,
    plan: &Plan,
    (chunk, rows): (&Chunk, &Rows<'_>),
    ask: Ask,
    passes: Option<&[bool]>,
) -> Result<Seen> {
    let mut seen = Seen::default();
    walker.begin(plan);
    for row in 0..chunk.rows {
        seen.rows += 1;
        if passes.is_some_and(|passes| passes.get(row) != Some(&true)) {
            continue;
        }
        rows.show(row, &mut walker.slots)?;
        if passes.is_some() || walker.admits(plan, &rows.data, &chunk.table)? {
            let number = ask.first + row as i64;
            seen.out += walker.emit(plan, &rows.data, &chunk.table, number, ask.limit - seen.out)?;
        }
        if seen.out >= ask.limit {
            break;
        }
    }
    Ok(seen)
}
