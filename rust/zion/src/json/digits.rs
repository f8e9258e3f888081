//! Numbers and instants as text.

use std::io::Write;

use super::sink::Sink;
use crate::ion::timestamp::{self, Civil};

const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut value = 0;
    while value < 100 {
        pairs[value] = [b'0' + (value / 10) as u8, b'0' + (value % 10) as u8];
        value += 1;
    }
    pairs
};

#[inline]
fn pair(value: u32) -> [u8; 2] {
    PAIRS[value as usize % 100]
}

/// The most bytes that an integer takes.
const DIGITS: usize = 20;

/// Appends an integer, negative if `negative` is set.
#[inline]
pub fn put_int(out: &mut Sink, negative: bool, mut value: u64) {
    out.reserve(DIGITS + 1);
    if negative {
        out.byte(b'-');
    }
    if value < 10 {
        out.byte(b'0' + value as u8);
        return;
    }
    let mut digits = [0; DIGITS];
    let mut at = DIGITS;
    while value >= 10 {
        let two = pair((value % 100) as u32);
        value /= 100;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&two);
    }
    if value > 0 {
        at -= 1;
        digits[at] = b'0' + value as u8;
    }
    out.copy(&digits, at, DIGITS);
}

/// Appends an integer.
pub fn put_whole(out: &mut Sink, value: i128) {
    if let Ok(magnitude) = u64::try_from(value.unsigned_abs()) {
        put_int(out, value < 0, magnitude);
    } else {
        let text = value.to_string();
        out.copy(text.as_bytes(), 0, text.len());
    }
}

/// Appends a float: the shortest text that reads back, with an exponent when it is below -4 or above 5.
pub fn put_float(out: &mut Sink, value: f64) {
    out.reserve(32);
    if !value.is_finite() {
        let text: &[u8; 4] = if value.is_nan() {
            b"NaN "
        } else if value > 0.0 {
            b"+Inf"
        } else {
            b"-Inf"
        };
        out.piece(text, if value.is_nan() { 3 } else { 4 });
        return;
    }
    if value.is_sign_negative() {
        out.byte(b'-');
    }
    if !put_decimal(out, value.abs()) {
        put_shortest(out, value.abs());
    }
}

/// Floats of few decimals, which most are: if `m / 10^k` is the float and `m` has at most 15 digits, no
/// other decimal of so few digits is, and the smallest `k` gives the shortest text.
#[inline]
fn put_decimal(out: &mut Sink, value: f64) -> bool {
    const SCALES: [f64; 7] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6];
    if !(1e-4..1e6).contains(&value) {
        return false;
    }
    for (decimals, scale) in SCALES.into_iter().enumerate() {
        let mantissa = (value * scale).round();
        if mantissa / scale == value {
            let (whole, scale) = (mantissa as u64, scale as u64);
            put_int(out, false, whole / scale);
            if decimals > 0 {
                put_fraction(out, (whole % scale) as u32, decimals);
            }
            return true;
        }
    }
    false
}

/// Appends a dot and `digits` digits, 1 to 6 of them.
#[inline]
fn put_fraction(out: &mut Sink, value: u32, digits: usize) {
    let value = value * [1_000_000, 100_000, 10_000, 1000, 100, 10, 1][digits.min(6)];
    let ([a, b], [c, d], [e, f]) = (pair(value / 10_000), pair(value / 100), pair(value));
    out.piece(&[b'.', a, b, c, d, e, f], digits + 1);
}

fn put_shortest(out: &mut Sink, value: f64) {
    // The standard library gives the shortest digits, as `d.dddde-n`.
    let mut text = [0; 32];
    let mut rest = &mut text[..];
    if write!(rest, "{value:e}").is_err() {
        return;
    }
    let length = 32 - rest.len();
    let text = &text[..length];
    let split = text.iter().position(|&byte| byte == b'e').unwrap_or(length);
    let exponent = text[split..].iter().filter(|byte| byte.is_ascii_digit());
    let exponent = exponent.fold(0, |value, &digit| value * 10 + i32::from(digit - b'0'));
    let exponent = if text.get(split + 1) == Some(&b'-') { -exponent } else { exponent };
    let (lead, fraction) = (text[0], text.get(2..split).unwrap_or_default());
    if (-4..6).contains(&exponent) {
        put_plain(out, lead, fraction, exponent);
        return;
    }
    out.copy(text, 0, split);
    out.reserve(5);
    out.piece(if exponent < 0 { b"e-" } else { b"e+" }, 2);
    if exponent.abs() < 10 {
        out.byte(b'0');
    }
    put_int(out, false, u64::from(exponent.unsigned_abs()));
}

