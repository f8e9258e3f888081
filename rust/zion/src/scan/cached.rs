//! Rows from columns that stay decoded, and columns that shall stay.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::accumulator::Accumulator;
use super::cache::{CACHE, Chunk, Column, Path};
use super::plan::Plan;
use super::walk::Walker;
use super::worker::{Ask, Seen, Worker};
use crate::block::OpenChunk;
use crate::block::runs::Job;
use crate::error::{Error, Result};
use crate::ion::{self, SymbolTable};
use crate::value::Value;

/// The columns that a plan needs of the rows.
pub(super) struct Wanted {
    /// Their nodes.
    nodes: Vec<usize>,
    paths: Vec<Path>,
    /// Which of them the predicate needs.
    tested: Vec<bool>,
}

impl Wanted {
    /// Those of a plan and an accumulator; none if whole rows are needed, or nothing of them.
    pub(super) fn new(plan: &Plan, accumulator: Option<&impl Accumulator>) -> Option<Self> {
        plan.fields.as_ref().filter(|fields| !fields.is_empty())?;
        let (mut shown, mut tested) = (plan.shown(), Vec::new());
        if let Some(accumulator) = accumulator {
            accumulator.each_filtered(&mut |node| shown.push(node));
        }
        if let Some(predicate) = &plan.predicate {
            predicate.each(&mut |&node| tested.push(node));
        }
        let found = plan.paths().into_iter().enumerate().filter_map(|(node, path)| {
            let is_tested = tested.contains(&node);
            (is_tested || shown.contains(&node)).then(|| (node, Path::from(path), is_tested))
        });
        let (mut nodes, mut paths, mut marks) = (Vec::new(), Vec::new(), Vec::new());
        for (node, path, is_tested) in found {
            nodes.push(node);
            paths.push(path);
            marks.push(is_tested);
        }
        (!nodes.is_empty()).then_some(Self { nodes, paths, tested: marks })
    }
}

/// A column in the making.
#[derive(Default)]
struct Draft {
    data: Vec<u8>,
    ends: Vec<u32>,
}

/// Columns in the making, of one chunk.
pub(super) struct Drafts {
    block: Arc<[u8]>,
    wanted: Arc<Wanted>,
    columns: Vec<Draft>,
    since: Instant,
}

impl Drafts {
    /// Columns of a chunk of the block of a job, if they are to stay.
    pub(super) fn new(wanted: Option<&Arc<Wanted>>, filled: &AtomicUsize, job: &Job) -> Option<Self> {
        let wanted = Arc::clone(wanted?);
        let block = Arc::clone(job.block.identity().filter(|_| job.form.verify)?);
        if filled.load(Ordering::Relaxed) >= CACHE.share() {
            return None;
        }
        let columns = wanted.nodes.iter().map(|_| Draft::default()).collect();
        Some(Self { block, wanted, columns, since: Instant::now() })
    }

    /// Adds what the row at hand has at the nodes that the predicate needs, or at the others; all are needed where
    /// nothing was tested before.
    #[inline]
    pub(super) fn add(&mut self, data: &[u8], slots: &[Option<Value>], of: Part) {
        for ((draft, &node), &is_tested) in
            self.columns.iter_mut().zip(&self.wanted.nodes).zip(&self.wanted.tested)
        {
            if of.leaves_out(is_tested) {
                continue;
            }
            if let Some(value) = &slots[node] {
                draft.data.extend_from_slice(&data[value.at..value.header.end]);
            }
            draft.ends.push(draft.data.len() as u32);
        }
    }

    /// Lets the columns stay of which all `rows` rows were added.
    pub(super) fn keep(self, chunk: &OpenChunk, rows: usize, filled: &AtomicUsize) {
        let took = self.since.elapsed();
        let made = self.columns.into_iter().zip(&self.wanted.paths);
        let made = made.filter(|(draft, _)| draft.ends.len() == rows).map(|(draft, path)| {
            (Arc::clone(path), Column { data: draft.data.into(), ends: draft.ends.into() })
        });
        let bytes = CACHE.put((&self.block, chunk.number), &chunk.table, made.collect(), took);
        filled.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// The columns that are meant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    All,
    Tested,
    Others,
}

impl Part {
    fn leaves_out(self, is_tested: bool) -> bool {
        self == if is_tested { Self::Others } else { Self::Tested }
    }
}

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
        if chunk.columns.iter().any(Option::is_none) {
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
