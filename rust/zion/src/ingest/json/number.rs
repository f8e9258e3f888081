//! Numbers of JSON text: to canonical Ion, rounded correctly.
//!
//! With D the digits read as one integer and E the decimal exponent after the point has been moved out,
//! the value is D * 10^E. It is stored exactly when E is 0 and D fits 64 bits, else as the nearest double.

use crate::error::{Error, Result};
use crate::ion;

/// The value of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// An integer within int64.
    Int(i64),
    /// An integer of 2^63 or more.
    UInt(u64),
    /// Anything else; finite, and neither integral within int64 nor zero.
    Float(f64),
}

impl Number {
    /// The number for a double: an integer when it is integral and fits int64.
    #[inline]
    pub fn from_f64(value: f64) -> Self {
        const LIMIT: f64 = 9_223_372_036_854_775_808.0;
        if (-LIMIT..LIMIT).contains(&value) && value.trunc() == value {
            Self::Int(value as i64)
        } else {
            Self::Float(value)
        }
    }

    /// The number for an integer that 64 bits do not hold, by the double that is nearest to it: none that
    /// would be stored as an integer, which is another one.
    pub fn beyond(value: f64) -> Self {
        match Self::from_f64(value) {
            Self::Int(_) => Self::Float(value.next_down()),
            number => number,
        }
    }

    /// Appends the canonical Ion value.
    #[inline]
    pub fn put(self, out: &mut Vec<u8>) {
        match self {
            Self::Int(value) if value < 0 => {
                ion::put_magnitude(out, ion::kind::NEGINT, value.unsigned_abs());
            }
            Self::Int(value) => ion::put_magnitude(out, ion::kind::UINT, value as u64),
            Self::UInt(value) => ion::put_magnitude(out, ion::kind::UINT, value),
            Self::Float(value) => {
                let mut bytes = [0x48; 9];
                bytes[1..].copy_from_slice(&value.to_be_bytes());
                out.extend_from_slice(&bytes);
            }
        }
    }
}

/// Appends the number at the start of `text` to `out` as canonical Ion; gives its length in the text.
#[inline]
pub fn put(out: &mut Vec<u8>, text: &[u8]) -> Result<usize> {
    let (number, used, _) = parse(text)?;
    number.put(out);
    Ok(used)
}

/// Reads the number at the start of `text`: its value, its length, and whether E is 0.
///
/// `-? digits+ [. digits*] [(e|E) [+-] digits*]`; what follows is the caller's to judge.
#[inline]
pub fn parse(text: &[u8]) -> Result<(Number, usize, bool)> {
    let negative = text.first() == Some(&b'-');
    let mut digits = Digits { mantissa: 0, count: 0 };
    let start = usize::from(negative);
    let end = digits.read(text, start);
    if end == start {
        return Err(Error::syntax(start, "a number needs a digit here"));
    }
    match text.get(end) {
        Some(b'.') => {}
        Some(byte) if byte | 0x20 == b'e' => {}
        // 18 digits fit int64 with either sign.
        _ if digits.count <= 18 => {
            let value = digits.mantissa as i64;
            return Ok((Number::Int(if negative { -value } else { value }), end, true));
        }
        _ => {}
    }
    parse_rest(text, negative, digits, end)
}

/// The digits met so far; the mantissa wraps around when there are more than 19 of them.
#[derive(Clone, Copy)]
struct Digits {
    mantissa: u64,
    count: usize,
}

const POWERS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

impl Digits {
    /// Reads the digits at `at`, eight at a time; gives the offset behind them.
    #[inline]
    fn read(&mut self, text: &[u8], mut at: usize) -> usize {
        loop {
            let rest = text.get(at..).unwrap_or_default();
            let word = match rest.first_chunk::<8>() {
                Some(bytes) => u64::from_le_bytes(*bytes),
                None => rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
            };
            let values = word ^ 0x3030_3030_3030_3030;
            let others = (values.wrapping_add(0x7676_7676_7676_7676) | values) & 0x8080_8080_8080_8080;
            let count = (others.trailing_zeros() / 8) as usize;
            if count == 0 {
                return at;
            }
            self.mantissa =
                self.mantissa.wrapping_mul(POWERS[count]).wrapping_add(eight(values << (64 - 8 * count)));
            self.count += count;
            at += count;
            if count < 8 {
                return at;
            }
        }
    }
}

