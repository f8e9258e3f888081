//! Variable-length unsigned integers of Ion: big-endian groups of 7 bits, the last one marked.

use crate::error::{Error, Result};

/// Reads a varuint at `at`: its value and the offset of the byte after it.
#[inline]
pub fn read(data: &[u8], at: usize) -> Result<(u64, usize)> {
    match data.get(at) {
        Some(&byte) if byte & 0x80 != 0 => Ok((u64::from(byte & 0x7F), at + 1)),
        _ => read_long(data, at),
    }
}

/// As [`read`], for loops: none when that would give an error.
#[inline]
pub(crate) fn look(data: &[u8], at: usize) -> Option<(u64, usize)> {
    let first = *data.get(at)?;
    if first & 0x80 != 0 {
        return Some((u64::from(first & 0x7F), at + 1));
    }
    let second = *data.get(at + 1)?;
    if second & 0x80 != 0 {
        return Some((u64::from(first) << 7 | u64::from(second & 0x7F), at + 2));
    }
    read_long(data, at).ok()
}

fn read_long(data: &[u8], at: usize) -> Result<(u64, usize)> {
    let mut value = 0u64;
    for (index, &byte) in data.iter().enumerate().skip(at) {
        if value >> 57 != 0 {
            return Err(Error::corrupt("ion", at, "a varuint does not fit 64 bits"));
        }
        value = value << 7 | u64::from(byte & 0x7F);
        if byte & 0x80 != 0 {
            return Ok((value, index + 1));
        }
    }
    Err(Error::corrupt("ion", at, "a varuint is cut off"))
}

/// Number of bytes of the shortest form.
#[inline]
pub fn size(value: u64) -> usize {
    (70 - (value | 1).leading_zeros() as usize) / 7
}

/// Appends the shortest form.
#[inline]
pub fn put(out: &mut Vec<u8>, value: u64) {
    if value < 0x80 {
        out.push(value as u8 | 0x80);
        return;
    }
    for group in (1..size(value)).rev() {
        out.push((value >> (7 * group)) as u8 & 0x7F);
    }
    out.push(value as u8 & 0x7F | 0x80);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_at_every_width() -> Result<()> {
        for shift in 0..64 {
            for value in [(1u64 << shift) - 1, 1 << shift, (1 << shift) + 1, u64::MAX >> shift] {
                let mut out = vec![];
                put(&mut out, value);
                assert_eq!(out.len(), size(value));
                assert_eq!(read(&out, 0)?, (value, out.len()));
            }
        }
        Ok(())
    }

    #[test]
    fn cut_and_oversized_are_errors() {
        assert!(read(&[], 0).is_err());
        assert!(read(&[0x01], 0).is_err());
        assert!(read(&[0x7F; 11], 0).is_err());
    }
}
