//! Texts that can be read in one way only.

use super::moment::Moment;
use super::parts::{Clock, Offset, Scan, is_day, weekday_of};
use super::zone::Zone;
use crate::ion::timestamp::{Civil, is_space, read_head};

/// No form is shorter.
pub(super) const SHORTEST: usize = "20240304T050607".len();
/// None is longer, but for white space around it and digits of fractions.
const LONGEST: usize = 128;

/// With what bytes a time may begin: digits, spaces, and the letters of months and days of the week.
pub(super) const STARTS: [bool; 256] = {
    let mut starts = [false; 256];
    let bytes = b"0123456789 \t\n\x0B\x0C\rADFJMNOSTW";
    let mut at = 0;
    while at < bytes.len() {
        starts[bytes[at] as usize] = true;
        at += 1;
    }
    starts
};

type Date = (i64, u32, u32);

/// The instant that a text is as a whole; it is no shorter than [`SHORTEST`].
pub(super) fn read(text: &[u8], zone: &Zone) -> Option<Moment> {
    usual(text, zone).or_else(|| read_form(text, zone))
}

/// The spelling that most times have, `2024-03-04T05:06:07.123456Z`, which is read at once: what is not quite so
/// is left to the forms.
fn usual(text: &[u8], zone: &Zone) -> Option<Moment> {
    let (head, rest) = text.split_first_chunk::<19>()?;
    let fraction = match rest {
        [fraction @ .., b'Z'] => fraction,
        fraction if zone.is_utc() => fraction,
        _ => return None,
    };
    let micros = match fraction {
        [] => 0,
        [b'.', digits @ ..] if digits.len() <= 6 && !digits.is_empty() => {
            let mut micros = 0;
            for at in 0..6 {
                let digit = digits.get(at).map_or(0, |digit| digit.wrapping_sub(b'0'));
                if digit > 9 {
                    return None;
                }
                micros = micros * 10 + u32::from(digit);
            }
            micros
        }
        _ => return None,
    };
    let civil = Civil { micros, ..read_head(head)? };
    let is_usual = civil.second < 60 && is_day(civil.year, civil.month, civil.day);
    is_usual.then(|| Moment::exact(civil.to_micros()))
}

fn read_form(text: &[u8], zone: &Zone) -> Option<Moment> {
    let text = if is_space(text[0]) || text.last().is_some_and(|&byte| is_space(byte)) {
        trimmed(text)
    } else {
        text
    };
    if text.len() < SHORTEST || text.len() > LONGEST {
        return None;
    }
    // Nearly all texts that are no time end here.
    let scan = Scan { rest: text };
    match (text[0], text[1], text[2], text[3], text[4]) {
        (b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b'-' | b'/') => year_first(scan, zone),
        (b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b'0'..=b'9') if text[8] | 0x20 == b't' => {
            basic(scan, zone)
        }
        (b'0'..=b'9', b'0'..=b'9', b'/' | b'-' | b' ', b'A'..=b'Z', _) => day_first(scan, zone),
        (b'0'..=b'9', b' ', b'A'..=b'Z', ..) => mail(scan, zone),
        (b'A'..=b'Z', b'a'..=b'z', b'a'..=b'z', b',' | b' ', _) => named(scan, zone),
        _ => None,
    }
}

fn trimmed(mut text: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = text
        && is_space(*first)
    {
        text = rest;
    }
    while let [rest @ .., last] = text
        && is_space(*last)
    {
        text = rest;
    }
    text
}

/// `2024-03-04T05:06:07.123Z`, `2024/03/04 05:06:07`, `2024-Mar-04 05:06`.
fn year_first(mut scan: Scan, zone: &Zone) -> Option<Moment> {
    let year = scan.year()?;
    let separator = scan.one_of(b"-/")?;
    let month = scan.number(2, 2).or_else(|| scan.month_name())?;
    scan.byte(separator)?;
    let date = (year, month, scan.number(2, 2)?);
    scan.one_of(b"Tt ")?;
    let clock = scan.clock()?;
    finish(scan, date, clock, zone)
}

/// `2024-03-04`, `2024/03/04`: its midnight.
pub(super) fn date(text: &[u8], zone: &Zone) -> Option<Moment> {
    let mut scan = Scan { rest: text.trim_ascii() };
    let year = scan.year()?;
    let separator = scan.one_of(b"-/")?;
    let month = scan.number(2, 2)?;
    scan.byte(separator)?;
    let date = (year, month, scan.number(2, 2)?);
    scan.is_empty().then(|| Clock::default().on(date, None, zone)).flatten()
}

