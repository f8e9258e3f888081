//! JSON text to rows.
//!
//! Two stages: an index of the quotes, brackets and separators of a window of text (`simd::json`), then a
//! descent over that index which writes Ion as it goes. Lengths of structs and lists are guessed from the
//! last ones at the same path and put right when they turn out otherwise; fields are sorted by symbol when
//! a struct is closed and they did not come in order.

use std::ops::Range;
use std::sync::Arc;

use super::hints::{Flags, HintId, Hints, Step};
use super::split::Start;
use super::{literal, number, text};
use crate::chunker::{Row, Stream};
use crate::error::{Error, Result};
use crate::ion::{self, kind, timestamp, varuint};
use crate::pack::{Constants, PartContext, PartParser, Rejected};
use crate::paths::NodeId;
use crate::simd::json::{Carry, END, Window, index};

/// Text that is indexed at once; the index of it stays in the first-level cache.
const WINDOW: usize = 32 << 10;
/// Nesting of records and lists in a row; the row itself is level 1.
const MAX_DEPTH: u32 = 63;
/// How many names deep a timestamp may lie to be indexed.
const INDEX_DEPTH: u8 = 2;
/// White space between a name and its value is limited.
const MAX_GAP: usize = 4 << 20;

/// What to do with a record that is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// The whole input fails.
    Fail,
    /// Its line is passed over and reported.
    Skip,
}

/// Parses parts of JSON text.
pub struct JsonParser {
    constants: Arc<Constants>,
    hints: Option<Arc<Hints>>,
    on_error: OnError,
    index: Vec<u32>,
    escapes: Vec<u64>,
    fields: Vec<(u32, u32)>,
    spans: Vec<(u32, u32, u32)>,
    scratch: Vec<u8>,
    name: Vec<u8>,
}

impl JsonParser {
    /// A parser that puts `constants` first in every row and follows `hints`.
    pub fn new(constants: Arc<Constants>, hints: Option<Arc<Hints>>, on_error: OnError) -> Self {
        Self {
            constants,
            hints,
            on_error,
            index: vec![],
            escapes: vec![],
            fields: vec![],
            spans: vec![],
            scratch: vec![],
            name: vec![],
        }
    }
}

impl PartParser for JsonParser {
    fn parse(
        &mut self,
        text: &[u8],
        context: PartContext,
        stream: &mut Stream,
        rejected: &mut Vec<Rejected>,
    ) -> Result<()> {
        let mut from = 0;
        let mut state = Start::from_context(context.start);
        loop {
            let mut descent = Descent::new(self, text, from);
            let Err(error) = descent.top(stream, state, context.last) else { return Ok(()) };
            let record = descent.record_start;
            let line = memchr::memchr_iter(b'\n', &text[..error_offset(&error, record)]).count() as u64 + 1;
            let error = error.at_line(line);
            if self.on_error == OnError::Fail {
                return Err(error);
            }
            let end = memchr::memchr(b'\n', &text[record..]).map_or(text.len(), |at| record + at + 1);
            rejected.push(Rejected::new(error, record, &text[record..end]));
            from = end;
            state = Start::Top;
        }
    }
}

fn error_offset(error: &Error, otherwise: usize) -> usize {
    match error {
        Error::Syntax { offset, .. } => *offset as usize,
        _ => otherwise,
    }
}

/// One way through a text.
struct Descent<'p, 't> {
    parser: &'p mut JsonParser,
    text: &'t [u8],
    carry: Carry,
    window: Window,
    /// The text that the index is of.
    indexed: Range<usize>,
    cursor: usize,
    record_start: usize,
}

impl<'p, 't> Descent<'p, 't> {
    fn new(parser: &'p mut JsonParser, text: &'t [u8], from: usize) -> Self {
        parser.index.clear();
        parser.index.push(END);
        parser.fields.clear();
        Self {
            parser,
            text,
            carry: Carry::default(),
            window: Window::default(),
            indexed: from..from,
            cursor: 0,
            record_start: from,
        }
    }

