//! The export form of journald: fields on lines `NAME=value`, or a name alone, the length of the value in eight
//! bytes, little end first, and the value. An empty line ends a record.

use memchr::memchr;

use super::writer::Writer;
use crate::error::{Error, Result};
use crate::ingest::xsv::convert::Convert;
use crate::times::{Form, Unit};

/// The maximum length of a value: a row cannot have a longer one.
const MOST_BYTES: usize = 64 << 20;

/// Fields that count microseconds since 1970.
const TIMES: &[&[u8]] = &[b"__REALTIME_TIMESTAMP", b"_SOURCE_REALTIME_TIMESTAMP"];

/// Fields with whole numbers.
const NUMBERS: &[&[u8]] = &[
    b"PRIORITY",
    b"ERRNO",
    b"CODE_LINE",
    b"SYSLOG_FACILITY",
    b"SYSLOG_PID",
    b"_PID",
    b"_UID",
    b"_GID",
    b"TID",
    b"_AUDIT_SESSION",
    b"_AUDIT_LOGINUID",
    b"_SYSTEMD_OWNER_UID",
    b"EXIT_STATUS",
    b"EXIT_CODE_NUMBER",
    b"__MONOTONIC_TIMESTAMP",
    b"_SOURCE_MONOTONIC_TIMESTAMP",
    b"__SEQNUM",
];

/// Where the record at `at` ends, behind its empty line; None: it goes on behind the text.
pub(super) fn end(text: &[u8], mut at: usize) -> Option<usize> {
    let mut is_malformed = false;
    loop {
        let line = memchr(b'\n', text.get(at..)?)?;
        let (start, behind) = (at, at + line + 1);
        if line == 0 {
            return Some(behind);
        }
        at = behind;
        if !is_malformed && memchr(b'=', &text[start..behind]).is_none() {
            match length(text, behind) {
                Some(length) if length <= MOST_BYTES => at = behind.checked_add(8 + length + 1)?,
                // The parser says so; the record goes on to the next empty line.
                Some(_) => is_malformed = true,
                None => return None,
            }
        }
    }
}

fn length(text: &[u8], at: usize) -> Option<usize> {
    let bytes = text.get(at..)?.first_chunk::<8>()?;
    usize::try_from(u64::from_le_bytes(*bytes)).ok()
}

/// Writes the fields of a record.
pub(super) fn parse(text: &[u8], writer: &mut Writer) -> Result<()> {
    let mut at = 0;
    while at < text.len() && text[at] != b'\n' {
        let end = memchr(b'\n', &text[at..]).map_or(text.len(), |length| at + length);
        let line = &text[at..end];
        let (name, value) = if let Some(equals) = memchr(b'=', line) {
            at = end + 1;
            (&line[..equals], &line[equals + 1..])
        } else {
            let start = end + 9;
            let value = length(text, end + 1).and_then(|length| text.get(start..start.checked_add(length)?));
            let Some(value) = value else {
                return Err(Error::syntax(at, "NAME=value was expected, or a name, a length and a value"));
            };
            at = start + value.len() + 1;
            (line, value)
        };
        let is_name = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
        if name.is_empty() || !name.iter().all(is_name) {
            return Err(Error::syntax(
                end - line.len(),
                "the name of a field was expected, as in MESSAGE=text",
            ));
        }
        if TIMES.contains(&name) {
            writer.told_time(name, value, &Form::Unix(Unit::Microseconds));
        } else if NUMBERS.contains(&name) {
            writer.converted(name, value, &Convert::Int);
        } else {
            writer.text(name, value);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_line_inside_of_a_value_ends_no_record() {
        let text = b"A=1\nMESSAGE\n\x04\0\0\0\0\0\0\0a\n\nb\nB=2\n\nC=3\n\n";
        assert_eq!(end(text, 0), Some(30));
        assert_eq!(end(text, 30), Some(text.len()));
        assert_eq!(end(&text[..20], 0), None);
        assert_eq!(end(b"A\n\xff\xff\xff\xff\xff\xff\xff\xff\n\n", 0), Some(12));
    }
}
