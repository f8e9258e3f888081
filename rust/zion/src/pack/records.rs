//! Objects around records: `{"Records": [...]}` of `CloudTrail`, `{"hits": {"hits": [...]}}`, and others. The
//! records are JSON text like any other; all that stands around them is left out, in constant memory.

use std::collections::BTreeSet;
use std::ops::Range;

use memchr::{memchr2, memchr3};

use crate::error::{Error, Result};
use crate::ion::timestamp::is_space;

/// The most names of left out members that are kept, and of each so many bytes.
const MOST_NAMES: usize = 5;
const NAME_BYTES: usize = 64;

/// Which objects are around the records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrapper {
    /// The names of the members, from the outermost on, that hold the list of the records.
    path: Vec<Vec<u8>>,
    /// Other names that the first one may have.
    others: &'static [&'static str],
    /// Whether the list is all that the object may have, and what stands behind it does not count: so the original
    /// reads files that are named `CloudTrail`.
    is_bare: bool,
}

impl Wrapper {
    /// The wrapper of files that are named `CloudTrail`.
    pub fn cloudtrail() -> Self {
        Self { path: vec![b"Records".to_vec()], others: &[], is_bare: true }
    }

    /// One of a list that has one of these names.
    pub fn of_lists(names: &'static [&'static str]) -> Self {
        let path = names.iter().take(1).map(|name| name.as_bytes().to_vec()).collect();
        Self { path, others: names, is_bare: false }
    }

    /// One of a path, whose names have dots between them; lists on the way are gone through.
    pub fn of_path(path: &str) -> Result<Self> {
        let names = path.split('.').map(|name| name.trim_end_matches("[]"));
        let path: Vec<_> = names.map(|name| name.as_bytes().to_vec()).collect();
        if path.iter().any(Vec::is_empty) || path.len() > 16 {
            return Err(Error::argument("records: a path of names such as hits.hits was expected"));
        }
        Ok(Self { path, others: &[], is_bare: false })
    }

    fn text(&self) -> String {
        if !self.others.is_empty() {
            return self.others.join(" or ");
        }
        String::from_utf8_lossy(&self.path.join(&b'.')).into_owned()
    }
}

