//! Records that are written around what they mean: telemetry in the JSON of OTLP, `MongoDB`'s extended JSON. Their
//! text becomes plain JSON, object by object, before it is cut into parts.

mod mongodb;
mod otlp;
mod rows;
mod walk;

use rows::Rows;

use crate::error::{Error, Result};

/// The most text of one object.
const MOST_BYTES: usize = 64 << 20;
/// The most text of its rows.
const MOST_ROWS_BYTES: usize = 256 << 20;
/// About so much text comes at a time.
const PIECE_BYTES: usize = 1 << 20;

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

    /// Appends the rows of an object; none: it is malformed, has another form, or too much in all its rows.
    fn rows(self, object: &[u8], rows: &mut Rows) -> Option<()> {
        match self {
            Self::Otlp => otlp::rows(object, rows),
            Self::Mongodb => rows.add(|out| mongodb::value(object, out, 0)),
        }
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
    /// Objects that are malformed or have another form, and are handed on as they stand.
    pub others: u64,
}

impl Unfolder {
    /// At the start of a text.
    pub fn new(kind: Unfold) -> Self {
        Self {
            kind,
            rows: Rows::default(),
            object: vec![],
            depth: 0,
            in_string: false,
            escaped: false,
            others: 0,
        }
    }

    /// Takes bytes at `at`, which is moved behind them, and gives the plain text that they make; none: go on with
    /// more data.
    pub fn next(&mut self, data: &[u8], at: &mut usize) -> Result<Option<&[u8]>> {
        self.rows.text.clear();
        if *at == data.len() {
            return Ok(None);
        }
        while *at < data.len() && self.rows.text.len() < PIECE_BYTES {
            if self.depth == 0 && data[*at] != b'{' {
                self.rows.around(data[*at]);
                *at += 1;
                continue;
            }
            let end = self.follow(data, *at);
            self.object.extend_from_slice(&data[*at..end]);
            *at = end;
            if self.depth == 0 {
                self.end_object()?;
            } else if self.object.len() > MOST_BYTES {
                let message = "an object of more than 64 MiB, where each may have so much: \
                               one is too large, or a quote or bracket is not closed";
                return Err(Error::too_large(0, message));
            }
        }
        Ok(Some(&self.rows.text))
    }

    /// What is left at the end of the text: an object that is cut off.
    pub fn end(&mut self) -> &[u8] {
        self.others += u64::from(!self.object.is_empty() && self.is_told());
        &self.object
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

    /// Whether the parser of rows may take the object, or a part of it, without a word.
    fn is_told(&self) -> bool {
        let has_lines = memchr::memchr(b'\n', &self.object).is_some();
        self.kind == Unfold::Otlp || has_lines || self.object.len() > PIECE_BYTES
    }

    fn end_object(&mut self) -> Result<()> {
        let (start, object) = (self.rows.text.len(), &self.object);
        // Each row has what stands around it.
        let most = ((16 << 20) + 32 * object.len()).min(MOST_ROWS_BYTES);
        if self.rows.add_object(object, most, |rows| self.kind.rows(object, rows)) {
            // So that the lines of what follows are those of the input.
            let lines = memchr::memchr_iter(b'\n', object).count();
            let lines_kept = memchr::memchr_iter(b'\n', &self.rows.text[start..]).count();
            let more = lines.saturating_sub(lines_kept);
            self.rows.text.extend(std::iter::repeat_n(b'\n', more));
        } else if self.rows.is_full() {
            let message = "the rows of an object are too large: each of them has what stands around it";
            return Err(Error::too_large(0, message));
        } else {
            self.others += u64::from(self.is_told());
        }
        self.object.clear();
        Ok(())
    }
}
