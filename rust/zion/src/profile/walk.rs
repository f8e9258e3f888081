//! Walks through all values of rows.

use std::borrow::Cow;

use super::limits::Limits;
use super::scalar::Scalar;
use super::stats::Stats;
use super::tree::Profile;
use crate::bucket::hash::BUCKETS;
use crate::error::Result;
use crate::ion::names::{Lookup, text_of};
use crate::ion::{self, SymbolTable, kind, varuint};
use crate::json::print::float;
use crate::value::Value;
use crate::value::number::Number;

/// So many values are noted before they are looked at, field by field: what is kept of one field is in the cache then.
const MOST_NOTED: usize = 1 << 20;

/// No place: the field is left out.
const NOWHERE: u32 = u32::MAX;

/// What the walk notes of a field.
#[derive(Debug, Clone, Default)]
struct Mark {
    /// The places of the fields of a struct.
    inside: Lookup,
    /// The place of the elements of a list, plus 1; 0: not known yet.
    element: u32,
    /// The row that was counted last, and the struct in which a value was met last.
    row: u64,
    instance: u64,
    /// Bytes in the chunk at hand.
    bytes: u64,
    /// The bucket of the field at the top of the row.
    bucket: u8,
    /// Where the values are that were not looked at yet.
    noted: Vec<u32>,
}

/// A struct or list that is open.
#[derive(Debug, Clone, Copy)]
struct Frame {
    at: usize,
    end: usize,
    is_struct: bool,
    place: u32,
    instance: u64,
    bucket: u8,
}

/// Adds rows to a profile.
#[derive(Debug, Clone)]
pub(super) struct Walk {
    profile: Profile,
    marks: Vec<Mark>,
    tops: Lookup,
    /// Counts the symbol tables.
    epoch: u64,
    /// For each symbol the hash of its text; 0: not known yet.
    hashes: Vec<u64>,
    row: u64,
    /// Counts the structs.
    instances: u64,
    /// That of the row at hand.
    top: u64,
    stack: Vec<Frame>,
    /// The places with bytes in the chunk at hand.
    touched: Vec<u32>,
    /// How many values were noted.
    noted: usize,
}

