//! Records of CSV: RFC 4180, read leniently.
//!
//! Lines end with LF or CRLF, empty ones are skipped. A field that starts with a quote ends with a quote
//! before a separator or the end of a line; `""` inside is a quote, any other quote stands for itself. All
//! other fields are taken as they are.
//!
//! A quote that is not closed, or not where it was meant to be, takes the records behind it into its field.
//! This is an error, except where the original was recorded with a text: see [`Dialect::exact`].

use memchr::{memchr, memchr2};

use super::record::Record;
use crate::error::{Error, Result};

/// How fields are told apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dialect {
    pub separator: u8,
    /// Whether fields keep the ends of lines as they are, and must be closed. The original, which takes CSV
    /// only with hints, makes LF of CRLF in quotes, and lets the end of the input close a field.
    pub exact: bool,
}

/// Reads the record at `at`; gives the place behind it and whether it is well-formed, or None when only empty
/// lines are left.
pub(super) fn read(
    text: &[u8],
    mut at: usize,
    dialect: Dialect,
    record: &mut Record,
) -> Option<(usize, Result<()>)> {
    record.clear();
    loop {
        match text.get(at..)? {
            [] | [b'\r'] => return None,
            [b'\n', ..] => at += 1,
            [b'\r', b'\n', ..] => at += 2,
            _ => break,
        }
    }
    let mut result = Ok(());
    loop {
        let (next, more) = if text.get(at) == Some(&b'"') {
            let (next, more, end) = quoted(text, at + 1, dialect, record);
            if result.is_ok() && end != End::Closed {
                result = check(text, at, next, end, dialect);
            }
            (next, more)
        } else {
            plain(text, at, dialect.separator, record)
        };
        at = next;
        if !more {
            return Some((at, result));
        }
    }
}

/// How a quoted field ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Closed,
    /// With a quote after others that stood for themselves.
    Doubtful,
    /// With the text.
    Open,
}

/// Refuses a field from `start` to `next` that may have taken records in.
#[cold]
fn check(text: &[u8], start: usize, next: usize, end: End, dialect: Dialect) -> Result<()> {
    let field = text[start..next].strip_suffix(b"\n").unwrap_or(&text[start..next]);
    let lines = memchr(b'\n', field).is_some();
    match end {
        End::Open if dialect.exact || lines => Err(Error::syntax(start, "a quote that is not closed")),
        End::Doubtful if lines => Err(Error::syntax(
            start,
            "a quoted field of several lines with a single quote inside: double that quote, or close the field",
        )),
        _ => Ok(()),
    }
}

/// A field without quotes; gives the place behind it and whether another field follows.
#[inline]
fn plain(text: &[u8], start: usize, separator: u8, record: &mut Record) -> (usize, bool) {
    let Some(length) = memchr2(separator, b'\n', &text[start..]) else {
        record.push(start, without_return(text, start, text.len()));
        return (text.len(), false);
    };
    let end = start + length;
    let more = text[end] == separator;
    record.push(start, if more { end } else { without_return(text, start, end) });
    (end + 1, more)
}

fn without_return(text: &[u8], start: usize, end: usize) -> usize {
    if text[start..end].last() == Some(&b'\r') { end - 1 } else { end }
}

/// A field whose first quote is before `start`; gives also how it ended.
fn quoted(text: &[u8], start: usize, dialect: Dialect, record: &mut Record) -> (usize, bool, End) {
    let copied = record.begin_copy();
    let copy = |record: &mut Record, piece: &[u8]| {
        if dialect.exact { record.copy(piece) } else { record.copy_lines(piece) }
    };
    let (mut from, mut how) = (start, End::Closed);
    loop {
        let Some(length) = memchr(b'"', &text[from..]) else {
            copy(record, &text[from..without_return(text, from, text.len())]);
            record.end_copy(copied);
            return (text.len(), false, End::Open);
        };
        let quote = from + length;
        let behind = &text[quote + 1..];
        let end = match behind {
            [first, ..] if *first == dialect.separator => Some((1, true)),
            [] => Some((0, false)),
            [b'\n', ..] | [b'\r'] => Some((1, false)),
            [b'\r', b'\n', ..] => Some((2, false)),
            _ => None,
        };
        if let Some((size, more)) = end {
            if from == start && (dialect.exact || memchr(b'\r', &text[start..quote]).is_none()) {
                record.push(start, quote);
            } else {
                copy(record, &text[from..quote]);
                record.end_copy(copied);
            }
            return (quote + 1 + size, more, how);
        }
        copy(record, &text[from..=quote]);
        let doubled = behind.first() == Some(&b'"');
        if !doubled {
            how = End::Doubtful;
        }
        from = quote + 1 + usize::from(doubled);
    }
}

