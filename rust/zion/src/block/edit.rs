//! Rows of a block with changes: some are left out, others get values at some paths or lose them.
//!
//! Each chunk comes out as an Ion stream of its own, so that names may be added behind those that it has.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::block::rows::Rows;
use crate::block::{BlockReader, Chunk, Codecs, Position};
use crate::codec::Algorithm;
use crate::error::{Error, Result};
use crate::ion::remap::remap;
use crate::ion::{self, Header, SymbolTable, kind, nest, varuint};

/// The field of a new value's row that has the number of the row that changes.
const ROW: &[u8] = b"row";

/// Names on the way to the values that change.
#[derive(Debug, Default)]
struct Target {
    /// The value that goes here, by its number; none: it is a struct in which something changes.
    value: Option<usize>,
    members: Vec<(Box<[u8]>, Target)>,
}

impl Target {
    fn add(&mut self, path: &[Box<[u8]>], value: usize) -> Result<()> {
        let Some((first, rest)) = path.split_first() else {
            if self.value.is_some() || !self.members.is_empty() {
                return Err(clash());
            }
            self.value = Some(value);
            return Ok(());
        };
        if self.value.is_some() {
            return Err(clash());
        }
        let at = self.members.iter().position(|(name, _)| name == first);
        let at = at.unwrap_or_else(|| {
            self.members.push((first.clone(), Self::default()));
            self.members.len() - 1
        });
        self.members[at].1.add(rest, value)
    }

    fn is_of_name(&self, name: Option<&[u8]>) -> Option<usize> {
        let name = name?;
        self.members.iter().position(|(known, _)| **known == *name)
    }
}

fn clash() -> Error {
    Error::argument("a path of a value that is set is given twice, or leads through another one")
}

/// The new values of one row: where each lies in the stream, none: the field goes.
#[derive(Debug)]
struct NewValues {
    row: u64,
    table: Arc<SymbolTable>,
    places: Vec<Option<(usize, usize)>>,
}

/// What changes in the rows of a block.
#[derive(Debug)]
pub struct Changes {
    /// Numbers of rows that are left out, ascending.
    dropped: Vec<u64>,
    target: Target,
    /// The stream of new values.
    stream: Vec<u8>,
    /// Rows with new values, ascending.
    new: Vec<NewValues>,
    /// The number of the first row of the block in its file.
    first: u64,
}

impl Changes {
    /// Leaves rows out, by their numbers in the block, and sets values at paths in others. The stream has a struct
    /// for each row that gets values: `row` is its number in the file, of which the block has those of a range, and `0`,
    /// `1` ... are the values of the paths; where one is missing, the field goes.
    pub fn new(
        mut dropped: Vec<u64>,
        stream: Vec<u8>,
        paths: &[Vec<Box<[u8]>>],
        range: Range<u64>,
    ) -> Result<Self> {
        dropped.sort_unstable();
        let mut target = Target::default();
        for (value, path) in paths.iter().enumerate() {
            if path.is_empty() {
                return Err(Error::argument("a path without names"));
            }
            target.add(path, value)?;
        }
        let mut new = new_values(&stream, paths.len(), &range)?;
        new.sort_by_key(|new| new.row);
        let is_twice = dropped.windows(2).any(|two| two[0] == two[1])
            || new.windows(2).any(|two| two[0].row == two[1].row)
            || new.iter().any(|new| dropped.binary_search(&new.row).is_ok());
        if is_twice {
            return Err(Error::argument("a row changes twice"));
        }
        Ok(Self { dropped, target, stream, new, first: range.start })
    }

    /// The new values of a row.
    fn of(&self, row: u64) -> Option<&NewValues> {
        self.new.binary_search_by_key(&row, |new| new.row).ok().map(|at| &self.new[at])
    }

    fn drops(&self, row: u64) -> bool {
        self.dropped.binary_search(&row).is_ok()
    }

    /// Whether any row of a range changes.
    fn touches(&self, first: u64, stop: u64) -> bool {
        let dropped = self.dropped.partition_point(|&row| row < first);
        let new = self.new.partition_point(|new| new.row < first);
        self.dropped.get(dropped).is_some_and(|&row| row < stop)
            || self.new.get(new).is_some_and(|new| new.row < stop)
    }

    /// Number of rows that change, those that are left out too.
    fn len(&self) -> u64 {
        (self.dropped.len() + self.new.len()) as u64
    }
}

