//! A growing buffer that is written ahead of its end: short pieces are copied with a fixed size.

use base64::prelude::*;

use crate::simd::text::{LANE, odd_bytes, odd_in_utf8};

/// Bytes that a short copy moves, wanted or not.
const STRIDE: usize = 32;
const HEX: &[u8; 16] = b"0123456789abcdef";

/// Text that is being written.
#[derive(Debug, Default)]
pub struct Sink {
    buffer: Vec<u8>,
    length: usize,
}

impl Sink {
    /// A sink that writes over a used buffer: its memory is kept, its content is lost.
    pub fn over(buffer: Vec<u8>) -> Self {
        Self { buffer, length: 0 }
    }

    /// Number of bytes written.
    #[inline]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Takes back what was written after the first `length` bytes.
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// What was written.
    pub fn as_slice(&self) -> &[u8] {
        &self.buffer[..self.length]
    }

    /// What was written, and whatever lies behind it: for copies that read a little further.
    #[inline]
    pub fn padded(&self) -> &[u8] {
        &self.buffer
    }

    /// The buffer, cut to what was written.
    pub fn into_inner(mut self) -> Vec<u8> {
        self.buffer.truncate(self.length);
        self.buffer
    }

    /// Makes room for `count` bytes and a stride more.
    #[inline]
    pub fn reserve(&mut self, count: usize) {
        let needed = self.length + count + STRIDE;
        if needed > self.buffer.len() {
            self.grow(needed);
        }
    }

    #[cold]
    fn grow(&mut self, needed: usize) {
        // What is cleared here is touched, whether or not it is written later.
        let more = self.buffer.len().clamp(1 << 12, 256 << 10);
        self.buffer.resize(needed.max(self.buffer.len() + more), 0);
    }

    /// Appends one byte; there must be room for it.
    #[inline]
    pub fn byte(&mut self, byte: u8) {
        if let Some(place) = self.buffer.get_mut(self.length) {
            *place = byte;
            self.length += 1;
        }
    }

    /// Appends the first `count` bytes of a fixed-size piece; there must be room for all of it.
    #[inline]
    pub fn piece<const N: usize>(&mut self, piece: &[u8; N], count: usize) {
        if let Some(place) = self.buffer.get_mut(self.length..self.length + N) {
            place.copy_from_slice(piece);
            self.length += count;
        }
    }

    /// Appends `from[start..end]`, whatever it holds.
    #[inline]
    pub fn copy(&mut self, from: &[u8], start: usize, end: usize) {
        let count = end - start;
        self.reserve(count);
        if count <= STRIDE
            && let Some(piece) = from.get(start..).and_then(<[u8]>::first_chunk::<STRIDE>)
        {
            self.piece(piece, count);
            return;
        }
        if let (Some(to), Some(from)) =
            (self.buffer.get_mut(self.length..self.length + count), from.get(start..end))
        {
            to.copy_from_slice(from);
            self.length += count;
        }
    }

    /// Appends `from[start..end]` as a JSON string. Bytes after `end` are looked at, but not written.
    #[inline]
    pub fn string(&mut self, from: &[u8], start: usize, end: usize) {
        let before = self.length;
        self.reserve(end - start + 2 + LANE);
        self.byte(b'"');
        let mut at = start;
        while at < end {
            let Some(lane) = from.get(at..).and_then(<[u8]>::first_chunk::<LANE>) else { break };
            let count = (end - at).min(LANE);
            if odd_bytes(lane) << (LANE - count) & 0xFFFF != 0 {
                break;
            }
            self.piece(lane, count);
            at += count;
        }
        if at < end {
            self.length = before + 1 + (at - start);
            self.escape(&from[at..end]);
        }
        self.reserve(1);
        self.byte(b'"');
    }

