//! Keys and their numbers, in the order in which they are met.

/// What a key takes in memory besides its bytes, about.
pub(super) const KEY_BYTES: usize = 48;

/// A set of keys, each with its hash. All hashes must be of one function that nobody can foresee; there is room
/// for 2^32 - 1 keys.
#[derive(Debug, Clone, Default)]
pub(super) struct KeyTable {
    /// Numbers of keys, plus 1, where their hashes lead to; 0 is free. Less than half is taken.
    slots: Vec<u32>,
    entries: Vec<Entry>,
    /// All keys, one after the other.
    bytes: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    hash: u64,
    /// Where the key ends; it starts where the one before ends.
    end: usize,
}

impl KeyTable {
    /// Number of keys.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// A key by its number.
    #[inline]
    pub(super) fn key(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.entries[before].end);
        &self.bytes[start..self.entries[number].end]
    }

    /// All keys with their hashes.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.entries.iter().enumerate().map(|(number, entry)| (entry.hash, self.key(number)))
    }

    /// The number of a key, and whether it is new.
    #[inline]
    pub(super) fn number(&mut self, hash: u64, key: &[u8]) -> (usize, bool) {
        if self.entries.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let last = self.slots.len() - 1;
        let mut slot = hash as usize & last;
        while let Some(number) = self.slots[slot].checked_sub(1) {
            let number = number as usize;
            if self.entries[number].hash == hash && self.key(number) == key {
                return (number, false);
            }
            slot = (slot + 1) & last;
        }
        self.bytes.extend_from_slice(key);
        self.entries.push(Entry { hash, end: self.bytes.len() });
        self.slots[slot] = self.entries.len() as u32;
        (self.entries.len() - 1, true)
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(16);
        self.slots = vec![0; size];
        for (entry, number) in self.entries.iter().zip(1..) {
            let mut slot = entry.hash as usize & (size - 1);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            self.slots[slot] = number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_numbered_as_they_come() {
        let keys: Vec<String> =
            (0..2000).map(|number| "x".repeat(number % 7) + &number.to_string()).collect();
        // A good hash, a bad one, and one that leads all keys to the last slot.
        let hashes: [fn(usize) -> u64; 3] = [
            |number| (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            |number| number as u64 % 3,
            |_| !0,
        ];
        for hash in hashes {
            let mut table = KeyTable::default();
            for round in 0..2 {
                for (number, key) in keys.iter().enumerate() {
                    assert_eq!(table.number(hash(number), key.as_bytes()), (number, round == 0));
                }
            }
            assert_eq!(table.len(), keys.len());
            assert!(table.iter().zip(&keys).all(|((_, found), key)| found == key.as_bytes()));
        }
    }

    #[test]
    fn the_empty_key_is_one() {
        let mut table = KeyTable::default();
        assert_eq!(table.number(7, b""), (0, true));
        assert_eq!(table.number(7, b"a"), (1, true));
        assert_eq!(table.number(7, b""), (0, false));
        assert_eq!((table.key(0), table.key(1)), (&b""[..], &b"a"[..]));
    }
}
