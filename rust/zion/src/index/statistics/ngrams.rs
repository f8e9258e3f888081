//! N-grams of texts, of which n-gram filters are made (`docs/format.md`, section 10).
//!
//! An n-gram has six letters in a row, or eight letters, digits and dashes with a digit. It depends on these bytes
//! alone and not on what stands beside them, so a text has all n-grams of each of its parts: a filter answers for
//! any part of a text, not for whole words only.
//!
//! Beside them the joints of the same texts are gathered (see `joints`), and at some paths the prefixes of IP
//! addresses, for filters by subnet.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use super::StatPath;
use super::joints::{joint_at, joints};
use super::prefixes::prefixes;
use crate::block::BlockReader;
use crate::block::rows::Rows;
use crate::codec::Algorithm;
use crate::error::Result;
use crate::index::ribbon;
use crate::ion::{self, Header, SymbolTable, kind, varuint};

/// Spreads numbers over their highest bits: 2^64 divided by the golden ratio.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
/// Letters of an n-gram of letters alone.
const LETTERS: u32 = 6;
/// Letters, digits and dashes of an n-gram with a digit.
const MIXED: u32 = 8;
/// A block with more different n-grams at a path has no filter there.
const MAX_PIECES: usize = 1 << 20;
/// Size of the table of n-grams that were met last, as a power of two.
const RECENT_BITS: u32 = 13;

/// Calls `take` for each n-gram of a text, with its bytes as a number, the first one the most significant.
#[inline]
pub fn pieces(text: &[u8], take: impl FnMut(u64)) {
    pieces_and_signs(text, take, |_| {});
}

/// The same, and calls `sign` with the place of each byte that is neither a letter nor a digit.
#[inline]
fn pieces_and_signs(text: &[u8], mut take: impl FnMut(u64), mut sign: impl FnMut(usize)) {
    let (mut key, mut letters, mut mixed, mut behind_digit) = (0_u64, 0_u32, 0_u32, MIXED);
    let mut rest = text;
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        // The long s and the Kelvin sign are forms of s and k when case is ignored.
        let byte = match (first, rest) {
            (0xC5, [0xBF, behind @ ..]) => {
                rest = behind;
                b's'
            }
            (0xE2, [0x84, 0xAA, behind @ ..]) => {
                rest = behind;
                b'k'
            }
            _ => first.to_ascii_lowercase(),
        };
        mixed += 1;
        match byte {
            b'a'..=b'z' | 0x80.. => (letters, behind_digit) = (letters + 1, behind_digit + 1),
            b'0'..=b'9' => (letters, behind_digit) = (0, 0),
            b'-' => {
                (letters, behind_digit) = (0, behind_digit + 1);
                sign(text.len() - rest.len() - 1);
            }
            _ => {
                sign(text.len() - rest.len() - 1);
                (letters, mixed, behind_digit) = (0, 0, MIXED);
                continue;
            }
        }
        key = key << 8 | u64::from(byte);
        if letters >= LETTERS {
            take(key & (u64::MAX >> (64 - 8 * LETTERS)));
        }
        // There are as many of these as there are ids: one in sixteen is enough to tell one of 32 digits.
        if behind_digit < MIXED && mixed >= MIXED && key.wrapping_mul(SPREAD) >> 60 == 0 {
            take(key);
        }
    }
}

/// Spreads numbers over a table.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = ribbon::checksum(bytes);
    }

    fn write_u64(&mut self, number: u64) {
        let spread = (number ^ number >> 32).wrapping_mul(SPREAD);
        self.0 = spread ^ spread >> 32;
    }
}

/// Different pieces.
#[derive(Debug)]
struct Pieces {
    all: HashSet<u64, BuildHasherDefault<Spread>>,
    /// Some that were met last, by the highest bits of their hash: most of a text was there before.
    recent: Vec<u64>,
}

impl Default for Pieces {
    fn default() -> Self {
        Self { all: HashSet::default(), recent: vec![0; 1 << RECENT_BITS] }
    }
}

impl Pieces {
    #[inline]
    fn add(&mut self, piece: u64) {
        if let Some(recent) = self.recent.get_mut((piece.wrapping_mul(SPREAD) >> (64 - RECENT_BITS)) as usize)
            && *recent != piece
        {
            *recent = piece;
            self.all.insert(piece);
        }
    }
}

/// What is gathered of the texts at a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NgramPath {
    /// The path; that without a name is the whole row.
    pub path: StatPath,
    /// Which pieces.
    pub kind: Gathered,
}

/// What is gathered of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gathered {
    /// The n-grams of all texts at the path, and inside of the values there.
    Pieces,
    /// Their joints.
    Joints,
    /// The prefixes of those texts at the path that are addresses.
    Prefixes,
}

impl Gathered {
    const ALL: [Self; 3] = [Self::Pieces, Self::Joints, Self::Prefixes];

    /// The kind of the section that stores it.
    pub const fn section(self) -> u8 {
        match self {
            Self::Pieces => 7,
            Self::Prefixes => 8,
            Self::Joints => 9,
        }
    }

