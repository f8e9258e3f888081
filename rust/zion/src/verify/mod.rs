//! Checks of one block that a reader does not need to make: canonical forms, symbols, order of fields.
//!
//! Also tells what an index must cover: the time range of each path, and the types that occur.

mod canonical;
mod report;
mod row;
mod state;

use std::cell::Cell;

use crate::block::{BlockReader, Codecs, Position};
use crate::codec::Algorithm;
use crate::error::{Error, Result};
use crate::ion::shared::NO_MARKER;
use crate::ion::{self, SymbolTable, kind};
pub use report::{Checks, Constant, Finding, Report};
use row::RowCheck;
use state::State;

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
        check_chunk(&mut state, chunk.number, chunk.data, chunk.rows_at, chunk.resets, chunk.table);
    }
    CODECS.set(Some(reader.into_codecs()));
    Ok(state.finish())
}

/// Checks the rows of a chunk.
fn check_chunk(
    state: &mut State,
    number: usize,
    data: &[u8],
    rows_at: usize,
    resets: bool,
    table: &SymbolTable,
) {
    state.number = number;
    if resets {
        state.nodes.clear();
    }
    let before = (state.report.rows, state.report.findings.len(), state.report.dropped);
    let mut at = rows_at;
    while at < data.len() {
        let row = state.report.rows;
        let value = match ion::header(data, at) {
            Ok(value) => value,
            Err(error) => {
                state.find(number, Some(row), format!("bad size: {}", error.message()));
                break;
            }
        };
        if !value.is_pad() {
            state.report.rows += 1;
        }
        if value.kind == kind::STRUCT {
            RowCheck::new(state, data, table, row).row(at, value);
            state.paths.commit();
        } else if !value.is_pad() {
            let name = canonical::NAMES[usize::from(value.kind)];
            state.find(number, Some(row), format!("not a struct: {name}"));
            if value.kind >= kind::ANNOTATION {
                break;
            }
        }
        at = value.end;
    }
    if before == (state.report.rows, state.report.findings.len(), state.report.dropped) {
        state.find(number, None, "holds no row".to_owned());
    }
    let ranges = state.paths.take_ranges();
    let wanted = ranges.into_iter().filter(|(path, _)| state.checks.paths.contains(path));
    state.report.ranges.push(wanted.collect());
    state.report.chunks += 1;
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
