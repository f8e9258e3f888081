//! IPv4 addresses in text.

/// The address that a text is, as a number; `None` when it is no address. Octets may have leading zeros.
///
/// ```
/// assert_eq!(zion::functions::address::parse("10.0.0.255"), Some(0x0a00_00ff));
/// assert_eq!(zion::functions::address::parse("10.0.0"), None);
/// ```
pub fn parse(text: &str) -> Option<u32> {
    let mut octets = text.split('.');
    let mut address = 0;
    for _ in 0..4 {
        let octet = octets.next()?;
        if octet.is_empty() || octet.len() > 3 || !octet.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        address = address << 8 | u32::from(octet.parse::<u8>().ok()?);
    }
    octets.next().is_none().then_some(address)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn texts_that_are_addresses() {
        assert_eq!(parse("0.0.0.0"), Some(0));
        assert_eq!(parse("255.255.255.255"), Some(u32::MAX));
        assert_eq!(parse("010.001.00.9"), Some(0x0a01_0009));
    }

    #[test]
    fn texts_that_are_not() {
        for text in
            ["", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.+4", "1.2.3.", " 1.2.3.4", "1.2.3.0004", "::1"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