/// Appends `lead.fraction * 10^exponent` without an exponent.
fn put_plain(out: &mut Sink, lead: u8, fraction: &[u8], exponent: i32) {
    if exponent < 0 {
        out.copy(b"0.000", 0, (1 - exponent) as usize);
        out.reserve(1);
        out.byte(lead);
        out.copy(fraction, 0, fraction.len());
        return;
    }
    out.reserve(10);
    out.byte(lead);
    let whole = exponent as usize;
    for index in 0..whole {
        out.byte(fraction.get(index).copied().unwrap_or(b'0'));
    }
    if fraction.len() > whole {
        out.byte(b'.');
        out.copy(fraction, whole, fraction.len());
    }
}

/// Appends an instant as a string in RFC 3339, without the trailing zeros of its fraction.
#[inline]
pub fn put_time(out: &mut Sink, us: i64) {
    out.reserve(1);
    out.byte(b'"');
    put_bare_time(out, us);
    out.byte(b'"');
}

/// Appends an instant as RFC 3339 has it; there is room for a byte behind it.
#[inline]
pub fn put_bare_time(out: &mut Sink, us: i64) {
    let civil = Civil::from_micros(us);
    out.reserve(40);
    match u64::try_from(civil.year) {
        Ok(year) if year < 10_000 => {
            let ([a, b], [c, d]) = (pair(year as u32 / 100), pair(year as u32));
            out.piece(&[a, b, c, d], 4);
        }
        _ => put_int(out, civil.year < 0, civil.year.unsigned_abs()),
    }
    let ([a, b], [c, d]) = (pair(civil.month), pair(civil.day));
    let ([e, f], [g, h], [i, j]) = (pair(civil.hour), pair(civil.minute), pair(civil.second));
    out.piece(&[b'-', a, b, b'-', c, d, b'T', e, f, b':', g, h, b':', i, j], 15);
    if civil.micros != 0 {
        let (mut fraction, mut digits) = (civil.micros, 6);
        while fraction % 10 == 0 {
            fraction /= 10;
            digits -= 1;
        }
        put_fraction(out, fraction, digits);
    }
    out.byte(b'Z');
}

/// Appends the instant of a timestamp's content.
#[inline]
pub fn put_timestamp(out: &mut Sink, body: &[u8], at: usize) -> crate::Result<()> {
    put_time(out, timestamp::read(body, at)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn float(value: f64) -> String {
        let mut out = Sink::default();
        put_float(&mut out, value);
        String::from_utf8_lossy(out.as_slice()).into_owned()
    }

    #[test]
    fn floats_of_the_format() {
        for (value, expected) in [
            (0.1, "0.1"),
            (-0.0, "-0"),
            (1.5e6, "1.5e+06"),
            (999_999.5, "999999.5"),
            (1e-6, "1e-06"),
            (0.0001, "0.0001"),
            (0.000_123_456_789_012_345, "0.000123456789012345"),
            (0.000_012, "1.2e-05"),
            (1e300, "1e+300"),
            (-1.25e-300, "-1.25e-300"),
            (123_456.789_012_3, "123456.7890123"),
            (100.0, "100"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
            (1e23, "1e+23"),
            (5e-324, "5e-324"),
        ] {
            assert_eq!(float(value), expected);
        }
    }

    #[test]
    fn instants() {
        for (us, expected) in [
            (0, "\"1970-01-01T00:00:00Z\""),
            (1_609_556_645_678_900, "\"2021-01-02T03:04:05.6789Z\""),
            (-1, "\"1969-12-31T23:59:59.999999Z\""),
            (-62_167_219_200_000_000, "\"0000-01-01T00:00:00Z\""),
            (253_402_300_800_000_000, "\"10000-01-01T00:00:00Z\""),
        ] {
            let mut out = Sink::default();
            put_time(&mut out, us);
            assert_eq!(String::from_utf8_lossy(out.as_slice()), expected);
        }
    }

    proptest! {
        #[test]
        fn floats_read_back(bits: u64, digits in 0u64..10_000_000, scale in 0u32..8) {
            for value in [f64::from_bits(bits), digits as f64 / 10f64.powi(scale as i32)] {
                let text = float(value);
                let read: f64 = text.replace("Inf", "inf").parse().unwrap_or_default();
                prop_assert!(read == value || value.is_nan());
                if value.is_finite() {
                    let shortest = format!("{value:e}").bytes().filter(u8::is_ascii_digit).count();
                    prop_assert!(text.len() <= shortest + 8);
                }
            }
        }

        #[test]
        fn integers(value: u64, negative: bool, shift in 0u32..64) {
            let value = value >> shift;
            let mut out = Sink::default();
            put_int(&mut out, negative, value);
            let sign = if negative { "-" } else { "" };
            prop_assert_eq!(String::from_utf8_lossy(out.as_slice()), format!("{sign}{value}"));
        }
    }
}
