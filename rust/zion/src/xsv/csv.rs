//! Records of CSV: RFC 4180, read leniently.
//!
//! Lines end with LF or CRLF, empty ones are skipped. A field that starts with a quote ends with a quote
//! before a separator or the end of a line; `""` inside is a quote, any other quote stands for itself. All
//! other fields are taken as they are.

use memchr::{memchr, memchr2};

use super::Record;

/// Reads the record at `at`; gives the place behind it, or None when only empty lines are left.
pub(super) fn read(text: &[u8], mut at: usize, separator: u8, record: &mut Record) -> Option<usize> {
    record.clear();
    loop {
        match text.get(at..)? {
            [] | [b'\r'] => return None,
            [b'\n', ..] => at += 1,
            [b'\r', b'\n', ..] => at += 2,
            _ => break,
        }
    }
    loop {
        let (next, more) = if text.get(at) == Some(&b'"') {
            quoted(text, at + 1, separator, record)
        } else {
            plain(text, at, separator, record)
        };
        at = next;
        if !more {
            return Some(at);
        }
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

/// A field whose first quote is before `start`.
fn quoted(text: &[u8], start: usize, separator: u8, record: &mut Record) -> (usize, bool) {
    let copied = record.begin_copy();
    let mut from = start;
    loop {
        let Some(length) = memchr(b'"', &text[from..]) else {
            record.copy_lines(&text[from..without_return(text, from, text.len())]);
            record.end_copy(copied);
            return (text.len(), false);
        };
        let quote = from + length;
        let behind = &text[quote + 1..];
        let end = match behind {
            [first, ..] if *first == separator => Some((1, true)),
            [] => Some((0, false)),
            [b'\n', ..] | [b'\r'] => Some((1, false)),
            [b'\r', b'\n', ..] => Some((2, false)),
            _ => None,
        };
        if let Some((size, more)) = end {
            if from == start && memchr(b'\r', &text[start..quote]).is_none() {
                record.push(start, quote);
            } else {
                record.copy_lines(&text[from..quote]);
                record.end_copy(copied);
            }
            return (quote + 1 + size, more);
        }
        record.copy_lines(&text[from..=quote]);
        from = quote + 1 + usize::from(behind.first() == Some(&b'"'));
    }
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

    fn records(text: &[u8]) -> Vec<Vec<Vec<u8>>> {
        let (mut record, mut at, mut found) = (Record::default(), 0, vec![]);
        while let Some(next) = read(text, at, b',', &mut record) {
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
