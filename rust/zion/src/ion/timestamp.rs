//! Instants: microseconds since 1970 in UTC, their Ion form, and the texts that are taken for one.

use super::varuint;
use crate::error::{Error, Result};

/// Microseconds of a second.
pub const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400;
/// The last year that the stored form can hold.
pub const MAX_YEAR: i64 = 16_383;
/// The first and the last instant of the years 0 to 16383, which it can hold.
pub const INSTANTS: std::ops::RangeInclusive<i64> = -62_167_219_200_000_000..=454_861_871_999_999_999;

/// A moment in the proleptic Gregorian calendar, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Civil {
    /// The year, from 0.
    pub year: i64,
    /// The month, from 1.
    pub month: u32,
    /// The day of the month, from 1.
    pub day: u32,
    /// The hour, 0 to 23.
    pub hour: u32,
    /// The minute, 0 to 59.
    pub minute: u32,
    /// The second, 0 to 59.
    pub second: u32,
    /// Microseconds of the second.
    pub micros: u32,
}

/// Days since 1970-01-01 of a date; any day number is carried over.
pub fn days_from_civil(year: i64, month: u32, day: i64) -> i64 {
    let shifted = year - i64::from(month <= 2);
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let of_year = (153 * ((i64::from(month) + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

impl Civil {
    /// The parts of an instant in microseconds since 1970.
    pub fn from_micros(us: i64) -> Self {
        let micros = us.rem_euclid(SECOND) as u32;
        let seconds = us.div_euclid(SECOND);
        let (days, of_day) = (seconds.div_euclid(DAY) + 719_468, seconds.rem_euclid(DAY) as u32);
        let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * of_year + 2) / 153;
        let day = (of_year - (153 * shifted + 2) / 5 + 1) as u32;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 } as u32;
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Self { year, month, day, hour: of_day / 3600, minute: of_day / 60 % 60, second: of_day % 60, micros }
    }

    /// Microseconds since 1970; parts out of their range are carried over.
    pub fn to_micros(self) -> i64 {
        let days = days_from_civil(self.year, self.month, i64::from(self.day));
        let seconds =
            days * DAY + i64::from(self.hour) * 3600 + i64::from(self.minute) * 60 + i64::from(self.second);
        seconds * SECOND + i64::from(self.micros)
    }
}

/// Appends the canonical timestamp: 9 bytes, or 13 with a fraction. Years are held to 0..=16383.
#[inline]
pub fn put(out: &mut Vec<u8>, us: i64) {
    let civil = Civil::from_micros(us);
    let year = civil.year.clamp(0, MAX_YEAR) as u16;
    let short = [
        if civil.micros == 0 { 0x68 } else { 0x6C },
        0x80,
        (year >> 7) as u8,
        (year & 0x7F) as u8 | 0x80,
        civil.month as u8 | 0x80,
        civil.day as u8 | 0x80,
        civil.hour as u8 | 0x80,
        civil.minute as u8 | 0x80,
        civil.second as u8 | 0x80,
    ];
    out.extend_from_slice(&short);
    if civil.micros != 0 {
        let fraction = civil.micros.to_be_bytes();
        out.extend_from_slice(&[0xC6, fraction[1], fraction[2], fraction[3]]);
    }
}

/// Reads the content of a timestamp value (without its header), canonical or not.
#[inline]
pub fn read(body: &[u8], at: usize) -> Result<i64> {
    match *body {
        [0x80, high, low, month, day, hour, minute, second]
            if high & 0x80 == 0 && low & month & 0x80 != 0 =>
        {
            Ok(canonical(high, [low, month, day, hour, minute, second]).to_micros())
        }
        [0x80, high, low, month, day, hour, minute, second, 0xC6, a, b, c]
            if high & 0x80 == 0 && low & month & 0x80 != 0 =>
        {
            let civil = canonical(high, [low, month, day, hour, minute, second]);
            Ok(Civil { micros: u32::from_be_bytes([0, a, b, c]), ..civil }.to_micros())
        }
        _ => read_foreign(body, at),
    }
}

#[inline]
fn canonical(high: u8, rest: [u8; 6]) -> Civil {
    let [low, month, day, hour, minute, second] = rest.map(|byte| u32::from(byte & 0x7F));
    Civil { year: i64::from(high) << 7 | i64::from(low), month, day, hour, minute, second, micros: 0 }
}

/// Any Ion timestamp: missing parts take their first value, the offset is ignored, and of the fraction
/// only exponents -6 and -9 count.
fn read_foreign(body: &[u8], at: usize) -> Result<i64> {
    let cut = || Error::corrupt("ion", at, "a timestamp that is cut off");
    let offset_size = body.iter().position(|byte| byte & 0x80 != 0).ok_or_else(cut)? + 1;
    let mut cursor = offset_size;
    let mut parts = [1970, 1, 1, 0, 0, 0];
    for part in &mut parts {
        if cursor == body.len() {
            break;
        }
        let (value, next) = varuint::read(body, cursor).map_err(|_| cut())?;
        *part = value;
        cursor = next;
    }
    let [year, month, day, hour, minute, second] = parts;
    if year > MAX_YEAR as u64 || parts[1..].iter().any(|&part| part > 1 << 20) {
        return Err(Error::corrupt("ion", at, "a timestamp out of range"));
    }
    let micros = match body.get(cursor..) {
        Some([0xC6, digits @ ..]) => super::magnitude(digits, at)?,
        Some([0xC9, digits @ ..]) => super::magnitude(digits, at)? / 1000,
        _ => 0,
    };
    let months = year as i64 * 12 + month as i64 - 1;
    let civil = Civil {
        year: months.div_euclid(12),
        month: months.rem_euclid(12) as u32 + 1,
        day: day as u32,
        hour: hour as u32,
        minute: minute as u32,
        second: second as u32,
        micros: 0,
    };
    let micros = i64::try_from(micros).map_err(|_| Error::corrupt("ion", at, "a fraction out of range"))?;
    civil.to_micros().checked_add(micros).ok_or_else(|| Error::corrupt("ion", at, "a fraction out of range"))
}

/// A quick look at a string value, which nearly all that are no timestamps fail.
#[inline]
pub fn may_be(text: &[u8]) -> bool {
    text.len() >= 19 && text.first().is_some_and(|&byte| byte.is_ascii_digit() || is_space(byte))
}

/// The instant that a string value stands for, if as a whole it is a timestamp (floored to µs).
///
/// `ws* YYYY-MM-DD (T| )hh:mm:ss[.f{1,9}] [Z | ws?(+|-)hh:mm] ws*`
pub fn recognise(text: &[u8]) -> Option<i64> {
    if !may_be(text) {
        return None;
    }
    let text = if is_space(text[0]) { text.trim_ascii_start_vt() } else { text };
    let (head, rest) = text.split_first_chunk::<19>()?;
    let civil = read_head(head)?;
    if rest == b"Z" {
        return Some(civil.to_micros());
    }
    recognise_tail(civil, rest)
}

/// Reads `YYYY-MM-DD (T| )hh:mm:ss`: a month may have 31 days, and a minute 61 seconds.
#[inline]
pub fn read_head(head: &[u8; 19]) -> Option<Civil> {
    if head[4] != b'-' || head[7] != b'-' || head[13] != b':' || head[16] != b':' {
        return None;
    }
    if head[10] != b'T' && head[10] != b' ' {
        return None;
    }
    let two = |at: usize| -> Option<u32> {
        let (tens, ones) = (head[at].wrapping_sub(b'0'), head[at + 1].wrapping_sub(b'0'));
        (tens < 10 && ones < 10).then(|| u32::from(tens) * 10 + u32::from(ones))
    };
    let civil = Civil {
        year: i64::from(two(0)? * 100 + two(2)?),
        month: two(5)?,
        day: two(8)?,
        hour: two(11)?,
        minute: two(14)?,
        second: two(17)?,
        micros: 0,
    };
    let fits = (1..=12).contains(&civil.month)
        && (1..=31).contains(&civil.day)
        && civil.hour <= 23
        && civil.minute <= 59
        && civil.second <= 60;
    fits.then_some(civil)
}

fn recognise_tail(civil: Civil, mut rest: &[u8]) -> Option<i64> {
    let mut micros = 0;
    if let Some(fraction) = rest.strip_prefix(b".") {
        let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=9).contains(&digits) {
            return None;
        }
        for index in 0..6 {
            micros = micros * 10 + if index < digits { i64::from(fraction[index] - b'0') } else { 0 };
        }
        rest = &fraction[digits..];
    }
    let mut offset = 0;
    if let Some(after) = rest.strip_prefix(b"Z") {
        rest = after;
    } else {
        let after_space = match rest.split_first() {
            Some((&byte, after)) if is_space(byte) => after,
            _ => rest,
        };
        if let Some((sign @ (b'+' | b'-'), zone)) = after_space.split_first() {
            let (&[h1, h2, b':', m1, m2], after) = zone.split_first_chunk::<5>()? else { return None };
            if ![h1, h2, m1, m2].iter().all(u8::is_ascii_digit) {
                return None;
            }
            let hours = i64::from(h1 - b'0') * 10 + i64::from(h2 - b'0');
            let minutes = i64::from(m1 - b'0') * 10 + i64::from(m2 - b'0');
            if hours > 23 || minutes > 59 {
                return None;
            }
            offset = (hours * 60 + minutes) * 60 * if *sign == b'+' { 1 } else { -1 };
            rest = after;
        }
    }
    if !rest.iter().all(|&byte| is_space(byte)) {
        return None;
    }
    // What an offset moves out of the years that are stored stays text; four digits cannot go above 16383.
    Some(civil.to_micros() - offset * SECOND + micros).filter(|us| INSTANTS.contains(us))
}

/// White space of the text formats: space, tab, LF, CR, VT, FF.
#[inline]
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | 0x09..=0x0D)
}

