//! JSON text to rows.
//!
//! Two stages: an index of the quotes, brackets and separators of a window of text (`simd::json`), then a
//! descent over that index which writes Ion as it goes. Lengths of structs and lists are guessed from the
//! last ones at the same path and put right when they turn out otherwise; fields are sorted by symbol when
//! a struct is closed and they did not come in order.

mod apart;
mod container;
mod cursor;
mod value;

use std::ops::Range;
use std::sync::Arc;

pub(in crate::ingest) use self::apart::put_apart;
use self::container::Container;
use super::Reading;
use super::hints::{HintId, Hints, Step};
use super::repeated::last_of_each;
use super::split::Start;
use crate::chunk::paths::{AHEAD, Cursor, Field, NodeId};
use crate::chunk::{Row, Stream};
use crate::error::{Error, Result};
use crate::ingest::lines::Lines;
use crate::ingest::{Constants, Duplicates, OnError, PartContext, PartParser, Rejects, Whole};
use crate::ion::{copy_short, kind, timestamp, varuint};
use crate::limits::MAX_ROW_DEPTH;
use crate::simd::json::Carry;

/// What parsing a piece gives. Errors are large; in a box they leave the result to registers.
type Parsed<T> = std::result::Result<T, Box<Error>>;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Parses parts of JSON text.
pub struct JsonParser {
    constants: Arc<Constants>,
    hints: Option<Arc<Hints>>,
    duplicates: Duplicates,
    on_error: OnError,
    index: Vec<u32>,
    special: Vec<u64>,
    fields: Vec<(u32, u32)>,
    keys: Vec<u64>,
    scratch: Vec<u8>,
    name: Vec<u8>,
    /// Texts of the row at hand that are not UTF-8.
    replaced: u64,
    /// Values of the row at hand that do not count, since their object has the name twice.
    dropped: u64,
    /// The name of the first of them.
    twice: Vec<u8>,
    /// The end of a record that is well-formed, and no row all the same.
    whole_end: Option<usize>,
    /// Text that was indexed, in bytes.
    #[cfg(test)]
    indexed_bytes: usize,
}

impl JsonParser {
    /// A parser that puts `constants` first in every row and follows `hints`.
    pub fn new(constants: Arc<Constants>, hints: Option<Arc<Hints>>, on_error: OnError) -> Self {
        Self {
            constants,
            hints,
            duplicates: Duplicates::First,
            on_error,
            index: vec![],
            special: vec![],
            fields: vec![],
            keys: vec![],
            scratch: vec![],
            name: vec![],
            replaced: 0,
            dropped: 0,
            twice: vec![],
            whole_end: None,
            #[cfg(test)]
            indexed_bytes: 0,
        }
    }

    /// The same for an input that is read as its user says.
    pub fn reading(constants: Arc<Constants>, reading: &Reading, on_error: OnError) -> Self {
        let parser = Self::new(constants, reading.hints.clone(), on_error);
        Self { duplicates: reading.duplicates, ..parser }
    }
}

impl PartParser for JsonParser {
    fn parse(
        &mut self,
        text: &[u8],
        context: PartContext,
        stream: &mut Stream,
        rejected: &mut Rejects,
    ) -> Result<()> {
        let (mut from, mut lines) = (0, Lines::default());
        let mut state = Start::from_context(context.start);
        loop {
            let mut descent = Descent::new(self, text, from);
            let Err(error) = descent.top(stream, state, context.last) else { return Ok(()) };
            let record = descent.record_start;
            let inside = text.get(record..error_offset(&error, record)).unwrap_or_default();
            let line = lines.number(text, record) + memchr::memchr_iter(b'\n', inside).count() as u64;
            let error = error.at_line(line);
            if self.on_error == OnError::Fail {
                return Err(error);
            }
            let is_whole = self.whole_end.take().or_else(|| match &error {
                Error::TooLarge { .. } => end_of_object(text, record),
                _ => None,
            });
            from = is_whole.unwrap_or_else(|| end_of_malformed(text, record));
            rejected.push(&error, text, indented(text, record)..from, stream)?;
            state = Start::Anywhere;
        }
    }

