//! Binary Ion as input: each struct at the top or in a list at the top is a row, brought into canonical form.
//!
//! Any Ion 1.0 binary stream without shared symbol tables is taken: values in forms that packfiles do not
//! use are put into one that they do. Integers beyond 64 bits and decimals become the nearest number, blobs
//! become strings in base64, clobs strings, s-expressions lists; annotations and padding are dropped.

mod foreign;
mod table;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::chunk::paths::NodeId;
use crate::chunk::{Row, Stream};
use crate::error::{Error, Result};
use crate::ingest::json::parse::put_apart;
use crate::ingest::{Constants, OnError, PartContext, PartParser, Rejects, Splitter};
use crate::ion::fields::{Fields, Keep};
use crate::ion::symtab::NameHash;
use crate::ion::{Header, SymbolTable, is_bvm, kind, nest, timestamp, varuint};
use crate::limits::MAX_ROW_DEPTH;

/// What the splitter of an input tells its parsers: the symbols in force where each part starts.
#[derive(Debug)]
pub struct IonInput {
    index_depth: u8,
    tables: Mutex<HashMap<u64, Arc<SymbolTable>>>,
}

impl IonInput {
    /// An input whose timestamps are indexed when they lie at most `index_depth` names deep. Each needs its
    /// own.
    pub fn new(index_depth: u8) -> Arc<Self> {
        Arc::new(Self { index_depth, tables: Mutex::default() })
    }

    /// The same input, of which nothing was read yet.
    pub fn anew(&self) -> Arc<Self> {
        Self::new(self.index_depth)
    }

    /// Cuts the stream between values.
    pub fn splitter(self: &Arc<Self>) -> IonSplitter {
        IonSplitter { input: Arc::clone(self), position: 0, table: Arc::default(), parts: 0 }
    }

    /// A parser for parts of the stream; one for each worker.
    pub fn parser(self: &Arc<Self>, constants: Arc<Constants>, on_error: OnError) -> IonParser {
        let (table, index_depth) = (Arc::default(), self.index_depth);
        let writer = Writer { table, index_depth, fields: Fields::default(), long: LongSymbols::default() };
        IonParser { input: Arc::clone(self), constants, on_error, writer }
    }

    /// The symbols in force at the start of a part, which is parsed only once.
    fn take_table(&self, part: u64) -> Arc<SymbolTable> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.remove(&part).unwrap_or_default()
    }
}

/// Cuts between top-level values.
#[derive(Debug)]
pub struct IonSplitter {
    input: Arc<IonInput>,
    position: usize,
    table: Arc<SymbolTable>,
    parts: u64,
}

impl Splitter for IonSplitter {
    fn cut(&mut self, text: &[u8], min: usize) -> Result<Option<usize>> {
        while self.position < min.max(1) {
            let end = end_of_value(text, self.position).map_err(malformed)?;
            let Some(end) = end else { return Ok(None) };
            table::follow(&mut self.table, &text[..end], self.position).map_err(malformed)?;
            self.position = end;
        }
        Ok(Some(self.position))
    }

    fn next_part(&mut self) -> u64 {
        self.position = 0;
        self.parts += 1;
        let mut tables = self.input.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.insert(self.parts, Arc::clone(&self.table));
        self.parts
    }
}

/// The place behind the value or version marker at `at`; none when the text ends before.
fn end_of_value(text: &[u8], at: usize) -> Result<Option<usize>> {
    let rest = text.get(at..).unwrap_or_default();
    let Some(&first) = rest.first() else { return Ok(None) };
    let end = match (first, first & 0x0F) {
        (0xE0, _) => at + 4,
        (crate::ion::TRUE, _) | (_, 15) => at + 1,
        (0xD1, _) | (_, 14) => {
            if rest.len() < 11 && !rest[1..].iter().any(|byte| byte & 0x80 != 0) {
                return Ok(None);
            }
            let (length, body) = varuint::read(text, at + 1)?;
            usize::try_from(length).unwrap_or(usize::MAX).saturating_add(body)
        }
        (_, low) => at + 1 + usize::from(low),
    };
    Ok((end <= text.len()).then_some(end))
}

/// An error of the Ion layer as one of the input.
fn malformed(error: Error) -> Error {
    match error {
        Error::Corrupt { offset, message, .. } => Error::syntax(offset as usize, message),
        other => other,
    }
}

/// Parses parts of a stream.
#[derive(Debug)]
pub struct IonParser {
    input: Arc<IonInput>,
    constants: Arc<Constants>,
    on_error: OnError,
    writer: Writer,
}

