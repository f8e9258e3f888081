//! Lines of text logs to rows: each line is a record, or a line with those behind it that begin none.
//!
//! The forms are `text` (the line as it is), the ready ones of `forms.rs`, and a regular expression with named
//! groups. What a form does not take fails, or is passed over, as one record. Values without a type become what
//! they look like as in CSV files (`docs/inputs.md`).

mod combined;
mod escapes;
mod events;
mod fields;
mod forms;
mod journal;
mod logfmt;
mod pattern;
mod ready;
mod split;
mod syslog;
mod times;
mod words;
mod writer;

use std::cell::RefCell;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use memchr::memchr;

use crate::chunk::Stream;
use crate::chunk::grouping::First;
use crate::error::{Error, Result};
use crate::ingest::lines::Lines;
use crate::ingest::typing::{ColumnTypes, SAMPLE_ROWS};
use crate::ingest::{Constants, OnError, PartContext, PartParser, Rejects, message};
use crate::ion::fields::Fields;
use crate::times::Times;
use fields::Guess;
use pattern::Pattern;
use ready::Ready;
use regex::bytes::CaptureLocations;
use split::{Place, Records};
use words::Words;
use writer::{Types, Writer};

pub use ready::{all, detect};
pub use split::LogSplitter;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The form of the lines.
#[derive(Debug, Clone)]
enum Form {
    Text,
    Logfmt,
    Combined,
    Syslog,
    Cef,
    Leef,
    Auditd,
    Journal,
    /// Words between spaces; the first line of the input may name them.
    Words(Arc<Ready>, OnceLock<Option<Words>>),
    Patterns(Arc<Ready>),
    Pattern(Pattern),
}

/// What is known of an input of lines; shared by its parsers.
#[derive(Debug)]
pub struct Logs {
    form: Form,
    /// Times without a year are at most a day later than this instant.
    reference: i64,
    /// Whether the text goes on with that of another input.
    is_later: bool,
    guessed: AtomicU8,
    /// Lines that begin no record and have none before them.
    strays: AtomicU64,
    /// The types of fields whose values have none, once they are known.
    types: Arc<OnceLock<ColumnTypes>>,
}

impl Logs {
    /// The form of a name: `text`, one of `forms.rs`, perhaps as `syslog:SECONDS` (since 1970: about when the
    /// lines were written) and with `,later` where the text goes on with another one, or `regex:PATTERN`. None: no form has this name.
    pub fn new(name: &str) -> Result<Option<Arc<Self>>> {
        let (word, rest) = name.split_once(':').unwrap_or((name, ""));
        let form = match (word, Ready::named(word)?) {
            ("text", _) => Form::Text,
            ("logfmt", _) => Form::Logfmt,
            ("combined", _) => Form::Combined,
            ("syslog", _) => Form::Syslog,
            ("cef", _) => Form::Cef,
            ("leef", _) => Form::Leef,
            ("auditd", _) => Form::Auditd,
            ("journald", _) => Form::Journal,
            ("regex", _) => Form::Pattern(Pattern::new(rest)?),
            (_, Some(ready)) if matches!(*ready, Ready::Words(_)) => Form::Words(ready, OnceLock::new()),
            (_, Some(ready)) => Form::Patterns(ready),
            (_, None) => return Ok(None),
        };
        let (seconds, later) = rest.split_once(',').unwrap_or((rest, ""));
        let reference = seconds.parse::<i64>().unwrap_or(0).saturating_mul(times::SECOND);
        let is_later = later == "later" && word != "regex";
        let (guessed, strays, types) = (AtomicU8::new(0), AtomicU64::new(0), Arc::default());
        Ok(Some(Arc::new(Self { form, reference, is_later, guessed, strays, types })))
    }

    /// The same for another reader of the same input, whose findings do not count.
    pub fn anew(&self) -> Arc<Self> {
        let Self { reference, is_later, .. } = *self;
        let (form, types) = (self.form.clone(), Arc::clone(&self.types));
        let (guessed, strays) = (AtomicU8::new(0), AtomicU64::new(0));
        Arc::new(Self { form, reference, is_later, guessed, strays, types })
    }

    /// Cuts the text between records.
    pub fn splitter(&self) -> LogSplitter {
        LogSplitter::new(self.records())
    }