    fn whole(&mut self, text: &[u8], stream: &mut Stream) -> Result<Whole> {
        let mut descent = Descent::new(self, text, 0);
        let found = descent.whole(stream);
        let lines = |to: usize| memchr::memchr_iter(b'\n', &text[..to]).count() as u64;
        found.map_err(|error| error.at_line(lines(descent.record_start) + 1))
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
    /// A string that ends before this is its bytes, without an escape or anything but ASCII in it.
    plain_to: usize,
    /// The text that the index is of.
    indexed: Range<usize>,
    /// How much text is indexed next.
    window: usize,
    cursor: usize,
    record_start: usize,
}

impl Descent<'_, '_> {
    /// All records of the part.
    fn top(&mut self, stream: &mut Stream, mut state: Start, last: bool) -> Result<()> {
        let mut after = self.indexed.end;
        let skips = self.parser.on_error != OnError::Fail;
        loop {
            self.record_start = self.skip_space(after);
            if self.is_mark(self.record_start) {
                after = self.record_start + BYTE_ORDER_MARK.len();
                continue;
            }
            // Seen before the index goes on through text that may be all but JSON.
            let is_known = matches!(self.text.get(self.record_start), None | Some(b'{' | b'[' | b']' | b','));
            if !is_known {
                return Err(self.unexpected(self.record_start, top_wanted(state)));
            }
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
                // Nothing is lost with what stands between records.
                (_, b',' | b'[' | b']') if skips => Start::Anywhere,
                (_, b'{') if skips => {
                    after = self.row(stream, at)?;
                    Start::Anywhere
                }
                _ => return Err(self.unexpected(at, top_wanted(state))),
            };
            after = after.max(at + 1);
        }
        if last && !matches!(state, Start::Top | Start::Anywhere) {
            return Err(self.unexpected(self.text.len(), top_wanted(state)));
        }
        Ok(())
    }

