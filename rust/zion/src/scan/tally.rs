//! What is found out about one path of all rows: the value of a row is taken where it lies, and nothing is
//! kept of the row.
#![allow(
    clippy::inline_always,
    reason = "fields that pass through memory between calls cost more than the calls"
)]

use super::accumulator::Accumulator;
use super::plan::{Node, Plan};
use crate::bucket::Visit;
use crate::error::Result;
use crate::ion::{Header, SymbolTable};
use crate::value::Value;

/// The node of the top-level field; that of the row is before it.
const TOP: usize = 1;

/// Adds rows whose fields come one by one.
pub(super) struct Tally<'a, A> {
    pub(super) accumulator: &'a mut A,
    pub(super) table: &'a SymbolTable,
    /// For each symbol the node of a top-level field.
    pub(super) tops: &'a [usize],
    /// For each node above that of the path the symbols of the next one.
    pub(super) steps: &'a [Vec<(u64, usize)>],
    /// Rows that may still come.
    pub(super) left: u64,
    pub(super) rows: u64,
    /// Whether the row at hand has had the top-level field: the first one counts.
    pub(super) is_taken: bool,
}

/// Whether all that is asked for is about one path of fields, and of every row.
pub(super) fn is_enough(plan: &Plan, accumulator: &impl Accumulator) -> bool {
    let last = plan.nodes.len() - 1;
    let leads_on = |(at, node): (usize, &Node)| {
        node.items.is_empty() && node.fields.iter().map(|(_, child)| *child).eq((at < last).then_some(at + 1))
    };
    last >= TOP
        && plan.levels.len() == 1
        && plan.predicate.is_none()
        && plan.nodes.iter().enumerate().all(leads_on)
        && accumulator.is_about(last)
}

impl<A> Tally<'_, A> {
    /// The value of the path below that of its first field.
    #[inline(always)]
    fn find(&self, data: &[u8], mut value: Value) -> Result<Option<Value>> {
        'step: for step in self.steps {
            let mut fields = value.fields(data);
            while let Some((label, inner)) = fields.step() {
                if step.iter().any(|(id, _)| *id == label) {
                    value = inner;
                    continue 'step;
                }
            }
            return if step.is_empty() { Ok(None) } else { fields.check().map(|()| None) };
        }
        Ok(Some(value))
    }
}

impl<A: Accumulator> Visit for Tally<'_, A> {
    #[inline(always)]
    fn field(&mut self, data: &[u8], id: u32, at: usize, header: Header) -> Result<()> {
        if self.is_taken || self.tops.get(id as usize) != Some(&TOP) || header.is_pad() {
            return Ok(());
        }
        self.is_taken = true;
        match self.find(data, Value { at, header })? {
            Some(value) => self.accumulator.add_value(data, self.table, &value),
            None => Ok(()),
        }
    }

    #[inline(always)]
    fn row(&mut self, _: &[u8]) -> Result<bool> {
        self.is_taken = false;
        self.accumulator.add_row();
        self.rows += 1;
        Ok(self.rows < self.left)
    }
}
