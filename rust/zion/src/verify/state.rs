//! What is known while a block is read.

use std::collections::HashMap;

use super::report::{Checks, Finding, Report};
use crate::chunk::paths::{NodeId, Paths};
use crate::ion::SymbolTable;

/// What is known while a block is read.
pub(super) struct State<'a> {
    pub(super) checks: &'a Checks,
    pub(super) report: Report,
    pub(super) paths: Paths,
    /// Places in the tree by place above and symbol id, for the table in force.
    pub(super) nodes: HashMap<(NodeId, u64), NodeId>,
    /// The number of the chunk at hand.
    pub(super) number: usize,
}

impl<'a> State<'a> {
    pub(super) fn new(checks: &'a Checks) -> Self {
        let (report, paths) = (Report::default(), Paths::default());
        Self { checks, report, paths, nodes: HashMap::new(), number: 0 }
    }

    pub(super) fn find(&mut self, chunk: usize, row: Option<u64>, text: String) {
        if self.report.findings.len() < self.checks.max_findings {
            self.report.findings.push(Finding { chunk, row, text });
        } else {
            self.report.dropped += 1;
        }
    }

    /// The place of a field in the tree.
    pub(super) fn node(&mut self, parent: NodeId, id: u64, table: &SymbolTable) -> NodeId {
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

    pub(super) fn finish(self) -> Report {
        Report { fields: self.paths.fields(), ..self.report }
    }
}