    /// What is in sections of a kind.
    pub fn of_section(kind: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.section() == kind)
    }
}

/// Paths of which the words are wanted.
pub type NgramPaths = Arc<[NgramPath]>;

/// For each path hashes of the pieces in its texts; none: there are too many, or it is not known.
pub type NgramHashes = Vec<Option<Vec<u32>>>;

/// Gathers the pieces of all texts at some paths, and inside of the values there.
#[derive(Debug)]
pub struct Ngrams {
    paths: NgramPaths,
    found: Vec<Option<Pieces>>,
    is_foreign: bool,
}

impl Ngrams {
    /// For these paths; none if there are none.
    pub fn new(paths: &NgramPaths, is_foreign: bool) -> Option<Self> {
        let found = paths.iter().map(|_| Some(Pieces::default())).collect();
        (!paths.is_empty()).then(|| Self { paths: Arc::clone(paths), found, is_foreign })
    }

    /// Takes the rows of a chunk.
    pub fn chunk(&mut self, rows: &[u8], symbols: &SymbolTable) -> Result<()> {
        // In a table that somebody else wrote a name may have several symbols.
        let labels = |name: &[u8]| {
            if self.is_foreign { symbols.ids(name) } else { symbols.id(name).into_iter().collect() }
        };
        let mut founds = self.found.as_mut_slice();
        // What is gathered of the same texts is gathered in one walk.
        for paths in self.paths.chunk_by(are_of_same_texts) {
            let (found, others) = std::mem::take(&mut founds).split_at_mut(paths.len());
            founds = others;
            let Some(NgramPath { path, kind }) = paths.first() else { continue };
            let path: Vec<_> = path.iter().map(|name| name.as_deref().map(labels)).collect();
            let is_prefixes = *kind == Gathered::Prefixes;
            let mut walk = Walk { data: rows, paths, found, symbols, seen: vec![], is_prefixes };
            for row in Rows::new(rows, 0) {
                let row = row?.1;
                walk.follow(row, row.body, &path)?;
            }
        }
        Ok(())
    }

    /// Takes what is known of the block that ends.
    pub fn take(&mut self) -> NgramHashes {
        let taken = self.found.iter_mut().map(|found| found.replace(Pieces::default()));
        let hashed = |found: Pieces| found.all.into_iter().map(ribbon::of_integer).collect();
        taken.map(|found| found.map(hashed)).collect()
    }
}

fn are_of_same_texts(one: &NgramPath, other: &NgramPath) -> bool {
    let is_prefixes = |path: &NgramPath| path.kind == Gathered::Prefixes;
    one.path == other.path && is_prefixes(one) == is_prefixes(other)
}

/// Goes through the rows of a chunk for one path.
struct Walk<'a> {
    data: &'a [u8],
    /// What is gathered at the path.
    paths: &'a [NgramPath],
    found: &'a mut [Option<Pieces>],
    symbols: &'a SymbolTable,
    /// For each symbol whether it was a value here.
    seen: Vec<bool>,
    is_prefixes: bool,
}

