//! Going on with a block that is there: its chunks are kept save the last, whose rows are packed again.

use std::collections::HashMap;

use crate::block::digest;
use crate::block::rows::Rows;
use crate::block::runs::Form;
use crate::block::{BlockReader, Codecs, FRAME_HEADER, Position};
use crate::chunk::Stream;
use crate::chunk::paths::{NodeId, Paths};
use crate::error::{Error, Result};
use crate::ion::{self, Header, SymbolTable, kind, varuint};
use crate::limits::MAX_NESTING;

/// Where the selector of a zion chunk is, in its low four bits.
const SELECTOR: usize = 4;

/// The part of a block that stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resumed {
    /// Number of chunks that are kept.
    pub chunks: u64,
    /// Where the chunk after them starts in the block.
    pub bytes: usize,
    /// Rows of that chunk: they come first in what is packed.
    pub rows: u64,
    /// The hashes of the frames that are kept, see [`crate::block::digest`].
    pub hashes: Vec<u8>,
}

/// The state of the stream that wrote a block, and the rows that it shall write again.
#[derive(Debug)]
pub struct Seed {
    pub resumed: Resumed,
    /// Selector of the block's last chunk, whose symbols go on.
    pub selector: u8,
    symbols: SymbolTable,
    /// Symbols below this id were written in kept chunks.
    sent: u32,
    /// Whether the fields of the rows are counted already.
    is_counted: bool,
    /// The last chunk.
    data: Vec<u8>,
    rows_at: usize,
}

impl Seed {
    /// Follows the symbol tables of a block and decodes its last chunk. With `verify` a wrong checksum in what
    /// is read of it is an error. With `is_counted` it is known in how many rows each field is.
    pub fn read(block: &[u8], chunks: u64, form: Form, is_counted: bool) -> Result<Self> {
        let Form { algorithm, align, verify } = form;
        let wrong = |found: u64| {
            let message = format!("the block has {found} chunks, the trailer says {chunks}");
            Error::corrupt("frame", 0, message)
        };
        let codecs = Codecs::new()?.verifying(verify)?;
        let mut reader = BlockReader::resume(block, algorithm, align, Position::default(), codecs);
        let kept = chunks.saturating_sub(1);
        let mut hashes = Vec::new();
        for chunk in 0..kept {
            let at = reader.position().offset;
            if !reader.skip_chunk()? {
                return Err(wrong(chunk));
            }
            let frame = block.get(at..reader.position().offset).unwrap_or_default();
            hashes.extend_from_slice(&digest::of_frame(frame));
        }
        let sent = reader.position().table.as_ref().map_or(0, |table| table.max_id());
        let Some(last) = reader.next_chunk()? else { return Err(wrong(kept)) };
        let (bytes, rows_at, resets) = (last.offset, last.rows_at, last.resets);
        let (data, symbols) = (last.data.to_vec(), last.table.indexed());
        let selector = block.get(bytes + FRAME_HEADER + SELECTOR).map_or(0, |byte| byte & 15);
        let rows = count(&data, rows_at, &symbols).map_err(|error| last.error(&error))?;
        if reader.position().offset != block.len() {
            return Err(wrong(chunks + 1));
        }
        Ok(Self {
            resumed: Resumed { chunks: kept, bytes, rows, hashes },
            selector,
            symbols,
            sent: if resets { 0 } else { sent },
            is_counted,
            data,
            rows_at,
        })
    }

    /// Rows that come once more, and are among those that what is known of the block tells of.
    pub fn rows_counted_before(&self) -> u64 {
        if self.resumed.chunks > 0 { self.resumed.rows } else { 0 }
    }

    /// Brings a new stream to where the block ended.
    pub fn plant<'s>(&self, stream: Stream<'s>) -> Result<Stream<'s>> {
        let mut stream = stream.after(self.resumed.chunks, self.symbols.clone(), self.sent);
        let mut names = Names::new(&self.symbols);
        stream.counting(!self.is_counted);
        for found in Rows::new(&self.data, self.rows_at) {
            let (at, row) = found?;
            stream.add_row(|out| {
                note(&self.data, row, &mut names, out.paths)?;
                out.out.extend_from_slice(&self.data[at..row.end]);
                Ok(())
            })?;
        }
        stream.counting(true);
        Ok(stream)
    }
}

