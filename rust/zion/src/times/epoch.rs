//! Numbers that count time since 1970.

use super::moment::Moment;
use crate::ion::timestamp::{Civil, INSTANTS, MAX_YEAR, SECOND};

/// The unit of a number that counts time since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Thousandths of a second.
    Milliseconds,
    /// Millionths of a second.
    Microseconds,
    /// Billionths of a second.
    Nanoseconds,
}

impl Unit {
    /// The unit that a hint names, in lower case: `unix_seconds` and so on, as the original calls them.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "unix_seconds" => Some(Self::Seconds),
            "unix_milli_seconds" => Some(Self::Milliseconds),
            "unix_micro_seconds" => Some(Self::Microseconds),
            "unix_nano_seconds" => Some(Self::Nanoseconds),
            _ => None,
        }
    }

    /// The unit of one of our shorter names, `unix`, `unix_ms`, `unix_us` and `unix_ns`, or of a longer one.
    pub fn from_any_name(name: &str) -> Option<Self> {
        match name {
            "unix" | "unix_s" => Some(Self::Seconds),
            "unix_ms" => Some(Self::Milliseconds),
            "unix_us" => Some(Self::Microseconds),
            "unix_ns" => Some(Self::Nanoseconds),
            _ => Self::from_name(name),
        }
    }

    fn per_second(self) -> i64 {
        10_i64.pow(self.places())
    }

    /// How many decimal places of a second it counts.
    fn places(self) -> u32 {
        match self {
            Self::Seconds => 0,
            Self::Milliseconds => 3,
            Self::Microseconds => 6,
            Self::Nanoseconds => 9,
        }
    }

    /// Microseconds since 1970, floored. Years outside 0..=16383 are held to that range, the other
    /// parts of the date stay.
    pub fn to_micros(self, count: i64) -> i64 {
        /// Seconds of 400 years, after which the calendar repeats.
        const CYCLE: i64 = 146_097 * 86_400;
        let per_second = self.per_second();
        let seconds = count.div_euclid(per_second);
        let part = i128::from(count.rem_euclid(per_second)) * i128::from(SECOND) / i128::from(per_second);
        let civil = Civil::from_micros(seconds.rem_euclid(CYCLE) * SECOND + part as i64);
        let year = civil.year + 400 * seconds.div_euclid(CYCLE);
        Civil { year: year.clamp(0, MAX_YEAR), ..civil }.to_micros()
    }

    /// The instant of the decimal text of a number, `1709528767.123456`: exact, where it is in the years 0 to 16383.
    pub fn read(self, text: &[u8]) -> Option<Moment> {
        /// Digits of the whole part: 16384 years have so many nanoseconds.
        const MAX_DIGITS: usize = 21;
        let text = text.trim_ascii();
        let (is_negative, magnitude) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, text),
        };
        let point = magnitude.iter().position(|&byte| byte == b'.').unwrap_or(magnitude.len());
        let (whole, fraction) = (&magnitude[..point], magnitude.get(point + 1..).unwrap_or_default());
        let has_digits = |digits: &[u8]| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        if !has_digits(whole)
            || whole.len() > MAX_DIGITS
            || (point < magnitude.len() && !has_digits(fraction))
        {
            return None;
        }
        let number = |digits: &[u8]| digits.iter().fold(0, |sum, &digit| sum * 10 + i128::from(digit - b'0'));
        // As a whole number of picoseconds or less: nine more places than the microseconds need at most.
        let places = self.places() as usize;
        let kept = &fraction[..fraction.len().min(12)];
        let scaled = number(whole) * 10_i128.pow(12) + number(kept) * 10_i128.pow(12 - kept.len() as u32);
        let scaled = if is_negative { -scaled } else { scaled };
        let per_micro = 10_i128.pow((places + 6) as u32);
        let us = i64::try_from(scaled.div_euclid(per_micro)).ok()?;
        let beyond = fraction.iter().skip(12).any(|&digit| digit != b'0');
        INSTANTS.contains(&us).then_some(Moment { us, is_cut: beyond || scaled.rem_euclid(per_micro) != 0 })
    }

    /// The instant of a double, of which the shortest text that reads back is meant.
    pub fn of_float(self, value: f64) -> Option<Moment> {
        self.read(value.to_string().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        assert_eq!(Unit::Seconds.to_micros(-1), -SECOND);
        assert_eq!(Unit::Milliseconds.to_micros(-1), -1000);
        assert_eq!(Unit::Microseconds.to_micros(-1), -1);
        assert_eq!(Unit::Nanoseconds.to_micros(-1), -1);
        assert_eq!(Unit::Nanoseconds.to_micros(1_634_054_285_123_456_789), 1_634_054_285_123_456);
        assert_eq!(Unit::Seconds.to_micros(i64::MAX), 454_859_508_607_000_000);
        assert_eq!(Civil::from_micros(Unit::Seconds.to_micros(i64::MIN)).year, 0);
    }

    #[test]
    fn decimal_texts() {
        let read = |unit: Unit, text: &str| unit.read(text.as_bytes()).map(|found| (found.us, found.is_cut));
        let us = 1_709_528_767_123_456;
        assert_eq!(read(Unit::Seconds, "1709528767.123456"), Some((us, false)));
        assert_eq!(read(Unit::Seconds, "1709528767.1234560"), Some((us, false)));
        assert_eq!(read(Unit::Seconds, "1709528767.1234567"), Some((us, true)));
        assert_eq!(read(Unit::Milliseconds, "1709528767123.456"), Some((us, false)));
        assert_eq!(read(Unit::Microseconds, "1709528767123456"), Some((us, false)));
        assert_eq!(read(Unit::Nanoseconds, "1709528767123456789"), Some((us, true)));
        assert_eq!(read(Unit::Seconds, "-0.5"), Some((-500_000, false)));
        assert_eq!(read(Unit::Seconds, " 12 "), Some((12 * SECOND, false)));
        for text in ["", "-", "1e9", "1.", ".5", "1_0", "0x10", "999999999999999", "1.5.2", "nan"] {
            assert_eq!(read(Unit::Seconds, text), None, "{text}");
        }
        assert_eq!(Unit::Seconds.of_float(1_709_528_767.123_456), Some(Moment::exact(us)));
        assert_eq!(Unit::Seconds.of_float(f64::NAN), None);
    }
}