    /// The rest of a string, from a lane on that needs care or has no bytes after it.
    #[cold]
    fn escape(&mut self, text: &[u8]) {
        if simdutf8::basic::from_utf8(text).is_ok() {
            self.escape_valid(text);
            return;
        }
        for chunk in text.utf8_chunks() {
            self.escape_valid(chunk.valid().as_bytes());
            for _ in chunk.invalid() {
                self.copy(b"\\ufffd", 0, 6);
            }
        }
    }

    fn escape_valid(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while let Some(lane) = bytes.get(at..).and_then(<[u8]>::first_chunk::<LANE>) {
            let odd = odd_in_utf8(lane).trailing_zeros() as usize;
            self.reserve(LANE + 6);
            self.piece(lane, odd.min(LANE));
            at += odd.min(LANE);
            if odd < LANE {
                at = self.escape_one(bytes, at);
            }
        }
        self.reserve(6 * LANE);
        while at < bytes.len() {
            at = self.escape_one(bytes, at);
        }
    }

    /// Writes the character at `at`, escaped if it must be, and gives the place of the next one.
    #[inline]
    fn escape_one(&mut self, bytes: &[u8], at: usize) -> usize {
        match bytes[at] {
            b'"' => self.piece(b"\\\"", 2),
            b'\\' => self.piece(b"\\\\", 2),
            b'\n' => self.piece(b"\\n", 2),
            b'\r' => self.piece(b"\\r", 2),
            b'\t' => self.piece(b"\\t", 2),
            byte @ 0..0x20 => {
                let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]);
                self.piece(&[b'\\', b'u', b'0', b'0', high, low], 6);
            }
            0xE2 => match bytes.get(at + 1..at + 3) {
                Some([0x80, last @ (0xA8 | 0xA9)]) => {
                    self.piece(if *last == 0xA8 { b"\\u2028" } else { b"\\u2029" }, 6);
                    return at + 3;
                }
                _ => self.byte(0xE2),
            },
            byte => self.byte(byte),
        }
        at + 1
    }

    /// Appends bytes as a base64 string.
    pub fn base64(&mut self, bytes: &[u8]) {
        let text = BASE64_STANDARD.encode(bytes);
        self.reserve(text.len() + 2);
        self.byte(b'"');
        self.copy(text.as_bytes(), 0, text.len());
        self.byte(b'"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &[u8]) -> String {
        let mut sink = Sink::default();
        sink.string(text, 0, text.len());
        String::from_utf8_lossy(sink.as_slice()).into_owned()
    }

    #[test]
    fn escapes_of_the_format() {
        assert_eq!(printed(b""), "\"\"");
        assert_eq!(printed(b"a\"b\\c\n\r\t\x01\x1f/\x7f"), "\"a\\\"b\\\\c\\n\\r\\t\\u0001\\u001f/\x7f\"");
        assert_eq!(printed("\u{2027}\u{2028}\u{2029}é😀".as_bytes()), "\"\u{2027}\\u2028\\u2029é😀\"");
        assert_eq!(printed(b"\xed\xa0\x80x\xff"), "\"\\ufffd\\ufffd\\ufffdx\\ufffd\"");
    }

    #[test]
    fn every_length_and_place() {
        for length in 0..70 {
            for odd in 0..length {
                let mut text = vec![b'x'; length];
                text[odd] = b'"';
                let expected = format!("\"{}\\\"{}\"", "x".repeat(odd), "x".repeat(length - odd - 1));
                assert_eq!(printed(&text), expected);
                text.extend([b'"'; 40]);
                let mut sink = Sink::over(vec![b'?'; 7]);
                sink.string(&text, 0, length);
                assert_eq!(sink.as_slice(), expected.as_bytes());
            }
        }
    }

    #[test]
    fn base64() {
        for (bytes, expected) in [
            ("", "\"\""),
            ("f", "\"Zg==\""),
            ("fo", "\"Zm8=\""),
            ("foo", "\"Zm9v\""),
            ("foob", "\"Zm9vYg==\""),
        ] {
            let mut sink = Sink::default();
            sink.base64(bytes.as_bytes());
            assert_eq!(sink.as_slice(), expected.as_bytes());
        }
    }
}