    /// The records up to the first that is not whole, or malformed.
    fn whole(&mut self, stream: &mut Stream) -> Result<Whole> {
        let mut whole = Whole::default();
        loop {
            let start = self.skip_space(whole.end);
            if start == self.text.len() {
                return Ok(Whole { end: start, ..whole });
            }
            self.record_start = start;
            if self.is_mark(start) {
                whole.end = start + BYTE_ORDER_MARK.len();
                continue;
            }
            if self.next() != start || self.byte(start) != b'{' {
                return Ok(whole);
            }
            match self.row(stream, start) {
                Ok(end) => whole = Whole { end, last: Some(start..end) },
                Err(Error::Syntax { .. }) => return Ok(whole),
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether a byte order mark is there: files may have one at their start, and stand one behind the other.
    #[inline]
    fn is_mark(&self, at: usize) -> bool {
        self.byte(at) == BYTE_ORDER_MARK[0] && self.text[at..].starts_with(BYTE_ORDER_MARK)
    }

    fn row(&mut self, stream: &mut Stream, open: usize) -> Result<usize> {
        let mut end = 0;
        let mut has_others = false;
        let result = stream.add_row(|row| {
            end = self.top_record(row, open)?;
            let dropped = self.parser.dropped;
            has_others = dropped > 0 && self.parser.duplicates == Duplicates::Last;
            if dropped > 0 && self.parser.duplicates != Duplicates::First {
                self.parser.whole_end = Some(end);
                let name = String::from_utf8_lossy(&self.parser.twice);
                return Err(Error::syntax(open, format!("an object has the name {name:?} twice")));
            }
            row.paths.note_replaced(self.parser.replaced);
            row.paths.note_dropped(dropped);
            Ok(())
        });
        let result = if has_others { self.last_row(stream, open, end) } else { result };
        if result.is_ok() {
            self.parser.whole_end = None;
        }
        match result {
            Err(Error::TooLarge { offset: 0, message, .. }) => Err(Error::too_large(open, message)),
            other => other.map(|()| end),
        }
    }

    /// The record whose bracket is at `open`, as a row; gives the place after it.
    fn top_record(&mut self, row: &mut Row, open: usize) -> Result<usize> {
        (self.parser.replaced, self.parser.dropped) = (0, 0);
        let hint = self.parser.hints.as_ref().and_then(|hints| hints.root());
        self.record(row, open, Place { node: NodeId::ROOT, hint }, 1).map_err(|error| *error)
    }

    /// A record that has names twice, of which the last one counts.
    #[cold]
    fn last_row(&mut self, stream: &mut Stream, open: usize, end: usize) -> Result<()> {
        let dropped = self.parser.dropped;
        let text = last_of_each(&self.text[open..end]);
        self.nested(&text, |inner| {
            stream.add_row(|row| {
                let start = inner.next();
                inner.top_record(row, start).map_err(|error| error.shifted(open as u64))?;
                row.paths.note_replaced(inner.parser.replaced);
                row.paths.note_dropped(dropped);
                Ok(())
            })
        })
    }

    /// Goes through another text, and then on with this one.
    fn nested<T>(&mut self, text: &[u8], follow: impl FnOnce(&mut Descent) -> T) -> T {
        let index = std::mem::take(&mut self.parser.index);
        let special = std::mem::take(&mut self.parser.special);
        let fields = std::mem::take(&mut self.parser.fields);
        let result = follow(&mut Descent::new(self.parser, text, 0));
        (self.parser.index, self.parser.special, self.parser.fields) = (index, special, fields);
        result
    }

    /// Notes that a value does not count, since its object has the name of `symbol` already; `before` have been
    /// found before it. Fields that every row gets are no names of the object.
    #[cold]
    fn drop_value(&mut self, row: &Row, symbol: u32, constants: Range<usize>, before: u64) {
        self.parser.dropped = before;
        let constants = self.parser.fields.get(constants).unwrap_or_default();
        if constants.iter().all(|field| field.0 != symbol) {
            self.note_twice(row, symbol);
        }
    }

    #[cold]
    fn note_twice(&mut self, row: &Row, symbol: u32) {
        if self.parser.dropped == 0 {
            self.parser.twice.clear();
            self.parser.twice.extend_from_slice(row.symbols.name(symbol).unwrap_or_default());
        }
        self.parser.dropped += 1;
    }

    /// The record whose bracket is at `open`; gives the place after it.
    fn record(&mut self, row: &mut Row, open: usize, place: Place, depth: u32) -> Parsed<usize> {
        self.check_size(row, open, depth)?;
        let container = Container::open(row, place.node);
        let first_field = self.parser.fields.len();
        let mut names = row.paths.enter(place.node);
        let mut order = Order::default();
        if depth == 1 {
            let constants = Arc::clone(&self.parser.constants);
            for (name, value) in &constants.fields {
                let field = row.paths.field(&mut names, name, row.symbols);
                self.parser.fields.push((field.symbol, row.out.len() as u32));
                varuint::put(row.out, u64::from(field.symbol));
                row.out.extend_from_slice(value);
                order.note(field.symbol);
            }
        }
        let mut at = self.next();
        self.gap(open + 1, at)?;
        if self.byte(at) == b'}' {
            if depth == 1 {
                self.put_defaults(row, &mut names, &mut order);
            }
            self.close(row, container, first_field, order);
            return Ok(at + 1);
        }
        loop {
            let (field, colon, hint) = match self.expected(row, &mut names, at, place) {
                Some((field, colon)) => (Some(field), colon, None),
                None => self.name(row, &mut names, at, place)?,
            };
            let after = match field {
                None => self.ignore(row, colon + 1, hint, depth)?,
                Some(field) => {
                    let start = row.out.len();
                    varuint::put(row.out, u64::from(field.symbol));
                    let node = if field.repeated { NodeId::NONE } else { field.node };
                    let dropped = self.parser.dropped;
                    let after = self.value(row, colon + 1, Place { node, hint }, depth)?;
                    if field.repeated {
                        row.out.truncate(start);
                        let constants = if depth == 1 { self.parser.constants.fields.len() } else { 0 };
                        self.drop_value(row, field.symbol, first_field..first_field + constants, dropped);
                    } else {
                        order.note(field.symbol);
                        self.parser.fields.push((field.symbol, start as u32));
                    }
                    after
                }
            };
            let separator = self.next();
            self.gap(after, separator)?;
            match self.byte(separator) {
                b',' => {
                    at = self.next();
                    self.gap(separator + 1, at)?;
                }
                b'}' => {
                    if depth == 1 {
                        self.put_defaults(row, &mut names, &mut order);
                    }
                    self.close(row, container, first_field, order);
                    return Ok(separator + 1);
                }
                _ => return Err(self.unexpected(separator, "a comma or '}'").into()),
            }
        }
    }

    /// The field whose name starts at `quote`, if it is the one that was here the last time, and the place of
    /// its colon: one comparison instead of a look at the string.
    #[inline]
    fn expected(
        &mut self,
        row: &mut Row,
        names: &mut Cursor,
        quote: usize,
        place: Place,
    ) -> Option<(Field, usize)> {
        let ahead = self.text.get(quote..)?.first_chunk::<{ AHEAD + 1 }>()?;
        let (_, colon) = self.next_two()?;
        let [b'"', ahead @ ..] = ahead else { return None };
        if place.hint.is_some() {
            return None;
        }
        let field = row.paths.expected(names, ahead, colon - quote)?;
        self.cursor += 2;
        Some((field, colon))
    }

    /// The field whose name starts at `quote`, or none if it is to be dropped, with the place of its colon and
    /// its hints.
    fn name(
        &mut self,
        row: &mut Row,
        names: &mut Cursor,
        quote: usize,
        place: Place,
    ) -> Parsed<(Option<Field>, usize, Option<HintId>)> {
        let name = self.string(quote, "a field name in quotes")?;
        let colon = self.next();
        self.gap(name.after, colon)?;
        if self.byte(colon) != b':' {
            return Err(self.unexpected(colon, "a colon").into());
        }
        let text = self.resolved(&name);
        let (hint, ignored) = self.hint_of(place.hint, Step::Name(text));
        let field = (!ignored).then(|| row.paths.field(names, text, row.symbols));
        Ok((field, colon, hint))
    }

    /// Adds the defaults that a row lacks.
    #[inline]
    fn put_defaults(&mut self, row: &mut Row, names: &mut Cursor, order: &mut Order) {
        let JsonParser { constants, fields, .. } = &mut *self.parser;
        constants.put_defaults(row, names, |symbol, start| {
            order.note(symbol);
            fields.push((symbol, start as u32));
        });
    }

    /// Ends a struct: fields in order of their symbols, the first of equal ones, and the length.
    fn close(&mut self, row: &mut Row, container: Container, first_field: usize, order: Order) {
        if !order.sorted {
            self.sort(row, first_field);
        }
        self.parser.fields.truncate(first_field);
        container.close(row, kind::STRUCT);
    }

    /// Sorts the fields from `first_field` on, which fill the end of the row. Most of them follow each other in
    /// both orders, so that they move in a few runs.
    fn sort(&mut self, row: &mut Row, first_field: usize) {
        let JsonParser { fields, keys, scratch, .. } = &mut *self.parser;
        let fields = &fields[first_field..];
        keys.clear();
        keys.extend(fields.iter().zip(0..).map(|(field, at)| u64::from(field.0) << 32 | at));
        keys.sort_unstable();
        // What comes in order stays where it is, up to the first field that comes twice.
        let mut before = None;
        let stays = |&(&key, at): &(&u64, u32)| {
            key as u32 == at && before.replace(key >> 32).is_none_or(|before| before < key >> 32)
        };
        let stay = keys.iter().zip(0..).take_while(stays).count();
        let Some(&(_, base)) = fields.get(stay) else { return };
        let base = base as usize;
        scratch.clear();
        scratch.extend_from_slice(&row.out[base..]);
        row.out.truncate(base);
        let mut run = 0..0;
        let mut twice = vec![];
        let mut last = stay.checked_sub(1).map_or(u32::MAX, |at| fields[at].0);
        for key in &keys[stay..] {
            let (symbol, at) = ((key >> 32) as u32, *key as u32 as usize);
            if std::mem::replace(&mut last, symbol) == symbol {
                twice.push(symbol);
                continue;
            }
            let start = fields[at].1 as usize - base;
            if start != run.end {
                copy_short(row.out, scratch, run.start, run.end);
                run.start = start;
            }
            run.end = fields.get(at + 1).map_or(scratch.len(), |next| next.1 as usize - base);
        }
        copy_short(row.out, scratch, run.start, run.end);
        for symbol in twice {
            self.note_twice(row, symbol);
        }
    }

    fn list(&mut self, row: &mut Row, open: usize, place: Place, depth: u32) -> Parsed<usize> {
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
                _ => return Err(self.unexpected(separator, "a comma or ']'").into()),
            }
        }
    }

    fn check_size(&self, row: &Row, at: usize, depth: u32) -> Parsed<()> {
        if depth > MAX_ROW_DEPTH {
            return Err(Error::too_large(at, format!("nesting of more than {MAX_ROW_DEPTH} levels")).into());
        }
        if row.out.len() - row.start > row.limit {
            return Err(Error::too_large(
                self.record_start,
                format!("a row of more than {} bytes", row.limit),
            )
            .into());
        }
        Ok(())
    }
}

/// Where a value is: in the tree of paths, and in that of the hints.
#[derive(Debug, Clone, Copy)]
struct Place {
    node: NodeId,
    hint: Option<HintId>,
}

/// Whether the fields of a struct come in the order in which they are stored.
#[derive(Debug, Clone, Copy)]
struct Order {
    last: i64,
    sorted: bool,
}

impl Default for Order {
    fn default() -> Self {
        Self { last: -1, sorted: true }
    }
}

impl Order {
    #[inline]
    fn note(&mut self, symbol: u32) {
        self.sorted &= i64::from(symbol) > self.last;
        self.last = i64::from(symbol);
    }
}

fn top_wanted(state: Start) -> &'static str {
    match state {
        Start::Top => "a record '{' or an array of records '['",
        Start::ArrayOpen => "a record '{' or ']'",
        Start::AfterElement => "a comma or ']'",
        Start::AfterComma | Start::Anywhere => "a record '{'",
    }
}

