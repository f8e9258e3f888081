//! One walk through each row, to the places that are asked for.
#![allow(
    clippy::inline_always,
    reason = "fields that pass through memory between calls cost more than the calls"
)]

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::ArrowError;

use super::accumulator::Accumulator;
use super::column::{Column, Scene, Tools};
use super::origin::Origin;
use super::plan::{Inside, Letter, Plan};
use super::predicate;
use super::request::Request;
use super::tally::{self, Tally};
use crate::error::{Error, Result};
use crate::ion::SymbolTable;
use crate::value::{Fields, Items, Value, bits};

/// A batch with so many bytes of text is full.
const FULL_BYTES: usize = 16 << 20;

/// The node of a symbol that is not asked for.
const NOWHERE: usize = usize::MAX;

/// Turns rows into columns, or puts them into an accumulator.
pub(super) struct Walker<A> {
    plan: Arc<Plan>,
    batch_rows: usize,
    /// For each node the symbols of its fields, ascending.
    targets: Vec<Vec<(u64, usize)>>,
    /// For each symbol the node of a top-level field.
    tops: Vec<usize>,
    /// For each node what the row at hand has there.
    pub(super) slots: Vec<Option<Value>>,
    /// For each level the name of the field that it stands at.
    labels: Vec<u64>,
    columns: Vec<Column>,
    pub(super) accumulator: Option<A>,
    /// Where the chunk at hand comes from, if a lane tells it.
    pub(super) origin: Option<Origin>,
    /// Whether [`Walker::tally`] does it all.
    pub(super) is_tally: bool,
    tools: Tools,
    /// Rows of the batch at hand.
    rows: usize,
    full: Vec<RecordBatch>,
}

impl<A: Accumulator> Walker<A> {
    pub(super) fn new(request: &Request, accumulator: Option<A>) -> Self {
        let plan = Arc::clone(&request.plan);
        let is_tally = accumulator.as_ref().is_some_and(|accumulator| tally::is_enough(&plan, accumulator));
        Self {
            is_tally,
            batch_rows: request.batch_rows.max(1),
            origin: None,
            targets: plan.nodes.iter().map(|_| Vec::new()).collect(),
            tops: Vec::new(),
            slots: vec![None; plan.nodes.len()],
            labels: vec![0; plan.levels.len()],
            columns: plan.columns.iter().map(|column| Column::new(column.letter)).collect(),
            accumulator,
            tools: Tools::default(),
            rows: 0,
            full: Vec::new(),
            plan,
        }
    }

    /// Takes over the table in force, either a new one or the one before with symbols added.
    pub(super) fn sync(&mut self, table: &SymbolTable, is_new: bool) {
        if self.plan.columns.iter().any(|column| column.letter == Letter::Json) {
            self.tools.printer.sync(table, is_new);
        }
        if let Some(accumulator) = &mut self.accumulator {
            accumulator.sync(is_new);
        }
        for (node, targets) in self.plan.nodes.iter().zip(&mut self.targets) {
            targets.clear();
            for (name, child) in &node.fields {
                targets.extend(table.ids(name.as_bytes()).into_iter().map(|id| (u64::from(id), *child)));
            }
            targets.sort_unstable();
        }
        self.tops.clear();
        self.tops.resize(table.max_id() as usize, NOWHERE);
        for &(id, child) in self.targets.first().into_iter().flatten() {
            if let Some(top) = self.tops.get_mut(id as usize) {
                *top = child;
            }
        }
    }

    /// What takes the fields of rows, of which at most `left` come, if all is about one path of them.
    pub(super) fn tally<'a>(&'a mut self, table: &'a SymbolTable, left: u64) -> Option<Tally<'a, A>> {
        let steps = self.targets.get(1..self.targets.len() - 1)?;
        let accumulator = self.accumulator.as_mut().filter(|_| self.is_tally)?;
        Some(Tally { accumulator, table, tops: &self.tops, steps, left, rows: 0, is_taken: false })
    }

    /// Starts a row whose fields come one by one, see [`Walker::field`].
    #[inline(always)]
    pub(super) fn begin(&mut self, plan: &Plan) {
        let rows = plan.levels.first().map_or(0, |level| level.nodes.end);
        if let Some(slots) = self.slots.get_mut(..rows) {
            slots.fill(None);
        }
    }

