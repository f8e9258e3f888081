//! What is known of the values at one path, while rows go by.

use super::Zone;
use crate::error::{Error, Result};
use crate::index::ribbon;
use crate::ion::{self, SymbolTable, kind, timestamp};
use crate::value::Value;

/// So many hashes are kept of a path in a part.
const MAX_HASHES: usize = 1 << 19;
/// So many hashes tell whether values repeat.
const SAMPLE: usize = 256;
/// Values are many if at most so many of the first ones are equal on average.
const MOST_EQUAL: u64 = 4;

/// What is known of the values at a path.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) zone: Zone,
    /// Hashes of the texts, unless they are not wanted.
    pub(super) texts: Option<Vec<u32>>,
    /// Hashes of the integers, unless they are not wanted.
    pub(super) integers: Option<Vec<u32>>,
    /// The symbols that were values here.
    pub(super) symbols: Vec<u64>,
    /// Whether there was a value that nothing can be said of.
    pub(super) is_lost: bool,
}

impl Slot {
    pub(super) fn new() -> Self {
        Self { texts: Some(vec![]), integers: Some(vec![]), ..Self::default() }
    }

    /// Lets go of hashes where values repeat.
    pub(super) fn settle(&mut self) {
        let values = self.zone.values;
        for hashes in [&mut self.texts, &mut self.integers] {
            let Some(found) = hashes else { continue };
            let mut first = found.get(..SAMPLE.min(found.len())).unwrap_or_default().to_vec();
            let count = first.len().max(1) as u64;
            first.sort_unstable();
            first.dedup();
            let different = first.len() as u64 * found.len() as u64 / count;
            if different * MOST_EQUAL < values {
                *hashes = None;
            }
        }
    }

    /// Notes a value.
    #[allow(clippy::inline_always, reason = "a value that passes through memory costs more than the call")]
    #[inline(always)]
    pub(super) fn note(
        &mut self,
        data: &[u8],
        value: Value,
        symbols: &SymbolTable,
        counts: bool,
    ) -> Result<()> {
        let Value { at, header } = value;
        if header.is_null() {
            self.zone.null(counts);
            return Ok(());
        }
        let body = value.body(data);
        // A symbol is a string, whose kind is the next one.
        self.zone.count(header.kind + u8::from(header.kind == kind::SYMBOL), counts);
        match header.kind {
            kind::STRING => self.text(body),
            kind::SYMBOL => self.symbol(ion::magnitude(body, at)?, symbols),
            kind::BOOL => self.zone.booleans |= 1 << (header.low & 1),
            kind::UINT => self.integer(i128::from(ion::magnitude(body, at)?)),
            kind::NEGINT => {
                let number = -i128::from(ion::magnitude(body, at)?);
                // Rows do not have lower ones, and neither can statistics.
                self.is_lost |= number < i128::from(i64::MIN);
                self.integer(number);
            }
            kind::FLOAT => {
                if let Some(number) = self.zone.float(float(body, at)?) {
                    self.hash_integer(number);
                }
            }
            kind::TIMESTAMP => self.zone.time(timestamp::read(body, at)?),
            _ => {}
        }
        Ok(())
    }

    #[inline]
    fn hash(hashes: &mut Option<Vec<u32>>, hash: u32) {
        let Some(found) = hashes else { return };
        if found.last() == Some(&hash) {
            return;
        }
        if found.len() >= MAX_HASHES {
            *hashes = None;
            return;
        }
        found.push(hash);
    }

    #[inline]
    fn text(&mut self, text: &[u8]) {
        self.zone.text(text);
        if self.texts.is_some() {
            Self::hash(&mut self.texts, ribbon::of_text(text));
        }
    }

    #[inline]
    fn integer(&mut self, number: i128) {
        self.zone.integer(number);
        self.hash_integer(number);
    }

    #[inline]
    fn hash_integer(&mut self, number: i128) {
        if self.integers.is_some() {
            Self::hash(&mut self.integers, ribbon::of_integer(number as u64));
        }
    }

    #[inline]
    fn symbol(&mut self, id: u64, symbols: &SymbolTable) {
        let (word, bit) = ((id / 64) as usize, 1 << (id % 64));
        if self.symbols.get(word).is_none_or(|word| word & bit == 0) {
            self.new_symbol(id, symbols);
        }
    }

    #[cold]
    fn new_symbol(&mut self, id: u64, symbols: &SymbolTable) {
        let Some(text) = u32::try_from(id).ok().and_then(|id| symbols.name(id)) else {
            self.is_lost = true;
            return;
        };
        let word = (id / 64) as usize;
        if self.symbols.len() <= word {
            self.symbols.resize(word + 1, 0);
        }
        if let Some(word) = self.symbols.get_mut(word) {
            *word |= 1 << (id % 64);
        }
        self.text(text);
    }
}

fn float(body: &[u8], at: usize) -> Result<f64> {
    match *body {
        [] => Ok(0.0),
        [a, b, c, d] => Ok(f64::from(f32::from_be_bytes([a, b, c, d]))),
        [a, b, c, d, e, f, g, h] => Ok(f64::from_be_bytes([a, b, c, d, e, f, g, h])),
        _ => Err(Error::corrupt("ion", at, format!("a float of {} bytes", body.len()))),
    }
}
