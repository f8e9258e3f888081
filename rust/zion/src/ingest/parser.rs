//! What packing asks of a format: to cut a text into parts, and to make rows of a part.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Rejects;
use crate::chunk::paths::{Cursor, NodeId};
use crate::chunk::{Row, Stream};
use crate::error::Result;
use crate::ion::{kind, timestamp, varuint};

/// Finds where a part may end. Sequential; keeps its progress, so that a text is followed only once.
pub trait Splitter: Send + Sync {
    /// `text` starts where the part does. The first record boundary at or after `min`, if the text goes that
    /// far; else call again with the same text grown.
    fn cut(&mut self, text: &[u8], min: usize) -> Result<Option<usize>>;

    /// The part was taken and the next one starts where it ended; gives what its parser must know of the
    /// place. The first part has 0.
    fn next_part(&mut self) -> u64;
}

/// What a parser must know of a part besides its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartContext {
    /// What [`Splitter::next_part`] said of the place where the part starts.
    pub start: u64,
    /// Whether the input ends with the part.
    pub last: bool,
}

/// What to do with a record that is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// The whole input fails.
    Fail,
    /// Its line is passed over and reported.
    Skip,
}

/// Turns the text of parts into rows. Every worker has its own.
pub trait PartParser: Send {
    /// Adds all records of `text` to `stream`. Offsets in errors are those in `text`, lines are counted from 1.
    fn parse(
        &mut self,
        text: &[u8],
        context: PartContext,
        stream: &mut Stream,
        rejected: &mut Rejects,
    ) -> Result<()>;

    /// Adds the records at the front of `text` that are whole, as far as can be told without what follows:
    /// none of them unless the format is one for files that the threads read by themselves.
    fn whole(&mut self, _text: &[u8], _stream: &mut Stream) -> Result<Whole> {
        Ok(Whole::default())
    }
}

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
    pub(super) fn put_defaults(&self, row: &mut Row, names: &mut Cursor, mut add: impl FnMut(u32, usize)) {
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
    pub(super) fn override_default(&self) {
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

/// The records at the front of a text that are whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Whole {
    /// Up to where the text was taken: the end of the last record, or of the white space at the end.
    pub end: usize,
    /// The last record.
    pub last: Option<Range<usize>>,
}