    /// Takes a top-level field of the row at hand.
    #[inline(always)]
    pub(super) fn field(&mut self, plan: &Plan, data: &[u8], id: u32, value: Value) -> Result<()> {
        let Some(&child) = self.tops.get(id as usize) else { return Ok(()) };
        if child == NOWHERE || self.slots[child].is_some() {
            return Ok(());
        }
        Finder { plan, targets: &self.targets, slots: &mut self.slots, data }.find(child, value)
    }

    /// Takes a whole row.
    pub(super) fn whole(&mut self, plan: &Plan, data: &[u8], row: Value) -> Result<()> {
        self.bind(plan, data, 0, row)
    }

    /// Whether the predicate is true of the row at hand.
    #[inline]
    pub(super) fn admits(&self, plan: &Plan, data: &[u8], table: &SymbolTable) -> Result<bool> {
        let row = predicate::Row { data, table, slots: &self.slots };
        plan.predicate.as_ref().map_or(Ok(true), |predicate| Ok(predicate.test(&row)? == Some(true)))
    }

    /// Adds the rows that the one at hand gives, but no more than `limit`; gives their number.
    #[inline(always)]
    pub(super) fn emit(
        &mut self,
        plan: &Plan,
        data: &[u8],
        table: &SymbolTable,
        number: i64,
        limit: u64,
    ) -> Result<u64> {
        let mut emit = Emit { walker: self, plan, data, table, number, left: limit };
        emit.level(1)?;
        Ok(limit - emit.left)
    }

    /// Finds the values of a level below its row, element or field.
    fn bind(&mut self, plan: &Plan, data: &[u8], level: usize, value: Value) -> Result<()> {
        let Some(level) = plan.levels.get(level) else { return Ok(()) };
        let root = level.nodes.start;
        if let Some(slots) = self.slots.get_mut(level.nodes.clone()) {
            slots.fill(None);
        }
        Finder { plan, targets: &self.targets, slots: &mut self.slots, data }.find(root, value)
    }

    /// The batches of the rows that were added since the last time.
    pub(super) fn take(&mut self) -> Result<Vec<RecordBatch>> {
        self.flush()?;
        self.tools.gathered = 0;
        Ok(std::mem::take(&mut self.full))
    }

    /// What the rows that were added since the last time have come to.
    pub(super) fn taken(&mut self) -> Option<A> {
        self.accumulator.as_mut().map(A::take)
    }

    fn flush(&mut self) -> Result<()> {
        if self.rows > 0 && !self.columns.is_empty() {
            let made = self.batch().map_err(|error| Error::argument(format!("no Arrow array: {error}")))?;
            self.full.push(made);
        }
        self.rows = 0;
        self.tools.gathered += std::mem::take(&mut self.tools.weight);
        Ok(())
    }

    fn batch(&mut self) -> Result<RecordBatch, ArrowError> {
        let columns = self.columns.iter_mut().map(Column::finish).collect::<Result<_, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.plan.schema), columns, &options)
    }
}

/// Puts what a row has into the slots of the nodes.
struct Finder<'a> {
    plan: &'a Plan,
    targets: &'a [Vec<(u64, usize)>],
    slots: &'a mut [Option<Value>],
    data: &'a [u8],
}