impl Walk {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            profile: Profile::new(limits),
            marks: Vec::new(),
            tops: Lookup::default(),
            epoch: 0,
            hashes: Vec::new(),
            row: 0,
            instances: 0,
            top: 0,
            stack: Vec::new(),
            touched: Vec::new(),
            noted: 0,
        }
    }

    /// What the rows since the last time have come to.
    pub(super) fn take(&mut self) -> Profile {
        self.marks.clear();
        self.touched.clear();
        self.stack.clear();
        self.noted = 0;
        self.epoch += 1;
        self.profile.take()
    }

    /// Symbols stand for other texts than before.
    pub(super) fn forget_symbols(&mut self) {
        self.epoch += 1;
        self.hashes.clear();
    }

    /// A row begins.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.row += 1;
        self.instances += 1;
        self.top = self.instances;
    }

    /// The row is whole.
    #[inline]
    pub(super) fn end(&mut self, data: &[u8], table: &SymbolTable) -> Result<()> {
        self.profile.rows += 1;
        if self.noted > MOST_NOTED { self.look(data, table) } else { Ok(()) }
    }

    /// Looks at the values that were noted, whose rows are in `data`.
    pub(super) fn look(&mut self, data: &[u8], table: &SymbolTable) -> Result<()> {
        self.noted = 0;
        let compares = self.profile.compares();
        let Self { profile, marks, touched, hashes, .. } = self;
        for &place in touched.iter() {
            let (Some(mark), Some(field)) =
                (marks.get_mut(place as usize), profile.fields.get_mut(place as usize))
            else {
                continue;
            };
            let mut scene = Scene { data, table, hashes, compares };
            for at in mark.noted.drain(..) {
                let at = at as usize;
                let header = ion::header(data, at)?;
                scene.add(&mut field.stats, Value { at, header })?;
            }
        }
        Ok(())
    }

    /// Adds a row.
    pub(super) fn row(&mut self, data: &[u8], table: &SymbolTable, row: Value) -> Result<()> {
        self.begin();
        let mut fields = row.fields(data);
        let mut at = row.header.body;
        while let Some((label, value)) = fields.step() {
            let bytes = value.header.end - at;
            at = value.header.end;
            self.field(data, table, label, value, bytes, 0)?;
        }
        fields.check()?;
        self.end(data, table)
    }

    /// Adds a field of the row at hand, which takes some bytes in a bucket.
    #[inline]
    pub(super) fn field(
        &mut self,
        data: &[u8],
        table: &SymbolTable,
        label: u64,
        value: Value,
        bytes: usize,
        bucket: u8,
    ) -> Result<()> {
        let Self { tops, profile, marks, epoch, .. } = self;
        let place = tops.find(*epoch, label, || resolve(profile, marks, None, table, label));
        let instance = self.top;
        self.value(data, table, place, value, (bytes, bucket), Some(instance))?;
        self.inner(data, table)
    }

    /// Adds all that is in the containers on the stack.
    #[inline]
    fn inner(&mut self, data: &[u8], table: &SymbolTable) -> Result<()> {
        while let Some(open) = self.stack.last_mut() {
            if open.at >= open.end {
                self.stack.pop();
                continue;
            }
            let inside = data.get(..open.end).unwrap_or(data);
            let start = open.at;
            let (label, at) = if open.is_struct { varuint::read(inside, start)? } else { (0, start) };
            let header = ion::header(inside, at)?;
            open.at = header.end;
            let frame = *open;
            if !header.is_pad() {
                let place = self.inside(table, &frame, label);
                let size = (header.end - start, frame.bucket);
                let instance = frame.is_struct.then_some(frame.instance);
                self.value(data, table, place, Value { at, header }, size, instance)?;
            }
        }
        Ok(())
    }

    /// The place of a value in a container.
    #[inline]
    fn inside(&mut self, table: &SymbolTable, frame: &Frame, label: u64) -> u32 {
        let Self { profile, marks, epoch, .. } = self;
        let Some(mark) = marks.get_mut(frame.place as usize) else { return NOWHERE };
        if !frame.is_struct {
            if mark.element == 0 {
                let place = profile.place(Some(frame.place), None).map_or(NOWHERE, |place| {
                    note(marks, place);
                    place
                });
                if let Some(mark) = marks.get_mut(frame.place as usize) {
                    mark.element = place.wrapping_add(1);
                }
                return place;
            }
            return mark.element.wrapping_sub(1);
        }
        // The list of symbols is elsewhere while a place is made for a new one.
        let mut inside = std::mem::take(&mut mark.inside);
        let place = inside.find(*epoch, label, || resolve(profile, marks, Some(frame.place), table, label));
        if let Some(mark) = marks.get_mut(frame.place as usize) {
            mark.inside = inside;
        }
        place
    }

    /// Adds a value; a list or struct is left open on the stack. Of two fields of one name in a struct the first
    /// counts.
    #[inline]
    fn value(
        &mut self,
        data: &[u8],
        table: &SymbolTable,
        place: u32,
        value: Value,
        (bytes, bucket): (usize, u8),
        instance: Option<u64>,
    ) -> Result<()> {
        let compares = self.profile.compares();
        let (Some(mark), Some(field)) =
            (self.marks.get_mut(place as usize), self.profile.fields.get_mut(place as usize))
        else {
            return Ok(());
        };
        let stats = &mut field.stats;
        if mark.bytes == 0 {
            self.touched.push(place);
        }
        mark.bytes += bytes as u64;
        mark.bucket = bucket;
        if let Some(instance) = instance {
            if mark.instance == instance {
                return Ok(());
            }
            mark.instance = instance;
        }
        if mark.row != self.row {
            mark.row = self.row;
            stats.rows += 1;
        }
        stats.values += 1;
        if value.header.is_null() {
            stats.nulls += 1;
            stats.types |= 1;
            return Ok(());
        }
        let kind = value.header.kind;
        stats.types |= 1 << if kind == kind::SYMBOL { kind::STRING } else { kind };
        if kind == kind::LIST || kind == kind::STRUCT {
            let is_struct = kind == kind::STRUCT;
            *(if is_struct { &mut stats.structs } else { &mut stats.lists }) += 1;
            if self.profile.is_flat() {
                return Ok(());
            }
            self.instances += 1;
            let (at, end, instance) = (value.header.body, value.header.end, self.instances);
            self.stack.push(Frame { at, end, is_struct, place, instance, bucket });
        } else if compares {
            // No chunk is as long as 2^32 bytes.
            mark.noted.push(value.at as u32);
            self.noted += 1;
        } else {
            return Scene { data, table, hashes: &mut self.hashes, compares }.add(stats, value);
        }
        Ok(())
    }

    /// The bytes of the chunk at hand are known: those of each bucket in the file, and of the whole chunk.
    pub(super) fn end_zion(&mut self, buckets: &[usize; BUCKETS], compressed: usize) {
        let mut sums = [0; BUCKETS];
        for &place in &self.touched {
            let is_top = self.profile.fields.get(place as usize).is_some_and(|field| field.parent.is_none());
            if let Some(mark) = self.marks.get(place as usize).filter(|_| is_top)
                && let Some(sum) = sums.get_mut(usize::from(mark.bucket))
            {
                *sum += mark.bytes;
            }
        }
        let mut shares = [0.0; BUCKETS];
        for ((share, &bytes), &sum) in shares.iter_mut().zip(buckets).zip(&sums) {
            *share = if sum > 0 { bytes as f64 / sum as f64 } else { 0.0 };
        }
        self.end_chunk(&shares, compressed);
    }

    /// The same of a chunk that is compressed in one piece, of `bytes` bytes.
    pub(super) fn end_plain(&mut self, bytes: usize, compressed: usize) {
        self.end_chunk(&[compressed as f64 / bytes.max(1) as f64; BUCKETS], compressed);
    }

    /// Adds the bytes of all fields, and what their part in the file is with these shares of their buckets.
    fn end_chunk(&mut self, shares: &[f64; BUCKETS], compressed: usize) {
        self.profile.chunks += 1;
        self.profile.compressed_bytes += compressed as u64;
        for place in self.touched.drain(..) {
            let (Some(mark), Some(field)) =
                (self.marks.get_mut(place as usize), self.profile.fields.get_mut(place as usize))
            else {
                continue;
            };
            let bytes = std::mem::take(&mut mark.bytes);
            field.stats.bytes += bytes;
            let share = shares.get(usize::from(mark.bucket)).copied().unwrap_or_default();
            field.stats.compressed += share * bytes as f64;
        }
    }
}

