//! Texts that stand for a value: what hints and the columns of CSV and TSV turn strings into.

use super::number::Number;

/// A decimal integer of the form `[+-]digits` within int64.
pub fn int(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The text of a number: integers in decimal, floats in plain decimal notation, the shortest that reads
/// back.
pub fn text(number: Number) -> String {
    match number {
        Number::Int(value) => value.to_string(),
        Number::UInt(value) => value.to_string(),
        Number::Float(value) => value.to_string(),
    }
}

/// The value of a float literal: decimal or hexadecimal, `inf`, `infinity` or `nan` in any case, single
/// underscores between digits. None for anything else, and for a magnitude that no double holds.
pub fn float(text: &[u8]) -> Option<f64> {
    if text.len() > 3 && text.contains(&b'_') {
        return separated(text)
            .then(|| text.iter().copied().filter(|&byte| byte != b'_').collect::<Vec<_>>())
            .and_then(|text| float(&text));
    }
    let (negative, magnitude) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let value = match magnitude {
        [b'0', b'x' | b'X', rest @ ..] => hexadecimal(rest)?,
        [b'0'..=b'9' | b'.', ..] => {
            let value: f64 = std::str::from_utf8(magnitude).ok()?.parse().ok()?;
            if value.is_infinite() {
                return None;
            }
            value
        }
        _ if magnitude.eq_ignore_ascii_case(b"inf") || magnitude.eq_ignore_ascii_case(b"infinity") => {
            f64::INFINITY
        }
        // The quiet NaN that the stored form uses.
        _ if text.eq_ignore_ascii_case(b"nan") => f64::from_bits(0x7FF8_0000_0000_0001),
        _ => return None,
    };
    Some(if negative { -value } else { value })
}

/// Whether every underscore has a digit, or the `0x` in front, before it and a digit after it.
fn separated(text: &[u8]) -> bool {
    let unsigned = text.strip_prefix(b"+").or_else(|| text.strip_prefix(b"-")).unwrap_or(text);
    let hex = matches!(unsigned, [b'0', b'x' | b'X', ..]);
    let digit = |byte: Option<&u8>| {
        byte.is_some_and(|byte| if hex { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() })
    };
    unsigned.iter().enumerate().filter(|&(_, &byte)| byte == b'_').all(|(at, _)| {
        let before = at.checked_sub(1).and_then(|before| unsigned.get(before));
        (digit(before) || hex && at == 2) && digit(unsigned.get(at + 1))
    })
}

/// `hex digits [. hex digits] p [+-] digits`, rounded half to even.
fn hexadecimal(text: &[u8]) -> Option<f64> {
    let at = text.iter().position(|byte| byte | 0x20 == b'p')?;
    let (digits, exponent) = (&text[..at], std::str::from_utf8(&text[at + 1..]).ok()?);
    let exponent_digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if exponent_digits.is_empty() || !exponent_digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let far = if exponent.starts_with('-') { -1_000_000_000 } else { 1_000_000_000 };
    let mut exponent: i64 = exponent.parse::<i64>().unwrap_or(far).clamp(-1_000_000_000, 1_000_000_000);
    let (mut mantissa, mut rest, mut point, mut any) = (0u64, false, false, false);
    for &byte in digits {
        if byte == b'.' && !point {
            point = true;
            continue;
        }
        let digit = char::from(byte).to_digit(16)?;
        any = true;
        if mantissa >> 60 == 0 {
            mantissa = mantissa << 4 | u64::from(digit);
            exponent -= 4 * i64::from(point);
        } else {
            rest |= digit != 0;
            exponent += 4 * i64::from(!point);
        }
    }
    any.then(|| scale(mantissa, rest, exponent)).filter(|value| value.is_finite())
}

/// `mantissa` * 2^`exponent`, a little more when `rest`; rounded half to even.
pub(crate) fn scale(mantissa: u64, rest: bool, exponent: i64) -> f64 {
    if mantissa == 0 {
        return 0.0;
    }
    let shift = i64::from(mantissa.leading_zeros());
    let (mantissa, exponent) = (mantissa << shift, exponent - shift);
    if exponent > 1023 - 63 {
        return f64::INFINITY;
    }
    // The lowest kept bit is worth 2^-1074 at least; 53 bits are kept at most.
    let drop = (-1074 - exponent).max(11);
    if drop > 64 {
        return 0.0;
    }
    let wide = u128::from(mantissa);
    let (kept, half) = ((wide >> drop) as u64, 1u128 << (drop - 1));
    let lost = wide & ((1u128 << drop) - 1);
    let up = lost > half || lost == half && (rest || kept & 1 == 1);
    let unit = exponent + drop;
    let kept = (kept + u64::from(up)) as f64;
    // Both factors are exact, and so is their product, unless it overflows.
    kept * 2f64.powi((unit / 2) as i32) * 2f64.powi((unit - unit / 2) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn float_literals() {
        for (text, expected) in [
            ("12", 12.0),
            ("+1.5e3", 1500.0),
            (".5", 0.5),
            ("1.", 1.0),
            ("-Inf", f64::NEG_INFINITY),
            ("iNfInItY", f64::INFINITY),
            ("1_000.2_5", 1000.25),
            ("0x1p4", 16.0),
            ("0x_1.8p-1", 0.75),
            ("-0X.8P1", -1.0),
            ("0x1p-1074", 5e-324),
            ("0x1p-1075", 0.0),
            ("0x1.1p-1075", 5e-324),
            ("0x1.fffffffffffff8p0", 2.0),
            ("0x1.fffffffffffff7fffp0", 1.999_999_999_999_999_8),
            ("0x1.00000000000008p0", 1.0),
            ("0x1.000000000000080000000000000001p0", 1.000_000_000_000_000_2),
        ] {
            assert_eq!(float(text.as_bytes()), Some(expected), "{text}");
        }
        assert_eq!(float(b"NaN").map(f64::to_bits), Some(0x7FF8_0000_0000_0001));
        for text in [
            "", " 1", "1 ", "abc", "0x10", "-nan", "1e400", "_1", "1_", "1__0", "1_.5", "0x", "0xp1", "0x1p",
            "0x1p1024", "1e", "--1", "in", ".", "+", "0x1p+", "1e5_", "infinit",
        ] {
            assert_eq!(float(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn ints() {
        for (text, expected) in [("+12", 12), ("-007", -7), ("9223372036854775807", i64::MAX)] {
            assert_eq!(int(text.as_bytes()), Some(expected));
        }
        for text in ["", "+", "1.5", " 1", "9223372036854775808", "0x1", "1_0"] {
            assert_eq!(int(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn texts() {
        for (number, expected) in [
            (Number::Int(-5), "-5"),
            (Number::Float(123_456.789), "123456.789"),
            (Number::Float(1e21), "1000000000000000000000"),
            (Number::Float(1e-7), "0.0000001"),
        ] {
            assert_eq!(text(number), expected);
        }
    }

    proptest! {
        #[test]
        fn hexadecimal_floats_are_exact(bits: u64) {
            let number = f64::from_bits(bits & !(1 << 63));
            prop_assume!(number.is_finite());
            let (mantissa, power) = (bits & ((1 << 52) - 1), (bits >> 52 & 0x7FF) as i32);
            let text = if power == 0 {
                format!("0x0.{mantissa:013x}p-1022")
            } else {
                format!("0x1.{mantissa:013x}p{}", power - 1023)
            };
            prop_assert_eq!(float(text.as_bytes()), Some(number), "{}", text);
        }
    }
}
