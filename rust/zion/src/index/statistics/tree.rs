//! The paths that statistics are made of, as a tree.

use std::collections::HashMap;

use crate::error::Result;
use crate::ion::symtab::NameHash;
use crate::ion::{self, Header, SymbolTable, kind, varuint};

/// The names of a path from the row on; none for the elements of a list.
pub type StatPath = Vec<Option<Box<[u8]>>>;

/// So many places are looked at when paths are chosen.
const MAX_NODES: usize = 4096;
/// Paths that are chosen have at most so many names.
const MAX_CHOSEN_DEPTH: usize = 8;
/// So many paths are chosen at most.
const MAX_CHOSEN: usize = 128;
/// So many rows are looked at to choose paths.
const ROWS: usize = 512;

/// No place: of fields that are not followed, and of values that are not noted.
const NOWHERE: u32 = u32::MAX;
/// Symbols so far behind the first one of a place are found without a search.
const NEAR: usize = 1024;

/// A place in the tree.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// Where its values are noted; [`NOWHERE`] if they are not.
    pub(super) slot: u32,
    /// The elements of the list at this place.
    pub(super) element: Option<u32>,
    /// The least symbol of a field below it in the table at hand.
    first: u64,
    /// The fields with this symbol and those behind it, as far as they are near.
    near: Vec<u32>,
    /// The fields with other symbols, sorted by these.
    far: Vec<(u64, u32)>,
    name: Box<[u8]>,
    fields: Vec<u32>,
}

impl Node {
    fn new(name: &[u8]) -> Self {
        Self { slot: NOWHERE, name: name.into(), ..Self::default() }
    }

    /// Whether any field below it has a symbol.
    pub(super) fn has_fields(&self) -> bool {
        !self.near.is_empty()
    }

    /// The field with a symbol, if it is followed.
    #[inline]
    pub(super) fn field(&self, label: u64) -> Option<u32> {
        match self.near.get(label.wrapping_sub(self.first) as usize) {
            Some(&field) => (field != NOWHERE).then_some(field),
            None if self.far.is_empty() => None,
            None => self.far_field(label),
        }
    }

    #[cold]
    fn far_field(&self, label: u64) -> Option<u32> {
        let at = self.far.binary_search_by_key(&label, |&(known, _)| known).ok()?;
        self.far.get(at).map(|&(_, field)| field)
    }

    /// Takes over the symbols of the fields, sorted.
    fn label(&mut self, labels: &[(u64, u32)]) {
        self.near.clear();
        self.far.clear();
        self.first = labels.first().map_or(0, |&(label, _)| label);
        for &(label, field) in labels {
            let at = (label - self.first) as usize;
            if at < NEAR {
                self.near.resize(at, NOWHERE);
                self.near.push(field);
            } else {
                self.far.push((label, field));
            }
        }
    }
}

/// The tree; the row is its first place.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
}

impl Tree {
    /// The tree of some paths, in their order.
    pub(super) fn of(paths: &[StatPath]) -> Self {
        let mut tree = Self { nodes: vec![Node::new(b"")] };
        for (slot, path) in paths.iter().enumerate() {
            let mut at = 0;
            for name in path {
                at = tree.below(at, name.as_deref());
            }
            if let Some(node) = tree.nodes.get_mut(at as usize) {
                node.slot = slot as u32;
            }
        }
        tree
    }

    fn below(&mut self, at: u32, name: Option<&[u8]>) -> u32 {
        let new = self.nodes.len() as u32;
        let known = self.nodes.get(at as usize).and_then(|node| match name {
            None => node.element,
            Some(name) => {
                let mut fields = node.fields.iter();
                fields
                    .find(|&&field| self.nodes.get(field as usize).is_some_and(|node| *node.name == *name))
                    .copied()
            }
        });
        if let Some(known) = known {
            return known;
        }
        self.nodes.push(Node::new(name.unwrap_or_default()));
        if let Some(node) = self.nodes.get_mut(at as usize) {
            match name {
                None => node.element = Some(new),
                Some(_) => node.fields.push(new),
            }
        }
        new
    }

    /// Finds the symbols of all names in a table. In one that somebody else wrote a name may have several.
    pub(super) fn resolve(&mut self, symbols: &SymbolTable, is_foreign: bool) {
        let Self { nodes } = self;
        let found: Vec<Vec<u32>> =
            nodes
                .iter()
                .map(|node| {
                    if is_foreign { symbols.ids(&node.name) } else { Vec::from_iter(symbols.id(&node.name)) }
                })
                .collect();
        for node in nodes {
            let labels = node.fields.iter().flat_map(|&field| {
                let ids = found.get(field as usize).map(Vec::as_slice).unwrap_or_default();
                ids.iter().map(move |&id| (u64::from(id), field))
            });
            let mut labels: Vec<_> = labels.collect();
            labels.sort_unstable();
            node.label(&labels);
        }
    }
}

/// A field that was met, and how often with a value that is neither struct nor list.
struct Met {
    parent: u32,
    label: u64,
    values: u32,
}

/// Chooses the paths through structs that most of the first rows have a value at.
pub(super) fn chosen(rows: &[u8], symbols: &SymbolTable) -> Result<Vec<StatPath>> {
    let mut met = vec![Met { parent: 0, label: 0, values: 0 }];
    let mut places = HashMap::default();
    let (mut at, mut count) = (0, 0);
    while at < rows.len() && count < ROWS {
        let row = ion::header(rows, at)?;
        if row.kind == kind::STRUCT {
            meet(rows, row, (0, 1), &mut met, &mut places)?;
            count += 1;
        }
        at = row.end;
    }
    let mut order: Vec<u32> = (1..met.len() as u32).collect();
    let values = |at: u32| met.get(at as usize).map_or(0, |met| met.values);
    order.retain(|&at| values(at) > 0);
    order.sort_by_key(|&at| std::cmp::Reverse(values(at)));
    order.truncate(MAX_CHOSEN);
    order.sort_unstable();
    let path = |mut at: u32| {
        let mut path: StatPath = vec![];
        while let Some(field) = met.get(at as usize).filter(|_| at != 0) {
            let name = u32::try_from(field.label).ok().and_then(|id| symbols.name(id));
            path.push(Some(name.unwrap_or_default().into()));
            at = field.parent;
        }
        path.reverse();
        path
    };
    Ok(order.into_iter().map(path).collect())
}

/// Meets the fields of a struct at a place, and those in it, so deep.
fn meet(
    data: &[u8],
    inside: Header,
    (place, depth): (u32, usize),
    met: &mut Vec<Met>,
    places: &mut HashMap<(u32, u64), u32, NameHash>,
) -> Result<()> {
    let mut at = inside.body;
    while at < inside.end {
        let (label, value_at) = varuint::read(data, at)?;
        let value = ion::header(&data[..inside.end], value_at)?;
        at = value.end;
        let field = match places.get(&(place, label)) {
            Some(&field) => field,
            None if met.len() >= MAX_NODES => continue,
            None => {
                met.push(Met { parent: place, label, values: 0 });
                places.insert((place, label), met.len() as u32 - 1);
                met.len() as u32 - 1
            }
        };
        match value.kind {
            _ if value.is_pad() => {}
            kind::STRUCT if !value.is_null() => {
                if depth < MAX_CHOSEN_DEPTH {
                    meet(data, value, (field, depth + 1), met, places)?;
                }
            }
            kind::LIST if !value.is_null() => {}
            _ => {
                if let Some(field) = met.get_mut(field as usize) {
                    field.values += 1;
                }
            }
        }
    }
    Ok(())
}
