//! Checks of one block that a reader does not need to make: canonical forms, symbols, order of fields.
//!
//! Also tells what an index must cover: the time range of each path, and the types that occur.

mod canonical;
mod row;

use std::cell::Cell;
use std::collections::HashMap;

use crate::block::{BlockReader, Codecs, NO_MARKER, Position};
use crate::codec::Algorithm;
use crate::error::{Error, Result};
use crate::fields::Fields;
use crate::ion::{self, SymbolTable, kind};
use crate::paths::{NodeId, Path, Paths, Range};
use row::RowCheck;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Number of the chunk in its block.
    pub chunk: usize,
    /// Number of the row in its block; none when the whole chunk is concerned.
    pub row: Option<u64>,
    /// What is wrong.
    pub text: String,
}

/// What the rows must have in a top-level field, if they have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Constant {
    /// A string, or a symbol with this text.
    Text(Box<[u8]>),
    /// A value with these bytes.
    Bytes(Box<[u8]>),
}

/// What to look for.
#[derive(Debug, Clone, Default)]
pub struct Checks {
    /// Time ranges are told for these paths.
    pub paths: Vec<Path>,
    /// Fields whose value is the same in all rows.
    pub constants: Vec<(Box<[u8]>, Constant)>,
    /// No more findings than this are kept.
    pub max_findings: usize,
}

/// What a block holds and what is wrong with it.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// What is wrong, in order.
    pub findings: Vec<Finding>,
    /// Number of findings that were not kept.
    pub dropped: u64,
    /// Number of chunks that could be decoded.
    pub chunks: usize,
    /// Number of rows in them.
    pub rows: u64,
    /// For each chunk the time ranges at the paths that were asked for.
    pub ranges: Vec<Vec<(Path, Range)>>,
    /// All fields that occur; symbols are taken for strings.
    pub fields: Fields,
}

impl Report {
    /// The time range of a path over all chunks.
    pub fn range(&self, path: &[Box<[u8]>]) -> Option<Range> {
        let found = self.ranges.iter().flatten().filter(|(known, _)| **known == *path);
        found.map(|(_, range)| *range).reduce(|a, b| Range {
            min: a.min.min(b.min),
            max: a.max.max(b.max),
            count: a.count + b.count,
        })
    }
}

thread_local! {
    /// The decompressors of the block before: to make them takes longer than to read a small block.
    static CODECS: Cell<Option<Codecs>> = const { Cell::new(None) };
}

/// Reads a whole block and reports on it. What is wrong with it is no error, but a finding.
pub fn verify_block(block: &[u8], algorithm: Algorithm, align: usize, checks: &Checks) -> Result<Report> {
    let codecs = CODECS.take().map_or_else(Codecs::new, Ok)?;
    let mut reader = BlockReader::resume(block, algorithm, align, Position::default(), codecs);
    let mut state = State::new(checks);
    loop {
        let chunk = match reader.next_chunk() {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break,
            Err(error) => {
                let number = reader.position().chunk;
                state.find(number, None, undecodable(number, &error));
                break;
            }
        };
        state.chunk(chunk.number, chunk.data, chunk.rows_at, chunk.resets, chunk.table);
    }
    CODECS.set(Some(reader.into_codecs()));
    Ok(state.finish())
}

/// What is known while a block is read.
struct State<'a> {
    checks: &'a Checks,
    report: Report,
    paths: Paths,
    /// Places in the tree by place above and symbol id, for the table in force.
    nodes: HashMap<(NodeId, u64), NodeId>,
    /// The number of the chunk at hand.
    number: usize,
}

impl<'a> State<'a> {
    fn new(checks: &'a Checks) -> Self {
        let (report, paths) = (Report::default(), Paths::default());
        Self { checks, report, paths, nodes: HashMap::new(), number: 0 }
    }

    fn find(&mut self, chunk: usize, row: Option<u64>, text: String) {
        if self.report.findings.len() < self.checks.max_findings {
            self.report.findings.push(Finding { chunk, row, text });
        } else {
            self.report.dropped += 1;
        }
    }

    fn chunk(&mut self, number: usize, data: &[u8], rows_at: usize, resets: bool, table: &SymbolTable) {
        self.number = number;
        if resets {
            self.nodes.clear();
        }
        let before = (self.report.rows, self.report.findings.len(), self.report.dropped);
        let mut at = rows_at;
        while at < data.len() {
            let row = self.report.rows;
            let value = match ion::header(data, at) {
                Ok(value) => value,
                Err(error) => {
                    self.find(number, Some(row), format!("bad size: {}", error.message()));
                    break;
                }
            };
            if !value.is_pad() {
                self.report.rows += 1;
            }
            if value.kind == kind::STRUCT {
                RowCheck::new(self, data, table, row).row(at, value);
                self.paths.commit();
            } else if !value.is_pad() {
                let name = canonical::NAMES[usize::from(value.kind)];
                self.find(number, Some(row), format!("not a struct: {name}"));
                if value.kind >= kind::ANNOTATION {
                    break;
                }
            }
            at = value.end;
        }
        if before == (self.report.rows, self.report.findings.len(), self.report.dropped) {
            self.find(number, None, "holds no row".to_owned());
        }
        let ranges = self.paths.take_ranges();
        let wanted = ranges.into_iter().filter(|(path, _)| self.checks.paths.contains(path));
        self.report.ranges.push(wanted.collect());
        self.report.chunks += 1;
    }

    /// The place of a field in the tree.
    fn node(&mut self, parent: NodeId, id: u64, table: &SymbolTable) -> NodeId {
        if parent == NodeId::NONE {
            return NodeId::NONE;
        }
        if let Some(&node) = self.nodes.get(&(parent, id)) {
            return node;
        }
        let name = u32::try_from(id).ok().and_then(|id| table.name(id));
        let node = name.map_or(NodeId::NONE, |name| self.paths.child(parent, name));
        self.nodes.insert((parent, id), node);
        node
    }

    fn finish(self) -> Report {
        Report { fields: self.paths.fields(), ..self.report }
    }
}

/// The text of an error of a whole chunk, without the number of the chunk.
fn undecodable(number: usize, error: &Error) -> String {
    let text = error.message();
    let text = text.strip_prefix(&format!("chunk {number}: ")).unwrap_or(text);
    match error {
        Error::Corrupt { layer, offset, .. } if text != NO_MARKER => {
            format!("{layer}: {text} (at byte {offset} of the block)")
        }
        _ => text.to_owned(),
    }
}

/// The text of an error, in front of it what was being read.
fn told(what: &str, error: &Error) -> String {
    format!("{what}: {}", error.message())
}
