//! Texts in UTF-16, which become UTF-8 while they are fed.

use std::borrow::Cow;

/// As many bytes at the start of a text tell whether it is UTF-16.
pub const START: usize = 4;

/// Makes UTF-8 of a text, whatever the pieces in which it comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decoder {
    /// At the start of a text, of which so much was seen.
    Start(Vec<u8>),
    /// The text stays as it is.
    Plain,
    /// It is UTF-16.
    Utf16(Utf16),
}

/// Where a text in UTF-16 is between two pieces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Utf16 {
    is_big_endian: bool,
    /// The first byte of a unit.
    odd: Option<u8>,
    /// The first half of a pair.
    high: Option<u16>,
    /// Units that belong to no character, since they were last asked for.
    replaced: u64,
}

impl Decoder {
    /// At the start of a text, or of bytes that are none.
    pub fn new(is_text: bool) -> Self {
        if is_text { Self::Start(vec![]) } else { Self::Plain }
    }

    /// What the first bytes of a text say: a mark, or that every second one is zero; and the length of the mark.
    pub fn of_start(start: &[u8]) -> (Self, usize) {
        let utf16 = |is_big_endian, mark| (Self::Utf16(Utf16 { is_big_endian, ..Utf16::default() }), mark);
        match *start {
            [0xFF, 0xFE, ..] => utf16(false, 2),
            [0xFE, 0xFF, ..] => utf16(true, 2),
            [a, 0, b, 0, ..] if a != 0 && b != 0 => utf16(false, 0),
            [0, a, 0, b, ..] if a != 0 && b != 0 => utf16(true, 0),
            _ => (Self::Plain, 0),
        }
    }

    /// Whether bytes need not go through it.
    pub fn is_plain(&self) -> bool {
        *self == Self::Plain
    }

    /// Takes the next bytes and gives the text that they make.
    pub fn feed<'a>(&mut self, data: &'a [u8]) -> Cow<'a, [u8]> {
        match self {
            Self::Plain => Cow::Borrowed(data),
            Self::Utf16(utf16) => Cow::Owned(utf16.decode(data)),
            Self::Start(seen) => {
                seen.extend_from_slice(data);
                if seen.len() < START { Cow::Borrowed(&[]) } else { Cow::Owned(self.begin()) }
            }
        }
    }

    /// Ends the text: gives what is left of it.
    pub fn end(&mut self) -> Vec<u8> {
        let mut text = if matches!(self, Self::Start(_)) { self.begin() } else { vec![] };
        if let Self::Utf16(utf16) = self
            && (utf16.odd.take().is_some() | utf16.high.take().is_some())
        {
            put(char::REPLACEMENT_CHARACTER, &mut text);
            utf16.replaced += 1;
        }
        text
    }

    /// How many units were replaced since the last call.
    pub fn take_replaced(&mut self) -> u64 {
        if let Self::Utf16(utf16) = self { std::mem::take(&mut utf16.replaced) } else { 0 }
    }

    fn begin(&mut self) -> Vec<u8> {
        let Self::Start(seen) = self else { return vec![] };
        let seen = std::mem::take(seen);
        let (decoder, mark) = Self::of_start(&seen);
        *self = decoder;
        self.feed(&seen[mark..]).into_owned()
    }
}

impl Utf16 {
    fn decode(&mut self, data: &[u8]) -> Vec<u8> {
        let mut text = Vec::with_capacity(data.len() / 2 + data.len() / 16 + 4);
        for &second in data {
            let Some(first) = self.odd.take() else {
                self.odd = Some(second);
                continue;
            };
            let bytes = [first, second];
            let unit = if self.is_big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) };
            self.unit(unit, &mut text);
        }
        text
    }

    fn unit(&mut self, unit: u16, text: &mut Vec<u8>) {
        let high = self.high.take();
        let is_high = |unit: u16| (0xD800..0xDC00).contains(&unit);
        // A first half waits for the second one; what stood before it waited in vain.
        let units = if is_high(unit) { [high, None] } else { [high, Some(unit)] };
        self.high = is_high(unit).then_some(unit);
        for decoded in char::decode_utf16(units.into_iter().flatten()) {
            self.replaced += u64::from(decoded.is_err());
            put(decoded.unwrap_or(char::REPLACEMENT_CHARACTER), text);
        }
    }
}

fn put(character: char, text: &mut Vec<u8>) {
    text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a text becomes that comes in pieces, and how many units were replaced.
    fn decoded(bytes: &[u8], piece: usize) -> (Vec<u8>, u64) {
        let (mut decoder, mut text) = (Decoder::new(true), vec![]);
        for data in bytes.chunks(piece) {
            text.extend_from_slice(&decoder.feed(data));
        }
        text.extend(decoder.end());
        (text, decoder.take_replaced())
    }

    #[test]
    fn what_is_no_character_is_replaced() {
        for (bytes, text, replaced) in [
            (&b"\xFF\xFEa\0\x3D\xD8"[..], "a\u{FFFD}", 1),
            (b"\xFF\xFEa\0\x3D\xD8b\0", "a\u{FFFD}b", 1),
            (b"\xFE\xFF\xDE\x00\0a\0", "\u{FFFD}a\u{FFFD}", 2),
            (b"\xFE\xFF\xD8\x3D\xD8\x3D\xDE\x00", "\u{FFFD}\u{1F600}", 1),
            (b"a\0b\0", "ab", 0),
            (b"ab", "ab", 0),
            (b"", "", 0),
        ] {
            for piece in 1..=bytes.len().max(1) {
                assert_eq!(decoded(bytes, piece), (text.as_bytes().to_vec(), replaced), "{bytes:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn text_comes_back(text: String, piece in 1..9usize, big: bool, marked: bool) {
            let text = format!("[{{{text}");
            let mark = if marked { Some(0xFEFF) } else { None };
            let units = mark.into_iter().chain(text.encode_utf16());
            let bytes: Vec<u8> =
                units.flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect();
            prop_assert_eq!(decoded(&bytes, piece), (text.into_bytes(), 0));
        }
    }
}
