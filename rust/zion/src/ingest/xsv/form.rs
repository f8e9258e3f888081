//! How the records of an input are written, and how its values are read.

use std::sync::{Arc, OnceLock};

use super::options::Options;
use super::record::Record;
use super::{csv, tsv};
use crate::error::{Error, Result};
use crate::times::Times;

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// How records are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Separators and quotes.
    Csv,
    /// Tabs and backslashes.
    Tsv,
}

/// What is known of an input before anything of it is read.
#[derive(Debug, Clone)]
pub(super) struct Form {
    pub kind: Kind,
    pub options: Options,
    /// Whether there are no hints, with which CSV is read as the original does.
    pub is_exact: bool,
    /// How times are read.
    pub times: OnceLock<Arc<Times>>,
}

impl Form {
    pub(super) fn times(&self) -> &Times {
        self.times.get_or_init(Arc::default)
    }

    /// The next record; gives the place behind it and whether it is well-formed.
    #[inline]
    pub(super) fn read(
        &self,
        text: &[u8],
        at: usize,
        separator: u8,
        record: &mut Record,
    ) -> Option<(usize, Result<()>)> {
        match self.kind {
            Kind::Csv => {
                let exact = self.is_exact;
                csv::read(text, at, csv::Dialect { separator, exact }, record)
            }
            // W3C logs are taken for TSV by their names, and have spaces.
            Kind::Tsv if separator != b'\t' => {
                csv::read(text, at, csv::Dialect { separator, exact: true }, record)
            }
            Kind::Tsv => tsv::read(text, at, record),
        }
    }

    /// Refuses an input whose first record, from `at` to `end`, has carriage returns alone for line ends: all
    /// of it would be one record.
    pub(super) fn check_line_ends(&self, text: &[u8], at: usize, end: usize) -> Result<()> {
        let found = csv::lone_return(&text[at..], end - at, self.kind == Kind::Csv);
        found.map_or(Ok(()), |found| {
            let message = "lines that end with a carriage return alone; make them line feeds: tr '\\r' '\\n'";
            Err(Error::syntax(at + found, message).at_line(1))
        })
    }
}
