//! The lines before the first row: what names the columns, and what they have.

use std::ops::Range;
use std::sync::Arc;

use super::convert::Convert;
use super::csv;
use super::form::{BYTE_ORDER_MARK, Form, Kind};
use super::hints::{self, Column, Named};
use super::options::Header;
use super::record::Record;
use crate::error::Result;
use crate::ingest::typing::{ColumnType, Evidence, SAMPLE_ROWS, Type, Value, infer};
use crate::times::{self, Times, Unit};

/// What the start of an input without hints says.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub separator: u8,
    pub columns: Vec<Column>,
    /// What a line that does not count begins with.
    pub comment: Option<u8>,
    /// The line that names the fields, which may come again: `#Fields: date time`.
    pub fields: Option<Box<[u8]>>,
    /// Where the first row begins, in the text of the part that the head is in.
    pub behind: usize,
    /// Whether there is no header although nobody said so.
    pub is_guessed: bool,
    /// Names that are others' already, and what their columns are called.
    pub renamed: Vec<(String, String)>,
}

/// The lines of a text before its first record.
#[derive(Debug, Default)]
pub(super) struct Front<'a> {
    /// Where the first record begins.
    pub at: usize,
    /// Whether lines before it are comments.
    has_comments: bool,
    /// The last of these lines, and where it begins.
    last: Option<(usize, &'a [u8])>,
    /// The names of fields in a line `#Fields:` of W3C or `#fields` of Zeek, with that line.
    fields: Option<(Vec<&'a [u8]>, &'a [u8])>,
    /// What the line `#types` of Zeek says of them.
    types: Vec<&'a [u8]>,
}

impl<'a> Front<'a> {
    /// Reads on to the first record, over a byte order mark, lines to skip, comments and empty lines.
    pub(super) fn read(form: &Form, text: &'a [u8]) -> Self {
        let mut front = Self { at: unmarked(text, 0), ..Self::default() };
        for _ in 0..form.options.skip {
            front.at = behind_line(text, front.at);
        }
        let comment = form.options.comment.unwrap_or(b'#');
        while let Some(rest) = text.get(front.at..).filter(|rest| !rest.is_empty()) {
            let end = behind_line(text, front.at);
            let line = text[front.at..end].trim_ascii_end();
            if rest[0] == comment {
                if let Some(names) = field_names(line) {
                    front.fields = Some((names, line));
                } else if let Some(types) = line.strip_prefix(b"#types\t") {
                    front.types = types.split(|&byte| byte == b'\t').collect();
                }
                front.has_comments = true;
                front.last = Some((front.at, line));
            } else if !matches!(&text[front.at..end], b"\n" | b"\r\n") {
                break;
            }
            front.at = unmarked(text, end);
        }
        front
    }
}

/// The names that `#Fields: date time` or `#fields<tab>ts<tab>uid` has.
fn field_names(line: &[u8]) -> Option<Vec<&[u8]>> {
    let rest = line.strip_prefix(b"#Fields:").or_else(|| line.strip_prefix(b"#fields\t"))?;
    let names: Vec<_> = rest.split(u8::is_ascii_whitespace).filter(|name| !name.is_empty()).collect();
    (!names.is_empty()).then_some(names)
}

/// What a type of Zeek holds.
fn convert_of_zeek(kind: &[u8]) -> Convert {
    match kind {
        b"time" => Convert::Time(Arc::new(times::Form::Unix(Unit::Seconds))),
        b"count" | b"int" | b"port" => Convert::Int,
        b"double" | b"interval" => Convert::Number,
        b"bool" => Convert::BoolTexts { yes: vec![b"T".as_slice().into()], no: vec![b"F".as_slice().into()] },
        _ => Convert::Column(ColumnType::said(Type::Text)),
    }
}

/// Makes one instant of the columns `date` and `time` of W3C, in `time`.
fn join_times(columns: &mut [Column]) {
    let is_named = |column: &Column, name: &[u8]| column.path.first().is_some_and(|first| **first == *name);
    let pair = columns.windows(2).position(|pair| is_named(&pair[0], b"date") && is_named(&pair[1], b"time"));
    if let Some(at) = pair {
        columns[at].path.clear();
        columns[at + 1].joins = true;
        columns[at + 1].convert = Convert::Datetime;
    }
}

