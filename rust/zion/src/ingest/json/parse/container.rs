//! Structs and lists whose length is known only when they end.

use crate::chunk::Row;
use crate::chunk::paths::NodeId;
use crate::ion::{self, varuint};

/// A struct or list whose length is not known yet.
pub(super) struct Container {
    node: NodeId,
    start: usize,
    pub(super) body: usize,
}

impl Container {
    #[inline]
    pub(super) fn open(row: &mut Row, node: NodeId) -> Self {
        let start = row.out.len();
        let guess = row.paths.length_bytes(node);
        row.out.extend_from_slice(&[0; 8][..=guess.min(7)]);
        Self { node, start, body: row.out.len() }
    }

    #[inline]
    pub(super) fn close(self, row: &mut Row, kind: u8) {
        let length = row.out.len() - self.body;
        let needed = ion::header_size(length);
        let given = self.body - self.start;
        if needed != given {
            row.paths.set_length_bytes(self.node, needed - 1);
            if needed > given {
                let end = row.out.len();
                row.out.resize(end + needed - given, 0);
                row.out.copy_within(self.body..end, self.start + needed);
            } else {
                row.out.copy_within(self.body.., self.start + needed);
                row.out.truncate(self.start + needed + length);
            }
        }
        let mut header = [0; 8];
        let mut writer = HeaderBytes { bytes: &mut header, length: 0 };
        writer.put(kind, length);
        row.out[self.start..self.start + needed].copy_from_slice(&header[..needed]);
    }
}

/// Writes a header into fixed memory.
struct HeaderBytes<'a> {
    bytes: &'a mut [u8; 8],
    length: usize,
}

impl HeaderBytes<'_> {
    #[inline]
    fn push(&mut self, byte: u8) {
        if let Some(slot) = self.bytes.get_mut(self.length) {
            *slot = byte;
        }
        self.length += 1;
    }

    #[inline]
    fn put(&mut self, kind: u8, length: usize) {
        if length < 14 {
            self.push(kind << 4 | length as u8);
            return;
        }
        self.push(kind << 4 | 14);
        for group in (1..varuint::size(length as u64)).rev() {
            self.push((length >> (7 * group)) as u8 & 0x7F);
        }
        self.push(length as u8 & 0x7F | 0x80);
    }
}
