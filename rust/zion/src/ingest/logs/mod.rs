//! Lines of text logs to rows: each line is a record.
//!
//! The forms are `text` (the line as it is), `logfmt`, `combined` (access logs of Apache and nginx), `syslog`
//! (RFC 3164 and 5424) and a regular expression with named groups. What a form does not take fails, or is passed
//! over, as one record. Values become what they look like as in CSV files (`docs/inputs.md`).

mod combined;
mod escapes;
mod logfmt;
mod pattern;
mod syslog;
mod times;
mod writer;

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use memchr::memchr;

use crate::chunk::Stream;
use crate::chunk::grouping::First;
use crate::error::{Error, Result};
use crate::ingest::json::split::LineSplitter;
use crate::ingest::typing::{ColumnTypes, SAMPLE_ROWS};
use crate::ingest::{Constants, OnError, PartContext, PartParser, Rejects};
use crate::ion::fields::Fields;
use crate::times::Times;
use pattern::Pattern;
use regex::bytes::CaptureLocations;
use writer::{Types, Writer};

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The form of the lines.
#[derive(Debug)]
enum Form {
    Text,
    Logfmt,
    Combined,
    /// Times without a year are at most a day later than this instant.
    Syslog(i64),
    Pattern(Pattern),
}

/// What is known of an input of lines; shared by its parsers.
#[derive(Debug)]
pub struct Logs {
    form: Form,
    has_guessed: AtomicBool,
    /// The types of fields whose values have none, once they are known.
    types: Arc<OnceLock<ColumnTypes>>,
}

impl Logs {
    /// The form of a name: `text`, `logfmt`, `combined`, `syslog:SECONDS` (since 1970: about when the lines
    /// were written), or `regex:PATTERN`. None: no form has this name.
    pub fn new(name: &str) -> Result<Option<Arc<Self>>> {
        let (word, rest) = name.split_once(':').unwrap_or((name, ""));
        let form = match word {
            "text" => Form::Text,
            "logfmt" => Form::Logfmt,
            "combined" => Form::Combined,
            "syslog" => Form::Syslog(rest.parse::<i64>().unwrap_or(0).saturating_mul(times::SECOND)),
            "regex" => Form::Pattern(Pattern::new(rest)?),
            _ => return Ok(None),
        };
        Ok(Some(Arc::new(Self { form, has_guessed: AtomicBool::new(false), types: Arc::default() })))
    }

    /// Cuts the text between lines.
    pub fn splitter() -> LineSplitter {
        LineSplitter::default()
    }

    /// A parser for parts of the text; one for each worker.
    pub fn parser(self: &Arc<Self>, constants: Arc<Constants>, on_error: OnError) -> LogParser {
        let locations = match &self.form {
            Form::Pattern(pattern) => Some(pattern.locations()),
            _ => None,
        };
        LogParser { logs: Arc::clone(self), constants, on_error, fields: Fields::default(), locations }
    }

    /// Finds out the types of fields by the lines at the start of an input.
    pub fn learn(self: &Arc<Self>, text: &[u8], constants: &Arc<Constants>, times: &Arc<Times>) {
        self.types.get_or_init(|| {
            let columns = RefCell::default();
            if matches!(self.form, Form::Logfmt | Form::Syslog(_) | Form::Pattern(_)) {
                let mut sink = First::default();
                let mut stream = Stream::new(1 << 20, usize::MAX, &mut sink);
                stream.read_times(times);
                let mut parser = self.parser(Arc::clone(constants), OnError::Skip);
                let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
                for line in text.split(|&byte| byte == b'\n').take(SAMPLE_ROWS) {
                    let line = line.strip_suffix(b"\r").unwrap_or(line);
                    // What is malformed is reported when it is parsed in earnest.
                    _ = parser.write(line, &mut stream, Types::Learnt(&columns));
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
        self.has_guessed.load(Ordering::Relaxed)
    }
}

/// Parses parts of the text of a log.
#[derive(Debug)]
pub struct LogParser {
    logs: Arc<Logs>,
    constants: Arc<Constants>,
    on_error: OnError,
    fields: Fields,
    /// Memory for matches of a pattern.
    locations: Option<CaptureLocations>,
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
        let mut number = 0;
        while at < text.len() {
            let end = memchr(b'\n', &text[at..]).map_or(text.len(), |length| at + length);
            let next = (end + 1).min(text.len());
            let line = text[at..end].strip_suffix(b"\r").unwrap_or(&text[at..end]);
            number += 1;
            let is_record = matches!(self.logs.form, Form::Text) || !line.trim_ascii().is_empty();
            if is_record && let Err(error) = self.row(line, at, stream) {
                let error = error.at_line(number);
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

impl LogParser {
    /// Adds the row of the line that is at `at` in its part.
    #[inline]
    fn row(&mut self, line: &[u8], at: usize, stream: &mut Stream) -> Result<()> {
        let logs = Arc::clone(&self.logs);
        let types = logs.types.get_or_init(ColumnTypes::default);
        self.write(line, stream, Types::Known(types)).map_err(|error| match error {
            Error::TooLarge { message, .. } => Error::too_large(at, message),
            other => other.shifted(at as u64),
        })
    }

    /// Adds the row of a line; none where the types of its fields are to be found out.
    #[inline]
    fn write(&mut self, line: &[u8], stream: &mut Stream, types: Types) -> Result<()> {
        let Self { logs, constants, fields, locations, .. } = self;
        fields.clear();
        stream.add_row(|row| {
            let mut writer = Writer::begin(row, fields, constants, types);
            match &logs.form {
                Form::Text => writer.text(b"line", line),
                Form::Logfmt => logfmt::parse(line, &mut writer)?,
                Form::Combined => combined::parse(line, &mut writer)?,
                Form::Syslog(reference) => {
                    if syslog::parse(line, *reference, &mut writer)? {
                        logs.has_guessed.store(true, Ordering::Relaxed);
                    }
                }
                Form::Pattern(pattern) => {
                    let locations = locations.get_or_insert_with(|| pattern.locations());
                    pattern.parse(line, locations, &mut writer)?;
                }
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