/// Finds the records of a text as it is read.
#[derive(Debug)]
pub struct Unwrapper {
    wrapper: Wrapper,
    state: State,
    /// The objects and lists around the place, with the number of names that lead to them.
    around: Vec<Around>,
    /// The name at hand, or its start.
    name: Vec<u8>,
    /// Whether the value at hand is that of the next name of the path.
    is_meant: bool,
    /// Whether the document at hand has the records.
    is_found: bool,
    /// Bytes of the text before the piece at hand.
    position: u64,
    /// Bytes and ends of lines that were left out since the last records.
    skipped: (u64, u64),
    /// Whether there were records before.
    has_begun: bool,
    /// Members that are left out.
    left_out: BTreeSet<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Around {
    Object(usize),
    List(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first member or element, or between documents.
    Open,
    /// Behind a comma.
    Next,
    /// In a name.
    Name {
        escaped: bool,
    },
    /// Behind it.
    Colon,
    Value,
    /// In an object or list: the records, or what is left out.
    Inside {
        nesting: Nesting,
        is_records: bool,
    },
    /// In a text that is left out.
    Text {
        escaped: bool,
    },
    /// In a number or word that is left out.
    Word,
    /// Behind a value.
    Behind,
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

/// A piece of the records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Bytes before it that are left out, and ends of lines in them.
    pub skipped: (u64, u64),
    /// Where it is.
    pub range: Range<usize>,
}

impl Unwrapper {
    /// At the start of a text.
    pub fn new(wrapper: Wrapper) -> Self {
        Self {
            wrapper,
            state: State::Open,
            around: vec![],
            name: vec![],
            is_meant: false,
            is_found: false,
            position: 0,
            skipped: (0, 0),
            has_begun: false,
            left_out: BTreeSet::new(),
        }
    }

    /// The next piece of the records in `data` at or after `at`, which is moved behind it; none: go on with more data.
    pub fn next(&mut self, data: &[u8], at: &mut usize) -> Result<Option<Piece>> {
        let start = *at;
        while *at < data.len() {
            let from = *at;
            match &mut self.state {
                State::Done => *at = data.len(),
                State::Inside { nesting, is_records } => {
                    let (is_records, end) = (*is_records, nesting.follow(data, from));
                    *at = end.unwrap_or(data.len());
                    if end.is_some() {
                        self.state = State::Behind;
                    }
                    if is_records {
                        self.skip(&data[start..from]);
                        self.has_begun = true;
                        let skipped = std::mem::take(&mut self.skipped);
                        return Ok(Some(Piece { skipped, range: from..*at }));
                    }
                }
                _ => {
                    let taken = self.step(data[from]);
                    *at += taken.map_err(|error| {
                        let line =
                            memchr::memchr_iter(b'\n', &data[..from]).count() as u64 + self.skipped.1 + 1;
                        let line = if self.has_begun { 0 } else { line };
                        error.shifted(self.position + from as u64).at_line(line)
                    })?;
                }
            }
        }
        self.skip(&data[start..]);
        self.position += data.len() as u64;
        Ok(None)
    }

    fn skip(&mut self, data: &[u8]) {
        self.skipped.0 += data.len() as u64;
        self.skipped.1 += memchr::memchr_iter(b'\n', data).count() as u64;
    }

    /// Takes a byte around the records, or leaves it to the next state; gives how many were taken.
    fn step(&mut self, byte: u8) -> Result<usize> {
        match &mut self.state {
            State::Name { escaped } => {
                let is_end = byte == b'"' && !*escaped;
                *escaped = byte == b'\\' && !*escaped;
                if is_end {
                    self.end_name();
                    if self.wrapper.is_bare && !self.is_meant {
                        return Err(self.unexpected());
                    }
                } else if self.name.len() < NAME_BYTES {
                    self.name.push(byte);
                }
                if self.wrapper.is_bare && !self.wrapper.path[0].starts_with(&self.name) {
                    return Err(self.unexpected());
                }
                return Ok(1);
            }
            State::Text { escaped } => {
                let is_end = byte == b'"' && !*escaped;
                *escaped = byte == b'\\' && !*escaped;
                if is_end {
                    self.state = State::Behind;
                }
                return Ok(1);
            }
            State::Word if !is_space(byte) && !matches!(byte, b',' | b']' | b'}') => return Ok(1),
            State::Word => self.state = State::Behind,
            _ => {}
        }
        if is_space(byte) && !(self.wrapper.is_bare && self.state == State::Colon)
            || self.around.is_empty() && matches!(byte, 0xEF | 0xBB | 0xBF)
        {
            return Ok(1);
        }
        self.punctuation(byte)
    }

    fn punctuation(&mut self, byte: u8) -> Result<usize> {
        let is_bare = self.wrapper.is_bare;
        match (self.state, self.around.last(), byte) {
            (State::Open | State::Next, Some(Around::Object(_)), b'"') => {
                self.name.clear();
                self.state = State::Name { escaped: false };
            }
            (State::Colon, _, b':') => self.state = State::Value,
            (State::Value, _, _) => return self.value(byte),
            (State::Open | State::Next, Some(Around::List(level)), b'{') => {
                self.is_found &= *level > 0;
                self.enter(Around::Object(*level));
            }
            (State::Open, None, b'{') => {
                self.is_found = false;
                self.enter(Around::Object(0));
            }
            (State::Open, None, b'[') if !is_bare => self.enter(Around::List(0)),
            (State::Behind, Some(_), b',') if !is_bare => self.state = State::Next,
            (State::Behind | State::Open, Some(Around::Object(level)), b'}') => {
                if *level == 0 && !self.is_found {
                    return Err(self.unexpected());
                }
                self.leave();
            }
            (State::Behind | State::Open, Some(Around::List(_)), b']') => self.leave(),
            _ => return Err(self.unexpected()),
        }
        Ok(1)
    }

    fn end_name(&mut self) {
        let level = match self.around.last() {
            Some(Around::Object(level)) => *level,
            _ => 0,
        };
        let is_other = |name: &&str| name.as_bytes() == self.name;
        self.is_meant = self.wrapper.path.get(level).is_some_and(|name| **name == *self.name)
            || level == 0 && self.wrapper.others.iter().any(is_other);
        if !self.is_meant && self.left_out.len() < MOST_NAMES {
            self.left_out.insert(self.name.clone());
        }
        self.state = State::Colon;
    }

    fn enter(&mut self, around: Around) {
        self.around.push(around);
        self.state = State::Open;
    }

    fn leave(&mut self) {
        self.around.pop();
        self.state = match self.around.last() {
            Some(_) => State::Behind,
            None if self.wrapper.is_bare => State::Done,
            None => State::Open,
        };
    }

    /// The first byte of a value.
    fn value(&mut self, byte: u8) -> Result<usize> {
        let level = self.around.iter().filter(|around| matches!(around, Around::Object(_))).count();
        let is_last = level == self.wrapper.path.len();
        let nesting = Nesting { open: byte, depth: 0, in_string: false, escaped: false };
        match byte {
            b'[' | b'{' if self.is_meant && is_last => {
                self.is_found = true;
                self.state = State::Inside { nesting, is_records: true };
                return Ok(0);
            }
            b'n' if self.is_meant && !self.wrapper.is_bare => {
                self.is_found = true;
                self.state = State::Word;
            }
            _ if self.is_meant && is_last => return Err(self.unexpected()),
            b'{' if self.is_meant => self.enter(Around::Object(level)),
            b'[' if self.is_meant => {
                self.is_found = true;
                self.enter(Around::List(level));
            }
            b'[' | b'{' => {
                self.state = State::Inside { nesting, is_records: false };
                return Ok(0);
            }
            b'"' => self.state = State::Text { escaped: false },
            b',' | b'}' | b']' | b':' => return Err(self.unexpected()),
            _ => self.state = State::Word,
        }
        Ok(1)
    }

    /// Ends the text. That the records themselves are cut off is for their parser to tell.
    pub fn finish(&self) -> Result<()> {
        let is_over = match self.state {
            State::Done | State::Inside { is_records: true, .. } => true,
            State::Open => self.around.is_empty() && !self.wrapper.is_bare,
            _ => false,
        };
        if is_over {
            return Ok(());
        }
        let message = format!("the text ends where {} was expected", self.wanted());
        let line = if self.has_begun { 0 } else { self.skipped.1 + 1 };
        Err(Error::syntax(0, message).shifted(self.position).at_line(line))
    }

    /// Names of members that were left out, some of them.
    pub fn left_out(&self) -> impl Iterator<Item = String> {
        self.left_out.iter().map(|name| String::from_utf8_lossy(name).into_owned())
    }

    fn unexpected(&self) -> Error {
        Error::syntax(0, format!("{} was expected", self.wanted()))
    }

    fn wanted(&self) -> String {
        let path = self.wrapper.text();
        match (self.state, self.around.last()) {
            (State::Open, None) => format!("the '{{' of an object with {path}"),
            (State::Name { .. } | State::Open | State::Next, Some(Around::Object(_)))
                if self.wrapper.is_bare =>
            {
                format!("\"{path}\": as the first field of a CloudTrail file")
            }
            (State::Value, _) if self.is_meant => format!("the list of the records of {path}"),
            (State::Behind | State::Open, Some(Around::Object(0))) if !self.is_found => {
                let plain = if self.wrapper.others.is_empty() { "records=none" } else { "-f json" };
                format!("a member {path} ({plain} keeps the object as one row)")
            }
            (State::Behind, Some(Around::Object(_))) if self.wrapper.is_bare => {
                "the last '}' of a CloudTrail file".into()
            }
            (State::Colon, _) => "a colon".into(),
            (State::Value, _) => "a value".into(),
            (_, Some(Around::List(_))) => format!("an object of the list on the way to {path}, or ']'"),
            _ => format!("the end of the object around {path}"),
        }
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
    fn records(wrapper: Wrapper, text: &[u8], piece: usize) -> Result<Vec<u8>> {
        let (mut unwrapper, mut found) = (Unwrapper::new(wrapper), vec![]);
        for data in text.chunks(piece) {
            let mut at = 0;
            while let Some(piece) = unwrapper.next(data, &mut at)? {
                found.extend_from_slice(&data[piece.range]);
            }
        }
        unwrapper.finish()?;
        Ok(found)
    }

    #[test]
    fn records_are_found_in_pieces_of_any_size() -> Result<()> {
        let list = br#"[{"a":"]}\"[\\"},{"b":[1,{"c":2}]}]"#;
        for (text, expected) in [
            (&br#"{"Records":[]}"#[..], &b"[]"[..]),
            (b" {\n \"Records\":\t{\"a\":\"}\"} }{\"Records\":5", b"{\"a\":\"}\"}"),
            (&[br#"{"Records": "#, &list[..], b"}]]trailing"].concat(), list),
        ] {
            for piece in 1..text.len() {
                assert_eq!(records(Wrapper::cloudtrail(), text, piece).as_deref(), Ok(expected), "{piece}");
            }
        }
        for (path, text, expected) in [
            (
                "hits.hits",
                r#"{"took":3,"hits":{"total":{"hits":[0]},"hits":[{"a":1}],"x":"}"},"y":[1]}"#,
                r#"[{"a":1}]"#,
            ),
            ("a", "{\"a\" : [1]}\n{\"x\\\"\":null , \"a\":[2],\"b\":-1.5e3}", "[1][2]"),
            ("a", r#"[{"a":[1]},{"a":null},{"a":{"b":2}}]"#, r#"[1]{"b":2}"#),
            ("a.b", r#"{"a":[{"x":1,"b":[1]},{"b":[2]},{}]}"#, "[1][2]"),
            ("a[].b[]", r#"{"a":[]}"#, ""),
            ("a", "", ""),
        ] {
            for piece in 1..=text.len().max(1) {
                let found = records(Wrapper::of_path(path)?, text.as_bytes(), piece);
                assert_eq!(found, Ok(expected.as_bytes().to_vec()), "{text} {piece}");
            }
        }
        Ok(())
    }

    #[test]
    fn other_texts_are_refused() -> Result<()> {
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
            assert!(records(Wrapper::cloudtrail(), text.as_bytes(), 3).is_err(), "{text}");
        }
        for text in [
            "{}",
            r#"{"b":1}"#,
            r#"{"a":5}"#,
            r#"{"a":[1]"#,
            r#"{"a":[1]}}"#,
            r#"{"a":[1],}"#,
            r#"{"a":[1]}x"#,
            r#"{"x":{"a":[1]}}"#,
            r#"[{"a":[1]}"#,
            r#"{"a":[1]}{"b":2}"#,
        ] {
            assert!(records(Wrapper::of_path("a")?, text.as_bytes(), 3).is_err(), "{text}");
        }
        let mut unwrapper = Unwrapper::new(Wrapper::cloudtrail());
        assert_eq!(unwrapper.next(b"\n{\n", &mut 0), Ok(None));
        let error = unwrapper.next(b" \"Other\"", &mut 0).err();
        assert!(matches!(error, Some(Error::Syntax { offset: 5, line: 3, .. })), "{error:?}");
        Ok(())
    }
}
