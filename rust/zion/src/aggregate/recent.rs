//! Groups that were met not long ago, by the bytes of their key in the chunk.
//!
//! Most rows have a key that many have. Its bytes say so before it is known what they mean.

use crate::ion::kind;
use crate::value::Value;

/// Number of places; a group may be in one of them.
const PLACES: usize = 256;
/// Keys that are longer are not remembered.
const MOST_BYTES: usize = 31;

/// The bytes of a key that a row lacks, where such rows are in the group of NULL: those of a stored null.
pub(super) const NULL: &[u8] = b"\x0f";

/// A key and the number of its group; of length 0 when empty.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    length: u8,
    bytes: [u8; MOST_BYTES],
    group: usize,
}

/// What was met.
#[derive(Debug, Clone, Default)]
pub(super) struct Recent {
    places: Vec<Place>,
}

/// The bytes of a key, if they alone tell what it is: those of symbols and structs need a table of names.
#[inline]
pub(super) fn raw<'a>(data: &'a [u8], value: &Value) -> Option<&'a [u8]> {
    let is_plain = matches!(
        value.header.kind,
        kind::BOOL | kind::UINT | kind::NEGINT | kind::FLOAT | kind::TIMESTAMP | kind::STRING
    );
    data.get(value.at..value.header.end).filter(|bytes| is_plain && bytes.len() <= MOST_BYTES)
}

impl Recent {
    /// The group of a key that was met.
    #[inline]
    pub(super) fn group(&self, bytes: &[u8]) -> Option<usize> {
        let place = self.places.get(slot(bytes))?;
        let is_same = usize::from(place.length) == bytes.len() && place.bytes[..bytes.len()] == *bytes;
        is_same.then_some(place.group)
    }

    /// Remembers the group of a key.
    pub(super) fn put(&mut self, bytes: &[u8], group: usize) {
        self.places.resize(PLACES, Place::default());
        let place = &mut self.places[slot(bytes)];
        place.length = bytes.len() as u8;
        place.bytes[..bytes.len()].copy_from_slice(bytes);
        place.group = group;
    }
}

/// The place of a key: from its first and last bytes and its length.
#[inline]
fn slot(bytes: &[u8]) -> usize {
    let mut ends = [0; 16];
    let first = bytes.len().min(8);
    ends[..first].copy_from_slice(&bytes[..first]);
    ends[16 - first..].copy_from_slice(&bytes[bytes.len() - first..]);
    let mixed = u128::from_le_bytes(ends).wrapping_add(bytes.len() as u128);
    let mixed = (mixed as u64 ^ (mixed >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 56) as usize % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_until_another_takes_their_place() {
        let mut recent = Recent::default();
        assert_eq!(recent.group(b"\x82ab"), None);
        let keys: Vec<Vec<u8>> = (0u32..1000).map(|n| [b"\x84", &n.to_be_bytes()[..]].concat()).collect();
        for (number, key) in keys.iter().enumerate() {
            recent.put(key, number);
            assert_eq!(recent.group(key), Some(number));
        }
        let found = keys.iter().enumerate().filter(|(number, key)| match recent.group(key) {
            Some(group) => {
                assert_eq!(group, *number);
                true
            }
            None => false,
        });
        assert!((100..=PLACES).contains(&found.count()));
        assert_eq!(recent.group(b""), None);
        assert_eq!(recent.group(&[0; MOST_BYTES]), None);
    }
}
