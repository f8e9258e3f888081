//! Instants as logs write them.

use crate::ion::timestamp::{Civil, days_from_civil, recognise};

pub(super) use crate::ion::timestamp::SECOND;

const DAY: i64 = 86_400 * SECOND;
/// Between leap days there are eight years at most.
const YEARS: i64 = 8;
/// No time with a comma is longer.
const MAX_BYTES: usize = "2026-11-27 20:00:01,123456789 +01:00".len();
/// Where a time has its comma.
const COMMA: usize = "2026-11-27 20:00:01".len();

/// The number of a month by its English name of three letters.
fn month(name: &[u8]) -> Option<u32> {
    const NAMES: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    NAMES.chunks_exact(3).position(|known| known == name).map(|at| at as u32 + 1)
}

/// The number that digits are.
fn number(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || digits.len() > 4 {
        return None;
    }
    digits.iter().try_fold(0, |sum, &byte| byte.is_ascii_digit().then(|| sum * 10 + u32::from(byte - b'0')))
}

fn is_day(year: i64, month: u32, day: u32) -> bool {
    let next = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    let days = days_from_civil(next.0, next.1, 1) - days_from_civil(year, month, 1);
    day >= 1 && i64::from(day) <= days
}

/// `hh:mm:ss` as hour, minute and second.
fn clock(text: &[u8]) -> Option<(u32, u32, u32)> {
    let &[h1, h2, b':', m1, m2, b':', s1, s2] = text else { return None };
    let (hour, minute, second) = (number(&[h1, h2])?, number(&[m1, m2])?, number(&[s1, s2])?);
    (hour < 24 && minute < 60 && second <= 60).then_some((hour, minute, second))
}

/// The instant of an access log: `10/Oct/2000:13:55:36 -0700`.
pub(super) fn access(text: &[u8]) -> Option<i64> {
    let (date, rest) = text.split_first_chunk::<20>()?;
    let &[d1, d2, b'/', m1, m2, m3, b'/', y1, y2, y3, y4, b':', ref time @ ..] = date else { return None };
    let (year, month) = (i64::from(number(&[y1, y2, y3, y4])?), month(&[m1, m2, m3])?);
    let day = number(&[d1, d2])?;
    let (hour, minute, second) = clock(time)?;
    let (micros, rest) = fraction(rest)?;
    let offset = match *rest {
        [] => 0,
        [b' ', sign @ (b'+' | b'-'), h1, h2, m1, m2] => {
            let (hours, minutes) = (number(&[h1, h2])?, number(&[m1, m2])?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            i64::from(hours * 60 + minutes) * 60 * if sign == b'+' { 1 } else { -1 }
        }
        _ => return None,
    };
    let civil = Civil { year, month, day, hour, minute, second, micros };
    let us = civil.to_micros() - offset * SECOND;
    (is_day(year, month, day) && Civil::from_micros(us).year >= 0).then_some(us)
}

/// The instant of a field of a log: that of an access log, or `2026-11-27 20:00:01,234`, as programs in Java and
/// Python write it with a comma.
pub(super) fn of_field(text: &[u8]) -> Option<i64> {
    if text.len() > MAX_BYTES || text.get(COMMA) != Some(&b',') {
        return access(text);
    }
    let mut pointed = text.to_vec();
    pointed[COMMA] = b'.';
    recognise(&pointed)
}

/// Microseconds of a fraction behind a point or comma, if there is one, and what is behind it.
fn fraction(text: &[u8]) -> Option<(u32, &[u8])> {
    let [b'.' | b',', rest @ ..] = text else { return Some((0, text)) };
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let digits = |at: usize| if at < count { u32::from(rest[at] - b'0') } else { 0 };
    (1..=9).contains(&count).then(|| ((0..6).fold(0, |sum, at| sum * 10 + digits(at)), &rest[count..]))
}

/// A time at the front of a line of syslog.
pub(super) struct Bsd<'a> {
    pub us: i64,
    /// Whether it has no year.
    pub is_guessed: bool,
    /// What is behind it.
    pub rest: &'a [u8],
}

