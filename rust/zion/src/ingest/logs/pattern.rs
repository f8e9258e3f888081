//! Lines that a regular expression takes apart: each named group is a field.

use regex::bytes::{CaptureLocations, Regex, RegexBuilder};

use super::fields::{Field, Guess, Kind};
use super::writer::Writer;
use crate::error::{Error, Result};
use crate::ingest::message::MESSAGE;

/// A pattern may take so much memory once it is compiled; matching takes time in proportion to the line.
const MOST_BYTES: usize = 4 << 20;

/// A regular expression with named groups.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    regex: Regex,
    /// Numbers of the groups, and their fields.
    groups: Vec<(usize, Field)>,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Result<Self> {
        let built = RegexBuilder::new(text).size_limit(MOST_BYTES).build();
        let regex = built.map_err(|error| {
            // Its last line says what is wrong, those before show where.
            let message = error.to_string();
            let last = message.trim_end().rsplit('\n').next().unwrap_or_default();
            Error::argument(format!("the pattern of regex: {}", last.trim_start_matches("error: ")))
        })?;
        let named = regex.capture_names().enumerate();
        let field = |name: &str| Field { name: name.as_bytes().into(), kind: Kind::Guess };
        let groups: Vec<_> = named.filter_map(|(number, name)| Some((number, field(name?)))).collect();
        if groups.is_empty() {
            return Err(Error::argument("the pattern of regex: no named group, such as (?P<status>[0-9]+)"));
        }
        Ok(Self { regex, groups })
    }

    /// A pattern of a ready form, with the fields whose kinds it declares; all others are texts.
    pub(super) fn ready(text: &str, declared: &[Field]) -> Result<Self> {
        let built = RegexBuilder::new(text).size_limit(MOST_BYTES).unicode(false).build();
        let regex = built.map_err(|error| Error::argument(error.to_string()))?;
        let field = |name: &str| {
            let known = declared.iter().find(|field| *field.name == *name.as_bytes());
            known.cloned().unwrap_or_else(|| Field::new(name))
        };
        let groups = regex.capture_names().enumerate();
        let groups = groups.filter_map(|(number, name)| Some((number, field(name?)))).collect();
        Ok(Self { regex, groups })
    }

    /// The fields of its groups.
    pub(super) fn fields(&self) -> impl Iterator<Item = &Field> {
        self.groups.iter().map(|(_, field)| field)
    }

    /// Memory for a match; each thread needs its own.
    pub(super) fn locations(&self) -> CaptureLocations {
        self.regex.capture_locations()
    }

    pub(super) fn is_match(&self, line: &[u8]) -> bool {
        self.regex.is_match(line)
    }

    /// Writes the groups that have a text; what follows the line goes on with its `message`. Gives what
    /// was guessed, None where it does not match.
    pub(super) fn parse(
        &self,
        (line, rest): (&[u8], &[u8]),
        reference: i64,
        locations: &mut CaptureLocations,
        writer: &mut Writer,
    ) -> Result<Option<Guess>> {
        if self.regex.captures_read(locations, line).is_none() {
            return Ok(None);
        }
        let (mut guess, mut goes_on) = (Guess::NONE, !rest.is_empty());
        for (number, field) in &self.groups {
            let Some((start, end)) = locations.get(*number) else { continue };
            if goes_on && *field.name == *MESSAGE {
                writer.text(MESSAGE, &joined(&line[start..end], rest));
                goes_on = false;
            } else if start < end {
                guess.0 |= field.put(&line[start..end], start, reference, writer)?.0;
            }
        }
        if goes_on {
            writer.text(MESSAGE, rest.trim_ascii());
        }
        Ok(Some(guess))
    }
}

/// The lines of a message, without the one that is empty where the first line had nothing.
fn joined(first: &[u8], rest: &[u8]) -> Vec<u8> {
    let mut text = first.to_vec();
    if !first.is_empty() {
        text.push(b'\n');
    }
    text.extend_from_slice(rest);
    text
}
