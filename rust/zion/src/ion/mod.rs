//! Canonical binary Ion 1.0: the form in which rows are stored.

pub mod fields;
pub(crate) mod names;
pub mod nest;
pub mod pad;
pub mod remap;
pub(crate) mod shared;
pub mod symtab;
pub mod timestamp;
pub mod value;
pub mod varuint;

pub use symtab::SymbolTable;

use crate::error::{Error, Result};

/// The high nibble of a type byte.
pub mod kind {
    /// Null.
    pub const NULL: u8 = 0x0;
    /// A boolean.
    pub const BOOL: u8 = 0x1;
    /// An integer from 0 on.
    pub const UINT: u8 = 0x2;
    /// An integer below 0.
    pub const NEGINT: u8 = 0x3;
    /// A double.
    pub const FLOAT: u8 = 0x4;
    /// A decimal, which is never written.
    pub const DECIMAL: u8 = 0x5;
    /// A timestamp.
    pub const TIMESTAMP: u8 = 0x6;
    /// A text by its number in the symbol table.
    pub const SYMBOL: u8 = 0x7;
    /// A text.
    pub const STRING: u8 = 0x8;
    /// A text in no known encoding, which is never written.
    pub const CLOB: u8 = 0x9;
    /// Bytes.
    pub const BLOB: u8 = 0xA;
    /// A list.
    pub const LIST: u8 = 0xB;
    /// An S-expression, which is never written.
    pub const SEXP: u8 = 0xC;
    /// A struct.
    pub const STRUCT: u8 = 0xD;
    /// An annotation: here always a symbol table.
    pub const ANNOTATION: u8 = 0xE;
}

/// The type byte of null, the only null that is written.
pub const NULL: u8 = 0x0F;
/// The type byte of `false`.
pub const FALSE: u8 = 0x10;
/// The type byte of `true`.
pub const TRUE: u8 = 0x11;
/// The Ion 1.0 binary version marker.
pub const BVM: [u8; 4] = [0xE0, 0x01, 0x00, 0xEA];

/// Whether `data` starts with a binary version marker (first and fourth byte decide).
pub fn is_bvm(data: &[u8]) -> bool {
    matches!(data, [0xE0, _, _, 0xEA, ..])
}

/// Where one value lies: what its type byte and length say, checked against the bytes at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// High nibble of the type byte, see [`kind`].
    pub kind: u8,
    /// Low nibble of the type byte.
    pub low: u8,
    /// Offset of the content in the slice that was given.
    pub body: usize,
    /// Offset of the first byte after the value.
    pub end: usize,
}

impl Header {
    /// Whether the value is a null of its type (`0F` and its kin).
    pub fn is_null(&self) -> bool {
        self.low == 15
    }

    /// Whether the value is padding: type 0, not null.
    pub fn is_pad(&self) -> bool {
        self.kind == kind::NULL && self.low != 15
    }
}

/// Reads the header of the value at `at`; the whole value is guaranteed to lie inside `data`.
#[inline]
pub fn header(data: &[u8], at: usize) -> Result<Header> {
    look(data, at).ok_or_else(|| bad_header(data, at))
}

/// As [`header`], for loops over values: none when that would give an error. Where a header shares its place
/// with an error it goes through memory.
#[allow(clippy::inline_always, reason = "its four words would go through memory")]
#[inline(always)]
pub(crate) fn look(data: &[u8], at: usize) -> Option<Header> {
    let &first = data.get(at)?;
    let (kind, low) = (first >> 4, first & 0x0F);
    let (body, end) = match low {
        _ if first == TRUE => (at + 1, at + 1),
        15 => (at + 1, at + 1),
        14 => long_extent(data, at + 1),
        low => (at + 1, at + 1 + usize::from(low)),
    };
    (end <= data.len()).then_some(Header { kind, low, body, end })
}

/// Where the content of a value starts, and where it ends, from its length at `at`: beyond all data if the
/// length cannot be read. Two plain numbers stay in registers.
#[inline]
fn long_extent(data: &[u8], at: usize) -> (usize, usize) {
    match data.get(at) {
        Some(&byte) if byte & 0x80 != 0 => (at + 1, at + 1 + usize::from(byte & 0x7F)),
        _ => longer_extent(data, at),
    }
}

#[inline(never)]
fn longer_extent(data: &[u8], at: usize) -> (usize, usize) {
    match varuint::read(data, at) {
        Ok((length, body)) => (body, body.saturating_add(usize::try_from(length).unwrap_or(usize::MAX))),
        Err(_) => (at, usize::MAX),
    }
}

