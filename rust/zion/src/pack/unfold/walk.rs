//! Ways through a text of JSON that is well-formed as far as brackets and quotes go.

use memchr::memchr2;

use crate::ion::timestamp::Civil;

/// Objects and lists may be nested so deeply; rows have less room.
pub(super) const MOST_DEPTH: u32 = 64;

/// The most members of an object: each takes memory.
const MOST_MEMBERS: usize = 1 << 20;

/// A name with its quotes, and a value.
pub(super) type Member<'t> = (&'t [u8], &'t [u8]);

/// The members of an object; none: it is malformed, or something else.
pub(super) fn members(text: &[u8]) -> Option<Vec<Member<'_>>> {
    let mut found = vec![];
    each(text, (b'{', b'}'), |walk| {
        let name = walk.value()?;
        let is_member = name.first() == Some(&b'"') && walk.next()? == b':' && found.len() < MOST_MEMBERS;
        is_member.then_some(())?;
        walk.at += 1;
        found.push((name, walk.value()?));
        Some(())
    })?;
    Some(found)
}

/// Calls `take` for the elements of a list; none: it is malformed, or something else.
pub(super) fn elements<'t>(text: &'t [u8], mut take: impl FnMut(&'t [u8]) -> Option<()>) -> Option<()> {
    each(text, (b'[', b']'), |walk| take(walk.value()?))
}

/// Appends a list with elements as they are written.
pub(super) fn put_list(
    out: &mut Vec<u8>,
    list: &[u8],
    mut write: impl FnMut(&mut Vec<u8>, &[u8]) -> Option<()>,
) -> Option<()> {
    out.push(b'[');
    let start = out.len();
    elements(list, |element| {
        if out.len() > start {
            out.push(b',');
        }
        write(out, element)
    })?;
    out.push(b']');
    Some(())
}

/// Calls `take` where each item begins between two brackets.
fn each<'t>(
    text: &'t [u8],
    (open, close): (u8, u8),
    mut take: impl FnMut(&mut Walk<'t>) -> Option<()>,
) -> Option<()> {
    let mut walk = Walk { text, at: 0 };
    (walk.next()? == open).then_some(())?;
    walk.at += 1;
    let mut is_over = walk.next()? == close;
    while !is_over {
        take(&mut walk)?;
        is_over = match walk.next()? {
            b',' => false,
            byte if byte == close => true,
            _ => return None,
        };
        walk.at += usize::from(!is_over);
    }
    (walk.at + 1 == text.len()).then_some(())
}

/// The value of a member by its name.
pub(super) fn member<'t>(members: &[Member<'t>], name: &str) -> Option<&'t [u8]> {
    members.iter().find(|(known, _)| is_named(known, name)).map(|(_, value)| *value)
}

/// Whether a name in quotes is one.
pub(super) fn is_named(quoted: &[u8], name: &str) -> bool {
    inside(quoted) == Some(name.as_bytes())
}

/// What a text without escapes has between its quotes.
pub(super) fn inside(text: &[u8]) -> Option<&[u8]> {
    let inner = text.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    memchr::memchr(b'\\', inner).is_none().then_some(inner)
}

/// Appends members with commas between them.
pub(super) fn join<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T) -> Option<()>,
) -> Option<()> {
    for (number, item) in items.into_iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        write(out, item)?;
    }
    Some(())
}

/// Appends an instant in nanoseconds since 1970 as a text: what is beyond microseconds is cut off later, and counted.
pub(super) fn put_instant(out: &mut Vec<u8>, nanoseconds: i128) -> Option<()> {
    let us = i64::try_from(nanoseconds.div_euclid(1000)).ok()?;
    let Civil { year, month, day, hour, minute, second, micros } = Civil::from_micros(us);
    (0..=9999).contains(&year).then_some(())?;
    let beyond = nanoseconds.rem_euclid(1000);
    let beyond = if beyond == 0 { String::new() } else { format!("{beyond:03}") };
    let text =
        format!("\"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}{beyond}Z\"");
    out.extend_from_slice(text.as_bytes());
    Some(())
}

struct Walk<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Walk<'t> {
    /// The next byte that is no white space.
    fn next(&mut self) -> Option<u8> {
        while self.text.get(self.at)?.is_ascii_whitespace() {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    /// The value that comes next, as it stands.
    fn value(&mut self) -> Option<&'t [u8]> {
        let first = self.next()?;
        let start = self.at;
        match first {
            b'"' => self.string()?,
            b'{' | b'[' => self.nested()?,
            _ => {
                let ends =
                    |byte: &u8| matches!(byte, b',' | b'}' | b']' | b':') || byte.is_ascii_whitespace();
                self.at += self.text[self.at..].iter().position(ends)?;
                (self.at > start).then_some(())?;
            }
        }
        self.text.get(start..self.at)
    }

    fn string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            self.at += memchr2(b'"', b'\\', self.text.get(self.at..)?)? + 1;
            if self.text[self.at - 1] == b'"' {
                return Some(());
            }
            self.at += 1;
        }
    }

    fn nested(&mut self) -> Option<()> {
        let mut depth = 0_u32;
        loop {
            match *self.text.get(self.at)? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Some(());
            }
        }
    }
}