/// Finds the values in a stream of structs.
fn new_values(stream: &[u8], count: usize, range: &Range<u64>) -> Result<Vec<NewValues>> {
    let numbers: HashMap<Vec<u8>, usize> =
        (0..count).map(|number| (number.to_string().into_bytes(), number)).collect();
    let mut found = Vec::new();
    let mut table = SymbolTable::unindexed();
    let mut shared = Arc::new(table.clone());
    let mut at = 0;
    while at < stream.len() {
        let rest = &stream[at..];
        let is_table = |byte: &u8| byte >> 4 == kind::ANNOTATION && *byte != ion::BVM[0];
        if rest.starts_with(&ion::BVM) && !rest.get(ion::BVM.len()).is_some_and(is_table) {
            at += ion::BVM.len(); // a marker alone
            table.reset();
            shared = Arc::new(table.clone());
            continue;
        }
        let applied = table.apply(rest)?;
        if applied > 0 {
            at += applied;
            shared = Arc::new(table.clone());
            continue;
        }
        let row = ion::header(stream, at)?;
        at = row.end;
        if row.is_pad() {
            continue;
        }
        let mut new = values_of(stream, row, &shared, &numbers)?;
        if range.contains(&new.row) {
            new.row -= range.start;
            found.push(new);
        }
    }
    Ok(found)
}

fn values_of(
    stream: &[u8],
    row: Header,
    table: &Arc<SymbolTable>,
    numbers: &HashMap<Vec<u8>, usize>,
) -> Result<NewValues> {
    let mut number = None;
    let mut places = vec![None; numbers.len()];
    let mut at = if row.kind == kind::STRUCT { row.body } else { row.end };
    while at < row.end {
        let (label, value_at) = varuint::read(stream, at)?;
        let value = ion::header(&stream[..row.end], value_at)?;
        at = value.end;
        let Some(name) = u32::try_from(label).ok().and_then(|id| table.name(id)) else { continue };
        if name == ROW && value.kind == kind::UINT && !value.is_null() {
            number = Some(ion::magnitude(&stream[value.body..value.end], value_at)?);
        } else if let Some(&place) = numbers.get(name) {
            places[place] = Some((value_at, value.end));
        }
    }
    let row = number.ok_or_else(|| Error::argument("new values without the number of a row"))?;
    Ok(NewValues { row, table: Arc::clone(table), places })
}

/// Goes over the chunks of a block and gives their rows with the changes.
pub struct Editor {
    block: Vec<u8>,
    algorithm: Algorithm,
    align: usize,
    changes: Changes,
    position: Position,
    codecs: Option<Codecs>,
    /// Number of the next row.
    next: u64,
    /// Rows that changed so far.
    changed: u64,
    /// Rows that came out.
    kept: u64,
}

impl Editor {
    /// The rows of a block.
    pub fn new(block: Vec<u8>, algorithm: Algorithm, align: usize, changes: Changes) -> Result<Self> {
        let codecs = Some(Codecs::new()?);
        let position = Position::default();
        Ok(Self { block, algorithm, align, changes, position, codecs, next: 0, changed: 0, kept: 0 })
    }

    /// Number of rows that came out so far.
    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// The next rows, as an Ion stream with a symbol table of its own; none at the end of the block. There it is an
    /// error if a row that should change was not met.
    pub fn next_piece(&mut self) -> Result<Option<Vec<u8>>> {
        let codecs = match self.codecs.take() {
            Some(codecs) => codecs,
            None => Codecs::new()?,
        };
        let position = std::mem::take(&mut self.position);
        let mut reader = BlockReader::resume(&self.block, self.algorithm, self.align, position, codecs);
        let piece = match reader.next_chunk()? {
            None => None,
            Some(chunk) => {
                let edited = edited(&chunk, &self.changes, self.next).map_err(|error| match error {
                    Error::Argument { .. } => error,
                    error => chunk.error(&error),
                })?;
                self.next += edited.rows;
                self.kept += edited.kept;
                self.changed += edited.changed;
                Some(edited.data)
            }
        };
        self.position = reader.position().clone();
        self.codecs = Some(reader.into_codecs());
        if piece.is_none() && self.changed != self.changes.len() {
            let (wanted, found) = (self.changes.len(), self.changed);
            return Err(Error::argument(format!(
                "{wanted} rows should change, the block has {found} of them"
            )));
        }
        Ok(piece)
    }
}