    /// The next position of the index; the length of the text when there is none.
    #[inline]
    fn next(&mut self) -> usize {
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
            let end = (start + WINDOW).min(self.text.len());
            self.indexed = start..end;
            self.window = index(
                &self.text[start..end],
                start,
                &mut self.carry,
                &mut self.parser.index,
                &mut self.parser.escapes,
            );
            self.cursor = 0;
            if let Some(&first) = self.parser.index.first().filter(|&&first| first != END) {
                self.cursor = 1;
                return first as usize;
            }
        }
        self.text.len()
    }

    #[inline]
    fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(0)
    }

    /// Checks that there is nothing but white space between two places.
    #[inline]
    fn gap(&self, from: usize, to: usize) -> Result<()> {
        if from == to { Ok(()) } else { self.long_gap(from, to) }
    }

    fn long_gap(&self, from: usize, to: usize) -> Result<()> {
        let between = self.text.get(from..to).unwrap_or_default();
        match between.iter().position(|&byte| !timestamp::is_space(byte)) {
            Some(at) => Err(self.unexpected(from + at, "a comma, a colon or a closing bracket")),
            None => Ok(()),
        }
    }

    #[inline]
    fn skip_space(&self, mut at: usize) -> usize {
        while timestamp::is_space(self.byte(at)) {
            at += 1;
        }
        at
    }

    #[cold]
    fn unexpected(&self, at: usize, wanted: &str) -> Error {
        match self.text.get(at) {
            None => Error::syntax(self.text.len(), format!("the text ends where {wanted} was expected")),
            Some(&byte) if byte.is_ascii_graphic() => {
                Error::syntax(at, format!("'{}' where {wanted} was expected", byte as char))
            }
            Some(byte) => Error::syntax(at, format!("byte {byte:02x} where {wanted} was expected")),
        }
    }

    /// All records of the part.
    fn top(&mut self, stream: &mut Stream, mut state: Start, last: bool) -> Result<()> {
        let mut after = self.indexed.end;
        loop {
            self.record_start = self.skip_space(after);
            let at = self.next();
            if self.record_start != at {
                return Err(self.unexpected(self.record_start, top_wanted(state)));
            }
            state = match (state, self.byte(at)) {
                _ if at == self.text.len() => break,
                (Start::Top, b'[') => Start::ArrayOpen,
                (Start::ArrayOpen | Start::AfterElement, b']') => Start::Top,
                (Start::AfterElement, b',') => Start::AfterComma,
                (Start::Top | Start::ArrayOpen | Start::AfterComma, b'{') => {
                    after = self.row(stream, at)?;
                    if state == Start::Top { Start::Top } else { Start::AfterElement }
                }
                _ => return Err(self.unexpected(at, top_wanted(state))),
            };
            after = after.max(at + 1);
        }
        if last && state != Start::Top {
            return Err(self.unexpected(self.text.len(), top_wanted(state)));
        }
        Ok(())
    }

    fn row(&mut self, stream: &mut Stream, open: usize) -> Result<usize> {
        let mut end = 0;
        let result = stream.add_row(|row| {
            let hint = self.parser.hints.as_ref().and_then(|hints| hints.root());
            end = self.record(row, open, Place { node: NodeId::ROOT, hint }, 1)?;
            Ok(())
        });
        match result {
            Err(Error::TooLarge { offset: 0, message, .. }) => Err(Error::too_large(open, message)),
            other => other.map(|()| end),
        }
    }

    /// The record whose bracket is at `open`; gives the place after it.
    fn record(&mut self, row: &mut Row, open: usize, place: Place, depth: u32) -> Result<usize> {
        self.check_size(row, open, depth)?;
        let container = Container::open(row, place.node);
        let first_field = self.parser.fields.len();
        let mut names = row.paths.enter(place.node);
        let mut sorted = true;
        let mut last = -1;
        if depth == 1 {
            let constants = Arc::clone(&self.parser.constants);
            for (name, value) in &constants.fields {
                let field = row.paths.field(&mut names, name, row.symbols);
                self.parser.fields.push((field.symbol, row.out.len() as u32));
                varuint::put(row.out, u64::from(field.symbol));
                row.out.extend_from_slice(value);
                sorted &= i64::from(field.symbol) > last;
                last = i64::from(field.symbol);
            }
        }
        let mut at = self.next();
        self.gap(open + 1, at)?;
        if self.byte(at) == b'}' {
            self.close(row, container, first_field, sorted);
            return Ok(at + 1);
        }
        loop {
            let name = self.string(at, "a field name in quotes")?;
            let colon = self.next();
            self.gap(name.after, colon)?;
            if self.byte(colon) != b':' {
                return Err(self.unexpected(colon, "a colon"));
            }
            let (hint, ignored) = self.hint_of(place.hint, Step::Name(self.resolved(&name)));
            let after = if ignored {
                self.ignore(row, colon + 1, hint, depth)?
            } else {
                let start = row.out.len();
                let field = row.paths.field(&mut names, self.resolved(&name), row.symbols);
                varuint::put(row.out, u64::from(field.symbol));
                let node = if field.repeated { NodeId::NONE } else { field.node };
                let after = self.value(row, colon + 1, Place { node, hint }, depth)?;
                if field.repeated {
                    row.out.truncate(start);
                } else {
                    sorted &= i64::from(field.symbol) > last;
                    last = i64::from(field.symbol);
                    self.parser.fields.push((field.symbol, start as u32));
                }
                after
            };
            let separator = self.next();
            self.gap(after, separator)?;
            match self.byte(separator) {
                b',' => {
                    at = self.next();
                    self.gap(separator + 1, at)?;
                }
                b'}' => {
                    self.close(row, container, first_field, sorted);
                    return Ok(separator + 1);
                }
                _ => return Err(self.unexpected(separator, "a comma or '}'")),
            }
        }
    }

    /// Ends a struct: fields in order of their symbols, the first of equal ones, and the length.
    fn close(&mut self, row: &mut Row, container: Container, first_field: usize, sorted: bool) {
        if !sorted {
            let JsonParser { fields, spans, scratch, .. } = &mut *self.parser;
            let fields = &fields[first_field..];
            let ends = fields.iter().skip(1).map(|field| field.1).chain([row.out.len() as u32]);
            scratch.clear();
            scratch.extend_from_slice(&row.out[container.body..]);
            spans.clear();
            spans.extend(fields.iter().zip(ends).map(|(&(symbol, start), end)| (symbol, start, end)));
            spans.sort_unstable();
            spans.dedup_by_key(|span| span.0);
            row.out.truncate(container.body);
            for &(_, start, end) in &*spans {
                let span = start as usize - container.body..end as usize - container.body;
                row.out.extend_from_slice(&scratch[span]);
            }
        }
        self.parser.fields.truncate(first_field);
        container.close(row, kind::STRUCT);
    }

    /// The value that begins at or after `at`; gives the place after it.
    #[inline]
    fn value(&mut self, row: &mut Row, at: usize, place: Place, depth: u32) -> Result<usize> {
        let node = place.node;
        let first = if self.byte(at) > b' ' { at } else { self.skip_space(at) };
        if first - at >= MAX_GAP {
            return Err(Error::too_large(at, "4 MiB of white space before a value"));
        }
        match self.byte(first) {
            b'"' => {
                let quote = self.next();
                let string = self.string(quote, "a string")?;
                self.put_string(row, &string, place)?;
                Ok(string.after)
            }
            b'{' => {
                row.paths.saw(node, kind::STRUCT);
                let open = self.next();
                self.record(row, open, place, depth + 1)
            }
            b'[' => {
                row.paths.saw(node, kind::LIST);
                let open = self.next();
                self.list(row, open, place, depth + 1)
            }
            b'-' | b'0'..=b'9' if place.hint.is_none() => {
                let start = row.out.len();
                let used = number::put(row.out, &self.text[first..]);
                let used = used.map_err(|error| error.shifted(first as u64))?;
                row.paths.saw(node, row.out[start] >> 4);
                Ok(first + used)
            }
            b'-' | b'0'..=b'9' => self.hinted_number(row, first, place),
            b't' => self.literal(row, first, b"true", ion::TRUE, place),
            b'f' => self.literal(row, first, b"false", ion::FALSE, place),
            b'n' => self.literal(row, first, b"null", ion::NULL, place),
            _ => Err(self.unexpected(first, "a value")),
        }
    }

    /// The hints of a value inside another, and whether it is to be dropped.
    #[inline]
    fn hint_of(&self, outer: Option<HintId>, step: Step) -> (Option<HintId>, bool) {
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
    fn ignore(&mut self, row: &mut Row, at: usize, hint: Option<HintId>, depth: u32) -> Result<usize> {
        let (size, symbols) = (row.out.len(), row.symbols.max_id());
        let after = self.value(row, at, Place { node: NodeId::NONE, hint }, depth)?;
        row.out.truncate(size);
        row.symbols.truncate(symbols);
        Ok(after)
    }

    fn flags(&self, place: Place) -> Flags {
        self.parser.hints.as_ref().map_or(Flags::NONE, |hints| hints.flags(place.hint))
    }

    #[cold]
    fn hinted_number(&mut self, row: &mut Row, at: usize, place: Place) -> Result<usize> {
        let parsed = number::parse(&self.text[at..]);
        let (value, used, plain) = parsed.map_err(|error| error.shifted(at as u64))?;
        let flags = self.flags(place);
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

    #[inline]
    fn literal(&mut self, row: &mut Row, at: usize, word: &[u8], ion: u8, place: Place) -> Result<usize> {
        if !self.text[at..].starts_with(word) {
            return Err(self.unexpected(at, "a value"));
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

    fn list(&mut self, row: &mut Row, open: usize, place: Place, depth: u32) -> Result<usize> {
        self.check_size(row, open, depth)?;
        let node = row.paths.element(place.node);
        let (hint, ignored) = self.hint_of(place.hint, Step::Element);
        let container = Container::open(row, node);
        let mut after = open + 1;
        let mut only_scalars = true;
        loop {
            let first = self.skip_space(after);
            let byte = self.byte(first);
            if byte == b']' && (after == open + 1 || only_scalars) {
                let end = self.next();
                container.close(row, kind::LIST);
                return Ok(end + 1);
            }
            only_scalars &= byte != b'{' && byte != b'[';
            let end = if ignored {
                self.ignore(row, after, hint, depth)?
            } else {
                self.value(row, after, Place { node, hint }, depth)?
            };
            let separator = self.next();
            self.gap(end, separator)?;
            match self.byte(separator) {
                b',' => after = separator + 1,
                b']' => {
                    container.close(row, kind::LIST);
                    return Ok(separator + 1);
                }
                _ => return Err(self.unexpected(separator, "a comma or ']'")),
            }
        }
    }

    fn check_size(&self, row: &Row, at: usize, depth: u32) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(Error::too_large(at, format!("nesting of more than {MAX_DEPTH} levels")));
        }
        if row.out.len() - row.start > row.limit {
            return Err(Error::too_large(
                self.record_start,
                format!("a row of more than {} bytes", row.limit),
            ));
        }
        Ok(())
    }

    /// The string whose first quote is at `quote`, the last position that was taken from the index.
    #[inline]
    fn string(&mut self, quote: usize, wanted: &str) -> Result<Text> {
        if self.byte(quote) != b'"' {
            return Err(self.unexpected(quote, wanted));
        }
        let end = self.next();
        if end == self.text.len() {
            return Err(Error::syntax(quote, "a string without an end"));
        }
        let raw = quote + 1..end;
        let whole = quote >= self.indexed.start;
        if (self.window.high || !whole)
            && let Err(error) = simdutf8::compat::from_utf8(&self.text[raw.clone()])
        {
            return Err(Error::syntax(raw.start + error.valid_up_to(), "a string that is not UTF-8"));
        }
        let escaped = (self.window.backslash || !whole) && self.has_escape(&raw, whole);
        if escaped {
            self.parser.name.clear();
            text::unescape(&self.text[raw.clone()], raw.start, &mut self.parser.name)?;
        }
        Ok(Text { raw, escaped, after: end + 1 })
    }

    fn has_escape(&self, raw: &Range<usize>, whole: bool) -> bool {
        let (from, to) = (raw.start.wrapping_sub(self.indexed.start), raw.end - self.indexed.start);
        if !whole || to - from > 512 {
            return memchr::memchr(b'\\', &self.text[raw.clone()]).is_some();
        }
        if from == to {
            return false;
        }
        let (first, last) = (from / 64, (to - 1) / 64);
        (first..=last).any(|word| {
            let mut bits = self.parser.escapes[word];
            if word == first {
                bits &= u64::MAX << (from % 64);
            }
            if word == last {
                bits &= u64::MAX >> (63 - (to - 1) % 64);
            }
            bits != 0
        })
    }

    #[inline]
    fn resolved<'a>(&'a self, string: &Text) -> &'a [u8]
    where
        't: 'a,
    {
        if string.escaped { &self.parser.name } else { &self.text[string.raw.clone()] }
    }

    /// A string value: a timestamp, a known symbol or text.
    #[inline]
    fn put_string(&mut self, row: &mut Row, string: &Text, place: Place) -> Result<()> {
        let value = self.resolved(string);
        if value.len() > row.limit {
            return Err(Error::too_large(
                self.record_start,
                format!("a row with a string of {} bytes, the limit is {}", value.len(), row.limit),
            ));
        }
        let flags = if place.hint.is_none() { Flags::NONE } else { self.flags(place) };
        if !flags.is_none() && put_hinted(row, value, place.node, flags) {
            return Ok(());
        }
        match timestamp::recognise(value) {
            Some(us) => put_time(row, us, place.node, flags),
            None => put_text(row, value, place.node),
        }
        Ok(())
    }
}

