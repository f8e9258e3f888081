//! Values inside a record, and what hints make of them.

use super::apart::bytes_of;
use super::cursor::Text;
use super::{Descent, Parsed, Place};
use crate::chunk::Row;
use crate::chunk::paths::NodeId;
use crate::error::Error;
use crate::ingest::json::hints::{Flags, HintId, Step};
use crate::ingest::json::{literal, number};
use crate::ion::{self, kind, timestamp};
use crate::times::Mode;

/// How many names deep a timestamp may lie to be indexed.
const INDEX_DEPTH: u8 = 2;
/// White space between a name and its value is limited.
const MAX_GAP: usize = 4 << 20;

impl Descent<'_, '_> {
    /// The value that begins at or after `at`; gives the place after it.
    #[inline]
    pub(super) fn value(&mut self, row: &mut Row, at: usize, place: Place, depth: u32) -> Parsed<usize> {
        let node = place.node;
        let first = if self.byte(at) > b' ' { at } else { self.skip_space(at) };
        if first - at >= MAX_GAP {
            return Err(Error::too_large(at, "4 MiB of white space before a value").into());
        }
        match self.byte(first) {
            b'"' => {
                if let Some(end) = self.plain_string(place) {
                    if row.paths.is_apart(node)
                        && self.put_apart(row, &self.text[first + 1..end], place, depth)
                    {
                        return Ok(end + 1);
                    }
                    put_plain(row, self.text, first + 1, end, node);
                    return Ok(end + 1);
                }
                let quote = self.next();
                let string = self.string(quote, "a string")?;
                let is_apart = row.paths.is_apart(node) && {
                    let text = self.resolved(&string).to_vec();
                    self.put_apart(row, &text, place, depth)
                };
                if !is_apart {
                    self.put_string(row, &string, place)?;
                }
                Ok(string.after)
            }
            b'{' => {
                row.paths.saw(node, kind::STRUCT);
                let open = self.next();
                self.record(row, open, place, depth + 1)
            }
            b'[' => {
                if row.paths.has_bytes(node)
                    && let Some(bytes) = bytes_of(&self.text[first..])
                {
                    return self.bytes(row, place, &bytes);
                }
                row.paths.saw(node, kind::LIST);
                let open = self.next();
                self.list(row, open, place, depth + 1)
            }
            b'-' if self.byte(first + 1).is_ascii_alphabetic() => self.no_number(row, first, place),
            b'-' | b'0'..=b'9' if place.hint.is_none() && !row.paths.is_told(node) => {
                let start = row.out.len();
                let used = number::put(row.out, &self.text[first..]);
                let used = used.map_err(|error| error.shifted(first as u64))?;
                row.paths.saw(node, row.out[start] >> 4);
                Ok(first + used)
            }
            b'-' | b'0'..=b'9' => self.hinted_number(row, first, place),
            b't' => self.literal(row, first, b"true", ion::TRUE, place),
            b'f' => self.literal(row, first, b"false", ion::FALSE, place),
            b'n' if self.byte(first + 1) == b'u' => self.literal(row, first, b"null", ion::NULL, place),
            b'+' | b'I' | b'N' | b'i' | b'n' => self.no_number(row, first, place),
            _ => Err(self.unexpected(first, "a value").into()),
        }
    }

    /// The hints of a value inside another, and whether it is to be dropped.
    #[inline]
    pub(super) fn hint_of(&self, outer: Option<HintId>, step: Step) -> (Option<HintId>, bool) {
        match (&self.parser.hints, outer) {
            (Some(hints), Some(_)) => {
                let hint = hints.child(outer, step);
                (hint, hints.flags(hint).ignore())
            }
            _ => (None, false),
        }
    }

    /// Checks a value that is dropped, with all names in it.
    #[cold]
    pub(super) fn ignore(
        &mut self,
        row: &mut Row,
        at: usize,
        hint: Option<HintId>,
        depth: u32,
    ) -> Parsed<usize> {
        let (size, symbols) = (row.out.len(), row.symbols.max_id());
        let after = self.value(row, at, Place { node: NodeId::NONE, hint }, depth)?;
        row.out.truncate(size);
        row.symbols.truncate(symbols);
        Ok(after)
    }

    /// A list of bytes, as the text that they are.
    #[cold]
    fn bytes(&mut self, row: &mut Row, place: Place, bytes: &[u8]) -> Parsed<usize> {
        let start = row.out.len();
        let open = self.next();
        let after = self.list(row, open, Place { node: NodeId::NONE, ..place }, 1)?;
        row.out.truncate(start);
        let text = String::from_utf8_lossy(bytes);
        self.parser.replaced += u64::from(matches!(text, std::borrow::Cow::Owned(_)));
        put_text(row, text.as_bytes(), place.node);
        Ok(after)
    }

    fn flags(&self, place: Place) -> Flags {
        self.parser.hints.as_ref().map_or(Flags::NONE, |hints| hints.flags(place.hint))
    }

