//! The fields of some rows, in pieces that can be compressed alone and together.

use std::ops::Range;

use crate::block::rows::Rows;
use crate::error::Result;
use crate::ion::{kind, look, magnitude, varuint};
use crate::limits::MAX_NESTING;

/// A piece of the rows: a field with its label, or neighbouring ones.
pub(super) type Piece = (u32, u32);

/// The pieces of each field, by id, in the order of rows.
pub(super) struct Fields {
    pub(super) pieces: Vec<(u32, Vec<Piece>)>,
    /// By id.
    pub(super) symbols: Vec<Uses>,
}

/// What a symbol is used for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Uses {
    pub(super) count: u32,
    /// Whether it is the name of something inside of a field.
    pub(super) is_inner: bool,
}

impl Fields {
    /// Reads rows, up to `limit` bytes of them.
    pub(super) fn read(data: &[u8], rows_at: usize, max_id: u32, limit: usize) -> Result<Self> {
        let mut pieces: Vec<Vec<Piece>> = vec![];
        let mut symbols = vec![Uses::default(); max_id as usize];
        for found in Rows::new(data, rows_at) {
            let (start, row) = found?;
            if start - rows_at >= limit {
                break;
            }
            let mut at = row.body;
            while at < row.end {
                let (id, value) = varuint::read(data, at)?;
                let Some(end) = look(data, value).map(|value| value.end) else { break };
                if let Some(symbol) = symbols.get_mut(id as usize) {
                    symbol.count += 1;
                }
                count(data, value..end, false, MAX_NESTING, &mut symbols);
                let id = id as usize;
                if pieces.len() <= id {
                    pieces.resize_with(id + 1, Vec::new);
                }
                pieces[id].push((at as u32, end as u32));
                at = end;
            }
        }
        let pieces = (0..).zip(pieces).filter(|(_, pieces)| !pieces.is_empty()).collect();
        Ok(Self { pieces, symbols })
    }
}

/// Counts the symbols in values which follow each other, `levels` levels deep.
fn count(data: &[u8], values: Range<usize>, named: bool, levels: usize, symbols: &mut [Uses]) -> Option<()> {
    let mut at = values.start;
    while at < values.end {
        if named {
            let (id, next) = varuint::look(data, at)?;
            let symbol = symbols.get_mut(id as usize)?;
            *symbol = Uses { count: symbol.count + 1, is_inner: true };
            at = next;
        }
        let value = look(data, at)?;
        match value.kind {
            kind::STRUCT | kind::LIST if levels > 0 => {
                count(data, value.body..value.end, value.kind == kind::STRUCT, levels - 1, symbols)?;
            }
            kind::SYMBOL => {
                let id = magnitude(&data[value.body..value.end], at).ok()?;
                symbols.get_mut(id as usize)?.count += 1;
            }
            _ => {}
        }
        at = value.end;
    }
    Some(())
}

pub(super) fn length(pieces: &[Piece]) -> usize {
    pieces.iter().map(|(start, end)| (end - start) as usize).sum()
}