    /// How the text is cut into records.
    fn records(&self) -> Records {
        match &self.form {
            Form::Journal => Records::Journal,
            Form::Patterns(ready) if ready.goes_on() => Records::Begun(Arc::clone(ready)),
            _ => Records::Lines,
        }
    }

    /// Where the last record of a text begins, which may go on behind it; none: each line is one.
    pub fn last_record(&self, text: &[u8]) -> Option<usize> {
        let Records::Begun(ready) = self.records() else { return None };
        let mut end = text.len();
        while end > 0 {
            let start = memchr::memrchr(b'\n', &text[..end - 1]).map_or(0, |at| at + 1);
            if ready.begins(text[start..end].trim_ascii_end()) {
                return Some(start);
            }
            end = start;
        }
        Some(0)
    }

    /// A parser for parts of the text; one for each worker.
    pub fn parser(self: &Arc<Self>, constants: Arc<Constants>, on_error: OnError) -> LogParser {
        let locations = match &self.form {
            Form::Pattern(pattern) => vec![pattern.locations()],
            Form::Patterns(ready) => ready.locations(),
            _ => vec![],
        };
        let records = self.records();
        LogParser {
            logs: Arc::clone(self),
            records,
            constants,
            on_error,
            fields: Fields::default(),
            locations,
        }
    }

    /// Finds out the types of fields by the lines at the start of an input.
    pub fn learn(self: &Arc<Self>, text: &[u8], constants: &Arc<Constants>, times: &Arc<Times>) {
        self.types.get_or_init(|| {
            let columns = RefCell::default();
            self.take_header(text);
            if matches!(self.form, Form::Logfmt | Form::Syslog | Form::Pattern(_) | Form::Cef | Form::Leef) {
                let mut sink = First::default();
                let mut stream = Stream::new(1 << 20, usize::MAX, &mut sink);
                stream.read_times(times);
                let mut parser = self.parser(Arc::clone(constants), OnError::Skip);
                let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
                for line in text.split(|&byte| byte == b'\n').take(SAMPLE_ROWS) {
                    let line = line.strip_suffix(b"\r").unwrap_or(line);
                    // What is malformed is reported when it is parsed in earnest.
                    _ = parser.write((line, b""), &mut stream, Types::Learnt(&columns));
                }
            }
            columns.into_inner().into_iter().map(|(name, evidence)| (name, evidence.decide())).collect()
        });
    }

    /// What tells of the types of fields once all was parsed; a pattern has much memory, and is not kept for it.
    pub fn types(&self) -> Arc<OnceLock<ColumnTypes>> {
        Arc::clone(&self.types)
    }

    /// Whether a time had no year, so that one was guessed.
    pub fn has_guessed(&self) -> bool {
        self.guessed.load(Ordering::Relaxed) & Guess::YEAR.0 != 0
    }

    /// Whether a time had a zone whose name says no offset.
    pub fn has_unknown_zone(&self) -> bool {
        self.guessed.load(Ordering::Relaxed) & Guess::ZONE.0 != 0
    }

    /// The number of rows made of lines that begin no record and have none before them.
    pub fn strays(&self) -> u64 {
        self.strays.load(Ordering::Relaxed)
    }

    /// Takes the names that the first line has, where the form may have them.
    fn take_header(&self, text: &[u8]) {
        if let Form::Words(ready, headed) = &self.form {
            let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii_end();
            headed.get_or_init(|| match &**ready {
                Ready::Words(words) => words.headed(line),
                _ => None,
            });
        }
    }
}

/// Parses parts of the text of a log.
#[derive(Debug)]
pub struct LogParser {
    logs: Arc<Logs>,
    records: Records,
    constants: Arc<Constants>,
    on_error: OnError,
    fields: Fields,
    /// Memory for matches of patterns.
    locations: Vec<CaptureLocations>,
}