/// Where a malformed record starts with the blanks that its line begins with: they are a part of lines of text.
fn indented(text: &[u8], record: usize) -> usize {
    let blanks = text[..record].iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let start = record - blanks;
    if start == 0 || text[start - 1] == b'\n' { start } else { record }
}

/// Where the object ends that starts at `start`, by its brackets, with white space up to the end of its line.
fn end_of_object(text: &[u8], start: usize) -> Option<usize> {
    let mut brackets = Brackets::default();
    let end = (start..).zip(text.get(start..)?).find(|&(_, &byte)| brackets.pass(byte) == 0);
    let (at, _) = end.filter(|&(_, &byte)| matches!(byte, b'}' | b']'))?;
    let rest = &text[at + 1..];
    let space = rest.iter().take_while(|&&byte| byte != b'\n' && timestamp::is_space(byte)).count();
    Some(at + 1 + if rest.get(space) == Some(&b'\n') { space + 1 } else { 0 })
}

/// The brackets that are open at a place, those in strings aside.
#[derive(Default)]
struct Brackets {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Brackets {
    /// How many are open behind another byte.
    fn pass(&mut self, byte: u8) -> usize {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' if self.in_string => self.escaped = true,
            b'"' => self.in_string = !self.in_string,
            _ if self.in_string => {}
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.depth
    }
}

/// Where a malformed record ends that starts at `start`: behind the bracket that closes it, if that is on its
/// line and more follows there, and else with its line.
fn end_of_malformed(text: &[u8], start: usize) -> usize {
    let rest = &text[start..];
    let line = &rest[..memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1)];
    let mut brackets = Brackets::default();
    for (&byte, at) in line.iter().zip(1..) {
        if brackets.pass(byte) == 0 {
            let closed = byte == b'}' && line.first() == Some(&b'{');
            let more = line[at..].iter().any(|&byte| !timestamp::is_space(byte));
            return start + if closed && more { at } else { line.len() };
        }
    }
    start + line.len()
}