fn unmarked(text: &[u8], at: usize) -> usize {
    match text.get(at..) {
        Some(rest) if rest.starts_with(BYTE_ORDER_MARK) => at + BYTE_ORDER_MARK.len(),
        _ => at,
    }
}

/// The place behind the line at `at`.
pub(super) fn behind_line(text: &[u8], at: usize) -> usize {
    text.get(at..)
        .map_or(text.len(), |rest| memchr::memchr(b'\n', rest).map_or(text.len(), |length| at + length + 1))
}

impl Head {
    /// Reads the head at the start of the input, and the types of its columns from the rows behind it; None
    /// when there are only empty lines.
    pub(super) fn read(form: &Form, text: &[u8]) -> Result<Option<Self>> {
        let front = Front::read(form, text);
        let separator = separator(form, text, &front);
        let mut head = match &front.fields {
            Some((names, line)) => {
                let named = hints::columns_of_header(names.iter().copied(), form.options.duplicates)?;
                let mut head = Self::new(separator, named, front.at);
                for column in &mut head.columns {
                    column.missing = vec![b"-".as_slice().into(), b"(empty)".as_slice().into()];
                }
                head.fields = Some((*line).into());
                for (column, kind) in head.columns.iter_mut().zip(&front.types) {
                    column.convert = convert_of_zeek(kind);
                }
                if form.options.columns.is_empty() {
                    join_times(&mut head.columns);
                }
                head
            }
            None => match Self::of_record(form, text, &front, separator)? {
                Some(head) => head,
                None => return Ok(None),
            },
        };
        head.comment =
            form.options.comment.or((front.has_comments && front.fields.is_some()).then_some(b'#'));
        head.learn(form, text)?;
        Ok(Some(head))
    }

    fn new(separator: u8, named: Named, behind: usize) -> Self {
        let Named { columns, renamed } = named;
        Self { separator, columns, comment: None, fields: None, behind, is_guessed: false, renamed }
    }

    /// The head of an input whose first record names the columns, or has values already.
    fn of_record(form: &Form, text: &[u8], front: &Front, separator: u8) -> Result<Option<Self>> {
        let mut record = Record::default();
        let Some((next, read)) = form.read(text, front.at, separator, &mut record) else { return Ok(None) };
        form.check_line_ends(text, front.at, next)?;
        read.map_err(|error| error.at_line(1))?;
        if !form.options.names.is_empty() {
            let names = form.options.names.iter().map(|name| &**name);
            let named = hints::columns_of_header(names, form.options.duplicates)?;
            let behind = if form.options.header == Header::Yes { next } else { front.at };
            return Ok(Some(Self::new(separator, named, behind)));
        }
        let count = record.len();
        if let Some((at, _)) = front.last.filter(|_| form.options.comment.is_none() && count > 1) {
            // A line such as `#,name,size` is the header where it has as many fields as the first row.
            let mut named = Record::default();
            if let Some((next, Ok(()))) = form.read(text, at, separator, &mut named)
                && named.len() == count
            {
                return Self::named(form, text, &named, separator, at..next).map(Some);
            }
        }
        let mut fields = (0..count).map(|index| record.field(text, index).unwrap_or_default());
        let is_row = match form.options.header {
            Header::Yes => false,
            Header::No => true,
            Header::Auto => fields.any(|field| is_value(field, form.times())),
        };
        if !is_row {
            return Self::named(form, text, &record, separator, front.at..next).map(Some);
        }
        let numbered = Named { columns: hints::numbered_columns(count), renamed: vec![] };
        let mut head = Self::new(separator, numbered, front.at);
        head.is_guessed = form.options.header == Header::Auto;
        Ok(Some(head))
    }

    fn named(form: &Form, text: &[u8], record: &Record, separator: u8, range: Range<usize>) -> Result<Self> {
        let names = (0..record.len()).map(|index| record.field(text, index).unwrap_or_default());
        let named = hints::columns_of_header(names, form.options.duplicates)
            .map_err(|error| error.shifted(range.start as u64).at_line(1))?;
        Ok(Self::new(separator, named, range.end))
    }

