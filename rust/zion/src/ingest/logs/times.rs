//! Instants as logs write them.

use crate::ion::timestamp::Civil;
use crate::times::{Clock, Scan, is_day};

pub(super) use crate::ion::timestamp::SECOND;

const DAY: i64 = 86_400 * SECOND;
/// Between leap days there are eight years at most.
const YEARS: i64 = 8;
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
    let mut scan = Scan { rest: text };
    let month = scan.month_name()?;
    scan.byte(b' ')?;
    scan.spaces();
    let day = scan.number(1, 2)?;
    scan.byte(b' ')?;
    let is_clock = scan.rest.get(2) == Some(&b':');
    let year = if is_clock { None } else { Some(scan.year()?) };
    if !is_clock {
        scan.byte(b' ')?;
    }
    let Clock { hour, minute, second, micros, .. } = scan.clock_with_seconds()?;
    let rest = scan.rest;
    let at = |year| Civil { year, month, day, hour, minute, second, micros }.to_micros();
    let us = match year {
        Some(year) => is_day(year, month, day).then(|| at(year))?,
        None => last_year((month, day), reference, at)?,
    };
    Some(Bsd { us, is_guessed: year.is_none(), rest })
}

/// The instant `0304 05:06:07.123456` of klog, in UTC, in the last year in which it fits.
pub(super) fn numbered(text: &[u8], reference: i64) -> Option<i64> {
    let mut scan = Scan { rest: text };
    let (month, day) = (scan.number(2, 2)?, scan.number(2, 2)?);
    scan.byte(b' ')?;
    let Clock { hour, minute, second, micros, .. } = scan.clock()?;
    let at = |year| Civil { year, month, day, hour, minute, second, micros }.to_micros();
    scan.is_empty().then(|| last_year((month, day), reference, at)).flatten()
}

/// The instant in the last year that has the day, and in which it is at most a day later than `reference`.
fn last_year((month, day): (u32, u32), reference: i64, at: impl Fn(i64) -> i64) -> Option<i64> {
    let newest = Civil::from_micros(reference.saturating_add(DAY)).year;
    let fits = |&year: &i64| is_day(year, month, day) && at(year) <= reference.saturating_add(DAY);
    (0..=YEARS).map(|back| newest - back).filter(|&year| year >= 0).find(fits).map(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instant(text: &str) -> i64 {
        crate::ion::timestamp::recognise(text.as_bytes()).unwrap_or_default()
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