impl PartParser for LogParser {
    fn parse(
        &mut self,
        text: &[u8],
        context: PartContext,
        stream: &mut Stream,
        rejected: &mut Rejects,
    ) -> Result<()> {
        let has_mark = context.start == 0 && text.starts_with(BYTE_ORDER_MARK);
        let mut at = if has_mark { BYTE_ORDER_MARK.len() } else { 0 };
        if context.start == 0 {
            self.logs.take_header(&text[at..]);
            if matches!(&self.logs.form, Form::Words(_, headed) if headed.get().is_some_and(Option::is_some))
            {
                at = memchr(b'\n', text).map_or(text.len(), |end| end + 1);
            }
        }
        let (mut lines, begun) = (Lines::default(), at);
        while at < text.len() {
            let place = self.records.at(text, at);
            let is_record = matches!(self.logs.form, Form::Text) || !place.line.trim_ascii().is_empty();
            if is_record && let Err(error) = self.row(&place, stream) {
                let is_later = self.logs.is_later || context.start > 0;
                let is_stray = place.is_stray && (is_later || at > begun || place.next < text.len());
                if self.on_error == OnError::Fail && is_stray {
                    self.logs.strays.fetch_add(1, Ordering::Relaxed);
                    let added = message::put(&text[at..place.end], &self.constants, stream);
                    added.map_err(|error| error.shifted(at as u64))?;
                    at = place.next;
                    continue;
                }
                let error = error.shifted(at as u64).at_line(lines.number(text, at));
                if self.on_error == OnError::Fail {
                    return Err(error);
                }
                rejected.push(&error, text, at..place.next, stream)?;
            }
            at = place.next;
        }
        Ok(())
    }
}

impl LogParser {
    /// Adds the row of a record.
    #[inline]
    fn row(&mut self, place: &Place, stream: &mut Stream) -> Result<()> {
        if place.is_stray {
            return Err(Error::syntax(0, "the line begins no record and follows no other"));
        }
        let logs = Arc::clone(&self.logs);
        let types = logs.types.get_or_init(ColumnTypes::default);
        self.write((place.line, place.rest), stream, Types::Known(types)).map_err(|error| match error {
            Error::TooLarge { message, .. } => Error::too_large(0, message),
            other => other,
        })
    }

    /// Adds the row of a line and those that belong to it; none where the types of fields are to be found out.
    #[inline]
    fn write(&mut self, record: (&[u8], &[u8]), stream: &mut Stream, types: Types) -> Result<()> {
        let Self { logs, constants, fields, locations, .. } = self;
        fields.clear();
        stream.add_row(|row| {
            let mut writer = Writer::begin(row, fields, constants, types);
            let guess = logs.put(record, locations, &mut writer)?;
            if guess != Guess::NONE {
                logs.guessed.fetch_or(guess.0, Ordering::Relaxed);
            }
            writer.defaults(constants);
            writer.end();
            match types {
                Types::Known(_) => Ok(()),
                Types::Learnt(_) => Err(Error::argument("the row of a sample stays out")),
            }
        })
    }
}

impl Logs {
    /// Writes the fields of a record; gives what was guessed.
    #[inline]
    fn put(
        &self,
        record: (&[u8], &[u8]),
        locations: &mut [CaptureLocations],
        writer: &mut Writer,
    ) -> Result<Guess> {
        let ((line, _), reference) = (record, self.reference);
        match &self.form {
            Form::Text => writer.text(b"line", line),
            Form::Logfmt => logfmt::parse(line, writer)?,
            Form::Combined => combined::parse(line, writer)?,
            Form::Auditd => events::auditd(line, writer)?,
            Form::Journal => journal::parse(line, writer)?,
            Form::Syslog => return syslog::parse(line, reference, writer).map(Guess::year),
            Form::Cef => return events::cef(line, reference, writer).map(Guess::year),
            Form::Leef => return events::leef(line, reference, writer).map(Guess::year),
            Form::Patterns(ready) => return ready.parse(record, reference, locations, writer),
            Form::Pattern(pattern) => {
                let is_found = match locations.first_mut() {
                    Some(locations) => pattern.parse(record, reference, locations, writer)?.is_some(),
                    None => false,
                };
                if !is_found {
                    return Err(Error::syntax(0, "the pattern does not match the line"));
                }
            }
            Form::Words(ready, headed) => match (headed.get(), &**ready) {
                (Some(Some(words)), _) | (_, Ready::Words(words)) => words.parse(line, writer)?,
                _ => {}
            },
        }
        Ok(Guess::NONE)
    }
}