#[cfg(test)]
mod tests {
    use super::cursor::FIRST_WINDOW;
    use super::*;
    use crate::chunk::{Chunk, Sink};

    struct Nothing;

    impl Sink for Nothing {
        fn chunk(&mut self, _: Chunk) -> Result<()> {
            Ok(())
        }

        fn buffer(&mut self) -> Vec<u8> {
            vec![]
        }
    }

    /// The rows and the malformed records of a text, and how often its bytes were indexed on average.
    fn skipping(text: &[u8]) -> Result<(u64, Rejects, usize)> {
        let mut sink = Nothing;
        let mut stream = Stream::new(1 << 20, 50 << 20, &mut sink);
        let mut parser = JsonParser::new(Arc::default(), None, OnError::Skip);
        let mut rejected = Rejects::default();
        parser.parse(text, PartContext { start: 0, last: true }, &mut stream, &mut rejected)?;
        let rows = stream.finish()?.blocks.iter().map(|block| block.rows).sum();
        Ok((rows, rejected, parser.indexed_bytes / text.len()))
    }

    #[test]
    fn malformed_lines_cost_work_in_proportion() -> Result<()> {
        for line in [r#"{"a":1,"b":}"#, r#"{"number":17,"text":"open}"#, "x", r#"{"a":[1,2,{"b":tru}]}"#] {
            let text = format!("{line}\n").repeat((32 << 10) / line.len());
            let (rows, rejected, times) = skipping(text.as_bytes())?;
            assert_eq!((rows, rejected.len()), (0, text.lines().count()), "{line}");
            assert!(times <= 2 * FIRST_WINDOW / line.len(), "{line}: {times}");
            let last = rejected.get(rejected.len() - 1).map(|record| record.line);
            assert_eq!(last, Some(rejected.len() as u64), "{line}");
        }
        Ok(())
    }

