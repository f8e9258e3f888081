//! Lines of words between spaces: `-` is no value, and quotes or brackets hold words with spaces together.

use memchr::memchr;

use super::escapes::{closing_quote, unescaped};
use super::fields::Field;
use super::writer::Writer;
use crate::error::{Error, Result};

/// The fields of the words, from left to right.
#[derive(Debug, Clone)]
pub(super) struct Words {
    fields: Vec<Field>,
    /// Words that a record has at least.
    least: usize,
}

/// Words that no record lacks: with fewer a line is something else.
const LEAST: usize = 10;

impl Words {
    pub(super) fn new(declared: &str) -> Self {
        let fields: Vec<_> = declared.split_ascii_whitespace().map(Field::new).collect();
        Self { least: LEAST.min(fields.len()), fields }
    }

    /// The same with the names that the first line of an input has, where it has names: `version account-id`.
    pub(super) fn headed(&self, line: &[u8]) -> Option<Self> {
        let names: Vec<_> = std::str::from_utf8(line).ok()?.split_ascii_whitespace().collect();
        let is_name = |name: &&str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        let known = |name: &str| self.fields.iter().find(|field| *field.name == *name.as_bytes());
        let names: Vec<_> =
            names.iter().all(is_name).then(|| names.iter().map(|name| name.replace('-', "_")))?.collect();
        names.iter().any(|name| known(name).is_some()).then_some(())?;
        let fields: Vec<_> =
            names.iter().map(|name| known(name).cloned().unwrap_or_else(|| Field::new(name))).collect();
        Some(Self { least: fields.len(), fields })
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.fields.iter().flat_map(Field::names).collect()
    }

    /// Writes the fields of a line; words beyond them are in `rest`.
    pub(super) fn parse(&self, line: &[u8], writer: &mut Writer) -> Result<()> {
        let (mut at, mut count) = (0, 0);
        for field in &self.fields {
            let Some((word, next)) = word(line, at) else { break };
            let word = word?;
            count += 1;
            if !word.is_empty() && word != b"-" {
                if line[at] == b'"' {
                    field.put(&unescaped(word, b""), at, 0, writer)?;
                } else {
                    field.put(word, at, 0, writer)?;
                }
            }
            at = next;
        }
        if count < self.least {
            let message = format!("{count} words, where {} or more were expected", self.least);
            return Err(Error::syntax(0, message));
        }
        let rest = line[at.min(line.len())..].trim_ascii();
        if !rest.is_empty() {
            writer.text(b"rest", rest);
        }
        Ok(())
    }
}

/// The word at `at`, and where the next one begins; None at the end of the line.
fn word(line: &[u8], at: usize) -> Option<(Result<&[u8]>, usize)> {
    let rest = line.get(at..).filter(|rest| !rest.is_empty())?;
    let closed = |inner, length: Option<usize>| match length {
        Some(length) => (Ok(&rest[1..=length]), at + length + 2),
        None => (Err(Error::syntax(at, inner)), line.len()),
    };
    let (word, end) = match rest[0] {
        b'"' => closed("a quote that is not closed", closing_quote(&rest[1..])),
        b'[' => closed("a bracket that is not closed", memchr(b']', &rest[1..])),
        _ => {
            let length = memchr(b' ', rest).unwrap_or(rest.len());
            (Ok(&rest[..length]), at + length)
        }
    };
    let spaces = line.get(end..).map_or(0, |rest| rest.iter().take_while(|&&byte| byte == b' ').count());
    Some((word, end + spaces))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_quotes_and_brackets_hold_together() {
        let line = br#"a [b c] "d \" e" -  f"#;
        let (mut at, mut found) = (0, vec![]);
        while let Some((text, next)) = word(line, at) {
            found.push(text.map_err(|error| error.to_string()).unwrap_or_default());
            at = next;
        }
        assert_eq!(found, [&b"a"[..], b"b c", br#"d \" e"#, b"-", b"f"]);
        assert!(matches!(word(b"\"a", 0), Some((Err(_), 2))));
        assert!(word(b"", 0).is_none());
    }
}
