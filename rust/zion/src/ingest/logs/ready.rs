//! The ready forms, made once: patterns that are compiled, and what tells a form by the start of a text.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use regex::bytes::{CaptureLocations, Regex, RegexBuilder};

use super::fields::{Field, Guess};
use super::forms::{FORMS, LineForm, Shape};
use super::pattern::Pattern;
use super::words::Words;
use super::writer::Writer;
use crate::error::{Error, Result};
use crate::ingest::message::MESSAGE;

/// Lines at the start of a text that tell its form.
const SAMPLE_LINES: usize = 50;

/// A form that is ready to take lines apart.
#[derive(Debug)]
pub(super) enum Ready {
    Patterns {
        patterns: Vec<Pattern>,
        goes_on: bool,
    },
    Words(Words),
    /// With the names of its fields.
    Own(Vec<String>),
}

static READY: LazyLock<HashMap<&'static str, Result<Arc<Ready>>>> =
    LazyLock::new(|| FORMS.iter().map(|form| (form.name, Ready::new(&form.shape).map(Arc::new))).collect());

static LOOKS: LazyLock<Vec<Option<Regex>>> = LazyLock::new(|| {
    let built = |looks: &str| RegexBuilder::new(looks).unicode(false).build().ok();
    FORMS.iter().map(|form| Some(form.looks).filter(|looks| !looks.is_empty()).and_then(built)).collect()
});

impl Ready {
    fn new(shape: &Shape) -> Result<Self> {
        let fields = |declared: &str| declared.split_ascii_whitespace().map(Field::new).collect::<Vec<_>>();
        let compiled = |patterns: &[&str], declared: &str, goes_on| {
            let declared = fields(declared);
            let patterns =
                patterns.iter().map(|text| Pattern::ready(text, &declared)).collect::<Result<_>>()?;
            Ok(Self::Patterns { patterns, goes_on })
        };
        match shape {
            Shape::Patterns(patterns, declared) => compiled(patterns, declared, false),
            Shape::Records(patterns, declared) => compiled(patterns, declared, true),
            Shape::Words(declared) => Ok(Self::Words(Words::new(declared))),
            Shape::Own(declared) => Ok(Self::Own(fields(declared).iter().flat_map(Field::names).collect())),
        }
    }

    /// The form of a name; None: no form has it.
    pub(super) fn named(name: &str) -> Result<Option<Arc<Self>>> {
        READY.get(name).cloned().transpose()
    }

    /// Whether lines that do not begin a record belong to the one before them.
    pub(super) fn goes_on(&self) -> bool {
        matches!(self, Self::Patterns { goes_on: true, .. })
    }

    /// Whether a line begins a record.
    pub(super) fn begins(&self, line: &[u8]) -> bool {
        match self {
            Self::Patterns { patterns, .. } => patterns.iter().any(|pattern| pattern.is_match(line)),
            Self::Words(_) | Self::Own(_) => true,
        }
    }

    /// Memory for the matches of its patterns.
    pub(super) fn locations(&self) -> Vec<CaptureLocations> {
        match self {
            Self::Patterns { patterns, .. } => patterns.iter().map(Pattern::locations).collect(),
            Self::Words(_) | Self::Own(_) => vec![],
        }
    }

    /// Writes the fields of a record by the first pattern that matches its first line.
    pub(super) fn parse(
        &self,
        record: (&[u8], &[u8]),
        reference: i64,
        locations: &mut [CaptureLocations],
        writer: &mut Writer,
    ) -> Result<Guess> {
        let Self::Patterns { patterns, .. } = self else { return Ok(Guess::NONE) };
        for (pattern, locations) in patterns.iter().zip(locations) {
            if let Some(guess) = pattern.parse(record, reference, locations, writer)? {
                return Ok(guess);
            }
        }
        Err(Error::syntax(0, "the line does not have the form"))
    }

    fn fields(&self) -> Vec<String> {
        match self {
            Self::Patterns { patterns, goes_on } => {
                let names = patterns.iter().flat_map(Pattern::fields).flat_map(Field::names);
                let more = goes_on.then(|| String::from_utf8_lossy(MESSAGE).into_owned());
                names.chain(more).collect()
            }
            Self::Words(words) => words.names(),
            Self::Own(names) => names.clone(),
        }
    }
}

/// The names of the ready forms, whether records of each have several lines, and the names of its fields.
pub fn all() -> Vec<(&'static str, bool, Vec<String>)> {
    let mut forms = vec![];
    for LineForm { name, .. } in FORMS {
        let Some(Ok(ready)) = READY.get(name) else { continue };
        let mut fields: Vec<String> = vec![];
        for field in ready.fields() {
            if !fields.contains(&field) {
                fields.push(field);
            }
        }
        forms.push((*name, ready.goes_on(), fields));
    }
    forms
}

/// The form that the lines at the start of a text have: nine of ten of them, or of a form with records of several
/// lines the first one, or every other. Of two forms the one that more lines have counts.
pub fn detect(text: &[u8]) -> Option<&'static str> {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let whole = memchr::memrchr(b'\n', text).map_or(text, |end| &text[..end]);
    let lines = whole.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let lines: Vec<_> = lines.filter(|line| !line.trim_ascii().is_empty()).take(SAMPLE_LINES).collect();
    let mut best = None;
    for (form, looks) in FORMS.iter().zip(LOOKS.iter()) {
        let Some(Ok(ready)) = READY.get(form.name) else { continue };
        let fits =
            |line: &&&[u8]| looks.as_ref().map_or_else(|| ready.begins(line), |looks| looks.is_match(line));
        let count = lines.iter().filter(fits).count();
        let is_journal = form.name == "journald" && lines.first().is_some_and(|line| fits(&line));
        let is_enough = if ready.goes_on() {
            lines.first().is_some_and(|line| fits(&line)) || count * 2 >= lines.len()
        } else {
            count * 10 >= lines.len() * 9
        };
        if count > 0 && (is_enough || is_journal) && best.is_none_or(|(most, _)| count > most) {
            best = Some((count, form.name));
        }
    }
    best.map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_are_well_formed() {
        for (name, ready) in READY.iter() {
            assert!(ready.is_ok(), "{name}: {ready:?}");
        }
        for (form, looks) in FORMS.iter().zip(LOOKS.iter()) {
            assert_eq!(looks.is_some(), !form.looks.is_empty(), "{}", form.name);
        }
    }

    #[test]
    fn the_first_lines_tell_the_form() {
        for (text, expected) in [
            ("2025-01-24T07:00:30,139 INFO [main] App : started\n\tat x\n\tat y\n\tat z\n", Some("java")),
            ("2025-01-24 07:00:30,139 - app - INFO - started\n", Some("python")),
            ("[2025-01-02 11:19:06] app.ERROR: x\n", Some("app")),
            ("[Fri Oct 08 17:08:41.203277 2021] [core:error] [pid 7005] msg\n", Some("apache-error")),
            ("Nov 2 15:40:14 host sshd[1]: x\n", Some("syslog")),
            ("I0304 05:06:07.123456       1 main.go:7] up\n", Some("klog")),
            ("a=1 b=2\na=2 b=\"x y\"\n", Some("logfmt")),
            ("hello\n", None),
            ("x\n2025-01-24 07:00:30,139 - app - INFO - started\n", Some("python")),
            ("", None),
        ] {
            assert_eq!(detect(text.as_bytes()), expected, "{text}");
        }
    }
}
