//! Parts of times, taken from the front of a text.

use super::moment::Moment;
use super::zone::Zone;
use crate::ion::timestamp::{Civil, INSTANTS, SECOND, days_from_civil, is_space};

pub(super) const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
pub(super) const WEEKDAYS: &[u8; 21] = b"ThuFriSatSunMonTueWed";
/// Zones that RFC 2822 names, with their hours.
const ZONES: &[(&[u8], i64)] = &[
    (b"EST", -5),
    (b"EDT", -4),
    (b"CST", -6),
    (b"CDT", -5),
    (b"MST", -7),
    (b"MDT", -6),
    (b"PST", -8),
    (b"PDT", -7),
];

/// Whether a month has this day.
pub(crate) fn is_day(year: i64, month: u32, day: u32) -> bool {
    let days = match month {
        2 => 28 + u32::from(year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// The rest of a text that is still to be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scan<'a> {
    pub rest: &'a [u8],
}

/// Seconds east of UTC, of a text that may lack them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offset(pub Option<i64>);

/// A time of day.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Clock {
    pub hour: u32,
    pub minute: u32,
    pub second: u32,
    pub micros: u32,
    pub is_cut: bool,
}

impl Scan<'_> {
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Takes a byte, if it is this one.
    pub fn byte(&mut self, wanted: u8) -> Option<()> {
        self.rest = self.rest.strip_prefix(&[wanted])?;
        Some(())
    }

    /// Takes a byte out of these.
    pub fn one_of(&mut self, wanted: &[u8]) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        wanted.contains(&first).then(|| {
            self.rest = rest;
            first
        })
    }

    /// Takes a word as it is.
    pub fn word(&mut self, wanted: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(wanted)?;
        Some(())
    }

    pub fn spaces(&mut self) {
        let count = self.rest.iter().take_while(|&&byte| is_space(byte)).count();
        self.rest = &self.rest[count..];
    }

    /// Takes a number of `least` to `most` digits.
    pub fn number(&mut self, least: usize, most: usize) -> Option<u32> {
        let count = self.rest.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
        if count < least {
            return None;
        }
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        Some(digits.iter().fold(0, |sum, &digit| sum * 10 + u32::from(digit - b'0')))
    }

    pub fn year(&mut self) -> Option<i64> {
        self.number(4, 4).map(i64::from)
    }

    /// Takes the English name of a month of three letters.
    pub fn month_name(&mut self) -> Option<u32> {
        self.name(MONTHS).map(|at| at + 1)
    }

    /// Takes that of a day of the week: days since Thursday, which 1970 began with.
    pub fn weekday(&mut self) -> Option<u32> {
        self.name(WEEKDAYS)
    }

    /// Takes one of the names of three letters; gives its place.
    pub fn name(&mut self, names: &[u8]) -> Option<u32> {
        let (name, rest) = self.rest.split_first_chunk::<3>()?;
        let at = names.chunks_exact(3).position(|known| known == name)?;
        self.rest = rest;
        Some(at as u32)
    }

    /// Takes `hh:mm[:ss[.fraction]]`, up to 24:00:00; a fraction may follow a comma.
    pub fn clock(&mut self) -> Option<Clock> {
        let hour = self.number(2, 2)?;
        self.byte(b':')?;
        self.clock_behind(hour)
    }

    /// The same with seconds, and what follows them may be anything.
    pub fn clock_with_seconds(&mut self) -> Option<Clock> {
        let has_seconds = self.rest.get(5) == Some(&b':');
        let before = *self;
        has_seconds.then(|| self.clock()).flatten().or_else(|| {
            // What is behind the seconds is no fraction.
            *self = before;
            let (time, rest) = self.rest.split_at_checked(8).filter(|_| has_seconds)?;
            self.rest = rest;
            Scan { rest: time }.clock()
        })
    }

    /// Takes what is behind an hour and its colon.
    pub fn clock_behind(&mut self, hour: u32) -> Option<Clock> {
        let mut clock = Clock { hour, minute: self.number(2, 2)?, ..Clock::default() };
        if self.byte(b':').is_some() {
            clock.second = self.number(2, 2)?;
            self.fraction(&mut clock)?;
        }
        clock.valid()
    }

    /// Takes a fraction of a second, if there is one.
    pub fn fraction(&mut self, clock: &mut Clock) -> Option<()> {
        let [b'.' | b',', digits @ ..] = self.rest else { return Some(()) };
        self.rest = digits;
        self.fraction_digits(clock)
    }

    /// Takes the digits of a fraction: those beyond microseconds are cut.
    pub fn fraction_digits(&mut self, clock: &mut Clock) -> Option<()> {
        let count = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.rest.split_at(count);
        let digit = |at: usize| digits.get(at).map_or(0, |digit| u32::from(digit - b'0'));
        clock.micros = (0..6).fold(0, |sum, at| sum * 10 + digit(at));
        clock.is_cut = digits.iter().skip(6).any(|&digit| digit != b'0');
        self.rest = rest;
        (count > 0).then_some(())
    }

    /// Takes a sign and `hh`, `hhmm` or `hh:mm`: seconds east of UTC.
    pub fn offset(&mut self) -> Option<i64> {
        let sign = self.one_of(b"+-")?;
        let hours = self.number(2, 2)?;
        let has_minutes = self.byte(b':').is_some() || self.rest.first().is_some_and(u8::is_ascii_digit);
        let minutes = if has_minutes { self.number(2, 2)? } else { 0 };
        let seconds = i64::from(hours * 60 + minutes) * 60;
        (hours < 24 && minutes < 60).then_some(if sign == b'+' { seconds } else { -seconds })
    }

    /// Takes a zone with a space before it or not: the offset in seconds, if there is a zone.
    pub fn zone(&mut self) -> Option<Offset> {
        let before = *self;
        self.spaces();
        let offset = if matches!(self.rest, [b'+' | b'-', ..]) {
            let offset = self.offset()?;
            self.zone_comment();
            offset
        } else if self.utc().is_some() {
            0
        } else {
            *self = before;
            return Some(Offset(None));
        };
        self.zone_name_in_brackets();
        Some(Offset(Some(offset)))
    }

    /// Takes a name of UTC.
    fn utc(&mut self) -> Option<()> {
        let names: [&[u8]; 5] = [b"UTC", b"GMT", b"UT", b"Z", b"z"];
        let length = self.rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let name = names.iter().find(|&&name| name == &self.rest[..length])?;
        self.word(name)
    }

    /// Takes a zone of RFC 2822 by its name.
    pub fn zone_of_mail(&mut self) -> Option<i64> {
        let before = *self;
        self.spaces();
        let found = ZONES.iter().find_map(|(name, hours)| self.word(name).map(|()| hours * 3600));
        if found.is_none() {
            *self = before;
        }
        found
    }

    /// Takes what names the zone behind its offset once more: ` UTC`, ` CET`, ` (CET)`.
    fn zone_comment(&mut self) {
        let Some(name) = self.rest.strip_prefix(b" ") else { return };
        let (name, is_closed) = name.strip_prefix(b"(").map_or((name, false), |inner| (inner, true));
        let length = name.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
        let behind = &name[length..];
        let behind = if is_closed { behind.strip_prefix(b")") } else { Some(behind) };
        if let Some(behind) = behind.filter(|_| (2..=5).contains(&length)) {
            self.rest = behind;
        }
    }

    /// Takes `[Europe/Berlin]`, as Java writes it behind an offset.
    fn zone_name_in_brackets(&mut self) {
        let Some(name) = self.rest.strip_prefix(b"[") else { return };
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'_' | b'-' | b'+');
        let length = name.iter().take_while(is_part).count();
        if let Some(behind) = name[length..].strip_prefix(b"]").filter(|_| length > 0) {
            self.rest = behind;
        }
    }
}

