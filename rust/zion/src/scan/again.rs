//! Rows from columns that have stayed decoded.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::accumulator::Accumulator;
use super::cache::{CACHE, Chunk, Column};
use super::cached::Wanted;
use super::plan::Plan;
use super::truths;
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
    /// Those that are needed of rows that pass.
    fn of(chunk: &'a Chunk, wanted: &Wanted) -> Self {
        let mut rows = Self { data: Vec::new(), columns: Vec::new() };
        for ((column, &node), &is_shown) in chunk.columns.iter().zip(&wanted.nodes).zip(&wanted.shown) {
            if let Some(column) = column.as_ref().filter(|_| is_shown) {
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
        let Some(predicate) = plan.predicate.as_ref() else { return Ok(false) };
        if chunk.columns.iter().zip(&wanted.tested).any(lacks) {
            return Ok(false);
        }
        truths::mark(predicate, chunk, wanted, &mut self.passes)?;
        Ok(!self.passes.contains(&true))
    }

    /// Whether what is known of the columns of a chunk rules out that a row passes.
    fn is_excluded(plan: &Plan, wanted: &Wanted, chunk: &Chunk) -> bool {
        let extremes = |node: usize| truths::column(chunk, wanted, node)?.extremes();
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
        self.add_again(plan, wanted, chunk, ask, marked.is_some()).map_err(|error| match error {
            Error::Corrupt { message, .. } => {
                Error::corrupt("ion", job.position.offset, format!("chunk {number}: {message}"))
            }
            other => other,
        })
    }

    /// Adds the rows of a chunk that pass the predicate, or those that are marked.
    fn add_again(
        &mut self,
        plan: &Plan,
        wanted: &Wanted,
        chunk: &Chunk,
        ask: Ask,
        is_marked: bool,
    ) -> Result<Seen> {
        if let Some(predicate) = plan.predicate.as_ref().filter(|_| !is_marked) {
            truths::mark(predicate, chunk, wanted, &mut self.passes)?;
        } else if !is_marked {
            self.passes.clear();
            self.passes.resize(chunk.rows, true);
        }
        let mut shown = wanted.nodes.iter().zip(&wanted.shown).filter(|(_, is_shown)| **is_shown);
        let node = shown.next().map_or(0, |(&node, _)| node);
        let is_one = shown.next().is_none() && plan.levels.len() == 1;
        let passes = &self.passes[..];
        match &mut self.walker.accumulator {
            Some(accumulator) if is_one && accumulator.is_about(node) => {
                tally(accumulator, truths::column(chunk, wanted, node), chunk, passes, ask.limit)
            }
            _ => emit(&mut self.walker, plan, (chunk, &Rows::of(chunk, wanted)), ask, passes),
        }
    }
}

/// Adds the rows of a chunk that passed where all is about one path of them, see [`super::tally`].
fn tally<A: Accumulator>(
    accumulator: &mut A,
    column: Option<&Column>,
    chunk: &Chunk,
    passes: &[bool],
    limit: u64,
) -> Result<Seen> {
    let mut seen = Seen::default();
    let mut start = 0;
    for (row, &passes) in passes.iter().enumerate() {
        let end = column.map_or(0, |column| column.ends[row] as usize);
        let range = std::mem::replace(&mut start, end)..end;
        seen.rows += 1;
        if !passes {
            continue;
        }
        if let Some(column) = column
            && let Some(value) = column.value_in(range)?
        {
            accumulator.add_value(&column.data, &chunk.table, &value)?;
        }
        accumulator.add_row();
        seen.out += 1;
        if seen.out >= limit {
            break;
        }
    }
    Ok(seen)
}

/// Adds the rows of a chunk that passed.
fn emit<A: Accumulator>(
    walker: &mut Walker<A>,
    plan: &Plan,
    (chunk, rows): (&Chunk, &Rows<'_>),
    ask: Ask,
    passes: &[bool],
) -> Result<Seen> {
    let mut seen = Seen::default();
    walker.begin(plan);
    for row in 0..chunk.rows {
        seen.rows += 1;
        if passes.get(row) != Some(&true) {
            continue;
        }
        rows.show(row, &mut walker.slots)?;
        let number = ask.first + row as i64;
        seen.out += walker.emit(plan, &rows.data, &chunk.table, number, ask.limit - seen.out)?;
        if seen.out >= ask.limit {
            break;
        }
    }
    Ok(seen)
}