/// The instant `Oct 11 22:14:15` or `Oct 11 2003 22:14:15`, in UTC.
///
/// Without a year it is that of the last year in which it is at most a day later than `reference`.
pub(super) fn bsd(text: &[u8], reference: i64) -> Option<Bsd<'_>> {
    let (&[m1, m2, m3, b' ', d1, d2, b' '], rest) = text.split_first_chunk::<7>()? else { return None };
    let month = month(&[m1, m2, m3])?;
    let day = number(if d1 == b' ' { std::slice::from_ref(&d2) } else { &text[4..6] })?;
    let (year, rest) = match rest.split_first_chunk::<5>() {
        Some((&[y1, y2, y3, y4, b' '], rest)) => (Some(i64::from(number(&[y1, y2, y3, y4])?)), rest),
        _ => (None, rest),
    };
    let (time, rest) = rest.split_at_checked(8)?;
    let (hour, minute, second) = clock(time)?;
    let (micros, rest) = fraction(rest)?;
    let at = |year| Civil { year, month, day, hour, minute, second, micros }.to_micros();
    let newest = Civil::from_micros(reference.saturating_add(DAY)).year;
    let fits = |&year: &i64| is_day(year, month, day) && at(year) <= reference.saturating_add(DAY);
    let chosen = match year {
        Some(year) => Some(year).filter(|&year| is_day(year, month, day)),
        None => (0..=YEARS).map(|back| newest - back).filter(|&year| year >= 0).find(fits),
    };
    Some(Bsd { us: at(chosen?), is_guessed: year.is_none(), rest })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instant(text: &str) -> i64 {
        recognise(text.as_bytes()).unwrap_or_default()
    }

    #[test]
    fn access_logs() {
        let shown = |text: &str| access(text.as_bytes());
        assert_eq!(shown("10/Oct/2000:13:55:36 -0700"), Some(instant("2000-10-10T20:55:36Z")));
        assert_eq!(shown("29/Feb/2024:00:00:00 +0000"), Some(instant("2024-02-29T00:00:00Z")));
        assert_eq!(shown("10/Oct/2000:13:55:36.25"), Some(instant("2000-10-10T13:55:36.25Z")));
        for text in [
            "29/Feb/2023:00:00:00 +0000",
            "10/Okt/2000:13:55:36 -0700",
            "10/Oct/2000:24:55:36 -0700",
            "10/Oct/2000:13:55:36 -0760",
            "10/Oct/2000:13:55:36 -07000",
            "10/Oct/2000 13:55:36 -0700",
            "01/Jan/0000:00:00:00 +0100",
            "",
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
    }

    #[test]
    fn a_fraction_may_follow_a_comma() {
        for text in ["2026-11-27 20:00:01,234", "2026-11-27T20:00:01,234Z", "2026-11-27 21:00:01,234 +01:00"]
        {
            assert_eq!(of_field(text.as_bytes()), Some(instant("2026-11-27T20:00:01.234Z")), "{text}");
        }
        for text in ["2026-11-27 20:00:01,", "2026-11-27 20:00:01,2,3", "2026-11-27 20:00:01,234 x", ","] {
            assert_eq!(of_field(text.as_bytes()), None, "{text}");
        }
        assert_eq!(of_field(b"10/Oct/2000:13:55:36"), access(b"10/Oct/2000:13:55:36"));
    }

    #[test]
    fn a_year_is_guessed() {
        let reference = instant("2026-01-02T10:00:00Z");
        for (text, expected) in [
            ("Jan  2 09:00:00", "2026-01-02T09:00:00Z"),
            ("Jan  3 09:59:59 x", "2026-01-03T09:59:59Z"),
            ("Jan  3 10:00:01", "2025-01-03T10:00:01Z"),
            ("Dec 31 23:59:59.125", "2025-12-31T23:59:59.125Z"),
            ("Feb 29 00:00:00", "2024-02-29T00:00:00Z"),
            ("Oct 11 2003 22:14:15: x", "2003-10-11T22:14:15Z"),
        ] {
            let found = bsd(text.as_bytes(), reference);
            assert_eq!(found.map(|time| time.us), Some(instant(expected)), "{text}");
        }
        for text in ["Jan  0 09:00:00", "Jan 32 09:00:00", "Jnn  2 09:00:00", "Jan  2 9:00:00", "Jan"] {
            assert!(bsd(text.as_bytes(), reference).is_none(), "{text}");
        }
        assert!(bsd(b"Jan  2 09:00:00", i64::MAX).is_some());
        assert!(bsd(b"Jan  2 09:00:00", i64::MIN).is_none());
    }
}
