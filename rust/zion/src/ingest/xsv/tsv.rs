//! Records of TSV: a line each, fields between tabs, `\t \n \r \\` for the bytes that cannot stand there.

use memchr::{memchr, memchr2};

use super::record::Record;
use crate::error::{Error, Result};

/// Length of a line in bytes, with its end.
const MAX_LINE: usize = 64 << 10;

/// Reads the line at `at`; gives the place behind it, or None at the end. Records the whole line also when
/// it is too long, which is an error.
pub(super) fn read(text: &[u8], at: usize, record: &mut Record) -> Option<(usize, Result<()>)> {
    record.clear();
    let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
    let length = memchr(b'\n', rest);
    let next = at + length.map_or(rest.len(), |length| length + 1);
    let mut end = at + length.unwrap_or(rest.len());
    if end - at >= MAX_LINE {
        let problem = format!("a line of {} bytes, the limit is {}", end - at, MAX_LINE - 1);
        return Some((next, Err(Error::too_large(at, problem))));
    }
    if text[at..end].last() == Some(&b'\r') {
        end -= 1;
    }
    let mut start = at;
    while let Some(found) = memchr2(b'\t', b'\\', &text[start..end]) {
        let stop = start + found;
        if text[stop] == b'\t' {
            record.push(start, stop);
            start = stop + 1;
        } else {
            let stop = stop + memchr(b'\t', &text[stop..end]).unwrap_or(end - stop);
            unescape(&text[start..stop], record);
            if stop == end {
                return Some((next, Ok(())));
            }
            start = stop + 1;
        }
    }
    record.push(start, end);
    Some((next, Ok(())))
}

fn unescape(mut field: &[u8], record: &mut Record) {
    let copied = record.begin_copy();
    while let Some(at) = memchr(b'\\', field) {
        record.copy(&field[..at]);
        let plain = match field.get(at + 1) {
            Some(b't') => Some(b'\t'),
            Some(b'n') => Some(b'\n'),
            Some(b'r') => Some(b'\r'),
            Some(b'\\') => Some(b'\\'),
            _ => None,
        };
        record.copy(&[plain.unwrap_or(b'\\')]);
        field = &field[at + 1 + usize::from(plain.is_some())..];
    }
    record.copy(field);
    record.end_copy(copied);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_lines() {
        let text = b"a\\tb\tc\\\\\\x\t\r\n\nlast\\";
        let mut record = Record::default();
        let (mut at, mut found) = (0, vec![]);
        while let Some((next, Ok(()))) = read(text, at, &mut record) {
            for index in 0..record.len() {
                found.push(record.field(text, index).unwrap_or_default().to_vec());
            }
            at = next;
        }
        assert_eq!(found, [&b"a\tb"[..], b"c\\\\x", b"", b"", b"last\\"]);
    }

    #[test]
    fn long_lines_are_refused() {
        let mut record = Record::default();
        for (length, good) in [(65_535, true), (65_536, false)] {
            let text = [vec![b'x'; length], b"\n".to_vec()].concat();
            assert_eq!(
                read(&text, 0, &mut record).map(|(next, line)| (next, line.is_ok())),
                Some((length + 1, good))
            );
        }
    }
}