/// The separator that the first record has outside of quotes: a comma, or else the first of semicolon, tab
/// and vertical bar that it has.
pub(super) fn likely_separator(mut text: &[u8]) -> u8 {
    const KNOWN: [u8; 4] = [b',', b';', b'\t', b'|'];
    while let [b'\n', rest @ ..] | [b'\r', b'\n', rest @ ..] = text {
        text = rest;
    }
    let mut found = [false; KNOWN.len()];
    let (mut at, mut starts) = (0, true);
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'"' if starts => at = behind_quotes(text, at, &KNOWN),
            b'\n' => break,
            _ => {}
        }
        let known = KNOWN.iter().position(|&known| known == byte);
        if let Some(place) = known {
            found[place] = true;
        }
        starts = known.is_some();
    }
    KNOWN.into_iter().zip(found).find(|&(_, found)| found).map_or(b',', |(known, _)| known)
}

/// The place behind the quote that closes a field whose first quote is before `at`.
fn behind_quotes(text: &[u8], mut at: usize, separators: &[u8]) -> usize {
    while let Some(length) = memchr(b'"', &text[at..]) {
        at += length + 1;
        match text.get(at) {
            Some(b'"') => at += 1,
            Some(byte) if !separators.contains(byte) && !matches!(byte, b'\r' | b'\n') => {}
            _ => return at,
        }
    }
    text.len()
}

/// The first carriage return that ends a line by itself in the record at the start of a text.
pub(super) fn lone_return(text: &[u8], record_bytes: usize, has_quotes: bool) -> Option<usize> {
    let record = &text[..record_bytes.min(text.len())];
    let mut in_quotes = false;
    for at in memchr::memchr2_iter(b'"', b'\r', record) {
        match record[at] {
            b'"' => in_quotes = has_quotes && !in_quotes,
            _ if !in_quotes && !matches!(text.get(at + 1), None | Some(b'\n')) => return Some(at),
            _ => {}
        }
    }
    None
}

/// Follows the quotes of a text to find where its records end.
#[derive(Debug, Default)]
pub(super) struct Ends {
    position: usize,
    in_quotes: bool,
}

impl Ends {
    /// The end of the first record that ends at or after `min`. The text starts with a record.
    pub(super) fn find(&mut self, text: &[u8], min: usize, separator: u8) -> Option<usize> {
        loop {
            if self.in_quotes {
                self.close(text, separator)?;
                continue;
            }
            let Some(length) = memchr2(b'"', b'\n', &text[self.position..]) else {
                self.position = text.len();
                return None;
            };
            let at = self.position + length;
            self.position = at + 1;
            if text[at] == b'\n' {
                if self.position >= min {
                    return Some(self.position);
                }
            } else {
                let before = at.checked_sub(1).map(|before| text[before]);
                self.in_quotes = before.is_none_or(|byte| byte == separator || byte == b'\n');
            }
        }
    }

