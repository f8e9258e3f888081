//! CSV and TSV text to rows.
//!
//! With hints (`docs/inputs.md`) each column has a name, a type and rules for missing values.
//! Without hints the first record names the columns, unless it has a number or a time (`head.rs`): names are
//! taken as they are (dots do not nest, a second `name` becomes `name_2`, a nameless column `column_3`, and so
//! do fields beyond the header), empty fields are missing, and each column has the type that its first values
//! all have (`typing.rs`). The separator of a CSV file is then a comma, unless its first record has none
//! outside of quotes and has semicolons, tabs or vertical bars.

pub(super) mod convert;
mod csv;
mod form;
mod head;
mod hints;
mod options;
mod record;
mod rows;
mod tsv;

use std::sync::{Arc, OnceLock};

use crate::chunk::Stream;
use crate::error::{Error, Result};
use crate::ingest::lines::Lines;
use crate::ingest::typing::{self, ColumnNote};
use crate::ingest::{Constants, OnError, PartContext, PartParser, Rejects, Splitter};
use crate::times::Times;
use convert::Convert;
use form::{BYTE_ORDER_MARK, Form};
use head::Head;
use hints::{Hints, MAX_COLUMNS};
use options::Options;
use record::Record;
use rows::Writer;

pub use form::Kind;

/// What is known of a CSV or TSV input; shared by its splitter and its parsers.
#[derive(Debug)]
pub struct Xsv {
    form: Form,
    hints: Option<Hints>,
    /// What the start says, where there are no hints.
    head: OnceLock<Head>,
}

impl Xsv {
    /// An input with the given hints, or with options (`options.rs`). Each input needs its own.
    pub fn new(kind: Kind, hints: Option<&[u8]>, options: &str) -> Result<Arc<Self>> {
        let hints = hints.map(Hints::parse).transpose()?;
        let options = Options::parse(options)?;
        if kind == Kind::Tsv
            && hints.as_ref().is_some_and(|hints| !matches!(hints.separator, None | Some(b'\t')))
        {
            return Err(Error::argument("hints: the separator of TSV is the tab, another one needs CSV"));
        }
        let form = Form { kind, options, is_exact: hints.is_none(), times: OnceLock::new() };
        Ok(Arc::new(Self { form, hints, head: OnceLock::new() }))
    }

    /// The same input, of which nothing was read yet.
    pub fn anew(&self) -> Arc<Self> {
        Arc::new(Self { form: self.form.clone(), hints: self.hints.clone(), head: OnceLock::new() })
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

    /// Takes the head of an input without hints from the text at its start; gives the place of the first row.
    pub fn learn(&self, text: &[u8]) -> Result<usize> {
        let at = if self.hints.is_none() { self.take_head(text)? } else { None };
        Ok(at.unwrap_or_default())
    }

    /// Sets how times are read, before anything is.
    pub fn read_times(&self, times: &Arc<Times>) {
        self.form.times.get_or_init(|| Arc::clone(times));
    }

    /// Notes on the types of the columns, once all was parsed.
    pub fn notes(&self) -> Vec<ColumnNote> {
        let columns = self.head.get().map_or(&[][..], |head| &head.columns);
        typing::notes(columns.iter().filter_map(|column| match (&column.convert, column.path.first()) {
            (Convert::Column(kind), Some(name)) => Some((&**name, kind)),
            _ => None,
        }))
    }

    /// Columns whose names others have, and what they are called.
    pub fn renamed(&self) -> &[(String, String)] {
        self.head.get().map_or(&[], |head| &head.renamed)
    }

    /// Whether the first record has values, so that it was taken for a row and not for a header.
    pub fn has_guessed(&self) -> bool {
        self.head.get().is_some_and(|head| head.is_guessed)
    }

    fn separator(&self, text: &[u8]) -> u8 {
        match (&self.hints, self.head.get()) {
            (Some(hints), _) => {
                hints.separator.unwrap_or(if self.form.kind == Kind::Tsv { b'\t' } else { b',' })
            }
            (None, Some(head)) => head.separator,
            (None, None) => head::separator_of(&self.form, text),
        }
    }

    /// Takes the head at the start of the input; gives the place of the first row, or None when there are only
    /// empty lines.
    fn take_head(&self, text: &[u8]) -> Result<Option<usize>> {
        if text.iter().all(|byte| matches!(byte, b'\n' | b'\r')) {
            return Ok(None);
        }
        if let Some(head) = self.head.get() {
            return Ok(Some(head.behind));
        }
        Ok(Head::read(&self.form, text)?.map(|head| self.head.get_or_init(|| head).behind))
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
        let end = match self.xsv.form.kind {
            Kind::Tsv if separator == b'\t' => {
                let from = self.position.max(min.saturating_sub(1)).min(text.len());
                self.position = text.len();
                memchr::memchr(b'\n', &text[from..]).map(|at| from + at + 1)
            }
            Kind::Csv | Kind::Tsv => {
                let Some(start) = self.start(text) else { return Ok(None) };
                let end = self.ends.find(&text[start..], min.saturating_sub(start), separator);
                end.map(|end| start + end)
            }
        };
        let Some(end) = end else { return Ok(None) };
        if self.xsv.hints.is_none() {
            self.begun = self.begun || self.xsv.take_head(&text[..end])?.is_some();
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
            && let Some((next, _)) = self.xsv.form.read(text, at, separator, &mut record)
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
            None if context.start == 0 => match self.xsv.take_head(text)? {
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
            && let Some((end, _)) = self.xsv.form.read(text, 0, separator, &mut self.record)
        {
            self.xsv.form.check_line_ends(text, 0, end)?;
        }
        let mut writer = self.writer();
        let mut lines = Lines::default();
        let xsv = Arc::clone(&self.xsv);
        let head = xsv.head.get().filter(|head| head.comment.is_some());
        loop {
            if let Some(head) = head {
                let behind = head.behind_comments(text, at);
                if head.renames(text, at, behind) {
                    let message = "the fields change here: pack the lines before and after it apart";
                    return Err(Error::syntax(at, message).at_line(lines.number(text, at)));
                }
                at = behind;
            }
            let Some((next, read)) = self.xsv.form.read(text, at, separator, &mut self.record) else { break };
            if to_skip > 0 && (read.is_ok() || self.xsv.form.kind == Kind::Tsv) {
                to_skip -= 1;
            } else if let Err(error) = read.and_then(|()| self.row(&mut writer, text, at, stream)) {
                let place = if let Error::Syntax { offset, .. } = error { offset as usize } else { at };
                let error = error.at_line(lines.number(text, place.max(at)));
                if self.on_error == OnError::Fail {
                    return Err(error);
                }
                rejected.push(&error, text, at..next, stream)?;
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
            let columns = match (&self.xsv.hints, self.xsv.head.get()) {
                (Some(hints), _) => hints.columns.clone(),
                (None, head) => head.map_or(vec![], |head| head.columns.clone()),
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