    #[cold]
    fn hinted_number(&mut self, row: &mut Row, at: usize, place: Place) -> Parsed<usize> {
        let parsed = number::parse(&self.text[at..]);
        let (value, used, plain) = parsed.map_err(|error| error.shifted(at as u64))?;
        let flags = self.flags(place);
        let text = &self.text[at..at + used];
        if let Some(us) = row.paths.time_of_number(place.node, text) {
            put_time(row, us, place.node, flags);
            return Ok(at + used);
        }
        if !flags.string()
            && let Some(us) = counted(row, flags, text)
        {
            put_time(row, us, place.node, flags);
            return Ok(at + used);
        }
        match (flags.unix(), value) {
            _ if flags.string() => put_text(row, literal::text(value).as_bytes(), place.node),
            (Some(unit), number::Number::Int(count)) if plain => {
                put_time(row, unit.to_micros(count), place.node, flags);
            }
            _ => {
                let start = row.out.len();
                value.put(row.out);
                row.paths.saw(place.node, row.out[start] >> 4);
            }
        }
        Ok(at + used)
    }

    /// What JSON has no number for and programs write all the same: `NaN`, `Infinity`, `-Infinity`, `inf`.
    #[cold]
    fn no_number(&mut self, row: &mut Row, at: usize, place: Place) -> Parsed<usize> {
        let text = &self.text[at..];
        let sign = usize::from(matches!(text.first(), Some(b'+' | b'-')));
        let letters = text[sign..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let word = &text[..sign + letters];
        let is_nan = word[sign..].eq_ignore_ascii_case(b"nan");
        let value = literal::float(if is_nan { b"nan" } else { word });
        let Some(value) = value.filter(|value| !value.is_finite()) else {
            return Err(self.unexpected(at, "a value").into());
        };
        let after = at + word.len();
        if self.flags(place).string() {
            put_text(row, word, place.node);
            return Ok(after);
        }
        let start = row.out.len();
        ion::put_float(row.out, value);
        row.paths.saw(place.node, row.out[start] >> 4);
        Ok(after)
    }

    #[inline]
    fn literal(&mut self, row: &mut Row, at: usize, word: &[u8], ion: u8, place: Place) -> Parsed<usize> {
        if !self.text[at..].starts_with(word) {
            return Err(self.unexpected(at, "a value").into());
        }
        let after = at + word.len();
        if place.hint.is_some() && ion != ion::NULL {
            let flags = self.flags(place);
            if flags.string() {
                put_text(row, word, place.node);
                return Ok(after);
            }
            if flags.int() {
                ion::put_int(row.out, i128::from(ion == ion::TRUE));
                row.paths.saw(place.node, kind::UINT);
                return Ok(after);
            }
        }
        row.out.push(ion);
        row.paths.saw(place.node, ion >> 4);
        Ok(after)
    }

    /// A string value: a timestamp, a known symbol or text.
    #[inline]
    fn put_string(&mut self, row: &mut Row, string: &Text, place: Place) -> Parsed<()> {
        let value = self.resolved(string);
        if value.len() > row.limit {
            return Err(Error::too_large(
                self.record_start,
                format!("a row with a string of {} bytes, the limit is {}", value.len(), row.limit),
            )
            .into());
        }
        let flags = if place.hint.is_none() { Flags::NONE } else { self.flags(place) };
        if !flags.is_none() && put_hinted(row, value, place.node, flags) {
            return Ok(());
        }
        match row.paths.time_of_text(place.node, value) {
            Some(us) => put_time(row, us, place.node, flags),
            None => put_text(row, value, place.node),
        }
        Ok(())
    }
}

/// The instant that hints make of the text of a number: the original reads whole numbers alone.
fn counted(row: &mut Row, flags: Flags, text: &[u8]) -> Option<i64> {
    let unit = flags.unix().filter(|_| row.paths.times().mode() == Mode::All)?;
    let found = unit.read(text)?;
    Some(row.paths.kept(found))
}

/// A string value that its hints make a number or a time; false when they do not.
#[cold]
fn put_hinted(row: &mut Row, value: &[u8], node: NodeId, flags: Flags) -> bool {
    let start = row.out.len();
    if let Some(us) = counted(row, flags, value) {
        put_time(row, us, node, flags);
        return true;
    }
    if flags.number()
        && let Some(number) = literal::float(value)
    {
        ion::put_float(row.out, number);
    } else if flags.int()
        && let Some(number) = literal::int(value)
    {
        ion::put_int(row.out, i128::from(number));
    } else {
        return false;
    }
    row.paths.saw(node, row.out[start] >> 4);
    true
}

/// The string value `text[start..end]`, which is its bytes and has no hints.
#[inline]
fn put_plain(row: &mut Row, text: &[u8], start: usize, end: usize, node: NodeId) {
    let value = &text[start..end];
    if let Some(us) = row.paths.time_of_text(node, value) {
        return put_time(row, us, node, Flags::NONE);
    }
    if let Some(id) = row.paths.saw_text(node, value, row.symbols) {
        ion::put_symbol(row.out, id);
    } else {
        ion::put_header(row.out, kind::STRING, value.len());
        ion::copy_short(row.out, text, start, end);
    }
}

/// Text, as a symbol where it is one.
fn put_text(row: &mut Row, value: &[u8], node: NodeId) {
    match row.paths.saw_text(node, value, row.symbols) {
        Some(id) => ion::put_symbol(row.out, id),
        None => ion::put_string(row.out, value),
    }
}

#[inline]
fn put_time(row: &mut Row, us: i64, node: NodeId, flags: Flags) {
    timestamp::put(row.out, us);
    row.paths.saw(node, kind::TIMESTAMP);
    let is_hinted = flags.unix().is_some() && row.paths.times().mode() == Mode::All;
    let is_meant = row.paths.indexable(node, INDEX_DEPTH) || is_hinted || row.paths.is_told(node);
    let counts = is_meant && !flags.no_index();
    row.paths.time_if(node, us, counts);
}
