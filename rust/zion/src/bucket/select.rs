//! The choice of the selector: buckets of about the same size.

use super::hash::{BUCKETS, hash};
use super::{LAYER, extent, field};
use crate::error::{Error, Result};
use crate::ion::kind;

/// Below this many bytes of fields every selector is as good.
const SMALL: u64 = 256;

/// The selector for a stream whose first chunk holds the rows `body` (the bytes after its symbol table).
pub fn choose_selector(body: &[u8]) -> Result<u8> {
    let sizes = sizes(body)?;
    let total: u64 = sizes.iter().sum();
    if total < SMALL {
        return Ok(0);
    }
    let mut filled = [[0u64; BUCKETS]; BUCKETS];
    for (id, &size) in sizes.iter().enumerate().filter(|&(_, &size)| size > 0) {
        let hash = hash(id as u32);
        for (selector, filled) in filled.iter_mut().enumerate() {
            filled[(hash >> (4 * selector)) as usize & 15] += size;
        }
    }
    let want = total / BUCKETS as u64;
    let cost = |filled: &[u64; BUCKETS]| -> u128 {
        filled.iter().map(|&size| u128::from(size.abs_diff(want)).pow(2)).sum()
    };
    let best = (0..BUCKETS).min_by_key(|&selector| cost(&filled[selector]));
    Ok(best.unwrap_or_default() as u8)
}

/// Bytes of all fields of a symbol, by symbol id.
fn sizes(body: &[u8]) -> Result<Vec<u64>> {
    let mut sizes = Vec::new();
    let mut at = 0;
    while at < body.len() {
        let bad = || Error::corrupt(LAYER, at, "a row that is cut off");
        let (mut next, end) = extent(body, at).filter(|value| value.1 <= body.len()).ok_or_else(bad)?;
        if body[at] >> 4 == kind::STRUCT {
            while next < end {
                let (id, after) = field(body, next).filter(|field| field.1 <= end).ok_or_else(bad)?;
                if id as usize >= sizes.len() {
                    sizes.resize(id as usize + 1, 0);
                }
                sizes[id as usize] += (after - next) as u64;
                next = after;
            }
        }
        at = end;
    }
    Ok(sizes)
}
