//! Times whose form a user describes, in the words of `strptime`.

use super::epoch::Unit;
use super::moment::Moment;
use super::parts::{Clock, MONTHS, Scan, WEEKDAYS, is_day};
use super::zone::Zone;
use crate::error::{Error, Result};
use crate::ion::timestamp::{Civil, SECOND, days_from_civil};

/// A form: what is to be read, from left to right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    items: Vec<Item>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    Byte(u8),
    Spaces,
    /// The letter of a directive.
    Field(u8),
}

/// What was read so far.
#[derive(Default)]
struct Read {
    year: Option<i64>,
    month: Option<u32>,
    day: Option<u32>,
    day_of_year: Option<u32>,
    clock: Clock,
    is_afternoon: Option<bool>,
    offset: Option<i64>,
    unix: Option<Moment>,
}

impl Pattern {
    /// Reads a form such as `%d/%m/%Y %H:%M`.
    pub fn new(text: &str) -> Result<Self> {
        let bad = |problem: &str| Error::argument(format!("the form of times {text:?}: {problem}"));
        let mut items = vec![];
        let mut bytes = text.bytes();
        while let Some(byte) = bytes.next() {
            match byte {
                b'%' => match bytes.next() {
                    Some(b'%') => items.push(Item::Byte(b'%')),
                    Some(letter) => items.extend(expanded(letter).ok_or_else(|| {
                        bad(&format!("%{} is unknown; known are {KNOWN}", char::from(letter)))
                    })?),
                    None => return Err(bad("it ends with %")),
                },
                byte if byte.is_ascii_whitespace() => items.push(Item::Spaces),
                byte => items.push(Item::Byte(byte)),
            }
        }
        let has = |letters: &[u8]| {
            items.iter().any(|item| matches!(item, Item::Field(letter) if letters.contains(letter)))
        };
        let has_day = has(b"j") || has(b"mb") && has(b"d");
        if !(has(b"s") || has(b"Yy") && has_day) {
            return Err(bad("it needs a year, a month and a day, or %s"));
        }
        if has(b"I") != has(b"p") {
            return Err(bad("%I and %p are needed together"));
        }
        Ok(Self { items })
    }

    /// The instant that a text is as a whole.
    pub fn read(&self, text: &[u8], zone: &Zone) -> Option<Moment> {
        let (mut scan, mut read) = (Scan { rest: text }, Read::default());
        scan.spaces();
        for item in &self.items {
            match *item {
                Item::Byte(byte) => scan.byte(byte)?,
                Item::Spaces => scan.spaces(),
                Item::Field(letter) => read.field(letter, &mut scan)?,
            }
        }
        scan.spaces();
        scan.is_empty().then(|| read.moment(zone)).flatten()
    }
}

const KNOWN: &str = "%Y %y %m %d %e %b %B %h %j %H %I %M %S %f %p %z %Z %a %A %s %T %D %F %R %%";

/// What a directive stands for.
fn expanded(letter: u8) -> Option<Vec<Item>> {
    let simple = match letter {
        b'e' => b'd',
        b'B' | b'h' => b'b',
        b'A' => b'a',
        b'k' => b'H',
        b'l' => b'I',
        other => other,
    };
    match simple {
        b'T' => Some(separated(b"HMS", b':')),
        b'R' => Some(separated(b"HM", b':')),
        b'D' => Some(separated(b"mdy", b'/')),
        b'F' => Some(separated(b"Ymd", b'-')),
        b'n' | b't' => Some(vec![Item::Spaces]),
        letter if b"YymdbjHIMSfpzZas".contains(&letter) => Some(vec![Item::Field(letter)]),
        _ => None,
    }
}

fn separated(letters: &[u8], by: u8) -> Vec<Item> {
    let both = letters.iter().flat_map(|&letter| [Item::Byte(by), Item::Field(letter)]);
    both.skip(1).collect()
}

impl Read {
    fn field(&mut self, letter: u8, scan: &mut Scan) -> Option<()> {
        match letter {
            b'Y' => self.year = Some(scan.year()?),
            b'y' => {
                let year = i64::from(scan.number(2, 2)?);
                self.year = Some(year + if year < 69 { 2000 } else { 1900 });
            }
            b'm' => self.month = Some(scan.number(1, 2)?),
            b'd' => {
                scan.spaces();
                self.day = Some(scan.number(1, 2)?);
            }
            b'j' => self.day_of_year = Some(scan.number(1, 3)?),
            b'b' => {
                self.month = Some(name(scan, MONTHS, &MONTH_ENDS)? + 1);
            }
            b'a' => {
                name(scan, WEEKDAYS, &WEEKDAY_ENDS)?;
            }
            b'H' | b'I' => {
                scan.spaces();
                self.clock.hour = scan.number(1, 2)?;
            }
            b'M' => self.clock.minute = scan.number(1, 2)?,
            b'S' => self.clock.second = scan.number(1, 2)?,
            b'f' => scan.fraction_digits(&mut self.clock)?,
            b'p' => {
                let half = scan.one_of(b"AaPp")?;
                scan.one_of(b"Mm")?;
                self.is_afternoon = Some(half | 0x20 == b'p');
            }
            b'z' | b'Z' => self.offset = Some(scan.zone()?.0?),
            b's' => {
                let length = scan.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let (digits, rest) = scan.rest.split_at(length);
                (self.unix, scan.rest) = (Some(Unit::Seconds.read(digits)?), rest);
            }
            _ => return None,
        }
        Some(())
    }

    fn moment(self, zone: &Zone) -> Option<Moment> {
        let mut clock = self.clock;
        if let Some(Moment { us, .. }) = self.unix {
            return Some(Moment { us: us + i64::from(clock.micros), is_cut: clock.is_cut });
        }
        if let Some(is_afternoon) = self.is_afternoon {
            clock = clock.in_half(is_afternoon)?;
        }
        let year = self.year?;
        let date = match self.day_of_year {
            Some(day) => {
                let days = days_from_civil(year, 1, i64::from(day));
                let civil = Civil::from_micros(days.checked_mul(86_400 * SECOND)?);
                (civil.year == year && day > 0).then_some((year, civil.month, civil.day))?
            }
            None => (year, self.month?, self.day?),
        };
        let (year, month, day) = date;
        is_day(year, month, day).then(|| clock.valid()?.on(date, self.offset, zone)).flatten()
    }
}

/// What long names have behind their first three letters.
const MONTH_ENDS: [&[u8]; 11] =
    [b"uary", b"ruary", b"ch", b"il", b"e", b"y", b"ust", b"tember", b"ober", b"ember", b"t"];
const WEEKDAY_ENDS: [&[u8]; 5] = [b"day", b"sday", b"nesday", b"rsday", b"urday"];

/// Takes a name, short or long, in any case.
fn name(scan: &mut Scan, names: &[u8], ends: &[&[u8]]) -> Option<u32> {
    let mut letters = *scan.rest.first_chunk::<3>()?;
    letters.make_ascii_lowercase();
    letters[0].make_ascii_uppercase();
    let found = Scan { rest: &letters }.name(names)?;
    let rest = &scan.rest[3..];
    let end =
        ends.iter().filter(|end| rest.len() >= end.len() && rest[..end.len()].eq_ignore_ascii_case(end));
    let length = end.map(|end| end.len()).max().unwrap_or(0);
    scan.rest = &rest[length..];
    Some(found)
}
