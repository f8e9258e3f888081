//! Positions of the index one after the other, and the text between them.

use std::ops::Range;

use super::{Descent, JsonParser, Parsed, Place};
use crate::error::Error;
use crate::ingest::json::text;
use crate::ion::timestamp;
use crate::simd::json::{Carry, END, index};

/// Text that is indexed at once; the index of it stays in the first-level cache.
const WINDOW: usize = 32 << 10;
/// The same behind a malformed record: a window is indexed for nothing when the next one is malformed, too.
pub(super) const FIRST_WINDOW: usize = 128;

/// A string of the text.
pub(super) struct Text {
    pub(super) raw: Range<usize>,
    pub(super) escaped: bool,
    pub(super) after: usize,
}

impl<'p, 't> Descent<'p, 't> {
    pub(super) fn new(parser: &'p mut JsonParser, text: &'t [u8], from: usize) -> Self {
        // Its memory keeps its length: clearing it for each malformed record takes longer than the index.
        match parser.index.first_mut() {
            Some(first) => *first = END,
            None => parser.index.push(END),
        }
        parser.fields.clear();
        Self {
            parser,
            text,
            carry: Carry::default(),
            plain_to: from,
            indexed: from..from,
            window: if from == 0 { WINDOW } else { FIRST_WINDOW },
            cursor: 0,
            record_start: from,
        }
    }

    /// The next position of the index; the length of the text at its end.
    #[inline]
    pub(super) fn next(&mut self) -> usize {
        match self.parser.index.get(self.cursor) {
            Some(&position) if position != END => {
                self.cursor += 1;
                position as usize
            }
            _ => self.refill(),
        }
    }

    #[cold]
    fn refill(&mut self) -> usize {
        while self.indexed.end < self.text.len() {
            let start = self.indexed.end;
            let end = (start + self.window).min(self.text.len());
            self.window = (2 * self.window).min(WINDOW);
            #[cfg(test)]
            {
                self.parser.indexed_bytes += end - start;
            }
            self.indexed = start..end;
            self.plain_to = start;
            let JsonParser { index: positions, special, .. } = &mut *self.parser;
            index(&self.text[start..end], start, &mut self.carry, positions, special);
            self.cursor = 0;
            if let Some(&first) = self.parser.index.first().filter(|&&first| first != END) {
                self.cursor = 1;
                return first as usize;
            }
        }
        self.text.len()
    }

    #[inline]
    pub(super) fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(0)
    }

    /// Checks that there is nothing but white space between two places.
    #[inline]
    pub(super) fn gap(&self, from: usize, to: usize) -> Parsed<()> {
        if from == to { Ok(()) } else { self.long_gap(from, to) }
    }

    fn long_gap(&self, from: usize, to: usize) -> Parsed<()> {
        let between = self.text.get(from..to).unwrap_or_default();
        match between.iter().position(|&byte| !timestamp::is_space(byte)) {
            Some(at) => Err(self.unexpected(from + at, "a comma, a colon or a closing bracket").into()),
            None => Ok(()),
        }
    }

    #[inline]
    pub(super) fn skip_space(&self, mut at: usize) -> usize {
        while timestamp::is_space(self.byte(at)) {
            at += 1;
        }
        at
    }

    #[cold]
    pub(super) fn unexpected(&self, at: usize, wanted: &str) -> Error {
        match self.text.get(at) {
            None => Error::syntax(self.text.len(), format!("the text ends where {wanted} was expected")),
            Some(&byte) if byte.is_ascii_graphic() => {
                Error::syntax(at, format!("'{}' where {wanted} was expected", byte as char))
            }
            Some(byte) => Error::syntax(at, format!("byte {byte:02x} where {wanted} was expected")),
        }
    }

    /// The next two positions of the index, if they lie in the window: behind its end there is anything.
    #[inline]
    pub(super) fn next_two(&self) -> Option<(usize, usize)> {
        let &[first, second] = self.parser.index.get(self.cursor..)?.first_chunk::<2>()?;
        (first != END && second != END).then_some((first as usize, second as usize))
    }

    /// The end of the string value that comes next, if it lies in the window, is its bytes, and has no hints.
    #[inline]
    pub(super) fn plain_string(&mut self, place: Place) -> Option<usize> {
        let (_, end) = self.next_two()?;
        if end >= self.plain_to || place.hint.is_some() {
            return None;
        }
        self.cursor += 2;
        Some(end)
    }

    /// The string whose first quote is at `quote`, the last position that was taken from the index.
    #[inline]
    pub(super) fn string(&mut self, quote: usize, wanted: &str) -> Parsed<Text> {
        if self.byte(quote) != b'"' {
            return Err(self.unexpected(quote, wanted).into());
        }
        let end = self.next();
        if end == self.text.len() {
            return Err(Error::syntax(quote, "a string without an end").into());
        }
        let raw = quote + 1..end;
        let escaped = raw.end >= self.plain_to && self.look(&raw)?;
        Ok(Text { raw, escaped, after: end + 1 })
    }

    /// Checks a string that may be more than its bytes; tells whether it is resolved to others.
    fn look(&mut self, raw: &Range<usize>) -> Parsed<bool> {
        // What lies in windows before this one is not known any more.
        let whole = raw.start > self.indexed.start;
        self.plain_to = self.next_special(raw.start.max(self.indexed.start));
        if whole && raw.end <= self.plain_to { Ok(false) } else { self.look_closer(raw) }
    }

    /// The first backslash or byte that is not ASCII at or after `from` in the window; otherwise its end.
    fn next_special(&self, from: usize) -> usize {
        let from = from - self.indexed.start;
        let mut skipped = u64::MAX << (from % 64);
        for (word, bits) in (from / 64..).zip(self.parser.special.iter().skip(from / 64)) {
            let bits = bits & std::mem::replace(&mut skipped, u64::MAX);
            if bits != 0 {
                return self.indexed.start + 64 * word + bits.trailing_zeros() as usize;
            }
        }
        self.indexed.end
    }

    /// Resolves the escapes of a string, if it has any, and replaces what is no UTF-8 in it.
    fn look_closer(&mut self, raw: &Range<usize>) -> Parsed<bool> {
        let text = &self.text[raw.clone()];
        let is_utf8 = simdutf8::basic::from_utf8(text).is_ok();
        let is_escaped = memchr::memchr(b'\\', text).is_some();
        if is_utf8 && !is_escaped {
            return Ok(false);
        }
        self.parser.name.clear();
        text::unescape(text, raw.start, &mut self.parser.name)?;
        if !is_utf8 {
            self.parser.replaced += 1;
            let name = &mut self.parser.name;
            *name = String::from_utf8_lossy(name).into_owned().into_bytes();
        }
        Ok(true)
    }

    #[inline]
    pub(super) fn resolved<'a>(&'a self, string: &Text) -> &'a [u8]
    where
        't: 'a,
    {
        if string.escaped { &self.parser.name } else { &self.text[string.raw.clone()] }
    }
}
