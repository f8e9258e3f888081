//! Lines that a regular expression takes apart: each named group is a field.

use regex::bytes::{CaptureLocations, Regex, RegexBuilder};

use super::writer::Writer;
use crate::error::{Error, Result};

/// A pattern may take so much memory once it is compiled; matching takes time in proportion to the line.
const MOST_BYTES: usize = 4 << 20;

/// A regular expression with named groups.
#[derive(Debug)]
pub(super) struct Pattern {
    regex: Regex,
    /// Numbers and names of the groups.
    groups: Vec<(usize, Box<[u8]>)>,
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
        let groups: Vec<_> =
            named.filter_map(|(number, name)| Some((number, name?.as_bytes().into()))).collect();
        if groups.is_empty() {
            return Err(Error::argument("the pattern of regex: no named group, such as (?P<status>[0-9]+)"));
        }
        Ok(Self { regex, groups })
    }

    /// Memory for a match; each thread needs its own.
    pub(super) fn locations(&self) -> CaptureLocations {
        self.regex.capture_locations()
    }

    /// Writes the groups that have a text.
    pub(super) fn parse(
        &self,
        line: &[u8],
        locations: &mut CaptureLocations,
        writer: &mut Writer,
    ) -> Result<()> {
        if self.regex.captures_read(locations, line).is_none() {
            return Err(Error::syntax(0, "the pattern does not match the line"));
        }
        for (number, name) in &self.groups {
            if let Some((start, end)) = locations.get(*number)
                && start < end
            {
                writer.guess(name, &line[start..end]);
            }
        }
        Ok(())
    }
}
