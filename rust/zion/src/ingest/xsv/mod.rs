//! CSV and TSV text to rows.
//!
//! With hints (`docs/inputs.md`) each column has a name, a type and rules for missing values.
//! Without hints the first record names the columns: names are taken as they are (dots do not nest, a second
//! `name` becomes `name_2`, a nameless column `column_3`, and so do fields beyond the header), empty fields
//! are missing, and each value is what it looks like: a number as JSON writes it, `true` or `false`, a
//! timestamp, else a string. The separator of a CSV file is then a comma, unless its first record has none
//! outside of quotes and has semicolons, tabs or vertical bars.

pub(super) mod convert;
mod csv;
mod hints;
mod record;
mod rows;
mod tsv;

use std::sync::{Arc, OnceLock};

use crate::chunk::Stream;
use crate::error::{Error, Result};
use crate::ingest::lines::Lines;
use crate::ingest::{Constants, OnError, PartContext, PartParser, Rejects, Splitter};
use hints::{Column, Hints, MAX_COLUMNS};
use record::Record;
use rows::Writer;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// How records are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Separators and quotes.
    Csv,
    /// Tabs and backslashes.
    Tsv,
}

/// What is known of a CSV or TSV input; shared by its splitter and its parsers.
#[derive(Debug)]
pub struct Xsv {
    kind: Kind,
    hints: Option<Hints>,
    header: OnceLock<Header>,
}

/// What the first record of a file without hints says.
#[derive(Debug, Clone)]
struct Header {
    separator: u8,
    columns: Vec<Column>,
}

impl Xsv {
    /// An input with the given hints, or with a header row. Each input needs its own.
    pub fn new(kind: Kind, hints: Option<&[u8]>) -> Result<Arc<Self>> {
        let hints = hints.map(Hints::parse).transpose()?;
        if kind == Kind::Tsv
            && hints.as_ref().is_some_and(|hints| !matches!(hints.separator, None | Some(b'\t')))
        {
            return Err(Error::argument("hints: the separator of TSV is the tab, another one needs CSV"));
        }
        Ok(Arc::new(Self { kind, hints, header: OnceLock::new() }))
    }

    /// The same input, of which nothing was read yet.
    pub fn anew(&self) -> Arc<Self> {
        Arc::new(Self { kind: self.kind, hints: self.hints.clone(), header: OnceLock::new() })
    }

    /// Cuts the text between records.
    pub fn splitter(self: &Arc<Self>) -> XsvSplitter {
        XsvSplitter {
            xsv: Arc::clone(self),
            ends: csv::Ends::default(),
            position: 0,
            to_skip: self.hints.as_ref().map_or(0, |hints| hints.skip_records),
            begun: false,
            next: 0,
        }
    }

    /// A parser for parts of the text; one for each worker.
    pub fn parser(self: &Arc<Self>, constants: Arc<Constants>, on_error: OnError) -> XsvParser {
        XsvParser { xsv: Arc::clone(self), constants, on_error, base: None, record: Record::default() }
    }

    fn separator(&self, text: &[u8]) -> u8 {
        match (self.kind, &self.hints, self.header.get()) {
            (Kind::Tsv, ..) => b'\t',
            (Kind::Csv, Some(hints), _) => hints.separator.unwrap_or(b','),
            (Kind::Csv, None, Some(header)) => header.separator,
            (Kind::Csv, None, None) => {
                csv::likely_separator(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text))
            }
        }
    }

    /// The next record; gives the place behind it and whether it is well-formed.
    #[inline]
    fn read(
        &self,
        text: &[u8],
        at: usize,
        separator: u8,
        record: &mut Record,
    ) -> Option<(usize, Result<()>)> {
        match self.kind {
            Kind::Csv => {
                let exact = self.hints.is_none();
                csv::read(text, at, csv::Dialect { separator, exact }, record)
            }
            Kind::Tsv => tsv::read(text, at, record),
        }
    }

    /// Refuses an input whose first record, from `at` to `end`, has carriage returns alone for line ends: all
    /// of it would be one record.
    fn check_line_ends(&self, text: &[u8], at: usize, end: usize) -> Result<()> {
        let found = csv::lone_return(&text[at..], end - at, self.kind == Kind::Csv);
        found.map_or(Ok(()), |found| {
            let message = "lines that end with a carriage return alone; make them line feeds: tr '\\r' '\\n'";
            Err(Error::syntax(at + found, message).at_line(1))
        })
    }

    /// Takes the header at the start of the input; gives the place behind it, or None when there are only
    /// empty lines.
    fn take_header(&self, text: &[u8], separator: u8) -> Result<Option<usize>> {
        let mut record = Record::default();
        let unmarked = |at: usize| match text.get(at..) {
            Some(rest) if rest.starts_with(BYTE_ORDER_MARK) => at + BYTE_ORDER_MARK.len(),
            _ => at,
        };
        let mut at = unmarked(0);
        while let Some((next, read)) = self.read(text, at, separator, &mut record) {
            self.check_line_ends(text, at, next)?;
            read.map_err(|error| error.at_line(1))?;
            if record.len() > 1 || record.field(text, 0) != Some(b"") {
                let names = (0..record.len()).map(|index| record.field(text, index).unwrap_or_default());
                let columns = hints::columns_of_header(names).map_err(|error| error.shifted(at as u64))?;
                self.header.get_or_init(|| Header { separator, columns });
                return Ok(Some(next));
            }
            at = unmarked(next);
        }
        Ok(None)
    }
}

