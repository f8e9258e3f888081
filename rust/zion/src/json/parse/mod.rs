//! JSON text to rows.
//!
//! Two stages: an index of the quotes, brackets and separators of a window of text (`simd::json`), then a
//! descent over that index which writes Ion as it goes. Lengths of structs and lists are guessed from the
//! last ones at the same path and put right when they turn out otherwise; fields are sorted by symbol when
//! a struct is closed and they did not come in order.

mod container;
mod cursor;
mod value;

use std::ops::Range;
use std::sync::Arc;

use self::container::Container;
use super::hints::{HintId, Hints, Step};
use super::split::Start;
use crate::chunker::{Row, Stream};
use crate::error::{Error, Result};
use crate::ion::{copy_short, kind, varuint};
use crate::pack::{Constants, PartContext, PartParser, Rejected, Whole};
use crate::paths::{AHEAD, Cursor, Field, NodeId};
use crate::simd::json::Carry;

/// What parsing a piece gives. Errors are large; in a box they leave the result to registers.
type Parsed<T> = std::result::Result<T, Box<Error>>;

/// Nesting of records and lists in a row; the row itself is level 1.
const MAX_DEPTH: u32 = 63;

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
    special: Vec<u64>,
    fields: Vec<(u32, u32)>,
    keys: Vec<u64>,
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
            special: vec![],
            fields: vec![],
            keys: vec![],
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
    cursor: usize,
    record_start: usize,
}

impl Descent<'_, '_> {
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

    /// The records up to the first that is not whole, or malformed.
    fn whole(&mut self, stream: &mut Stream) -> Result<Whole> {
        let mut whole = Whole::default();
        loop {
            let start = self.skip_space(whole.end);
            if start == self.text.len() {
                return Ok(Whole { end: start, ..whole });
            }
            self.record_start = start;
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

    fn row(&mut self, stream: &mut Stream, open: usize) -> Result<usize> {
        let mut end = 0;
        let result = stream.add_row(|row| {
            let hint = self.parser.hints.as_ref().and_then(|hints| hints.root());
            end = self.record(row, open, Place { node: NodeId::ROOT, hint }, 1).map_err(|error| *error)?;
            Ok(())
        });
        match result {
            Err(Error::TooLarge { offset: 0, message, .. }) => Err(Error::too_large(open, message)),
            other => other.map(|()| end),
        }
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
                    let after = self.value(row, colon + 1, Place { node, hint }, depth)?;
                    if field.repeated {
                        row.out.truncate(start);
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
        let mut last = stay.checked_sub(1).map_or(u32::MAX, |at| fields[at].0);
        for key in &keys[stay..] {
            let (symbol, at) = ((key >> 32) as u32, *key as u32 as usize);
            if std::mem::replace(&mut last, symbol) == symbol {
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
        if depth > MAX_DEPTH {
            return Err(Error::too_large(at, format!("nesting of more than {MAX_DEPTH} levels")).into());
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
        Start::AfterComma => "a record '{'",
    }
}
