//! Records that are written around what they mean: telemetry in the JSON of OTLP, `MongoDB`'s extended JSON. Their
//! text becomes plain JSON, object by object, before it is cut into parts.

mod mongodb;
mod otlp;
mod walk;

use crate::error::{Error, Result};

/// The most text of one object.
const MOST_BYTES: usize = 64 << 20;

/// What writes so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfold {
    /// The lists `resourceLogs`, `resourceSpans` and `resourceMetrics` of OTLP, of which each object has many records.
    Otlp,
    /// Records with values such as `{"$date": ...}`.
    Mongodb,
}

impl Unfold {
    /// The names of the lists that hold the objects; none: they stand alone, or in lists.
    pub fn lists(self) -> &'static [&'static str] {
        match self {
            Self::Otlp => otlp::LISTS,
            Self::Mongodb => &[],
        }
    }

    /// Appends the rows of an object; none: it is malformed, or has another form.
    fn rows(self, object: &[u8], rows: &mut Rows) -> Option<()> {
        match self {
            Self::Otlp => otlp::rows(object, rows),
            Self::Mongodb => rows.add(|out| mongodb::value(object, out, 0)),
        }
    }
}

/// Rows of plain JSON, with commas between them where they are elements of a list.
#[derive(Debug, Default)]
pub struct Rows {
    text: Vec<u8>,
    in_list: bool,
    is_first: bool,
}

impl Rows {
    fn add(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Option<()>) -> Option<()> {
        let is_behind = self.in_list && !std::mem::replace(&mut self.is_first, false);
        self.text.push(if is_behind { b',' } else { b' ' });
        write(&mut self.text)
    }
}

/// Unfolds a text as it is fed.
#[derive(Debug)]
pub struct Unfolder {
    kind: Unfold,
    rows: Rows,
    /// The object at hand, as far as it was fed.
    object: Vec<u8>,
    depth: u64,
    in_string: bool,
    escaped: bool,
}

impl Unfolder {
    /// At the start of a text.
    pub fn new(kind: Unfold) -> Self {
        Self { kind, rows: Rows::default(), object: vec![], depth: 0, in_string: false, escaped: false }
    }

    /// Takes the next bytes, and gives the plain text that they make.
    pub fn feed(&mut self, data: &[u8]) -> Result<&[u8]> {
        self.rows.text.clear();
        let mut at = 0;
        while at < data.len() {
            if self.depth == 0 {
                self.around(data[at]);
                at += 1;
                continue;
            }
            let end = self.follow(data, at);
            self.object.extend_from_slice(&data[at..end]);
            at = end;
            if self.depth == 0 {
                self.end_object();
            } else if self.object.len() > MOST_BYTES {
                let message = "an object of more than 64 MiB, where each may have so much: \
                               one is too large, or a quote or bracket is not closed";
                return Err(Error::too_large(0, message));
            }
        }
        Ok(&self.rows.text)
    }

    /// What is left at the end of the text: an object that is cut off.
    pub fn end(&mut self) -> &[u8] {
        &self.object
    }

    /// A byte between objects.
    fn around(&mut self, byte: u8) {
        match byte {
            b'{' => {
                self.object.push(byte);
                self.depth = 1;
                return;
            }
            b'[' => (self.rows.in_list, self.rows.is_first) = (true, true),
            b']' => self.rows.in_list = false,
            _ => {}
        }
        // Commas stand where there are rows between them.
        self.rows.text.push(if byte == b',' { b' ' } else { byte });
    }

    /// Goes on in an object; gives the place behind it, or the end of the data.
    fn follow(&mut self, data: &[u8], mut at: usize) -> usize {
        while at < data.len() {
            if std::mem::take(&mut self.escaped) {
                at += 1;
            } else if self.in_string {
                let Some(found) = memchr::memchr2(b'"', b'\\', &data[at..]) else { return data.len() };
                at += found + 1;
                self.escaped = data[at - 1] == b'\\';
                self.in_string = self.escaped;
            } else {
                let Some(found) = memchr::memchr3(b'"', b'{', b'}', &data[at..]) else { return data.len() };
                at += found + 1;
                match data[at - 1] {
                    b'"' => self.in_string = true,
                    b'{' => self.depth += 1,
                    _ => self.depth -= 1,
                }
                if self.depth == 0 {
                    return at;
                }
            }
        }
        at
    }

    fn end_object(&mut self) {
        let (start, is_first) = (self.rows.text.len(), self.rows.is_first);
        let lines = memchr::memchr_iter(b'\n', &self.object).count();
        if self.kind.rows(&self.object, &mut self.rows).is_some() {
            // So that the lines of what follows are those of the input.
            let lines_kept = memchr::memchr_iter(b'\n', &self.rows.text[start..]).count();
            let more = lines.saturating_sub(lines_kept);
            self.rows.text.extend(std::iter::repeat_n(b'\n', more));
        } else {
            // The parser of rows reports what is malformed.
            self.rows.text.truncate(start);
            self.rows.is_first = is_first;
            let object = &self.object;
            _ = self.rows.add(|out| {
                out.extend_from_slice(object);
                Some(())
            });
        }
        self.object.clear();
    }
}
