//! Columns that shall stay decoded: which ones a plan needs, and how they are made.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::accumulator::Accumulator;
use super::cache::{CACHE, Column, Path};
use super::plan::Plan;
use crate::block::runs::Job;
use crate::ion::SymbolTable;
use crate::value::Value;

/// The columns that a plan needs of the rows.
pub(super) struct Wanted {
    /// Their nodes.
    pub(super) nodes: Vec<usize>,
    pub(super) paths: Vec<Path>,
    /// Which of them the predicate needs.
    pub(super) tested: Vec<bool>,
    /// Which of them are needed of rows that pass.
    pub(super) shown: Vec<bool>,
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
        let mut all = Self { nodes: Vec::new(), paths: Vec::new(), tested: Vec::new(), shown: Vec::new() };
        for (node, path) in plan.paths().into_iter().enumerate() {
            let (is_tested, is_shown) = (tested.contains(&node), shown.contains(&node));
            if is_tested || is_shown {
                all.nodes.push(node);
                all.paths.push(Path::from(path));
                all.tested.push(is_tested);
                all.shown.push(is_shown);
            }
        }
        (!all.nodes.is_empty()).then_some(all)
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
    pub(super) fn keep(self, (chunk, table): (usize, &Arc<SymbolTable>), rows: usize, filled: &AtomicUsize) {
        let took = self.since.elapsed();
        let made = self.columns.into_iter().zip(&self.wanted.paths);
        let made = made
            .filter(|(draft, _)| draft.ends.len() == rows)
            .map(|(draft, path)| (Arc::clone(path), Column::new(draft.data.into(), draft.ends.into())));
        let bytes = CACHE.put((&self.block, chunk), table, made.collect(), took);
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
    /// Whether a column is not meant.
    pub(super) fn leaves_out(self, is_tested: bool) -> bool {
        self == if is_tested { Self::Others } else { Self::Tested }
    }
}
