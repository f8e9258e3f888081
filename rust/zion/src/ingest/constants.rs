//! Fields that rows of an input get beside their own.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::chunk::Row;
use crate::chunk::paths::{Cursor, NodeId};
use crate::ion::{kind, timestamp, varuint};

/// Names and canonical Ion values without symbols.
pub type Fields = Vec<(Box<[u8]>, Vec<u8>)>;

/// Fields with the same value in every row.
#[derive(Debug, Default)]
pub struct Constants {
    /// In the order in which rows get them.
    pub fields: Fields,
    /// The same for fields that only those rows get that have none of the name.
    pub defaults: Fields,
    /// Whether a row had a field of its own where there is a default.
    pub is_overridden: AtomicBool,
}

impl Constants {
    /// The same with other defaults.
    #[must_use]
    pub fn with_defaults(&self, defaults: Fields) -> Self {
        Self { fields: self.fields.clone(), defaults, is_overridden: AtomicBool::new(false) }
    }

    /// Appends the defaults that a row lacks, behind its other fields, and tells `add` the symbol and start of each.
    #[inline]
    pub(in crate::ingest) fn put_defaults(
        &self,
        row: &mut Row,
        names: &mut Cursor,
        mut add: impl FnMut(u32, usize),
    ) {
        for (name, value) in &self.defaults {
            let field = row.paths.field(names, name, row.symbols);
            if field.repeated {
                self.override_default();
                continue;
            }
            add(field.symbol, row.out.len());
            varuint::put(row.out, u64::from(field.symbol));
            put_default(row, field.node, value);
        }
    }

    /// Notes that a row has a field of its own where there is a default.
    pub(in crate::ingest) fn override_default(&self) {
        if !self.is_overridden.load(Ordering::Relaxed) {
            self.is_overridden.store(true, Ordering::Relaxed);
        }
    }
}

/// Appends the value of a default, and notes what it is.
pub(super) fn put_default(row: &mut Row, node: NodeId, value: &[u8]) {
    row.out.extend_from_slice(value);
    let seen = value.first().map_or(kind::NULL, |first| first >> 4);
    if seen == kind::TIMESTAMP
        && let Ok(us) = timestamp::read(&value[1..], 0)
    {
        row.paths.time(node, us);
    }
    row.paths.saw(node, seen);
}