/// The number that eight digit values make, the first of them in the lowest byte.
#[inline]
fn eight(values: u64) -> u64 {
    const PAIR: u64 = 0x0000_00FF_0000_00FF;
    let pairs = values.wrapping_mul(10).wrapping_add(values >> 8);
    let low = (pairs & PAIR).wrapping_mul(0x000F_4240_0000_0064);
    let high = ((pairs >> 16) & PAIR).wrapping_mul(0x0000_2710_0000_0001);
    low.wrapping_add(high) >> 32
}

/// Powers of ten that a double holds exactly.
const EXACT: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// Goes on behind the first digits: a fraction, an exponent, or more digits than fit.
fn parse_rest(text: &[u8], negative: bool, mut digits: Digits, end: usize) -> Result<(Number, usize, bool)> {
    let mut at = end;
    let mut fraction = 0;
    if text.get(at) == Some(&b'.') {
        at = digits.read(text, end + 1);
        fraction = at - end - 1;
    }
    let significand = at;
    let mut exponent = 0i64;
    if text.get(at).is_some_and(|byte| byte | 0x20 == b'e') {
        (exponent, at) = read_exponent(text, at + 1);
    }
    let scale = exponent.saturating_sub(fraction as i64);
    if digits.count <= 19 {
        let mantissa = digits.mantissa;
        if mantissa == 0 {
            return Ok((Number::Int(0), at, scale == 0));
        }
        if scale == 0 {
            if let Some(number) = exact(mantissa, negative) {
                return Ok((number, at, true));
            }
        } else if mantissa >> 53 == 0 && scale.unsigned_abs() < EXACT.len() as u64 {
            let power = EXACT[scale.unsigned_abs() as usize];
            let value = if scale < 0 { mantissa as f64 / power } else { mantissa as f64 * power };
            return Ok((Number::from_f64(if negative { -value } else { value }), at, false));
        }
    }
    parse_slowly(text, negative, scale, significand, at)
}

/// The exponent behind the `e`: empty is 0, one beyond all doubles is held where it has no more effect.
fn read_exponent(text: &[u8], start: usize) -> (i64, usize) {
    let sign = text.get(start).filter(|byte| matches!(byte, b'+' | b'-'));
    let mut at = start + usize::from(sign.is_some());
    let mut value = 0i64;
    while let Some(digit) = text.get(at).filter(|byte| byte.is_ascii_digit()) {
        value = value.saturating_mul(10).saturating_add(i64::from(digit - b'0'));
        at += 1;
    }
    (if sign == Some(&b'-') { -value } else { value }, at)
}

/// The integer of this magnitude, if 64 bits hold it.
fn exact(mantissa: u64, negative: bool) -> Option<Number> {
    match (i64::try_from(mantissa), negative) {
        (Ok(value), false) => Some(Number::Int(value)),
        (Ok(value), true) => Some(Number::Int(-value)),
        (Err(_), false) => Some(Number::UInt(mantissa)),
        (Err(_), true) => (mantissa == 1 << 63).then_some(Number::Int(i64::MIN)),
    }
}