    #[test]
    fn malformed_records_leave_their_neighbours() -> Result<()> {
        for (text, rows, malformed) in [
            (r#"[{"a":1},{"a":x},{"a":3}]"#, 2, vec![r#"{"a":x}"#]),
            (r#"[{"a":"}]"},{"a":"}]\"",x},{"a":[{}]}] {"b":1}"#, 3, vec![r#"{"a":"}]\"",x}"#]),
            ("[\n{\"a\":1},\n{\"a\":x},\n{\"a\":3}\n]\n", 2, vec!["{\"a\":x}"]),
            ("{\"a\":x}\n{\"a\":2}\n", 1, vec!["{\"a\":x}\n"]),
            ("{\"a\":x} \n{\"a\":2},{\"a\":3}", 2, vec!["{\"a\":x} \n"]),
            ("1,\"b\":{\"x\":1}}\n{}\n", 1, vec!["1,\"b\":{\"x\":1}}\n"]),
            ("{\"a\":\"open}\n{}\n", 1, vec!["{\"a\":\"open}\n"]),
            ("[{},{\"a\"}", 1, vec!["{\"a\"}"]),
            ("[{}", 1, vec![""]),
            ("{}\n  at a\n \t{\"a\"}\n{} {\"a\"}", 2, vec!["  at a\n", " \t{\"a\"}\n", "{\"a\"}"]),
        ] {
            let (found, rejected, _) = skipping(text.as_bytes())?;
            let texts: Vec<_> =
                rejected.iter_from(0).map(|record| String::from_utf8_lossy(record.text)).collect();
            assert_eq!((found, texts), (rows, malformed.into_iter().map(Into::into).collect()), "{text}");
        }
        Ok(())
    }
}
