//! How many of the rows that come out have no value at some places: what asks for it leaves such rows out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::plan::Plan;
use crate::error::{Error, Result};
use crate::value::Value;

/// Counts of all threads together.
#[derive(Debug, Clone, Default)]
pub struct Watch {
    nodes: Arc<[usize]>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    rows: AtomicU64,
    without: Box<[AtomicU64]>,
}

impl Watch {
    /// Watches lanes of the rows themselves, not of what they are unnested into.
    pub fn new(plan: &Plan, lanes: &[usize]) -> Result<Self> {
        let node = |&lane: &usize| match plan.columns.get(lane) {
            Some(column) if column.level == 0 => Ok(column.node),
            _ => Err(Error::argument(format!("there is no lane {lane} of rows"))),
        };
        let nodes = lanes.iter().map(node).collect::<Result<Arc<_>>>()?;
        let without = nodes.iter().map(|_| AtomicU64::new(0)).collect();
        Ok(Self { nodes, counts: Arc::new(Counts { rows: AtomicU64::new(0), without }) })
    }

    /// The number of rows so far, and for each lane of those without a value.
    pub fn counts(&self) -> (u64, Vec<u64>) {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (read(&self.counts.rows), self.counts.without.iter().map(read).collect())
    }

    /// The counts of one thread.
    pub(super) fn share(&self) -> Share {
        Share { watch: self.clone(), rows: 0, without: vec![0; self.nodes.len()] }
    }
}

/// What one thread has counted and not yet told.
pub(super) struct Share {
    watch: Watch,
    rows: u64,
    without: Vec<u64>,
}

impl Share {
    /// Counts a row.
    #[inline]
    pub(super) fn add(&mut self, slots: &[Option<Value>]) {
        if self.without.is_empty() {
            return;
        }
        self.rows += 1;
        for (&node, count) in self.watch.nodes.iter().zip(&mut self.without) {
            *count += u64::from(slots.get(node).is_none_or(Option::is_none));
        }
    }

    /// Tells what was counted since the last time.
    pub(super) fn tell(&mut self) {
        let counts = &self.watch.counts;
        counts.rows.fetch_add(std::mem::take(&mut self.rows), Ordering::Relaxed);
        for (total, count) in counts.without.iter().zip(&mut self.without) {
            total.fetch_add(std::mem::take(count), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::{Inside, Lane, Letter, Step, Unnest};
    use super::*;
    use crate::ion;

    fn lane(level: usize, name: &str) -> Lane {
        Lane { level, path: vec![Step::Field(name.into())], letter: Letter::Type }
    }

    #[test]
    fn shares_add_up() -> Result<()> {
        let plan = Plan::new(&[], &[lane(0, "a"), lane(0, "b")], None)?;
        let watch = Watch::new(&plan, &[1])?;
        let null = Some(Value { at: 0, header: ion::header(b"\x0f", 0)? });
        let mut shares = [watch.share(), watch.share()];
        for share in &mut shares {
            share.add(&[None, None, null]);
            share.add(&[None, null, None]);
            share.add(&[null, null, None]);
            share.tell();
            share.tell();
        }
        assert_eq!(watch.counts(), (6, vec![4]));
        Ok(())
    }

    #[test]
    fn only_rows_are_watched() -> Result<()> {
        let unnest = Unnest { level: 0, path: vec![Step::Field("l".into())], inside: Inside::Items };
        let plan = Plan::new(&[unnest], &[lane(0, "a"), lane(1, "b")], None)?;
        assert!(Watch::new(&plan, &[0]).is_ok());
        assert!(Watch::new(&plan, &[1]).is_err());
        assert!(Watch::new(&plan, &[2]).is_err());
        Ok(())
    }
}