/// Many digits or a far exponent: leading zeros still allow an exact integer, else the nearest double.
#[cold]
fn parse_slowly(
    text: &[u8],
    negative: bool,
    scale: i64,
    significand: usize,
    end: usize,
) -> Result<(Number, usize, bool)> {
    let digits = || text[usize::from(negative)..significand].iter().filter(|&&byte| byte != b'.');
    let mantissa = digits().try_fold(0u64, |value, byte| {
        value.checked_mul(10).and_then(|value| value.checked_add(u64::from(byte - b'0')))
    });
    if mantissa == Some(0) {
        return Ok((Number::Int(0), end, scale == 0));
    }
    if let Some(number) = mantissa.filter(|_| scale == 0).and_then(|mantissa| exact(mantissa, negative)) {
        return Ok((number, end, true));
    }
    // The standard library rounds correctly, but wants digits in the exponent.
    let plain = text[..end].last().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.');
    let literal = &text[..if plain { end } else { significand }];
    let value: f64 = std::str::from_utf8(literal)
        .ok()
        .and_then(|literal| literal.parse().ok())
        .ok_or_else(|| Error::syntax(0, "not a number"))?;
    if value.is_infinite() {
        return Err(Error::syntax(0, "a number too large for a double (the limit is about 1.8e308)"));
    }
    let number = if scale == 0 { Number::beyond(value) } else { Number::from_f64(value) };
    Ok((number, end, scale == 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str) -> Option<(Number, usize, bool)> {
        parse(text.as_bytes()).ok()
    }

    #[test]
    fn integers() {
        for (text, expected) in [
            ("0", Number::Int(0)),
            ("-0", Number::Int(0)),
            ("007", Number::Int(7)),
            ("123456789012345678", Number::Int(123_456_789_012_345_678)),
            ("9223372036854775807", Number::Int(i64::MAX)),
            ("-9223372036854775808", Number::Int(i64::MIN)),
            ("9223372036854775808", Number::UInt(1 << 63)),
            ("18446744073709551615", Number::UInt(u64::MAX)),
            ("18446744073709551616", Number::Float(18_446_744_073_709_551_616.0)),
            ("-9223372036854775809", Number::Float(-9_223_372_036_854_777_856.0)),
            ("-9223372036854777857", Number::Float(-9_223_372_036_854_777_856.0)),
            ("00000000000000000000000001", Number::Int(1)),
            ("1.5e1", Number::Int(15)),
            ("900719925474099.31e2", Number::Int(90_071_992_547_409_931)),
            ("10e", Number::Int(10)),
            ("10E-", Number::Int(10)),
            ("0e99999999999999999999", Number::Int(0)),
        ] {
            assert_eq!(
                value(text).map(|(number, used, _)| (number, used)),
                Some((expected, text.len())),
                "{text}"
            );
        }
    }

    #[test]
    fn others() {
        for (text, expected, zero) in [
            ("1e3", Number::Int(1000), false),
            ("1.0", Number::Int(1), false),
            ("1.", Number::Int(1), true),
            ("0.25", Number::Float(0.25), false),
            ("-0.1", Number::Float(-0.1), false),
            ("1e19", Number::Float(1e19), false),
            ("3.14159265358979323846", Number::Float(std::f64::consts::PI), false),
            ("5e-324", Number::Float(5e-324), false),
            ("1e-400", Number::Int(0), false),
            ("2.2250738585072011e-308", Number::Float(2.225_073_858_507_201e-308), false),
            ("1.7976931348623157e308", Number::Float(f64::MAX), false),
        ] {
            assert_eq!(value(text), Some((expected, text.len(), zero)), "{text}");
        }
        for text in ["", "-", "+1", ".5", "x", "1e309", "-1e400", "1e99999999999999999999"] {
            assert_eq!(value(text), None, "{text}");
        }
        assert_eq!(value("12,3"), Some((Number::Int(12), 2, true)));
        assert_eq!(value("1.5]"), Some((Number::Float(1.5), 3, false)));
    }

    proptest! {
        #[test]
        fn doubles_come_back(bits: u64) {
            let number = f64::from_bits(bits);
            prop_assume!(number.is_finite());
            for text in [format!("{number}"), format!("{number:e}"), format!("{number:.20e}")] {
                let expected = Number::from_f64(number);
                let (read, used, zero) = parse(text.as_bytes())?;
                prop_assert_eq!(used, text.len());
                prop_assert!(read == expected || zero, "{} {:?}", text, read);
            }
        }

        #[test]
        fn short_decimals_agree_with_the_standard_library(digits in "[0-9]{1,12}", fraction in "[0-9]{0,12}",
                                                          exponent in -30i32..30) {
            let text = format!("{digits}.{fraction}e{exponent}");
            let (read, ..) = parse(text.as_bytes())?;
            let expected: f64 = text.parse()?;
            let close = match read {
                Number::Int(value) => value as f64 == expected,
                Number::UInt(value) => value as f64 == expected,
                Number::Float(value) => value == expected,
            };
            prop_assert!(close, "{}", text);
        }

        #[test]
        fn integers_come_back(number: i64) {
            prop_assert_eq!(parse(number.to_string().as_bytes())?, (Number::Int(number), number.to_string().len(), true));
        }
    }
}
