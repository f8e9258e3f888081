//! The one reader of times: what texts and numbers are taken for an instant, and in which zone.
//!
//! `forms` has the texts that can be read in one way only, `pattern` those that a user describes, `epoch` numbers
//! that count time since 1970. Whatever in `sdb` asks whether a text is a time asks here (`docs/times.md`).

pub mod epoch;
mod forms;
mod moment;
mod parts;
pub mod pattern;
mod zone;

pub use epoch::Unit;
pub use moment::Moment;
pub use pattern::Pattern;
pub use zone::Zone;

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};
use crate::ion::timestamp;

pub(crate) use parts::{Clock, Scan, is_day};

/// Which texts are times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// All that can be read in one way only.
    All,
    /// Those that the original takes: the form of RFC 3339.
    #[default]
    Rfc3339,
    /// None.
    None,
}

/// The same for casts and comparisons, in UTC: a date alone is its midnight.
pub fn read_date_or_time(text: &[u8]) -> Option<i64> {
    let zone = Zone::default();
    read_any(text, &zone).or_else(|| forms::date(text, &zone)).map(|found| found.us)
}

/// What the values of a field are that hold times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// Numbers, or their texts, that count time since 1970.
    Unix(Unit),
    /// Texts of a form that a user describes.
    Pattern(Pattern),
    /// No times: texts of JSON, which are taken apart.
    Json,
}

impl Form {
    /// The form that a user names: a unit such as `unix_ms`, or a form of `strptime`.
    pub fn new(text: &str) -> Result<Self> {
        match Unit::from_any_name(&text.to_ascii_lowercase()) {
            Some(unit) => Ok(Self::Unix(unit)),
            None => Pattern::new(text).map(Self::Pattern),
        }
    }

    /// The instant that a text is as a whole, or that of a number by its text.
    pub fn read(&self, text: &[u8], zone: &Zone) -> Option<Moment> {
        match self {
            Self::Unix(unit) => unit.read(text),
            Self::Pattern(pattern) => pattern.read(text, zone),
            Self::Json => None,
        }
    }
}

/// A field of which it was told what form its values have.
#[derive(Debug)]
pub struct TimeField {
    /// The names that lead to it; lists on the way do not count.
    pub path: Vec<Box<[u8]>>,
    form: Form,
    fitted: AtomicBool,
}

/// The instant that a text is as a whole in any form that can be read in one way only.
pub fn read_any(text: &[u8], zone: &Zone) -> Option<Moment> {
    (text.len() >= forms::SHORTEST).then(|| forms::read(text, zone)).flatten()
}

impl TimeField {
    /// Whether no value had the form.
    pub fn is_unfitted(&self) -> bool {
        !self.fitted.load(Ordering::Relaxed)
    }

    /// Whether its texts are JSON, which is taken apart.
    #[inline]
    pub fn is_json(&self) -> bool {
        self.form == Form::Json
    }

    /// Notes that a value had the form.
    pub fn note_fitted(&self) {
        if self.is_unfitted() {
            self.fitted.store(true, Ordering::Relaxed);
        }
    }
}

/// How the times of inputs are read.
#[derive(Debug, Default)]
pub struct Times {
    mode: Mode,
    zone: Zone,
    fields: Vec<TimeField>,
    /// Whether lists of bytes in the fields of a row are texts.
    bytes: bool,
}

impl Times {
    /// Times as the name of a mode says (`all`, `rfc3339` or `none`), those without a zone in `zone`.
    pub fn new(mode: &str, zone: Zone) -> Result<Self> {
        let mode = match mode {
            "all" => Mode::All,
            "rfc3339" => Mode::Rfc3339,
            "none" => Mode::None,
            other => return Err(Error::argument(format!("times: {other:?} is not all, rfc3339 or none"))),
        };
        Ok(Self { mode, zone, ..Self::default() })
    }

    /// The same with fields whose times have forms of their own.
    #[must_use]
    pub fn with_fields(mut self, fields: impl IntoIterator<Item = (Vec<Box<[u8]>>, Form)>) -> Self {
        let told = fields.into_iter();
        self.fields =
            told.map(|(path, form)| TimeField { path, form, fitted: AtomicBool::new(false) }).collect();
        self
    }

    /// The fields whose times have forms of their own.
    #[inline]
    pub fn fields(&self) -> &[TimeField] {
        &self.fields
    }

    /// The same where lists of bytes in the fields of a row are texts, as the journal has those that are no UTF-8.
    #[must_use]
    pub fn with_bytes(self, bytes: bool) -> Self {
        Self { bytes, ..self }
    }

    /// Whether lists of bytes in the fields of a row are texts.
    #[inline]
    pub fn has_bytes(&self) -> bool {
        self.bytes
    }

    /// The instant of a value of one of them.
    pub fn read_field(&self, number: usize, text: &[u8]) -> Option<Moment> {
        let field = self.fields.get(number)?;
        let found = field.form.read(text, &self.zone);
        if found.is_some() {
            field.note_fitted();
        }
        found
    }

    /// Those of them whose form no value had.
    pub fn unfitted(&self) -> impl Iterator<Item = &TimeField> {
        self.fields.iter().filter(|field| field.is_unfitted())
    }

    /// Which texts are times.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The zone of times that name none.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// A quick look at a text, which nearly all that are no times fail.
    #[inline]
    pub fn may_be(text: &[u8]) -> bool {
        text.len() >= forms::SHORTEST && forms::STARTS[usize::from(text[0])]
    }

    /// The instant that a text is as a whole.
    pub fn read(&self, text: &[u8]) -> Option<Moment> {
        if !Self::may_be(text) {
            return None;
        }
        match self.mode {
            Mode::All => read_any(text, &self.zone),
            Mode::Rfc3339 => {
                timestamp::recognise(text).map(|us| Moment::exact(self.zone.of_rfc3339(text, us)))
            }
            Mode::None => None,
        }
    }
}

#[cfg(test)]
mod tests;