/// A string value that its hints make a number; false when they do not.
#[cold]
fn put_hinted(row: &mut Row, value: &[u8], node: NodeId, flags: Flags) -> bool {
    let start = row.out.len();
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

/// Text, as a symbol where it is one.
#[inline]
fn put_text(row: &mut Row, value: &[u8], node: NodeId) {
    row.paths.saw(node, kind::STRING);
    match row.symbols.id(value) {
        Some(id) => ion::put_symbol(row.out, id),
        None => ion::put_string(row.out, value),
    }
}

#[inline]
fn put_time(row: &mut Row, us: i64, node: NodeId, flags: Flags) {
    timestamp::put(row.out, us);
    row.paths.saw(node, kind::TIMESTAMP);
    if row.paths.indexable(node, INDEX_DEPTH) && !flags.no_index() {
        row.paths.time(node, us);
    }
}

/// Where a value is: in the tree of paths, and in that of the hints.
#[derive(Debug, Clone, Copy)]
struct Place {
    node: NodeId,
    hint: Option<HintId>,
}

fn top_wanted(state: Start) -> &'static str {
    match state {
        Start::Top => "a record '{' or an array of records '['",
        Start::ArrayOpen => "a record '{' or ']'",
        Start::AfterElement => "a comma or ']'",
        Start::AfterComma => "a record '{'",
    }
}

