//! Records that were passed over, kept so that millions of short ones take little more room than their texts.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::constants::Constants;
use super::message;
use crate::chunk::Stream;
use crate::error::{Error, Result};

/// A record that was passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rejected<'a> {
    /// The number of the line that is wrong, from 1; 0 when it is not known.
    pub line: u64,
    /// Where it starts, in the decompressed input.
    pub offset: u64,
    /// What was wrong with it.
    pub message: &'a str,
    /// Its text, with the end of its line.
    pub text: &'a [u8],
}

/// The records of a part that were passed over, in order.
#[derive(Debug, Clone, Default)]
pub struct Rejects {
    /// Their texts, one behind the other.
    texts: Vec<u8>,
    records: Vec<Record>,
    messages: Messages,
    /// Place of the part in the input, and lines before it.
    offset: u64,
    lines: u64,
    /// The constants of rows that they become, if they do.
    keeps: Option<Arc<Constants>>,
}

/// A record; positions are those in the part, which numbers of 32 bits can count.
#[derive(Debug, Clone, Copy)]
struct Record {
    start: u32,
    line: u32,
    text_end: u32,
    message: u32,
}

impl Rejects {
    /// Records that become rows, too.
    pub fn kept(constants: Arc<Constants>) -> Self {
        Self { keeps: Some(constants), ..Self::default() }
    }

    /// Whether they became rows.
    pub fn are_kept(&self) -> bool {
        self.keeps.is_some()
    }

    /// Adds the record that lies at `place` in the text of the part, and its row if it becomes one.
    pub fn push(
        &mut self,
        error: &Error,
        part: &[u8],
        place: Range<usize>,
        stream: &mut Stream,
    ) -> Result<()> {
        if let Some(constants) = &self.keeps {
            message::put(part.get(place.clone()).unwrap_or_default(), constants, stream)?;
        }
        self.note(error, part, place);
        Ok(())
    }

    fn note(&mut self, error: &Error, part: &[u8], place: Range<usize>) {
        self.texts.extend_from_slice(part.get(place.clone()).unwrap_or_default());
        self.records.push(Record {
            start: place.start as u32,
            line: error.line().unwrap_or(0) as u32,
            text_end: self.texts.len() as u32,
            message: self.messages.number(error.message()),
        });
    }

    /// Says where the part lies: `lines` end before it.
    pub fn place(&mut self, offset: u64, lines: u64) {
        (self.offset, self.lines) = (offset, lines);
    }

    /// The number of records.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether nothing was rejected.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// A record by its number, from 0.
    pub fn get(&self, number: usize) -> Option<Rejected<'_>> {
        let record = self.records.get(number)?;
        let before = number.checked_sub(1).and_then(|before| self.records.get(before));
        let text_start = before.map_or(0, |before| before.text_end);
        Some(Rejected {
            line: if record.line == 0 { 0 } else { self.lines + u64::from(record.line) },
            offset: self.offset + u64::from(record.start),
            message: self.messages.get(record.message),
            text: self.texts.get(text_start as usize..record.text_end as usize).unwrap_or_default(),
        })
    }

    /// The records from a number on.
    pub fn iter_from(&self, number: usize) -> impl Iterator<Item = Rejected<'_>> {
        (number..self.len()).filter_map(|number| self.get(number))
    }
}

/// What was wrong: few different texts for many records.
#[derive(Debug, Clone, Default)]
struct Messages {
    /// Each of them once, one behind the other.
    joined: String,
    ends: Vec<usize>,
    /// Numbers by hash. Of two with one hash the first may be stored again: each is compared.
    numbers: HashMap<u64, u32, RandomState>,
}

impl Messages {
    fn number(&mut self, message: &str) -> u32 {
        let hash = self.numbers.hasher().hash_one(message);
        if let Some(&number) = self.numbers.get(&hash)
            && self.get(number) == message
        {
            return number;
        }
        let number = self.ends.len() as u32;
        self.joined.push_str(message);
        self.ends.push(self.joined.len());
        self.numbers.insert(hash, number);
        number
    }

    fn get(&self, number: u32) -> &str {
        let number = number as usize;
        let start = number.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.ends.get(number).and_then(|&end| self.joined.get(start..end)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back() {
        let text = b"a\nbb\n\nccc";
        let places = [(0..2, 1, "one"), (2..5, 2, "two"), (5..6, 0, "one"), (6..9, 4, "")];
        let mut rejects = Rejects::default();
        for (place, line, message) in places.clone() {
            rejects.note(&Error::syntax(place.start, message).at_line(line), text, place);
        }
        rejects.place(1 << 40, 100);
        assert_eq!(rejects.len(), places.len());
        for (found, (place, line, message)) in rejects.iter_from(0).zip(places) {
            let line = if line == 0 { 0 } else { 100 + line };
            let offset = (1 << 40) + place.start as u64;
            assert_eq!(found, Rejected { line, offset, message, text: &text[place] });
        }
        assert_eq!(rejects.iter_from(3).map(|record| record.text).collect::<Vec<_>>(), [b"ccc"]);
        assert_eq!(rejects.messages.ends.len(), 3);
        assert_eq!(rejects.get(4), None);
    }
}