impl Clock {
    /// Itself, if there is such a time: second 60 is the next minute, and 24:00:00 the next day.
    pub fn valid(self) -> Option<Self> {
        let is_midnight = self.hour == 24 && self.minute == 0 && self.second == 0 && self.micros == 0;
        let fits = self.hour < 24 && self.minute < 60 && self.second <= 60;
        (fits || is_midnight && !self.is_cut).then_some(self)
    }

    /// The same in a half of the day, `AM` or `PM`.
    pub fn in_half(self, is_afternoon: bool) -> Option<Self> {
        let fits = (1..=12).contains(&self.hour);
        fits.then_some(Self { hour: self.hour % 12 + 12 * u32::from(is_afternoon), ..self })
    }

    /// The instant of a day at this time, in a zone if there is no offset.
    pub fn on(self, date: (i64, u32, u32), offset: Option<i64>, zone: &Zone) -> Option<Moment> {
        let ((year, month, day), Self { hour, minute, second, micros, is_cut }) = (date, self);
        if !is_day(year, month, day) {
            return None;
        }
        let local = Civil { year, month, day, hour, minute, second, micros }.to_micros();
        let us = offset.map_or_else(|| zone.to_utc(local), |offset| local - offset * SECOND);
        INSTANTS.contains(&us).then_some(Moment { us, is_cut })
    }
}

/// Days since Thursday of the weekday of a date.
pub(super) fn weekday_of((year, month, day): (i64, u32, u32)) -> u32 {
    days_from_civil(year, month, i64::from(day)).rem_euclid(7) as u32
}