/// Cuts between records.
#[derive(Debug)]
pub struct XsvSplitter {
    xsv: Arc<Xsv>,
    ends: csv::Ends,
    position: usize,
    /// Records at the start that are still to be skipped.
    to_skip: u64,
    /// Whether the header, if there is one, was met.
    begun: bool,
    next: u64,
}

impl Splitter for XsvSplitter {
    fn cut(&mut self, text: &[u8], min: usize) -> Result<Option<usize>> {
        let separator = self.xsv.separator(text);
        let end = match self.xsv.kind {
            Kind::Csv => {
                let Some(start) = self.start(text) else { return Ok(None) };
                let end = self.ends.find(&text[start..], min.saturating_sub(start), separator);
                end.map(|end| start + end)
            }
            Kind::Tsv => {
                let from = self.position.max(min.saturating_sub(1)).min(text.len());
                self.position = text.len();
                memchr::memchr(b'\n', &text[from..]).map(|at| from + at + 1)
            }
        };
        let Some(end) = end else { return Ok(None) };
        if self.xsv.hints.is_none() {
            self.begun = self.begun || self.xsv.take_header(&text[..end], separator)?.is_some();
            self.next = u64::from(self.begun);
        } else {
            self.skip(&text[..end], separator);
            self.next = 1 + self.to_skip;
        }
        Ok(Some(end))
    }

    fn next_part(&mut self) -> u64 {
        self.ends = csv::Ends::default();
        self.position = 0;
        self.next
    }
}

impl XsvSplitter {
    /// Where the first field starts, if the text goes that far: a byte order mark may stand before a header.
    fn start(&self, text: &[u8]) -> Option<usize> {
        let has_header = self.xsv.hints.is_none() && self.next == 0;
        match (has_header, text.starts_with(BYTE_ORDER_MARK)) {
            (true, true) => Some(BYTE_ORDER_MARK.len()),
            (true, false) if text.len() < BYTE_ORDER_MARK.len() => None,
            _ => Some(0),
        }
    }

    fn skip(&mut self, text: &[u8], separator: u8) {
        let (mut record, mut at) = (Record::default(), 0);
        while self.to_skip > 0
            && let Some((next, _)) = self.xsv.read(text, at, separator, &mut record)
        {
            at = next;
            self.to_skip -= 1;
        }
    }
}

/// Parses parts of CSV or TSV text.
#[derive(Debug)]
pub struct XsvParser {
    xsv: Arc<Xsv>,
    constants: Arc<Constants>,
    on_error: OnError,
    /// A writer for the columns that all parts have.
    base: Option<Writer>,
    record: Record,
}

impl PartParser for XsvParser {
    fn parse(
        &mut self,
        text: &[u8],
        context: PartContext,
        stream: &mut Stream,
        rejected: &mut Rejects,
    ) -> Result<()> {
        let (mut at, mut to_skip) = (0, context.start.saturating_sub(1));
        match &self.xsv.hints {
            Some(hints) if context.start == 0 => to_skip = hints.skip_records,
            None if context.start == 0 => match self.xsv.take_header(text, self.xsv.separator(text))? {
                Some(behind) => at = behind,
                None => return Ok(()),
            },
            _ => {}
        }
        let separator = self.xsv.separator(text);
        if context.start == 0
            && self.xsv.hints.is_some()
            // A part may consist of empty lines alone.
            && !matches!(text, [b'\n', ..] | [b'\r', b'\n', ..])
            && let Some((end, _)) = self.xsv.read(text, 0, separator, &mut self.record)
        {
            self.xsv.check_line_ends(text, 0, end)?;
        }
        let mut writer = self.writer();
        let mut lines = Lines::default();
        while let Some((next, read)) = self.xsv.read(text, at, separator, &mut self.record) {
            if to_skip > 0 && (read.is_ok() || self.xsv.kind == Kind::Tsv) {
                to_skip -= 1;
            } else if let Err(error) = read.and_then(|()| self.row(&mut writer, text, at, stream)) {
                let place = if let Error::Syntax { offset, .. } = error { offset as usize } else { at };
                let error = error.at_line(lines.number(text, place.max(at)));
                if self.on_error == OnError::Fail {
                    return Err(error);
                }
                rejected.push(&error, text, at..next);
            }
            at = next;
        }
        Ok(())
    }
}

impl XsvParser {
    /// A writer that knows nothing of parts parsed before, so that the output does not depend on them.
    fn writer(&mut self) -> Writer {
        let base = self.base.get_or_insert_with(|| {
            let columns = match (&self.xsv.hints, self.xsv.header.get()) {
                (Some(hints), _) => hints.columns.clone(),
                (None, header) => header.map_or(vec![], |header| header.columns.clone()),
            };
            Writer::new(&self.constants, columns)
        });
        base.clone()
    }

    fn row(&mut self, writer: &mut Writer, text: &[u8], at: usize, stream: &mut Stream) -> Result<()> {
        if self.xsv.hints.is_none() && self.record.len() > writer.columns().len() {
            if self.record.len() > MAX_COLUMNS {
                return Err(Error::too_large(at, format!("a record of more than {MAX_COLUMNS} fields")));
            }
            while writer.columns().len() < self.record.len() {
                writer.add_column(hints::extra_column(writer.columns()));
            }
        }
        let Self { constants, record, .. } = self;
        let result = stream.add_row(|row| {
            writer.write(row, constants, record, text);
            Ok(())
        });
        result.map_err(|error| match error {
            Error::TooLarge { message, .. } => Error::too_large(at, message),
            other => other,
        })
    }
}