/// What is wrong with the header at `at`.
#[cold]
pub(crate) fn bad_header(data: &[u8], at: usize) -> Error {
    let Some(&first) = data.get(at) else {
        return Error::corrupt("ion", at, "a value was expected, the data ends");
    };
    let (body, length) = match varuint::read(data, at + 1) {
        _ if first & 0x0F < 14 => (at + 1, u64::from(first & 0x0F)),
        Ok((length, body)) => (body, length),
        Err(error) => return error,
    };
    let available = data.len() - body;
    let message = format!("a value of {length} bytes overruns its container, {available} are left");
    Error::corrupt("ion", at, message)
}

/// Appends a type byte and a minimal length to `out`.
#[inline]
pub fn put_header(out: &mut Vec<u8>, kind: u8, length: usize) {
    if length < 14 {
        out.push(kind << 4 | length as u8);
    } else if length < 0x80 {
        out.extend_from_slice(&[kind << 4 | 14, length as u8 | 0x80]);
    } else {
        out.push(kind << 4 | 14);
        varuint::put(out, length as u64);
    }
}

/// Number of bytes that [`put_header`] writes for a content of `length` bytes.
#[inline]
pub fn header_size(length: usize) -> usize {
    if length < 14 { 1 } else { 1 + varuint::size(length as u64) }
}

/// Appends an unsigned magnitude with the given type, without leading zero bytes.
#[inline]
pub fn put_magnitude(out: &mut Vec<u8>, kind: u8, value: u64) {
    let bytes = value.to_be_bytes();
    let skip = (value.leading_zeros() / 8) as usize;
    out.push(kind << 4 | (8 - skip) as u8);
    out.extend_from_slice(&bytes[skip..]);
}

/// Appends a canonical integer; the range is -2^63 to 2^64-1.
#[inline]
pub fn put_int(out: &mut Vec<u8>, value: i128) {
    if value < 0 {
        put_magnitude(out, kind::NEGINT, value.unsigned_abs() as u64);
    } else {
        put_magnitude(out, kind::UINT, value as u64);
    }
}

/// Appends a float in canonical form: an integer when it is integral and fits int64.
#[inline]
pub fn put_float(out: &mut Vec<u8>, value: f64) {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&value) && value.trunc() == value {
        put_int(out, i128::from(value as i64));
    } else {
        out.push(0x48);
        out.extend_from_slice(&value.to_be_bytes());
    }
}

/// Appends a string value.
#[inline]
pub fn put_string(out: &mut Vec<u8>, text: &[u8]) {
    put_header(out, kind::STRING, text.len());
    out.extend_from_slice(text);
}

/// Appends `from[start..end]`. Short ones are copied with a fixed size, which needs no call.
#[inline]
pub(crate) fn copy_short(out: &mut Vec<u8>, from: &[u8], start: usize, end: usize) {
    const STRIDE: usize = 32;
    let length = end - start;
    if length <= STRIDE
        && let Some(piece) = from.get(start..).and_then(<[u8]>::first_chunk::<STRIDE>)
    {
        let size = out.len() + length;
        out.extend_from_slice(piece);
        out.truncate(size);
        return;
    }
    out.extend_from_slice(&from[start..end]);
}

/// Appends a symbol value.
#[inline]
pub fn put_symbol(out: &mut Vec<u8>, id: u32) {
    put_magnitude(out, kind::SYMBOL, u64::from(id));
}

/// Reads a big-endian magnitude of at most 8 bytes.
#[inline]
pub fn magnitude(data: &[u8], at: usize) -> Result<u64> {
    let length = data.len();
    if length > 8 {
        return Err(Error::corrupt("ion", at, "an integer of more than 8 bytes"));
    }
    // The first bytes and the last ones, some of which may be the same.
    Ok(if let (Some(first), Some(last)) = (data.first_chunk::<4>(), data.last_chunk::<4>()) {
        u64::from(u32::from_be_bytes(*first)) << (8 * (length - 4)) | u64::from(u32::from_be_bytes(*last))
    } else if let (Some(first), Some(last)) = (data.first_chunk::<2>(), data.last_chunk::<2>()) {
        u64::from(u16::from_be_bytes(*first)) << (8 * (length - 2)) | u64::from(u16::from_be_bytes(*last))
    } else {
        data.first().map_or(0, |byte| u64::from(*byte))
    })
}
