//! zion chunks: the top-level fields of rows, split over 16 buckets that are compressed one by one.

mod decode;
mod encode;
pub mod hash;
mod segments;
mod select;
pub mod shape;

pub(crate) use decode::Opened;
pub use decode::{Decoder, Visit};
pub use encode::Encoder;
pub(crate) use segments::Payload;
pub use select::choose_selector;

/// The first bytes of every zion chunk.
pub const MAGIC: [u8; 4] = [0x83, b'z', b'i', b'p'];
/// The largest content of a record: its length takes three bytes.
pub const MAX_BODY: usize = (1 << 21) - 1;
/// No chunk decompresses to more: the largest chunk size of a packfile.
pub const MAX_CHUNK: usize = 1 << 26;

const LAYER: &str = "zion chunk";
/// Short copies move this many bytes, wanted or not: a fixed size needs no call.
const STRIDE: usize = 32;

/// Reads a varuint of at most three bytes, the most that a chunk may hold.
#[inline]
fn varuint(data: &[u8], at: usize) -> Option<(usize, usize)> {
    let first = *data.get(at)?;
    if first & 0x80 != 0 {
        return Some((usize::from(first & 0x7F), at + 1));
    }
    let second = *data.get(at + 1)?;
    let value = usize::from(first) << 7 | usize::from(second & 0x7F);
    if second & 0x80 != 0 {
        return Some((value, at + 2));
    }
    let third = *data.get(at + 2)?;
    (third & 0x80 != 0).then_some((value << 7 | usize::from(third & 0x7F), at + 3))
}

/// Reads the extent of the value at `at`: where its content starts and where it ends, which may be
/// beyond `data`.
#[inline]
fn extent(data: &[u8], at: usize) -> Option<(usize, usize)> {
    let first = *data.get(at)?;
    match first & 0x0F {
        15 => Some((at + 1, at + 1)),
        14 => {
            let (length, body) = varuint(data, at + 1)?;
            Some((body, body + length))
        }
        _ if first == crate::ion::TRUE => Some((at + 1, at + 1)),
        low => Some((at + 1, at + 1 + usize::from(low))),
    }
}

/// Reads the field at `at`: its symbol id and where it ends, which may be beyond `data`.
#[inline]
fn field(data: &[u8], at: usize) -> Option<(u32, usize)> {
    let (id, value) = varuint(data, at)?;
    let (_, end) = extent(data, value)?;
    Some((id as u32, end))
}

/// Copies `from[start..end]` to `to[at..]`; false when either slice is too short.
#[inline]
fn copy(to: &mut [u8], at: usize, from: &[u8], start: usize, end: usize) -> bool {
    if end - start <= STRIDE
        && let (Some(to), Some(from)) = (to.get_mut(at..at + STRIDE), from.get(start..start + STRIDE))
    {
        to.copy_from_slice(from);
        return true;
    }
    match (to.get_mut(at..at + (end - start)), from.get(start..end)) {
        (Some(to), Some(from)) => {
            to.copy_from_slice(from);
            true
        }
        _ => false,
    }
}
