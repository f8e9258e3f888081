//! `CloudTrail` files: `{"Records": [...]}` around the records, which are JSON text like any other.

use std::ops::Range;

use memchr::{memchr2, memchr3};

use crate::error::{Error, Result};
use crate::ion::timestamp::is_space;

const KEY: &[u8] = b"\"Records\":";

/// Finds the records of a file as it is read, in constant memory: the wrapper before them and everything
/// after them is left out.
#[derive(Debug, Default)]
pub struct Unwrapper {
    state: State,
    /// Whether only white space may follow the wrapper.
    strict: bool,
    /// Bytes seen so far.
    position: u64,
    /// Bytes before the records.
    prefix: u64,
    /// Ends of lines before the records.
    lines: u64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first bracket.
    #[default]
    Start,
    /// In the key, of which so many bytes were seen.
    Key(usize),
    /// Before the list or record.
    Value,
    /// In it.
    Records(Nesting),
    /// Behind it.
    End,
    /// Behind the last bracket: what follows does not count.
    Done,
}

/// How deep the text is in brackets of the kind that it began with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Nesting {
    open: u8,
    depth: u64,
    in_string: bool,
    /// Whether the next byte is escaped.
    escaped: bool,
}

impl Unwrapper {
    /// Refuses text behind the wrapper, for inputs that were only taken for such a file.
    pub fn strict() -> Self {
        Self { strict: true, ..Self::default() }
    }

    /// Takes the next bytes of a file; gives the part of them that belongs to the records.
    pub fn feed(&mut self, data: &[u8]) -> Result<Range<usize>> {
        let mut range = 0..0;
        let mut at = 0;
        while at < data.len() && (self.strict || self.state != State::Done) {
            if let State::Records(nesting) = &mut self.state {
                let end = nesting.follow(data, at);
                range = at..end.unwrap_or(data.len());
                at = range.end;
                if end.is_some() {
                    self.state = State::End;
                }
            } else {
                at = self.wrapper(data, at).map_err(|error| error.shifted(self.position))?;
            }
        }
        self.position += data.len() as u64;
        Ok(range)
    }

    /// Takes one byte of the wrapper, or the first one of the records.
    fn wrapper(&mut self, data: &[u8], at: usize) -> Result<usize> {
        let byte = data[at];
        if is_space(byte) && !matches!(self.state, State::Key(1..)) {
            self.lines += u64::from(byte == b'\n' && self.state != State::End);
            return Ok(at + 1);
        }
        self.state = match (self.state, byte) {
            (State::Start, b'{') => State::Key(0),
            (State::Key(count), _) if byte == KEY[count] => {
                if count + 1 == KEY.len() {
                    State::Value
                } else {
                    State::Key(count + 1)
                }
            }
            (State::Value, b'[' | b'{') => {
                self.state =
                    State::Records(Nesting { open: byte, depth: 0, in_string: false, escaped: false });
                self.prefix = self.position + at as u64;
                return Ok(at);
            }
            (State::End, b'}') => State::Done,
            (state, _) => {
                return Err(Error::syntax(at, format!("{} was expected", wanted(state))).at_line(self.line()));
            }
        };
        Ok(at + 1)
    }

    /// Where the records begin: bytes and ends of lines before them.
    pub fn prefix(&self) -> (u64, u64) {
        (self.prefix, self.lines)
    }

    /// The line of the wrapper; not known behind the records.
    fn line(&self) -> u64 {
        if matches!(self.state, State::End | State::Done) { 0 } else { self.lines + 1 }
    }

    /// Ends the file. That the records themselves are cut off is for their parser to tell.
    pub fn finish(&self) -> Result<()> {
        match self.state {
            State::Done | State::Records(_) => Ok(()),
            state => {
                let message = format!("the text ends where {} was expected", wanted(state));
                Err(Error::syntax(0, message).shifted(self.position).at_line(self.line()))
            }
        }
    }
}

fn wanted(state: State) -> &'static str {
    match state {
        State::Start => "the '{' of a CloudTrail file",
        State::Key(_) => "\"Records\": as the first field of a CloudTrail file",
        State::Value => "the list of the records",
        State::Records(_) | State::End => "the last '}' of a CloudTrail file",
        State::Done => "the end of the CloudTrail file",
    }
}

impl Nesting {
    /// Goes on at `at`; gives the place behind the last bracket.
    fn follow(&mut self, data: &[u8], mut at: usize) -> Option<usize> {
        let close = self.open + 2;
        while let Some(rest) = data.get(at..).filter(|rest| !rest.is_empty()) {
            if std::mem::take(&mut self.escaped) {
                at += 1;
            } else if self.in_string {
                at += memchr2(b'"', b'\\', rest)?;
                self.in_string = data[at] == b'\\';
                self.escaped = data[at] == b'\\';
                at += 1;
            } else {
                at += memchr3(b'"', self.open, close, rest)?;
                let byte = data[at];
                at += 1;
                if byte == b'"' {
                    self.in_string = true;
                } else if byte == self.open {
                    self.depth += 1;
                } else {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(at);
                    }
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The records of a text that is fed in pieces.
    fn records(text: &[u8], piece: usize) -> Result<Vec<u8>> {
        let (mut unwrapper, mut found) = (Unwrapper::default(), vec![]);
        for data in text.chunks(piece) {
            found.extend_from_slice(&data[unwrapper.feed(data)?]);
        }
        unwrapper.finish()?;
        Ok(found)
    }

    #[test]
    fn records_are_found_in_pieces_of_any_size() {
        let list = br#"[{"a":"]}\"[\\"},{"b":[1,{"c":2}]}]"#;
        for (text, expected) in [
            (&br#"{"Records":[]}"#[..], &b"[]"[..]),
            (b" {\n \"Records\":\t{\"a\":\"}\"} }{\"Records\":5", b"{\"a\":\"}\"}"),
            (&[br#"{"Records": "#, &list[..], b"}]]trailing"].concat(), list),
        ] {
            for piece in 1..text.len() {
                assert_eq!(records(text, piece).as_deref(), Ok(expected), "{piece}");
            }
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "{",
            "[]",
            r#"{"Records" :[]}"#,
            r#"{"records":[]}"#,
            r#"{"Records":5}"#,
            r#"{"Records":"#,
            r#"{"Records":[],"x":1}"#,
            r#"{"Records":[]"#,
            r#"{"Rec ords":[]}"#,
            r#"{"x":1,"Records":[]}"#,
        ] {
            assert!(records(text.as_bytes(), 3).is_err(), "{text}");
        }
        let twice = br#"{"Records":[]} {"Records":[]}"#;
        assert!(Unwrapper::default().feed(twice).is_ok());
        assert!(Unwrapper::strict().feed(twice).is_err());
        let mut unwrapper = Unwrapper::default();
        assert_eq!(unwrapper.feed(b"\n{\n").unwrap_or_default(), 0..0);
        let error = unwrapper.feed(b" \"Other\"").err();
        assert!(matches!(error, Some(Error::Syntax { offset: 5, line: 3, .. })), "{error:?}");
    }
}