    /// Goes on to the next quote inside a field, and leaves the field if it is the last one.
    fn close(&mut self, text: &[u8], separator: u8) -> Option<()> {
        let Some(length) = memchr(b'"', &text[self.position..]) else {
            self.position = text.len();
            return None;
        };
        let quote = self.position + length;
        self.position = quote;
        match &text[quote + 1..] {
            [] | [b'\r'] => return None,
            [b'"', ..] => self.position = quote + 2,
            [b'\r', b'\n', ..] | [b'\n', ..] => {
                self.position = quote + 1;
                self.in_quotes = false;
            }
            [first, ..] => {
                self.position = quote + 1;
                self.in_quotes = *first != separator;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EXACT: Dialect = Dialect { separator: b',', exact: true };

    fn records(text: &[u8]) -> Vec<Vec<Vec<u8>>> {
        records_of(text, Dialect { separator: b',', exact: false })
    }

    fn records_of(text: &[u8], dialect: Dialect) -> Vec<Vec<Vec<u8>>> {
        let (mut record, mut at, mut found) = (Record::default(), 0, vec![]);
        while let Some((next, _)) = read(text, at, dialect, &mut record) {
            found.push((0..record.len()).filter_map(|i| record.field(text, i)).map(<[u8]>::to_vec).collect());
            at = next;
        }
        found
    }

    #[test]
    fn lenient_reading() {
        for (text, expected) in [
            ("a,b\r\n\r\n\nc\n", &[&["a", "b"][..], &["c"]][..]),
            ("\"a\"\"b\",\"c,\nd\"\n", &[&["a\"b", "c,\nd"]]),
            ("\"a\"b,c\n", &[&["a\"b,c\n"]]),
            ("a\"b,\"\"\n", &[&["a\"b", ""]]),
            ("\"x\r\ny\"\r\n1", &[&["x\ny"], &["1"]]),
            ("\"open\r", &[&["open"]]),
            ("a,\r\n\"b\"\r", &[&["a", ""], &["b"]]),
            ("\r", &[]),
        ] {
            let expected: Vec<Vec<Vec<u8>>> = expected
                .iter()
                .map(|record| record.iter().map(|field| field.as_bytes().to_vec()).collect())
                .collect();
            assert_eq!(records(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn what_takes_records_in_is_refused() {
        let good = |text: &str, exact| {
            let (mut record, mut at) = (Record::default(), 0);
            let dialect = Dialect { separator: b',', exact };
            while let Some((next, result)) = read(text.as_bytes(), at, dialect, &mut record) {
                if result.is_err() {
                    return false;
                }
                at = next;
            }
            true
        };
        for (text, exact, lenient) in [
            ("\"a\nb\",c\n", true, true),
            ("\"a \"b\" c\",d\n", true, true),
            ("x,\"open\n", false, true),
            ("\"open\ny\n", false, false),
            ("\"open\r\n", false, true),
            ("\"a\"b,c\nd,\"e\"\n", false, false),
            ("\"a\"b,c\n", false, true),
        ] {
            assert_eq!((good(text, true), good(text, false)), (exact, lenient), "{text:?}");
        }
    }

    #[test]
    fn line_ends_in_quotes_stay() {
        let text = b"\"x\r\ny\",\"a\"\"\r\nb\"\r\n";
        assert_eq!(records_of(text, EXACT), [[b"x\r\ny".to_vec(), b"a\"\r\nb".to_vec()]]);
    }

    #[test]
    fn separators_in_quotes_do_not_count() {
        for (text, separator) in [
            ("\"a,b\";c\n", b';'),
            ("\n\"a\n,\"|b\n,", b'|'),
            ("5\" disk,b;c\n", b','),
            ("\"a\"\",;\"\tc", b'\t'),
            ("a\nb,c", b','),
            ("\"a,", b','),
        ] {
            assert_eq!(likely_separator(text.as_bytes()), separator, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn cut_texts_give_the_same_records(text in "[a,\"\r\n]{0,40}", min in 1usize..20, step in 1usize..5) {
            let text = text.as_bytes();
            let (mut ends, mut start, mut found, mut size) = (Ends::default(), 0, vec![], step);
            while start + size < text.len() {
                if let Some(end) = ends.find(&text[start..start + size], min, b',') {
                    found.extend(records(&text[start..start + end]));
                    start += end;
                    ends = Ends::default();
                    size = step;
                } else {
                    size += step;
                }
            }
            found.extend(records(&text[start..]));
            prop_assert_eq!(found, records(text));
        }
    }
}
