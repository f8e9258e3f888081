//! What an input is, and who cuts and parses it.

use std::sync::{Arc, OnceLock};

use super::{Constants, PartContext, PartParser, Rejects, Splitter};
use crate::chunk::grouping::First;
use crate::chunk::placement::Placement;
use crate::error::{Error, Result};
use crate::ingest::Duplicates;
use crate::ingest::ion::IonInput;
use crate::ingest::json::Reading;
use crate::ingest::json::parse::JsonParser;
use crate::ingest::json::split::{JsonSplitter, LineSplitter};
use crate::ingest::logs::Logs;
use crate::ingest::typing::{self, ColumnNote, ColumnTypes};
use crate::ingest::xsv::{Kind, Xsv};
use crate::pack::OnError;
use crate::pack::records::{Unwrapper, Wrapper};
use crate::pack::unfold::{Unfold, Unfolder};
use crate::times::Times;

/// JSON of which nothing is said.
static USUAL: Reading = Reading { hints: None, duplicates: Duplicates::First };

/// What the text of an input is. Each input needs its own.
#[derive(Debug, Clone)]
pub enum Format {
    /// Records and arrays of records.
    Json(Option<Arc<Reading>>),
    /// Records in objects.
    Wrapped(Wrapper, Option<Arc<Reading>>),
    /// Records that are written around what they mean.
    Unfolded(Unfold, Arc<Reading>),
    /// CSV or TSV.
    Xsv(Arc<Xsv>),
    /// Binary Ion.
    Ion(Arc<IonInput>),
    /// Lines of a text log.
    Logs(Arc<Logs>),
}

impl Format {
    /// The format of a name, with its hints if it takes any.
    pub fn new(name: &str, hints: Option<&[u8]>) -> Result<Self> {
        let (word, options) = name.split_once(':').unwrap_or((name, ""));
        match (word, hints) {
            ("json", _) => {
                let (reading, path) = Reading::of(hints, options)?;
                let reading = Some(Arc::new(reading));
                Ok(match path {
                    Some(path) => Self::Wrapped(Wrapper::of_path(&path)?, reading),
                    None => Self::Json(reading),
                })
            }
            ("otlp", _) => Ok(Self::Unfolded(Unfold::Otlp, Arc::new(Reading::of(hints, options)?.0))),
            ("mongodb", _) => Ok(Self::Unfolded(Unfold::Mongodb, Arc::new(Reading::of(hints, options)?.0))),
            ("csv", _) => Ok(Self::Xsv(Xsv::new(Kind::Csv, hints, options)?)),
            ("tsv", _) => Ok(Self::Xsv(Xsv::new(Kind::Tsv, hints, options)?)),
            ("cloudtrail", None) => {
                let reading = Reading::of(None, options)?.0;
                Ok(Self::Wrapped(Wrapper::cloudtrail(), Some(Arc::new(reading))))
            }
            ("ion", None) => Ok(Self::Ion(IonInput::new(1))),
            // Rows of a packfile or a Parquet file: indexed as those of JSON text.
            ("rows", None) => Ok(Self::Ion(IonInput::new(2))),
            ("cloudtrail" | "ion" | "rows", Some(_)) => {
                Err(Error::argument(format!("hints do not apply to the format \"{name}\"")))
            }
            (_, hints) => match (Logs::new(name)?, hints) {
                (Some(logs), None) => Ok(Self::Logs(logs)),
                (Some(_), Some(_)) => Err(Error::argument("hints do not apply to lines of text")),
                (None, _) => Err(Error::argument(format!("unknown format \"{name}\""))),
            },
        }
    }

    /// The same for another reader of the same input, who has nothing to do with the first one.
    fn anew(&self) -> Self {
        match self {
            Self::Xsv(xsv) => Self::Xsv(xsv.anew()),
            Self::Ion(ion) => Self::Ion(ion.anew()),
            Self::Logs(logs) => Self::Logs(logs.anew()),
            Self::Json(_) | Self::Wrapped(..) | Self::Unfolded(..) => self.clone(),
        }
    }

    /// Whether times of it had no year, so that one was guessed.
    pub fn has_guessed(&self) -> bool {
        matches!(self, Self::Logs(logs) if logs.has_guessed())
    }

    /// Whether it is text.
    pub(super) fn is_text(&self) -> bool {
        !matches!(self, Self::Ion(_))
    }

    /// Whether a record that is cut off can look like a whole one.
    pub(super) fn has_open_ends(&self) -> bool {
        matches!(self, Self::Xsv(_) | Self::Logs(_))
    }

    /// Whether times of it had a zone whose name says no offset.
    pub fn has_unknown_zone(&self) -> bool {
        matches!(self, Self::Logs(logs) if logs.has_unknown_zone())
    }

    /// The number of rows of it made of lines that begin no record and have none before them.
    pub fn strays(&self) -> u64 {
        if let Self::Logs(logs) = self { logs.strays() } else { 0 }
    }

    /// What tells of its columns once all was parsed, where they have types that were found out.
    pub fn columns(&self) -> Option<Columns> {
        match self {
            Self::Xsv(xsv) => Some(Columns::Xsv(Arc::clone(xsv))),
            Self::Logs(logs) => Some(Columns::Logs(logs.types())),
            _ => None,
        }
    }

    /// Finds out what the columns of an input have, by the text of its first part.
    pub(super) fn learn(&self, text: &[u8], constants: &Arc<Constants>, times: &Arc<Times>) {
        if let Self::Logs(logs) = self {
            logs.learn(text, constants, times);
        }
    }

