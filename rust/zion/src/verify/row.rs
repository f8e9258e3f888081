//! All values of one row.

use super::canonical::{fault, is_long_label, told};
use super::report::Constant;
use super::state::State;
use crate::chunk::paths::NodeId;
use crate::ion::{self, Header, SymbolTable, kind, timestamp, varuint};
use crate::limits::MAX_NESTING;

/// Goes through a row.
pub struct RowCheck<'s, 'c, 'd> {
    pub state: &'s mut State<'c>,
    pub data: &'d [u8],
    pub table: &'d SymbolTable,
    pub row: u64,
    /// Which of the constants the row has.
    constants: Vec<bool>,
}

impl<'s, 'c, 'd> RowCheck<'s, 'c, 'd> {
    pub fn new(state: &'s mut State<'c>, data: &'d [u8], table: &'d SymbolTable, row: u64) -> Self {
        let constants = vec![false; state.checks.constants.len()];
        Self { state, data, table, row, constants }
    }
}

/// A struct or list that is open.
struct Frame {
    end: usize,
    is_struct: bool,
    node: NodeId,
    /// The label before; no label may be below it or equal to it, so 0 stands for no label.
    last: u64,
}

impl RowCheck<'_, '_, '_> {
    /// Checks the struct at `at`. After damage that leaves the places of further values unknown the rest
    /// of the row is passed over.
    pub fn row(mut self, at: usize, row: Header) {
        self.check(at, row);
        let mut open = vec![Frame { end: row.end, is_struct: true, node: NodeId::ROOT, last: 0 }];
        let (mut at, mut is_deep) = (row.body, false);
        while let Some(mut frame) = open.pop() {
            while at < frame.end {
                let Some((value_at, node)) = self.label(at, &mut frame, open.is_empty()) else { return };
                let value = match ion::header(&self.data[..frame.end], value_at) {
                    Ok(value) => value,
                    Err(error) => {
                        self.find(told("bad size", &error));
                        return;
                    }
                };
                self.value(value_at, value, node);
                at = value.end;
                if matches!(value.kind, kind::STRUCT | kind::LIST) && !value.is_null() {
                    at = value.body;
                    let is_struct = value.kind == kind::STRUCT;
                    open.push(frame);
                    if open.len() == MAX_NESTING && !is_deep {
                        is_deep = true;
                        self.find(format!("nested deeper than {MAX_NESTING} levels"));
                    }
                    frame = Frame { end: value.end, is_struct, node, last: 0 };
                }
            }
        }
        self.missing();
    }

    /// Reports constants that the row lacks.
    fn missing(&mut self) {
        let checks = self.state.checks;
        for ((name, _), seen) in checks.constants.iter().zip(std::mem::take(&mut self.constants)) {
            if !seen {
                self.find(format!("field {}, a constant, is missing", String::from_utf8_lossy(name)));
            }
        }
    }

    fn find(&mut self, text: String) {
        let chunk = self.state.number;
        self.state.find(chunk, Some(self.row), text);
    }

    /// Reads the label at `at`, if there is one: the place of its value, and the field in the tree.
    fn label(&mut self, at: usize, frame: &mut Frame, top: bool) -> Option<(usize, NodeId)> {
        if !frame.is_struct {
            return Some((at, self.state.paths.element(frame.node)));
        }
        let (label, value_at) = match varuint::read(&self.data[..frame.end], at) {
            Ok(read) => read,
            Err(error) => {
                self.find(told("ion.ReadLabel", &error));
                return None;
            }
        };
        if is_long_label(label, value_at - at) {
            self.find(format!("the label {label} takes more bytes than it needs"));
        }
        if label <= frame.last {
            self.find(format!("symbol {label} < {}", frame.last));
        }
        frame.last = label;
        if label >= u64::from(self.table.max_id()) {
            self.find(format!("symbol {label} not in symbol table"));
        } else if top {
            self.constant(label as u32, value_at, frame.end);
        }
        Some((value_at, self.state.node(frame.node, label, self.table)))
    }

    fn check(&mut self, at: usize, value: Header) {
        if let Some(text) = fault(self.data, at, value, self.table) {
            self.find(text);
        }
    }

    fn value(&mut self, at: usize, value: Header, node: NodeId) {
        self.check(at, value);
        if value.is_pad() {
            return;
        }
        let paths = &mut self.state.paths;
        match value.kind {
            _ if value.is_null() => paths.saw(node, kind::NULL),
            kind::SYMBOL => paths.saw(node, kind::STRING),
            other => paths.saw(node, other),
        }
        if value.kind == kind::TIMESTAMP
            && !value.is_null()
            && let Ok(us) = timestamp::read(&self.data[value.body..value.end], at)
        {
            paths.time(node, us);
        }
    }

    fn constant(&mut self, label: u32, at: usize, end: usize) {
        let checks = self.state.checks;
        if checks.constants.is_empty() {
            return;
        }
        let name = self.table.name(label).unwrap_or_default();
        let Some(place) = checks.constants.iter().position(|(known, _)| **known == *name) else { return };
        let Some((_, expected)) = checks.constants.get(place) else { return };
        if let Some(seen) = self.constants.get_mut(place) {
            *seen = true;
        }
        let Ok(value) = ion::header(&self.data[..end], at) else { return };
        let body = &self.data[value.body..value.end];
        let same = match expected {
            Constant::Bytes(bytes) => **bytes == self.data[at..value.end],
            Constant::Text(text) if value.kind == kind::SYMBOL => {
                let id = ion::magnitude(body, at).ok().and_then(|id| u32::try_from(id).ok());
                id.and_then(|id| self.table.name(id)).is_some_and(|found| *found == **text)
            }
            Constant::Text(text) => value.kind == kind::STRING && *body == **text,
        };
        if !same {
            let name = String::from_utf8_lossy(name);
            self.find(format!("field {name} differs from the constant of this name"));
        }
    }
}