/// The number of rows of a chunk, all of which can be noted.
fn count(data: &[u8], rows_at: usize, symbols: &SymbolTable) -> Result<u64> {
    let (mut paths, mut names) = (Paths::default(), Names::new(symbols));
    let mut count = 0;
    for row in Rows::new(data, rows_at) {
        note(data, row?.1, &mut names, &mut paths)?;
        count += 1;
    }
    Ok(count)
}

/// A struct or list that is open.
struct Open {
    end: usize,
    is_struct: bool,
    node: NodeId,
}

/// The symbols of a chunk, and the fields that they were found to be: the text of a name, which may be long,
/// is looked at once for each parent, not for each row.
struct Names<'t> {
    symbols: &'t SymbolTable,
    nodes: HashMap<(NodeId, u64), NodeId>,
}

impl<'t> Names<'t> {
    fn new(symbols: &'t SymbolTable) -> Self {
        Self { symbols, nodes: HashMap::new() }
    }

    /// The text of a symbol.
    fn text(&self, id: u64, at: usize) -> Result<&'t [u8]> {
        let known = u32::try_from(id).ok().and_then(|id| self.symbols.name(id));
        known.ok_or_else(|| Error::corrupt("ion", at, format!("symbol {id} is not in the symbol table")))
    }

    /// The field below `parent` whose name is a symbol.
    fn child(&mut self, paths: &mut Paths, parent: NodeId, id: u64, at: usize) -> Result<NodeId> {
        if let Some(&node) = self.nodes.get(&(parent, id)) {
            return Ok(node);
        }
        let node = paths.child(parent, self.text(id, at)?);
        self.nodes.insert((parent, id), node);
        Ok(node)
    }
}

/// Notes the types and times of a row that is stored as it is. Every symbol in it must be known.
fn note(data: &[u8], row: Header, names: &mut Names<'_>, paths: &mut Paths) -> Result<()> {
    let mut open = vec![Open { end: row.end, is_struct: true, node: NodeId::ROOT }];
    let mut at = row.body;
    while let Some(inner) = open.last() {
        if at >= inner.end {
            open.pop();
            continue;
        }
        let data = &data[..inner.end];
        let (node, value_at) = if inner.is_struct {
            let (label, next) = varuint::read(data, at)?;
            (names.child(paths, inner.node, label, at)?, next)
        } else {
            (paths.element(inner.node), at)
        };
        let value = ion::header(data, value_at)?;
        at = value.end;
        let body = &data[value.body..value.end];
        match value.kind {
            _ if value.is_pad() => {}
            _ if value.is_null() => paths.saw(node, kind::NULL),
            kind::SYMBOL => {
                names.text(ion::magnitude(body, value_at)?, value_at)?;
                paths.saw(node, kind::STRING);
            }
            kind::STRUCT | kind::LIST => {
                paths.saw(node, value.kind);
                at = value.body;
                if open.len() >= MAX_NESTING {
                    let message = format!("a row is nested deeper than {MAX_NESTING} levels");
                    return Err(Error::corrupt("ion", value_at, message));
                }
                open.push(Open { end: value.end, is_struct: value.kind == kind::STRUCT, node });
            }
            kind::TIMESTAMP => {
                paths.saw(node, kind::TIMESTAMP);
                paths.time(node, ion::timestamp::read(body, value_at)?);
            }
            kind::BOOL | kind::UINT | kind::NEGINT | kind::FLOAT | kind::STRING | kind::CLOB | kind::BLOB => {
                paths.saw(node, value.kind);
            }
            other => {
                let message = format!("a value of type {other}, which rows do not have");
                return Err(Error::corrupt("ion", value_at, message));
            }
        }
    }
    Ok(())
}