impl Walk<'_> {
    /// Follows what is left of the path, symbols of a field or none for elements; it is no deeper than
    /// [`crate::limits::MAX_STATISTICS_DEPTH`].
    fn follow(&mut self, value: Header, at: usize, path: &[Option<Vec<u32>>]) -> Result<()> {
        let Some((step, path)) = path.split_first() else { return self.all(value, at) };
        let is_fit = value.kind == if step.is_some() { kind::STRUCT } else { kind::LIST };
        if !is_fit || value.is_null() {
            return Ok(());
        }
        let mut next = value.body;
        while next < value.end {
            let (mut label, mut inner_at) = (0, next);
            if step.is_some() {
                (label, inner_at) = varuint::read(self.data, next)?;
            }
            let inner = ion::header(&self.data[..value.end], inner_at)?;
            next = inner.end;
            if step.as_ref().is_none_or(|labels| labels.iter().any(|&known| u64::from(known) == label)) {
                self.follow(inner, inner_at, path)?;
            }
        }
        Ok(())
    }

    /// Notes all texts in a value, however deep; of prefixes the value alone.
    fn all(&mut self, value: Header, at: usize) -> Result<()> {
        let is_open = |value: Header| matches!(value.kind, kind::STRUCT | kind::LIST) && !value.is_null();
        if self.is_prefixes || !is_open(value) {
            return self.note(value, at);
        }
        let (mut stack, mut next) = (vec![value], value.body);
        while let Some(&frame) = stack.last() {
            if next >= frame.end {
                stack.pop();
                next = frame.end;
                continue;
            }
            let value_at = if frame.kind == kind::STRUCT { varuint::read(self.data, next)?.1 } else { next };
            let value = ion::header(&self.data[..frame.end], value_at)?;
            next = value.end;
            if is_open(value) {
                stack.push(value);
                next = value.body;
            } else {
                self.note(value, value_at)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn note(&mut self, value: Header, at: usize) -> Result<()> {
        if value.is_null() {
            return Ok(());
        }
        match value.kind {
            kind::STRING => self.text(&self.data[value.body..value.end]),
            kind::SYMBOL => {
                let id = ion::magnitude(&self.data[value.body..value.end], at)?;
                let id = usize::try_from(id).unwrap_or(usize::MAX);
                if !self.seen.get(id).is_some_and(|&seen| seen) {
                    self.symbol(id);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn symbol(&mut self, id: usize) {
        let Some(text) = u32::try_from(id).ok().and_then(|id| self.symbols.name(id)) else {
            // A text that nobody knows.
            self.found.fill_with(|| None);
            return;
        };
        if self.seen.len() <= id {
            self.seen.resize(id + 1, false);
        }
        if let Some(seen) = self.seen.get_mut(id) {
            *seen = true;
        }
        self.text(text);
    }

    #[inline]
    fn text(&mut self, text: &[u8]) {
        if let [NgramPath { kind: Gathered::Pieces, .. }, NgramPath { kind: Gathered::Joints, .. }] =
            self.paths
            && let [Some(ngrams), Some(found)] = &mut *self.found
        {
            // The usual case, in one pass.
            let mut add = |joint| found.add(joint);
            pieces_and_signs(text, |piece| ngrams.add(piece), |at| joint_at(text, at, &mut add));
            self.found.iter_mut().for_each(limit);
            return;
        }
        for (path, known) in self.paths.iter().zip(&mut *self.found) {
            let Some(found) = known else { continue };
            match path.kind {
                Gathered::Pieces => pieces(text, |piece| found.add(piece)),
                Gathered::Joints => joints(text, |joint| found.add(joint)),
                Gathered::Prefixes => prefixes(text, |prefix| found.add(prefix)),
            }
            limit(known);
        }
    }
}

/// Lets go of what is too much.
fn limit(known: &mut Option<Pieces>) {
    if known.as_ref().is_some_and(|found| found.all.len() > MAX_PIECES) {
        *known = None;
    }
}

/// Adds what is known of the rows that follow; what one of them does not know is not known of both.
pub fn join(mine: &mut NgramHashes, others: NgramHashes) {
    let mut others = others.into_iter();
    for mine in mine {
        *mine = mine.take().zip(others.next().flatten()).and_then(|(mut mine, other)| {
            mine.extend(other);
            if mine.len() > MAX_PIECES {
                mine.sort_unstable();
                mine.dedup();
            }
            (mine.len() <= MAX_PIECES).then_some(mine)
        });
    }
}

/// Looks through a block for the pieces of the texts at some paths.
pub fn measure(block: &[u8], algorithm: Algorithm, align: usize, paths: &NgramPaths) -> Result<NgramHashes> {
    let Some(mut ngrams) = Ngrams::new(paths, true) else { return Ok(vec![]) };
    let mut reader = BlockReader::new(block, algorithm, align)?;
    while let Some(chunk) = reader.next_chunk()? {
        ngrams.chunk(chunk.data.get(chunk.rows_at..).unwrap_or_default(), chunk.table)?;
    }
    Ok(ngrams.take())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        let mut found = vec![];
        pieces(text.as_bytes(), |piece| {
            let bytes: Vec<u8> = piece.to_be_bytes().into_iter().skip_while(|&byte| byte == 0).collect();
            found.push(String::from_utf8_lossy(&bytes).into_owned());
        });
        found
    }

    #[test]
    fn letters_in_a_row_are_pieces() {
        assert_eq!(of("a TimeOut, error=denied"), ["timeou", "imeout", "denied"]);
        assert_eq!(of("\u{17f}i\u{212a}_\u{212a}ur\u{17f}iv Straße"), ["kursiv", "straß", "traße"]);
        assert!(of("short words, all of them; a-b-c-d-e ____").is_empty());
    }

    #[test]
    fn one_in_sixteen_pieces_with_digits_counts() {
        let ids: Vec<String> = (0..20_000_u64)
            .map(|n| format!("{:032x}", u128::from(n) * 0x9E37_79B9_7F4A_7C15_F39C_C060))
            .collect();
        let counts: Vec<usize> = ids.iter().map(|id| of(id).len()).collect();
        let mean = counts.iter().sum::<usize>() as f64 / counts.len() as f64;
        assert!((1.0..3.0).contains(&mean), "{mean}");
    }

    #[test]
    fn a_text_has_the_pieces_of_each_of_its_parts() {
        let text = "ERR\u{17f}or-17 conne\u{212a}tion refused: 10.1.2.3 id=3f2a-77c0-11ee-be56-0242ac120002 日本語のテキスト Ünïcödé-9x";
        let whole = of(text);
        for (start, _) in text.char_indices() {
            for (end, _) in text.char_indices().filter(|&(end, _)| end > start) {
                assert!(of(&text[start..end]).iter().all(|piece| whole.contains(piece)), "{start} {end}");
            }
        }
        assert!(whole.len() > 20);
    }
}