    /// Finds out the types of the columns: those that the user says, and those that the first rows have.
    fn learn(&mut self, form: &Form, text: &[u8]) -> Result<()> {
        let mut evidence = vec![Evidence::default(); self.columns.len()];
        let (mut record, mut at, mut rows) = (Record::default(), self.behind, 0);
        while rows < SAMPLE_ROWS {
            at = self.behind_comments(text, at);
            let Some((next, read)) = form.read(text, at, self.separator, &mut record) else { break };
            at = next;
            if read.is_err() {
                continue;
            }
            rows += 1;
            for index in 0..record.len().min(hints::MAX_COLUMNS) {
                if index >= self.columns.len() {
                    self.columns.push(hints::extra_column(&self.columns));
                    evidence.push(Evidence::default());
                }
                let value = record.field(text, index).unwrap_or_default();
                if !value.is_empty() && !self.columns[index].missing.iter().any(|missing| **missing == *value)
                {
                    evidence[index].see(value, form.times());
                }
            }
        }
        for (column, evidence) in self.columns.iter_mut().zip(&evidence) {
            if matches!(column.convert, Convert::String) {
                column.convert = Convert::Column(evidence.decide());
            }
        }
        for (name, kind) in &form.options.columns {
            let column = self.columns.iter_mut().find(|column| column.path.first() == Some(name));
            let Some(column) = column else {
                let name = String::from_utf8_lossy(name);
                return Err(crate::Error::argument(format!("columns: there is no column {name:?}")));
            };
            column.convert = Convert::Column(ColumnType::said(*kind));
        }
        Ok(())
    }

    /// The place of the next record, behind lines that do not count.
    #[inline]
    pub(super) fn behind_comments(&self, text: &[u8], mut at: usize) -> usize {
        let Some(comment) = self.comment else { return at };
        loop {
            match text.get(at..) {
                Some([b'\n', ..]) => at += 1,
                Some([b'\r', b'\n', ..]) => at += 2,
                Some([first, ..]) if *first == comment => at = behind_line(text, at),
                _ => return at,
            }
        }
    }

    /// Whether a comment from `at` to `end` names other fields than the head.
    pub(super) fn renames(&self, text: &[u8], at: usize, end: usize) -> bool {
        let Some(fields) = &self.fields else { return false };
        text[at..end].split(|&byte| byte == b'\n').any(|line| {
            let line = line.trim_ascii_end();
            field_names(line).is_some() && *line != **fields
        })
    }
}

/// Whether a field of the first record is a value, and no name: a number, a truth value, a time, a
/// date, an address of a machine, of a page or of mail, or a UUID.
fn is_value(field: &[u8], times: &Times) -> bool {
    let is_date = || {
        let digits = |range: std::ops::Range<usize>| field[range].iter().all(u8::is_ascii_digit);
        field.len() == 10
            && digits(0..4)
            && field[4] == b'-'
            && digits(5..7)
            && field[7] == b'-'
            && digits(8..10)
    };
    let is_address = || std::str::from_utf8(field).is_ok_and(|text| text.parse::<std::net::IpAddr>().is_ok());
    matches!(infer(field, times), Value::Number(_) | Value::Time(_))
        || is_date()
        || is_address()
        || is_uuid(field)
        || [&b"true"[..], b"false"].iter().any(|word| field.eq_ignore_ascii_case(word))
        || is_link(field)
}

/// Whether a field is the address of a page, or of mail.
fn is_link(field: &[u8]) -> bool {
    let is_page = field.windows(3).any(|part| part == b"://");
    let mut parts = field.split(|&byte| byte == b'@');
    let (mailbox, host) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let is_mail = !mailbox.is_empty() && host.contains(&b'.') && parts.next().is_none();
    let has_blank = field.iter().any(u8::is_ascii_whitespace);
    (is_page || is_mail) && !has_blank
}

fn is_uuid(field: &[u8]) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    let mut parts = field.split(|&byte| byte == b'-');
    lengths.iter().all(|&length| {
        parts.next().is_some_and(|part| part.len() == length && part.iter().all(u8::is_ascii_hexdigit))
    }) && parts.next().is_none()
}

/// What is between the fields of an input.
fn separator(form: &Form, text: &[u8], front: &Front) -> u8 {
    let row = &text[front.at.min(text.len())..];
    if let Some(separator) = form.options.separator {
        return separator;
    }
    if front.fields.is_some() {
        let line = &row[..behind_line(row, 0)];
        return if memchr::memchr(b'\t', line).is_some() { b'\t' } else { b' ' };
    }
    if form.kind == Kind::Tsv { b'\t' } else { csv::likely_separator(row) }
}

/// What is between the fields of an input whose head was not read yet.
pub(super) fn separator_of(form: &Form, text: &[u8]) -> u8 {
    separator(form, text, &Front::read(form, text))
}
