//! Fields of ready forms, whose kinds are known.

use super::times;
use super::writer::Writer;
use crate::error::{Error, Result};
use crate::ingest::xsv::convert::Convert;
use crate::times::{Form, Unit};

/// What was guessed of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Guess(pub u8);

impl Guess {
    pub(super) const NONE: Self = Self(0);
    /// Their year, which they lack.
    pub(super) const YEAR: Self = Self(1);
    /// Their zone, whose name says no offset.
    pub(super) const ZONE: Self = Self(2);

    /// That of the year, if there is one.
    pub(super) fn year(is_guessed: bool) -> Self {
        if is_guessed { Self::YEAR } else { Self::NONE }
    }
}

/// What a field holds.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// A text.
    Text,
    /// What its column has.
    Guess,
    /// A number, where it is one.
    Number(Convert),
    /// An instant: without it a record is malformed.
    Time,
    /// The same, of month, day and time of day.
    Yearless,
    /// An instant, where it is one.
    Unix(Form),
    /// An address and a port, in two fields.
    Endpoint(Box<[u8]>, Box<[u8]>),
    /// The first line of a request of HTTP, in `method`, `path` and `protocol`.
    Request,
}

/// A field, as the declaration of its form says.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub name: Box<[u8]>,
    pub kind: Kind,
}

impl Field {
    /// The field that `name` or `name:kind` declares.
    pub(super) fn new(declared: &str) -> Self {
        let (name, kind) = declared.split_once(':').unwrap_or((declared, "text"));
        let suffixed = |suffix: &str| format!("{name}_{suffix}").into_bytes().into();
        let kind = match kind {
            "int" => Kind::Number(Convert::Int),
            "number" => Kind::Number(Convert::Number),
            "time" => Kind::Time,
            "yearless" => Kind::Yearless,
            "seconds" => Kind::Unix(Form::Unix(Unit::Seconds)),
            "endpoint" => Kind::Endpoint(suffixed("ip"), suffixed("port")),
            "request" => Kind::Request,
            _ => Kind::Text,
        };
        Self { name: name.as_bytes().into(), kind }
    }

    /// The names of the fields that rows get.
    pub(super) fn names(&self) -> Vec<String> {
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        match &self.kind {
            Kind::Endpoint(address, port) => vec![text(address), text(port)],
            Kind::Request => ["method", "path", "protocol"].map(str::to_owned).into(),
            _ => vec![text(&self.name)],
        }
    }

    /// Writes a text that lies at `at` in its record; times without a year are in the last one before `reference`.
    pub(super) fn put(&self, text: &[u8], at: usize, reference: i64, writer: &mut Writer) -> Result<Guess> {
        match &self.kind {
            Kind::Text => writer.text(&self.name, text),
            Kind::Guess => writer.guess(&self.name, text),
            Kind::Number(convert) => writer.converted(&self.name, text, convert),
            Kind::Time => {
                let us = writer.moment(text).ok_or_else(|| Error::syntax(at, "no such time"))?;
                writer.time(&self.name, us);
            }
            Kind::Yearless => {
                let found = times::numbered(text, reference);
                writer.local_time(&self.name, found.ok_or_else(|| Error::syntax(at, "no such time"))?);
                return Ok(Guess::YEAR);
            }
            Kind::Unix(form) => writer.told_time(&self.name, text, form),
            Kind::Endpoint(address, port) => {
                let colon = memchr::memrchr(b':', text).unwrap_or(text.len());
                let host = text[..colon].strip_prefix(b"[").and_then(|host| host.strip_suffix(b"]"));
                writer.text(address, host.unwrap_or(&text[..colon]));
                if let Some(number) = text.get(colon + 1..).filter(|number| *number != b"-") {
                    writer.converted(port, number, &Convert::Int);
                }
            }
            Kind::Request => super::combined::request(text, writer),
        }
        let is_zone = *self.name == *b"zone";
        Ok(if is_zone { Guess::ZONE } else { Guess::NONE })
    }
}
