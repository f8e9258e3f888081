//! Prefixes of addresses: what a filter of networks is made of (`docs/format.md`, section 10).

use crate::functions::address;

/// Lengths of the prefixes that are kept of an address, in bits.
pub const LENGTHS: [u32; 4] = [8, 16, 24, 32];
/// No address is longer.
const MAX_BYTES: usize = "255.255.255.255".len();

/// Calls for each prefix of the IPv4 address that a text is with its bits behind a one, so that prefixes of
/// different lengths never are the same number. Of other texts there are none.
#[inline]
pub fn prefixes(text: &[u8], take: impl FnMut(u64)) {
    if text.len() > MAX_BYTES || !text.first().is_some_and(u8::is_ascii_digit) {
        return;
    }
    let Some(address) = str::from_utf8(text).ok().and_then(address::parse) else { return };
    LENGTHS.map(|length| 1_u64 << length | u64::from(address) >> (32 - length)).into_iter().for_each(take);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<u64> {
        let mut found = vec![];
        prefixes(text.as_bytes(), |prefix| found.push(prefix));
        found
    }

    #[test]
    fn an_address_has_one_of_each_length() {
        assert_eq!(of("10.1.2.3"), [0x10A, 0x1_0A01, 0x10A_0102, 0x1_0A01_0203]);
        assert_eq!(of("010.001.002.003"), of("10.1.2.3"));
        assert_eq!(of("0.0.0.0"), [1 << 8, 1 << 16, 1 << 24, 1 << 32]);
        assert_eq!(of("255.255.255.255").len(), LENGTHS.len());
    }

    #[test]
    fn other_texts_have_none() {
        for text in ["", "10.1.2", "10.1.2.256", "10.1.2.3:80", " 10.1.2.3", "::1", "1.2.3.٣"] {
            assert!(of(text).is_empty(), "{text}");
        }
    }
}