impl PartParser for IonParser {
    fn parse(
        &mut self,
        text: &[u8],
        context: PartContext,
        stream: &mut Stream,
        rejected: &mut Rejects,
    ) -> Result<()> {
        self.writer.table = self.input.take_table(context.start);
        self.writer.long.ids.clear();
        if context.start == 0 && !text.is_empty() && !is_bvm(text) {
            return Err(Error::syntax(
                0,
                "Ion starts with the version marker e0 01 00 ea, this input does not",
            ));
        }
        let mut at = 0;
        while at < text.len() {
            let Some(end) = end_of_value(text, at).map_err(malformed)? else {
                return Err(Error::syntax(at, "the input ends inside a value"));
            };
            if table::follow(&mut self.writer.table, &text[..end], at).map_err(malformed)? {
                self.writer.long.ids.clear();
            } else {
                self.rows(&text[..end], at, stream, rejected)?;
            }
            at = end;
        }
        Ok(())
    }
}

impl IonParser {
    /// The row at `at`, or those in the list there, up to the end of `text`.
    fn rows(&mut self, text: &[u8], at: usize, stream: &mut Stream, rejected: &mut Rejects) -> Result<()> {
        let first = foreign::unwrap(text, at)?;
        let is_list = matches!(first.kind, kind::LIST | kind::SEXP) && !first.is_null();
        let mut from = if is_list { first.body } else { at };
        while from < text.len() {
            let value = foreign::unwrap(text, from)?;
            if let Err(error) = self.row(text, from, value, stream) {
                if self.on_error == OnError::Fail {
                    return Err(error);
                }
                rejected.push(&error, text, from..value.end, stream)?;
            }
            from = value.end;
        }
        Ok(())
    }

    fn row(&mut self, text: &[u8], at: usize, value: Header, stream: &mut Stream) -> Result<()> {
        if value.is_pad() {
            return Ok(());
        }
        if value.kind != kind::STRUCT || value.is_null() {
            return Err(Error::syntax(at, "a row must be a struct, this is another value"));
        }
        let Self { constants, writer, .. } = self;
        writer.fields.clear();
        let result = stream.add_row(|row| writer.put_struct(row, text, value, NodeId::ROOT, 1, constants));
        result.map_err(|error| match error {
            Error::TooLarge { message, .. } => Error::too_large(at, message),
            other => malformed(other),
        })
    }
}

/// Writes values in canonical form.
#[derive(Debug)]
struct Writer {
    table: Arc<SymbolTable>,
    index_depth: u8,
    fields: Fields,
    long: LongSymbols,
}

/// The ids in the chunk at hand of symbols with long texts: an input of some bytes may name one of half a
/// megabyte a quarter of a million times, and its text is hashed once.
#[derive(Debug, Default)]
struct LongSymbols {
    epoch: u32,
    ids: HashMap<u64, u32, NameHash>,
}

impl LongSymbols {
    /// A shorter text is hashed as fast as its number.
    const LEAST_BYTES: usize = 64;

    /// The id of the symbol `id` of the input, whose text is `text`, in the chunk.
    fn intern(&mut self, id: u64, text: &[u8], row: &mut Row) -> u32 {
        if text.len() < Self::LEAST_BYTES {
            return row.symbols.intern(text);
        }
        if self.epoch != row.paths.epoch() {
            self.epoch = row.paths.epoch();
            self.ids.clear();
        }
        *self.ids.entry(id).or_insert_with(|| row.symbols.intern(text))
    }
}

impl Writer {
    /// The text of a symbol: that of symbol 0 is `$0`.
    fn name(table: &SymbolTable, id: u64, at: usize) -> Result<&[u8]> {
        let known = u32::try_from(id).ok().and_then(|id| table.name(id));
        known.ok_or_else(|| Error::syntax(at, format!("symbol {id} has no text in the symbol table")))
    }