    /// Sets how times are read, before anything is.
    pub(super) fn read_times(&self, times: &Arc<Times>) {
        if let Self::Xsv(xsv) = self {
            xsv.read_times(times);
        }
    }

    /// What takes the records out of their wrapper, where there is one.
    pub(super) fn unwrapper(&self) -> Option<Unwrapper> {
        match self {
            Self::Wrapped(wrapper, _) => Some(Unwrapper::new(wrapper.clone())),
            Self::Unfolded(kind, _) if !kind.lists().is_empty() => {
                Some(Unwrapper::new(Wrapper::of_lists(kind.lists())))
            }
            _ => None,
        }
    }

    /// What makes plain JSON of its text, where it is something else.
    pub(super) fn unfolder(&self) -> Option<Unfolder> {
        if let Self::Unfolded(kind, _) = self { Some(Unfolder::new(*kind)) } else { None }
    }
}

/// What tells of the columns of an input.
#[derive(Debug)]
pub enum Columns {
    /// Of CSV and TSV.
    Xsv(Arc<Xsv>),
    /// Of lines of a log.
    Logs(Arc<OnceLock<ColumnTypes>>),
}

impl Columns {
    /// Notes on their types.
    pub fn notes(&self) -> Vec<ColumnNote> {
        match self {
            Self::Xsv(xsv) => xsv.notes(),
            Self::Logs(types) => {
                typing::notes(types.get().into_iter().flatten().map(|(name, kind)| (&**name, kind)))
            }
        }
    }

    /// Columns whose names others have, and what they are called.
    pub fn renamed(&self) -> &[(String, String)] {
        if let Self::Xsv(xsv) = self { xsv.renamed() } else { &[] }
    }

    /// Whether the first record was taken for a row and not for a header, since it has values.
    pub fn has_no_header(&self) -> bool {
        matches!(self, Self::Xsv(xsv) if xsv.has_guessed())
    }
}

/// Where the fields of rows like those in the texts at the start of some inputs should go.
pub fn placement(sample: &[(&Input, Vec<u8>)], align: usize, level: i32) -> Result<Option<Placement>> {
    First::default().placement(align, level, |stream| {
        let context = PartContext { start: 0, last: false };
        for (input, text) in sample {
            let input = input.anew();
            stream.read_times(&input.times);
            // The text ends anywhere, and what is before its end counts.
            _ = input.parser().parse(text, context, stream, &mut Rejects::default());
        }
    })
}

/// One input, as the workers see it.
pub struct Input {
    /// Its name in messages.
    pub name: String,
    pub format: Format,
    pub constants: Arc<Constants>,
    pub on_error: OnError,
    pub times: Arc<Times>,
}

impl Input {
    pub fn parser(&self) -> Box<dyn PartParser> {
        let constants = Arc::clone(&self.constants);
        match &self.format {
            Format::Json(reading) | Format::Wrapped(_, reading) => {
                let reading = reading.as_deref().unwrap_or(&USUAL);
                Box::new(JsonParser::reading(constants, reading, self.on_error))
            }
            Format::Unfolded(_, reading) => Box::new(JsonParser::reading(constants, reading, self.on_error)),
            Format::Xsv(xsv) => Box::new(xsv.parser(constants, self.on_error)),
            Format::Ion(ion) => Box::new(ion.parser(constants, self.on_error)),
            Format::Logs(logs) => Box::new(logs.parser(constants, self.on_error)),
        }
    }

    /// The same input for another reader, see [`Format::anew`].
    fn anew(&self) -> Self {
        Self {
            name: String::new(),
            format: self.format.anew(),
            constants: Arc::clone(&self.constants),
            on_error: self.on_error,
            times: Arc::clone(&self.times),
        }
    }

    /// Whether a parser of it reads another input as well.
    pub fn is_read_like(self: &Arc<Self>, other: &Arc<Self>) -> bool {
        let is_alike = match (&self.format, &other.format) {
            (
                Format::Json(one) | Format::Wrapped(_, one),
                Format::Json(other) | Format::Wrapped(_, other),
            ) => {
                let [one, other] = [one, other].map(|reading| reading.as_deref().unwrap_or(&USUAL));
                one.hints.is_none() && other.hints.is_none() && one.duplicates == other.duplicates
            }
            _ => false,
        };
        Arc::ptr_eq(self, other)
            || is_alike && Arc::ptr_eq(&self.constants, &other.constants) && self.on_error == other.on_error
    }

    /// Whether the threads can read it by themselves, if it lies in a file.
    pub fn is_stored(&self) -> bool {
        matches!((&self.format, self.on_error), (Format::Json(_), OnError::Fail))
    }

    /// Where its malformed records go.
    pub fn rejects(&self) -> Rejects {
        match self.on_error {
            OnError::Keep => Rejects::kept(Arc::clone(&self.constants)),
            OnError::Fail | OnError::Skip => Rejects::default(),
        }
    }

    pub fn splitter(&self) -> Box<dyn Splitter> {
        match (&self.format, self.on_error) {
            (Format::Json(_), OnError::Fail) | (Format::Wrapped(..), _) => Box::<JsonSplitter>::default(),
            (Format::Unfolded(Unfold::Otlp, _), _) | (Format::Unfolded(..), OnError::Fail) => {
                Box::<JsonSplitter>::default()
            }
            (Format::Json(_) | Format::Unfolded(..), _) => Box::<LineSplitter>::default(),
            (Format::Xsv(xsv), _) => Box::new(xsv.splitter()),
            (Format::Ion(ion), _) => Box::new(ion.splitter()),
            (Format::Logs(logs), _) => Box::new(logs.splitter()),
        }
    }
}