impl Finder<'_> {
    #[inline(always)]
    fn find(&mut self, node: usize, value: Value) -> Result<()> {
        self.slots[node] = Some(value);
        if self.targets[node].is_empty() && self.plan.nodes[node].items.is_empty() {
            return Ok(());
        }
        self.inside(node)
    }

    /// Finds what is wanted inside the value of a node.
    fn inside(&mut self, node: usize) -> Result<()> {
        let Some(value) = &self.slots[node] else { return Ok(()) };
        let (fields, items) = (value.fields(self.data), value.items(self.data));
        let (plan, targets) = (self.plan, self.targets);
        let wanted = &plan.nodes[node];
        if !targets[node].is_empty() {
            self.fields(&targets[node], wanted.fields.len(), fields)?;
        }
        if !wanted.items.is_empty() {
            self.items(&wanted.items, items)?;
        }
        Ok(())
    }

    /// Goes over the fields of a struct until all that are wanted are found; the first of a name counts.
    fn fields(&mut self, targets: &[(u64, usize)], mut missing: usize, mut fields: Fields<'_>) -> Result<()> {
        let mut next = 0;
        while let Some((label, value)) = fields.step() {
            // Fields are nearly always in ascending order.
            while targets.get(next).is_some_and(|&(id, _)| id < label) {
                next += 1;
            }
            let found = match targets.get(next) {
                Some(&(id, child)) if id == label => Some(child),
                _ => match targets.get(next.wrapping_sub(1)) {
                    Some(&(before, _)) if label <= before => {
                        next = targets.partition_point(|&(id, _)| id < label);
                        targets.get(next).filter(|(id, _)| *id == label).map(|&(_, child)| child)
                    }
                    _ => None,
                },
            };
            let Some(child) = found.filter(|&child| self.slots[child].is_none()) else { continue };
            self.find(child, value)?;
            missing -= 1;
            if missing == 0 {
                return Ok(());
            }
        }
        fields.check()
    }

    /// Goes over the elements of a list up to the last one that is wanted.
    fn items(&mut self, wanted: &[(usize, usize)], items: Items<'_>) -> Result<()> {
        let mut wanted = wanted.iter().peekable();
        for (number, item) in items.enumerate() {
            let item = item?;
            let Some(&&(index, child)) = wanted.peek() else { break };
            if index == number {
                self.find(child, item)?;
                wanted.next();
            }
        }
        Ok(())
    }
}

/// Makes the rows that one row gives.
struct Emit<'a, A> {
    walker: &'a mut Walker<A>,
    plan: &'a Plan,
    data: &'a [u8],
    table: &'a SymbolTable,
    number: i64,
    left: u64,
}

impl<A: Accumulator> Emit<'_, A> {
    /// Goes over all elements of a level, for each over those of the next; adds a row behind the last level.
    #[inline]
    fn level(&mut self, level: usize) -> Result<()> {
        let plan = self.plan;
        match plan.levels.get(level).and_then(|level| level.from) {
            Some((node, inside)) => self.unnest(level, node, inside),
            None => self.put(),
        }
    }

    fn unnest(&mut self, level: usize, node: usize, inside: Inside) -> Result<()> {
        let Some(value) = self.walker.slots[node] else { return Ok(()) };
        let data = self.data;
        match inside {
            Inside::Items => {
                for item in value.items(data) {
                    self.element(level, 0, item?)?;
                }
            }
            Inside::Fields => {
                for field in value.fields(data) {
                    let (label, field) = field?;
                    self.element(level, label, field)?;
                }
            }
        }
        Ok(())
    }

    fn element(&mut self, level: usize, label: u64, value: Value) -> Result<()> {
        if self.left == 0 {
            return Ok(());
        }
        self.walker.labels[level] = label;
        self.walker.bind(self.plan, self.data, level, value)?;
        self.level(level + 1)
    }

    fn put(&mut self) -> Result<()> {
        let Walker { slots, labels, columns, accumulator, tools, origin, .. } = &mut *self.walker;
        if let Some(accumulator) = accumulator {
            self.left -= 1;
            return accumulator.add(self.data, self.table, slots, self.number);
        }
        let mut scene = Scene { data: self.data, table: self.table, tools };
        for (column, wanted) in columns.iter_mut().zip(&self.plan.columns) {
            // By reference: copying what was just stored in parts would have to wait for it.
            let value = slots[wanted.node].as_ref();
            match wanted.letter {
                Letter::Row => column.put_row(self.number),
                Letter::RowInFile | Letter::File => column.put_origin(origin.as_ref(), self.number),
                Letter::Type if wanted.node == 0 => column.put_type(bits::STRUCT),
                Letter::Name => {
                    column.put_name(&mut scene, labels[wanted.level], value.map_or(0, |value| value.at))?;
                }
                _ => column.put(&mut scene, value)?,
            }
        }
        self.left -= 1;
        self.walker.rows += 1;
        if self.walker.rows >= self.walker.batch_rows || self.walker.tools.weight > FULL_BYTES {
            self.walker.flush()?;
        }
        Ok(())
    }
}