trait TrimVt {
    fn trim_ascii_start_vt(&self) -> &Self;
}

impl TrimVt for [u8] {
    fn trim_ascii_start_vt(&self) -> &Self {
        let skip = self.iter().take_while(|&&byte| is_space(byte)).count();
        &self[skip..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_micros_agree() {
        for us in [0, -1, 1_609_556_645_678_901, -62_167_219_200_000_000, 253_402_300_799_999_999] {
            assert_eq!(Civil::from_micros(us).to_micros(), us);
        }
    }

    #[test]
    fn the_example_of_the_format() -> Result<()> {
        let us = recognise(b"2021-01-02T03:04:05.678901Z").unwrap_or_default();
        let mut out = vec![];
        put(&mut out, us);
        assert_eq!(out, [0x6C, 0x80, 0x0F, 0xE5, 0x81, 0x82, 0x83, 0x84, 0x85, 0xC6, 0x0A, 0x5B, 0xF5]);
        assert_eq!(read(&out[1..], 0)?, us);
        Ok(())
    }

    #[test]
    fn no_offset_leads_out_of_the_years() {
        for text in
            ["0000-01-01T00:30:00+01:00", "0000-01-01T00:00:00+00:01", "0000-01-01 22:59:59.999999999+23:00"]
        {
            assert_eq!(recognise(text.as_bytes()), None, "{text}");
        }
        for text in ["0000-01-01T01:00:00+01:00", "0000-01-01T00:00:00-00:01", "9999-12-31T23:59:59-23:59"] {
            assert!(recognise(text.as_bytes()).is_some(), "{text}");
        }
    }

    #[test]
    fn foreign_forms() -> Result<()> {
        assert_eq!(read(&[0xC0, 0x0F, 0xE5], 0)?, recognise(b"2021-01-01T00:00:00Z").unwrap_or_default());
        assert!(read(&[], 0).is_err());
        assert!(read(&[0x80, 0x0F], 0).is_err());
        Ok(())
    }
}