/// Where values are, and what they need to be understood.
struct Scene<'a> {
    data: &'a [u8],
    table: &'a SymbolTable,
    hashes: &'a mut Vec<u64>,
    compares: bool,
}

impl Scene<'_> {
    /// Adds a single value that is not null to those of its field.
    #[inline]
    fn add(&mut self, stats: &mut Stats, value: Value) -> Result<()> {
        let body = value.body(self.data);
        let scalar = match value.header.kind {
            kind::STRING => Scalar::Text(body, false),
            kind::SYMBOL => {
                let id = ion::magnitude(body, value.at)?;
                // Not checked again: a long one may be the value of each row.
                let known = u32::try_from(id).ok().and_then(|id| self.table.name(id));
                let text = known.map_or_else(|| format!("${id}").into_bytes().into(), Cow::Borrowed);
                let scalar = Scalar::Text(&text, false);
                let hash = if self.compares { symbol_hash(self.hashes, self.table, id, scalar) } else { 0 };
                stats.add(scalar, hash, self.compares);
                return Ok(());
            }
            kind::BOOL => Scalar::Bool(value.header.low == 1),
            kind::UINT => Scalar::Int(i128::from(ion::magnitude(body, value.at)?)),
            kind::NEGINT => Scalar::Int(-i128::from(ion::magnitude(body, value.at)?)),
            kind::FLOAT => match Number::from(float(body, value.at)?) {
                Number::Int(value) => Scalar::Int(value),
                Number::Float(value) => Scalar::Float(value),
            },
            kind::TIMESTAMP => Scalar::Time(ion::timestamp::read(body, value.at)?),
            kind::CLOB | kind::BLOB => Scalar::Bytes(body, false),
            _ => return Err(value.unknown()),
        };
        let hash = if self.compares { scalar.hash() } else { 0 };
        stats.add(scalar, hash, self.compares);
        Ok(())
    }
}

/// The place of a new symbol in a struct, or at the top of rows.
#[cold]
fn resolve(
    profile: &mut Profile,
    marks: &mut Vec<Mark>,
    parent: Option<u32>,
    table: &SymbolTable,
    label: u64,
) -> u32 {
    let name = text_of(table, label).into();
    let Some(place) = profile.place(parent, Some(name)) else { return NOWHERE };
    note(marks, place);
    place
}

fn note(marks: &mut Vec<Mark>, place: u32) {
    if marks.len() <= place as usize {
        marks.resize_with(place as usize + 1, Mark::default);
    }
}

/// The hash of a symbol's text.
#[inline]
fn symbol_hash(hashes: &mut Vec<u64>, table: &SymbolTable, id: u64, text: Scalar<'_>) -> u64 {
    if id >= u64::from(table.max_id()) {
        return text.hash();
    }
    if hashes.len() <= id as usize {
        hashes.resize(table.max_id() as usize, 0);
    }
    match hashes.get_mut(id as usize) {
        Some(0) => {
            let hash = text.hash();
            hashes[id as usize] = hash;
            hash
        }
        Some(hash) => *hash,
        None => text.hash(),
    }
}
