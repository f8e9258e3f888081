//! Which bucket a symbol falls into: a keyless hash of its id, one nibble of it for each selector.

/// The buckets of a chunk.
pub const BUCKETS: usize = 16;

/// The hash of a symbol id: SipHash-2-4 under the zero key of its LEB128 form.
pub fn hash(id: u32) -> u64 {
    let mut word = 0;
    let mut length = 0;
    let mut rest = u64::from(id);
    loop {
        let more = rest >> 7 != 0;
        word |= (rest & 0x7F | u64::from(more) << 7) << (8 * length);
        length += 1;
        rest >>= 7;
        if !more {
            break;
        }
    }
    siphash_short(word | length << 56)
}

/// The bucket of a symbol id under a selector.
pub fn bucket(selector: u8, id: u32) -> u8 {
    nibble(hash(id), selector)
}

fn nibble(hash: u64, selector: u8) -> u8 {
    (hash >> (4 * (selector & 15))) as u8 & 15
}

/// SipHash-2-4 of a message of less than 8 bytes, given as its final word.
fn siphash_short(last: u64) -> u64 {
    let mut state: [u64; 4] =
        [0x736f_6d65_7073_6575, 0x646f_7261_6e64_6f6d, 0x6c79_6765_6e65_7261, 0x7465_6462_7974_6573];
    state[3] ^= last;
    round(&mut state);
    round(&mut state);
    state[0] ^= last;
    state[2] ^= 0xFF;
    for _ in 0..4 {
        round(&mut state);
    }
    state[0] ^ state[1] ^ state[2] ^ state[3]
}

fn round([v0, v1, v2, v3]: &mut [u64; 4]) {
    *v0 = v0.wrapping_add(*v1);
    *v1 = v1.rotate_left(13) ^ *v0;
    *v0 = v0.rotate_left(32);
    *v2 = v2.wrapping_add(*v3);
    *v3 = v3.rotate_left(16) ^ *v2;
    *v0 = v0.wrapping_add(*v3);
    *v3 = v3.rotate_left(21) ^ *v0;
    *v2 = v2.wrapping_add(*v1);
    *v1 = v1.rotate_left(17) ^ *v2;
    *v2 = v2.rotate_left(32);
}

/// The buckets of all symbols under one selector, computed once for each symbol.
#[derive(Default)]
pub struct BucketMap {
    selector: u8,
    hashes: Vec<u64>,
    buckets: Vec<u8>,
}

impl BucketMap {
    /// Turns the map to a selector.
    pub fn select(&mut self, selector: u8) {
        if selector != self.selector {
            self.selector = selector;
            self.buckets.clear();
            self.buckets.extend(self.hashes.iter().map(|&hash| nibble(hash, selector)));
        }
    }

    /// The bucket of a symbol.
    #[inline]
    pub fn get(&mut self, id: u32) -> u8 {
        match self.buckets.get(id as usize) {
            Some(&bucket) => bucket,
            None => self.grow(id),
        }
    }

    /// Ids that are too large for a label are not remembered, so that the map stays small.
    #[cold]
    fn grow(&mut self, id: u32) -> u8 {
        if id < 1 << 21 {
            for new in self.hashes.len() as u32..=id {
                let hash = hash(new);
                self.hashes.push(hash);
                self.buckets.push(nibble(hash, self.selector));
            }
        }
        bucket(self.selector, id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_format() {
        assert_eq!(hash(0), 0x8b5a_0baa_49fb_c58d);
        assert_eq!(hash(10), 0x0a39_1f05_4d7a_ddae);
        assert_eq!(hash(300), 0x0880_6d7f_c3b1_347c);
        assert_eq!((bucket(0, 10), bucket(1, 10)), (14, 10));
    }

    #[test]
    fn the_map_agrees_with_the_function() {
        let mut map = BucketMap::default();
        for selector in [0, 3, 15, 3] {
            map.select(selector);
            for id in [5, 700, 12, 701, u32::MAX] {
                assert_eq!(map.get(id), bucket(selector, id));
            }
        }
    }
}
