//! Ways through a text of JSON that is well-formed as far as brackets and quotes go.

use memchr::memchr2;

use crate::ion::timestamp::Civil;

/// Objects and lists may be nested so deeply; rows have less room.
pub(super) const MOST_DEPTH: u32 = 64;

/// The members of an object, or the elements of a list: names with their quotes, and values; none where it is neither.
pub(super) fn members(text: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut found = vec![];
    let mut walk = Walk { text, at: 0 };
    let is_object = match walk.next()? {
        b'{' => true,
        b'[' => false,
        _ => return None,
    };
    walk.at += 1;
    if matches!(walk.next()?, b'}' | b']') {
        return Some(found);
    }
    loop {
        let name = if is_object { walk.value()? } else { &[][..] };
        if is_object {
            if name.first() != Some(&b'"') || walk.next()? != b':' {
                return None;
            }
            walk.at += 1;
        }
        found.push((name, walk.value()?));
        match walk.next()? {
            b',' => walk.at += 1,
            b'}' if is_object => return Some(found),
            b']' if !is_object => return Some(found),
            _ => return None,
        }
    }
}

/// The value of a member by its name.
pub(super) fn member<'t>(members: &[(&[u8], &'t [u8])], name: &str) -> Option<&'t [u8]> {
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
