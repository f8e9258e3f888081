//! The control bytes: read from the end of a buffer towards its front.

use super::layout::LAYER;
use crate::error::{Error, Result};

/// Reads control bytes; data is taken from the other end.
pub struct Control<'a> {
    buffer: &'a [u8],
    /// Start of the bytes that are not taken as data.
    pub data: usize,
    /// End of the bytes that are not read as control.
    pub end: usize,
}

impl<'a> Control<'a> {
    pub fn new(buffer: &'a [u8]) -> Self {
        Self { buffer, data: 0, end: buffer.len() }
    }

    pub fn byte(&mut self) -> Result<u8> {
        if self.end <= self.data {
            return Err(Error::corrupt(LAYER, self.end, "the control bytes end too early"));
        }
        self.end -= 1;
        Ok(self.buffer[self.end])
    }

    pub fn varuint(&mut self) -> Result<u64> {
        let mut value = 0u64;
        loop {
            let byte = self.byte()?;
            if value >> 57 != 0 {
                return Err(Error::corrupt(LAYER, self.end, "a control number does not fit 64 bits"));
            }
            value = value << 7 | u64::from(byte & 0x7F);
            if byte & 0x80 != 0 {
                return Ok(value);
            }
        }
    }

    /// Takes the next `count` data bytes.
    pub fn take(&mut self, count: u64) -> Result<&'a [u8]> {
        let left = (self.end - self.data) as u64;
        if count > left {
            let message = format!("a length of {count} bytes, {left} are left");
            return Err(Error::corrupt(LAYER, self.data, message));
        }
        let start = self.data;
        self.data += count as usize;
        Ok(&self.buffer[start..self.data])
    }
}

/// Gathers control bytes in reading order.
#[derive(Default)]
pub struct ControlWriter {
    bytes: Vec<u8>,
}

impl ControlWriter {
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    pub fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    pub fn varuint(&mut self, value: usize) {
        let groups = (usize::BITS - (value | 1).leading_zeros()).div_ceil(7);
        for group in (1..groups).rev() {
            self.bytes.push((value >> (7 * group)) as u8 & 0x7F);
        }
        self.bytes.push(value as u8 & 0x7F | 0x80);
    }

    /// Appends the bytes as they stand at the end of a buffer.
    pub fn finish(&self, out: &mut Vec<u8>) {
        out.extend(self.bytes.iter().rev());
    }
}
