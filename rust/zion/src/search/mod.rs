//! Rows in which a text value matches: what `grep` looks for.

mod needed;

use std::sync::Arc;

pub use needed::Needed;

use crate::block::Chunk;
use crate::error::Result;
use crate::functions::re2::Pattern;
use crate::ion::names::text_of;
use crate::ion::{self, Header, SymbolTable, kind, varuint};

/// What rows are looked at for, the same for all chunks.
#[derive(Debug, Clone)]
pub struct Matcher {
    pattern: Pattern,
    invert: bool,
    fields: Option<Vec<Box<[u8]>>>,
}

impl Matcher {
    /// Rows in which a text value matches any of several patterns of RE2, or with `invert` those without one; with
    /// `fixed` the patterns are texts. With `fields` only values inside of these top-level fields count.
    pub fn new(
        patterns: &[String],
        fixed: bool,
        ignore_case: bool,
        invert: bool,
        fields: Option<Vec<Box<[u8]>>>,
    ) -> Result<Self> {
        Ok(Self { pattern: Pattern::new(patterns, fixed, ignore_case)?, invert, fields })
    }

    /// The top-level fields whose values count; none: all.
    pub fn fields(&self) -> Option<&[Box<[u8]>]> {
        self.fields.as_deref()
    }
}

/// What is known of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Unknown,
    Differs,
    Matches,
}

/// Looks at rows, chunk by chunk: the state of one thread.
pub struct Search {
    matcher: Arc<Matcher>,
    pattern: Pattern,
    table: Option<Arc<SymbolTable>>,
    /// Each symbol of the table in force is compared once.
    symbols: Vec<Verdict>,
    /// How many symbols of the table in force were compared beforehand, and whether one of them matches.
    compared: u32,
    any_symbol: bool,
    /// For each symbol whether it is one of the fields.
    wanted: Option<Vec<bool>>,
    /// Whether no string of the chunk at hand can match.
    is_barren: bool,
    stack: Vec<Frame>,
}

/// A struct or list that is open.
#[derive(Clone, Copy)]
struct Frame {
    end: usize,
    is_struct: bool,
}

impl Search {
    /// A search that has its own memory.
    pub fn new(matcher: Arc<Matcher>) -> Self {
        let pattern = matcher.pattern.clone();
        let wanted = matcher.fields.as_ref().map(|_| Vec::new());
        Self {
            matcher,
            pattern,
            table: None,
            symbols: Vec::new(),
            compared: 0,
            any_symbol: false,
            wanted,
            is_barren: false,
            stack: Vec::new(),
        }
    }

    /// Takes over a chunk, whose table is a new one, or the one before with symbols added.
    pub fn enter(&mut self, chunk: &Chunk<'_>, is_new: bool) {
        if !self.table.as_ref().is_some_and(|table| Arc::ptr_eq(table, chunk.table)) {
            self.sync(chunk.table, is_new);
        }
        let rows = chunk.data.get(chunk.rows_at..).unwrap_or_default();
        self.is_barren = self.pattern.is_free && !self.pattern.regex.is_match(rows);
    }

    fn sync(&mut self, table: &Arc<SymbolTable>, is_new: bool) {
        let count = table.max_id() as usize;
        if is_new {
            self.symbols.clear();
            (self.compared, self.any_symbol) = (0, false);
        }
        self.symbols.resize(count, Verdict::Unknown);
        if let (Some(wanted), Some(fields)) = (&mut self.wanted, &self.matcher.fields) {
            wanted.clear();
            wanted.resize(count, false);
            for id in fields.iter().flat_map(|name| table.ids(name)) {
                if let Some(wanted) = wanted.get_mut(id as usize) {
                    *wanted = true;
                }
            }
        }
        self.table = Some(Arc::clone(table));
    }

    /// Whether a row is one of those that are looked for.
    pub fn admits(&mut self, data: &[u8], row: Header) -> Result<bool> {
        let found = self.may_match(data, row) && self.matches(data, row)?;
        Ok(found != self.matcher.invert)
    }

    /// Whether there is anything in the bytes of a row, or among the symbols, that matches.
    fn may_match(&mut self, data: &[u8], row: Header) -> bool {
        if !self.pattern.is_free {
            return true;
        }
        let body = data.get(row.body..row.end).unwrap_or_default();
        (!self.is_barren && self.pattern.regex.is_match(body)) || self.has_symbol()
    }

    /// Whether any symbol of the table in force matches.
    fn has_symbol(&mut self) -> bool {
        let Some(table) = &self.table else { return false };
        for id in self.compared..table.max_id() {
            if self.any_symbol {
                break;
            }
            self.any_symbol = table.name(id).is_some_and(|name| self.pattern.regex.is_match(name));
            self.compared = id + 1;
        }
        self.any_symbol
    }

    fn matches(&mut self, data: &[u8], row: Header) -> Result<bool> {
        self.stack.clear();
        let mut frame = Frame { end: row.end, is_struct: true };
        let mut at = row.body;
        loop {
            if at >= frame.end {
                match self.stack.pop() {
                    Some(outer) => frame = outer,
                    None => return Ok(false),
                }
                continue;
            }
            let (mut label, mut value_at) = (0, at);
            if frame.is_struct {
                (label, value_at) = varuint::read(data, at)?;
            }
            let value = ion::header(&data[..frame.end], value_at)?;
            at = value.end;
            if value.is_null() || (self.stack.is_empty() && !self.is_wanted(label)) {
                continue;
            }
            match value.kind {
                kind::STRUCT | kind::LIST => {
                    self.stack.push(frame);
                    frame = Frame { end: value.end, is_struct: value.kind == kind::STRUCT };
                    at = value.body;
                }
                kind::STRING if self.is_barren => {}
                kind::STRING if self.pattern.regex.is_match(&data[value.body..value.end]) => return Ok(true),
                kind::SYMBOL => {
                    let id = ion::magnitude(&data[value.body..value.end], value_at)?;
                    if self.is_symbol(id) {
                        return Ok(true);
                    }
                }
                _ => {}
            }
        }
    }

    fn is_wanted(&self, label: u64) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| {
            usize::try_from(label).ok().and_then(|id| wanted.get(id)).is_some_and(|&wanted| wanted)
        })
    }

    /// Whether the text of a symbol matches.
    fn is_symbol(&mut self, id: u64) -> bool {
        let Self { symbols, table: Some(table), pattern, .. } = self else { return false };
        let compare = || pattern.regex.is_match(text_of(table, id).as_bytes());
        let Some(verdict) = usize::try_from(id).ok().and_then(|id| symbols.get_mut(id)) else {
            return compare();
        };
        if *verdict == Verdict::Unknown {
            *verdict = if compare() { Verdict::Matches } else { Verdict::Differs };
        }
        *verdict == Verdict::Matches
    }
}