/// What became of a chunk.
struct Edited {
    data: Vec<u8>,
    rows: u64,
    kept: u64,
    changed: u64,
}

fn edited(chunk: &Chunk<'_>, changes: &Changes, first: u64) -> Result<Edited> {
    let rows: Vec<(usize, Header)> = Rows::new(chunk.data, chunk.rows_at).collect::<Result<_>>()?;
    let count = rows.len() as u64;
    let mut done = Edited { data: Vec::new(), rows: count, kept: count, changed: 0 };
    if !changes.touches(first, first + count) {
        let table = chunk.table;
        done.data.reserve(table.full_size() + chunk.data.len() - chunk.rows_at);
        table.put_full(&mut done.data, table.max_id());
        done.data.extend_from_slice(&chunk.data[chunk.rows_at..]);
        return Ok(done);
    }
    let mut table = chunk.table.indexed();
    let mut body = Vec::with_capacity(chunk.data.len());
    for (number, (at, row)) in (first..).zip(rows) {
        if changes.drops(number) {
            done.kept -= 1;
            done.changed += 1;
        } else if let Some(new) = changes.of(number) {
            done.changed += 1;
            let row_of =
                Row { data: chunk.data, new, stream: &changes.stream, number: changes.first + number };
            row_of.put(row, &changes.target, &mut table, &mut body)?;
        } else {
            body.extend_from_slice(&chunk.data[at..row.end]);
        }
    }
    done.data.reserve(table.full_size() + body.len());
    table.put_full(&mut done.data, table.max_id());
    done.data.append(&mut body);
    Ok(done)
}

/// A row that gets new values.
struct Row<'a> {
    data: &'a [u8],
    new: &'a NewValues,
    stream: &'a [u8],
    number: u64,
}

impl Row<'_> {
    /// Appends a struct with what changes in it.
    fn put(&self, old: Header, target: &Target, table: &mut SymbolTable, out: &mut Vec<u8>) -> Result<()> {
        let start = nest::open(out);
        let mut met = vec![false; target.members.len()];
        let mut at = old.body;
        while at < old.end {
            let (label, value_at) = varuint::read(self.data, at)?;
            let value = ion::header(&self.data[..old.end], value_at)?;
            let name = u32::try_from(label).ok().and_then(|id| table.name(id));
            match target.is_of_name(name) {
                None => out.extend_from_slice(&self.data[at..value.end]),
                // Of a field that comes twice the first counts.
                Some(member) if met[member] || value.is_pad() => {}
                Some(member) => {
                    met[member] = true;
                    self.member(label, Some(value), &target.members[member].1, table, out)?;
                }
            }
            at = value.end;
        }
        for (member, (name, inner)) in target.members.iter().enumerate() {
            if !met[member] {
                let label = table.intern(name);
                self.member(u64::from(label), None, inner, table, out)?;
            }
        }
        nest::close(out, start, kind::STRUCT);
        Ok(())
    }

    /// Appends a field that changes, or in which something does.
    fn member(
        &self,
        label: u64,
        old: Option<Header>,
        target: &Target,
        table: &mut SymbolTable,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if let Some(number) = target.value {
            if let Some((start, stop)) = self.new.places[number] {
                varuint::put(out, label);
                remap(&self.stream[start..stop], &self.new.table, table, out)?;
            }
            return Ok(());
        }
        match old {
            Some(old) if old.kind == kind::STRUCT && !old.is_null() => {
                varuint::put(out, label);
                self.put(old, target, table, out)
            }
            Some(old) if !old.is_null() => Err(Error::argument(format!(
                "row {}: what is no struct can have no fields: set all of it",
                self.number
            ))),
            old if self.gives_any(target) => {
                varuint::put(out, label);
                let nothing = old.map_or(Header { kind: kind::STRUCT, low: 0, body: 0, end: 0 }, |old| {
                    Header { body: old.end, ..old }
                });
                self.put(nothing, target, table, out)
            }
            Some(_) => {
                varuint::put(out, label);
                out.push(ion::NULL);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Whether any value below a name is there.
    fn gives_any(&self, target: &Target) -> bool {
        match target.value {
            Some(number) => self.new.places[number].is_some(),
            None => target.members.iter().any(|(_, inner)| self.gives_any(inner)),
        }
    }
}