    /// The struct whose content is `value`.
    fn put_struct(
        &mut self,
        row: &mut Row,
        data: &[u8],
        value: Header,
        node: NodeId,
        depth: u32,
        constants: &Constants,
    ) -> Result<()> {
        check_depth(value.body, depth)?;
        let table = Arc::clone(&self.table);
        let data = &data[..value.end];
        let first_field = self.fields.begin();
        let start = nest::open(row.out);
        let mut names = row.paths.enter(node);
        for (name, content) in &constants.fields {
            let field = row.paths.field(&mut names, name, row.symbols);
            self.fields.add(field.symbol, row.out.len());
            varuint::put(row.out, u64::from(field.symbol));
            row.out.extend_from_slice(content);
            row.paths.saw(field.node, content.first().map_or(kind::NULL, |first| first >> 4));
        }
        let mut at = value.body;
        while at < value.end {
            let (id, next) = varuint::read(data, at)?;
            let content = foreign::unwrap(data, next)?;
            if !content.is_pad() {
                let name = Self::name(&table, id, at)?;
                let field = row.paths.field(&mut names, name, row.symbols);
                let node = if field.repeated { NodeId::NONE } else { field.node };
                let begin = row.out.len();
                varuint::put(row.out, u64::from(field.symbol));
                self.put(row, data, content, node, depth)?;
                if field.repeated {
                    row.out.truncate(begin);
                    let is_constant = constants.fields.iter().any(|(constant, _)| **constant == *name);
                    row.paths.note_dropped(u64::from(!is_constant));
                } else {
                    self.fields.add(field.symbol, begin);
                }
            }
            at = content.end;
        }
        constants.put_defaults(row, &mut names, |symbol, start| self.fields.add(symbol, start));
        let dropped = self.fields.sort(row.out, start + 1, first_field, Keep::First);
        row.paths.note_dropped(dropped as u64);
        nest::close(row.out, start, kind::STRUCT);
        Ok(())
    }

    fn put_list(
        &mut self,
        row: &mut Row,
        data: &[u8],
        value: Header,
        node: NodeId,
        depth: u32,
    ) -> Result<()> {
        check_depth(value.body, depth)?;
        let data = &data[..value.end];
        let element = row.paths.element(node);
        let start = nest::open(row.out);
        let mut at = value.body;
        while at < value.end {
            let item = foreign::unwrap(data, at)?;
            if !item.is_pad() {
                self.put(row, data, item, element, depth)?;
            }
            at = item.end;
        }
        nest::close(row.out, start, kind::LIST);
        Ok(())
    }

    /// Appends one value, which is neither padding nor annotated.
    fn put(&mut self, row: &mut Row, data: &[u8], value: Header, node: NodeId, depth: u32) -> Result<()> {
        let body = &data[value.body..value.end];
        let start = row.out.len();
        match value.kind {
            _ if value.is_null() => row.out.push(crate::ion::NULL),
            kind::TIMESTAMP => {
                let us = foreign::time(body, value.body)?;
                self.put_time(row, us, node);
            }
            kind::SYMBOL => {
                let id = crate::ion::magnitude(body, value.body)?;
                let text = Self::name(&self.table, id, value.body)?;
                if row.paths.is_apart(node) && put_apart(row, text, node, depth) {
                    return Ok(());
                }
                let id = self.long.intern(id, text, row);
                crate::ion::put_symbol(row.out, id);
                row.paths.saw(node, kind::STRING);
                return Ok(());
            }
            kind::STRING => {
                let text = foreign::text(body, value.body)?;
                if row.paths.is_apart(node) && put_apart(row, text, node, depth) {
                    return Ok(());
                }
                let Some(us) = row.paths.time_of_stored_text(node, text) else {
                    row.put_text(text, node);
                    return Ok(());
                };
                self.put_time(row, us, node);
            }
            kind::STRUCT => {
                row.paths.saw(node, kind::STRUCT);
                return self.put_struct(row, data, value, node, depth + 1, &Constants::default());
            }
            kind::LIST | kind::SEXP => {
                row.paths.saw(node, kind::LIST);
                return self.put_list(row, data, value, node, depth + 1);
            }
            _ => {
                foreign::put_scalar(row.out, value, body)?;
                if row.paths.is_told(node)
                    && let Some(text) = foreign::number_text(&row.out[start..])
                    && let Some(us) = row.paths.time_of_number(node, text.as_bytes())
                {
                    row.out.truncate(start);
                    self.put_time(row, us, node);
                }
            }
        }
        row.paths.saw(node, row.out[start] >> 4);
        Ok(())
    }

    fn put_time(&self, row: &mut Row, us: i64, node: NodeId) {
        timestamp::put(row.out, us);
        let counts = row.paths.indexable(node, self.index_depth) || row.paths.is_told(node);
        row.paths.time_if(node, us, counts);
    }
}

fn check_depth(at: usize, depth: u32) -> Result<()> {
    if depth > MAX_ROW_DEPTH {
        return Err(Error::syntax(at, format!("nesting of more than {MAX_ROW_DEPTH} levels")));
    }
    Ok(())
}
