//! Texts in quotes, with backslashes before what would end them.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

/// The length of what is before the quote that closes a text; None: no quote closes it.
pub(super) fn closing_quote(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// The text that is meant: `\"`, `\\`, `\n`, `\t`, `\r`, `\xhh` and `\uhhhh` are one character each, and a
/// backslash before anything else is dropped where `drops` says so, and stays elsewhere.
pub(super) fn unescaped<'a>(text: &'a [u8], drops: &[u8]) -> Cow<'a, [u8]> {
    let Some(first) = memchr(b'\\', text) else { return Cow::Borrowed(text) };
    let mut out = text[..first].to_vec();
    let mut rest = &text[first..];
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte != b'\\' {
            out.push(*byte);
            continue;
        }
        let Some((&escape, behind)) = after.split_first() else {
            out.push(b'\\');
            break;
        };
        rest = behind;
        match escape {
            b'"' | b'\\' => out.push(escape),
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'x' if let Some(value) = hex(behind, 2) => {
                out.push(value as u8);
                rest = &behind[2..];
            }
            b'u' if let Some(value) = hex(behind, 4).and_then(char::from_u32) => {
                out.extend_from_slice(value.encode_utf8(&mut [0; 4]).as_bytes());
                rest = &behind[4..];
            }
            other if drops.contains(&other) => out.push(other),
            other => out.extend_from_slice(&[b'\\', other]),
        }
    }
    Cow::Owned(out)
}

fn hex(text: &[u8], digits: usize) -> Option<u32> {
    let digits = text.get(..digits)?;
    digits.iter().try_fold(0, |sum, &byte| Some(sum * 16 + char::from(byte).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_escapes() {
        assert_eq!(closing_quote(br#"a\"b" "c""#), Some(4));
        assert_eq!(closing_quote(br#"a\\" "#), Some(3));
        assert_eq!(closing_quote(br#"a\""#), None);
        assert_eq!(closing_quote(br"a\"), None);
        for (text, expected) in [
            (r"plain", "plain"),
            (r#"\"a\" \\ \n\t\r"#, "\"a\" \\ \n\t\r"),
            (r"\x41\x4", "A\\x4"),
            (r"\u00e9\ud800", "é\\ud800"),
            (r"\]\q\", "]\\q\\"),
        ] {
            assert_eq!(&*unescaped(text.as_bytes(), b"]"), expected.as_bytes(), "{text}");
        }
    }
}
