//! Single values: how they are told apart, and how they are kept.

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::FixedState;

/// Bytes of a text that are kept.
pub(super) const TEXT_BYTES: usize = 96;

/// A single value, neither null nor made of others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar<'a> {
    /// A boolean.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// Any other number.
    Float(f64),
    /// Microseconds since 1970.
    Time(i64),
    /// A text, and whether it is only the beginning of one.
    Text(&'a [u8], bool),
    /// Bytes, and whether they are only the first ones.
    Bytes(&'a [u8], bool),
}

/// A text that is kept.
fn cut(text: &[u8]) -> (&[u8], bool) {
    text.get(..TEXT_BYTES).map_or((text, false), |start| (start, text.len() > TEXT_BYTES))
}

impl<'a> Scalar<'a> {
    /// The same with no more of a text than is kept.
    pub(super) fn cut(self) -> Self {
        match self {
            Self::Text(text, false) => {
                let (text, is_cut) = cut(text);
                Self::Text(text, is_cut)
            }
            Self::Bytes(bytes, false) => {
                let (bytes, is_cut) = cut(bytes);
                Self::Bytes(bytes, is_cut)
            }
            other => other,
        }
    }

    /// A hash of a whole value that is not 0, the same in every run: answers depend on it.
    #[inline]
    pub(super) fn hash(self) -> u64 {
        let mut hasher = FixedState::with_seed(0).build_hasher();
        let tag = match self {
            Self::Bool(value) => u8::from(value),
            Self::Int(value) => {
                hasher.write_i64(value as i64);
                // Whatever does not fit 64 bits has a hash of its own.
                if i64::try_from(value).is_ok() { 2 } else { 3 }
            }
            Self::Float(value) => {
                hasher.write_u64(value.to_bits());
                4
            }
            Self::Time(value) => {
                hasher.write_i64(value);
                5
            }
            Self::Text(text, _) => {
                hasher.write(text);
                6
            }
            Self::Bytes(bytes, _) => {
                hasher.write(bytes);
                7
            }
        };
        hasher.write_u8(tag);
        hasher.finish().max(1)
    }

    /// Appends the value.
    pub(super) fn put(self, out: &mut Vec<u8>) {
        match self {
            Self::Bool(value) => out.extend([b'b', u8::from(value)]),
            Self::Int(value) => match i64::try_from(value) {
                Ok(value) => put_word(b'i', &value.to_le_bytes(), out),
                Err(_) => put_word(b'I', &value.to_le_bytes(), out),
            },
            Self::Float(value) => put_word(b'f', &value.to_le_bytes(), out),
            Self::Time(value) => put_word(b't', &value.to_le_bytes(), out),
            Self::Text(text, is_cut) => put_word(if is_cut { b'S' } else { b's' }, text, out),
            Self::Bytes(bytes, is_cut) => put_word(if is_cut { b'X' } else { b'x' }, bytes, out),
        }
    }

    /// The value that was put there.
    pub(super) fn of(bytes: &'a [u8]) -> Option<Self> {
        let (&tag, rest) = bytes.split_first()?;
        let word = || rest.first_chunk().copied();
        Some(match tag {
            b'b' => Self::Bool(rest == [1]),
            b'i' => Self::Int(i128::from(i64::from_le_bytes(word()?))),
            b'I' => Self::Int(i128::from_le_bytes(*rest.first_chunk()?)),
            b'f' => Self::Float(f64::from_le_bytes(word()?)),
            b't' => Self::Time(i64::from_le_bytes(word()?)),
            b's' | b'S' => Self::Text(rest, tag == b'S'),
            b'x' | b'X' => Self::Bytes(rest, tag == b'X'),
            _ => return None,
        })
    }
}

fn put_word(tag: u8, word: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(word);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back() {
        let long = [b'a'; TEXT_BYTES + 1];
        let values = [
            Scalar::Bool(true),
            Scalar::Int(-5),
            Scalar::Int(1 << 63),
            Scalar::Float(0.5),
            Scalar::Time(-1),
            Scalar::Text(b"", false),
            Scalar::Text(&long[1..], false),
            Scalar::Text(&long, false),
            Scalar::Bytes(&long, false),
        ];
        for value in values {
            let mut out = vec![];
            value.cut().put(&mut out);
            assert!(out.len() <= TEXT_BYTES + 1);
            assert_eq!(Scalar::of(&out), Some(value.cut()));
        }
        assert_eq!(Scalar::Text(&long, false).cut(), Scalar::Text(&long[1..], true));
    }

    #[test]
    fn values_of_different_types_differ() {
        let values = [
            Scalar::Bool(true),
            Scalar::Int(1),
            Scalar::Int(1 + (1 << 64)),
            Scalar::Float(f64::from_bits(1)),
            Scalar::Time(1),
            Scalar::Text(b"1", false),
            Scalar::Bytes(b"1", false),
        ];
        let hashes: std::collections::HashSet<u64> = values.iter().map(|value| value.hash()).collect();
        assert_eq!(hashes.len(), values.len());
    }
}