/// A string of the text.
struct Text {
    raw: Range<usize>,
    escaped: bool,
    after: usize,
}

/// A struct or list whose length is not known yet.
struct Container {
    node: NodeId,
    start: usize,
    body: usize,
}

impl Container {
    #[inline]
    fn open(row: &mut Row, node: NodeId) -> Self {
        let start = row.out.len();
        let guess = row.paths.length_bytes(node);
        row.out.extend_from_slice(&[0; 8][..=guess.min(7)]);
        Self { node, start, body: row.out.len() }
    }

    #[inline]
    fn close(self, row: &mut Row, kind: u8) {
        let length = row.out.len() - self.body;
        let needed = ion::header_size(length);
        let given = self.body - self.start;
        if needed != given {
            row.paths.set_length_bytes(self.node, needed - 1);
            if needed > given {
                let end = row.out.len();
                row.out.resize(end + needed - given, 0);
                row.out.copy_within(self.body..end, self.start + needed);
            } else {
                row.out.copy_within(self.body.., self.start + needed);
                row.out.truncate(self.start + needed + length);
            }
        }
        let mut header = [0; 8];
        let mut writer = HeaderBytes { bytes: &mut header, length: 0 };
        writer.put(kind, length);
        row.out[self.start..self.start + needed].copy_from_slice(&header[..needed]);
    }
}

/// Writes a header into fixed memory.
struct HeaderBytes<'a> {
    bytes: &'a mut [u8; 8],
    length: usize,
}

impl HeaderBytes<'_> {
    #[inline]
    fn push(&mut self, byte: u8) {
        if let Some(slot) = self.bytes.get_mut(self.length) {
            *slot = byte;
        }
        self.length += 1;
    }

    #[inline]
    fn put(&mut self, kind: u8, length: usize) {
        if length < 14 {
            self.push(kind << 4 | length as u8);
            return;
        }
        self.push(kind << 4 | 14);
        for group in (1..varuint::size(length as u64)).rev() {
            self.push((length >> (7 * group)) as u8 & 0x7F);
        }
        self.push(length as u8 & 0x7F | 0x80);
    }
}