/// `20240304T050607Z`.
fn basic(mut scan: Scan, zone: &Zone) -> Option<Moment> {
    let date = (scan.year()?, scan.number(2, 2)?, scan.number(2, 2)?);
    scan.one_of(b"Tt")?;
    let (hour, minute, second) = (scan.number(2, 2)?, scan.number(2, 2)?, scan.number(2, 2)?);
    let mut clock = Clock { hour, minute, second, ..Clock::default() };
    scan.fraction(&mut clock)?;
    finish(scan, date, clock.valid()?, zone)
}

/// `04/Mar/2024:05:06:07 +0000`, `04-Mar-2024 05:06:07.123`, or as in mails.
fn day_first(mut scan: Scan, zone: &Zone) -> Option<Moment> {
    if scan.rest[2] == b' ' {
        return mail(scan, zone);
    }
    let day = scan.number(2, 2)?;
    let separator = scan.one_of(b"/-")?;
    let month = scan.month_name()?;
    scan.byte(separator)?;
    let date = (scan.year()?, month, day);
    scan.one_of(b": ")?;
    let clock = scan.clock()?;
    finish(scan, date, clock, zone)
}

/// `4 Mar 2024 05:06:07 +0000`, as in mails behind the day of the week.
fn mail(mut scan: Scan, zone: &Zone) -> Option<Moment> {
    let day = scan.number(1, 2)?;
    let separator = scan.one_of(b" -")?;
    let month = scan.month_name()?;
    scan.byte(separator)?;
    let date = (scan.year()?, month, day);
    scan.byte(b' ')?;
    let clock = scan.clock()?;
    if let Some(offset) = scan.zone_of_mail() {
        return scan.is_empty().then(|| clock.on(date, Some(offset), zone)).flatten();
    }
    finish(scan, date, clock, zone)
}

/// Texts that begin with a name: `Mon, 04 Mar 2024 05:06:07 GMT`, `Mon Mar  4 05:06:07 2024`,
/// `Mar 4, 2024 @ 05:06:07.123`.
fn named(mut scan: Scan, zone: &Zone) -> Option<Moment> {
    let Some(weekday) = scan.weekday() else { return month_first(scan, zone) };
    let fits = |date: Date| weekday_of(date) == weekday;
    if scan.byte(b',').is_some() {
        scan.byte(b' ')?;
        let (found, date) = (mail(scan, zone)?, mail_date(scan)?);
        return fits(date).then_some(found);
    }
    scan.byte(b' ')?;
    let month = scan.month_name()?;
    scan.byte(b' ')?;
    scan.spaces();
    let day = scan.number(1, 2)?;
    scan.byte(b' ')?;
    let clock = scan.clock()?;
    let year_at_once =
        scan.rest.strip_prefix(b" ").is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_digit));
    let offset = if year_at_once { None } else { scan.zone()?.0 };
    scan.byte(b' ')?;
    let date = (scan.year()?, month, day);
    if !fits(date) {
        return None;
    }
    match offset {
        Some(_) => scan.is_empty().then(|| clock.on(date, offset, zone)).flatten(),
        None => finish(scan, date, clock, zone),
    }
}

fn mail_date(mut scan: Scan) -> Option<Date> {
    let day = scan.number(1, 2)?;
    scan.one_of(b" -")?;
    let month = scan.month_name()?;
    scan.one_of(b" -")?;
    Some((scan.year()?, month, day))
}

/// `Mar 4, 2024 @ 05:06:07.123`, `Mar 04, 2024 5:06:07 AM`.
fn month_first(mut scan: Scan, zone: &Zone) -> Option<Moment> {
    let month = scan.month_name()?;
    scan.byte(b' ')?;
    let day = scan.number(1, 2)?;
    scan.word(b", ")?;
    let date = (scan.year()?, month, day);
    let _ = scan.byte(b',');
    scan.byte(b' ')?;
    let _ = scan.word(b"@ ").or_else(|| scan.word(b"at "));
    let hour = scan.number(1, 2)?;
    scan.byte(b':')?;
    let mut clock = scan.clock_behind(hour)?;
    let before = scan;
    scan.spaces();
    if let Some(half) = scan.one_of(b"AP") {
        scan.byte(b'M')?;
        clock = clock.in_half(half == b'P')?;
    } else {
        scan = before;
    }
    finish(scan, date, clock, zone)
}

fn finish(mut scan: Scan, date: Date, clock: Clock, zone: &Zone) -> Option<Moment> {
    let Offset(offset) = scan.zone()?;
    scan.is_empty().then(|| clock.on(date, offset, zone)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_usual_spelling_is_read_as_its_form_reads_it(
            text in "[0-9]{4}-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-6][0-9]:[0-6][0-9](\\.[0-9]{0,8})?(Z|z|\\+01:00)?"
        ) {
            for zone in [Zone::default(), Zone::new(vec![(0, 3600)]).unwrap_or_default()] {
                if let Some(found) = usual(text.as_bytes(), &zone) {
                    prop_assert_eq!(Some(found), read_form(text.as_bytes(), &zone));
                }
            }
        }
    }
}
