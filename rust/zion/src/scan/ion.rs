//! Rows of lanes as a stream of Ion structs.

use crate::error::{Error, Result};
use crate::ion::fields::{Fields, Keep};
use crate::ion::value::MAX_DEPTH;
use crate::ion::{
    FALSE, NULL, SymbolTable, TRUE, kind, nest, put_float, put_int, put_string, timestamp, varuint,
};
use crate::json::sink::Sink;
use crate::json::{digits, number, text};
use crate::number::Number;

/// What a member is.
#[derive(Clone, Copy)]
pub(super) enum Cell<'a> {
    Null,
    Bool(bool),
    Number(Number),
    /// Microseconds since 1970.
    Time(i64),
    Text(&'a str),
    /// JSON in the form that this crate prints.
    Json(&'a str),
}

/// Rows that are being written.
#[derive(Default)]
pub struct IonRows {
    body: Vec<u8>,
    /// Where the row at hand begins.
    start: usize,
    writer: Writer,
}

#[derive(Default)]
struct Writer {
    symbols: SymbolTable,
    fields: Fields,
    text: Vec<u8>,
    time: Sink,
}

impl IonRows {
    /// Bytes of the rows so far.
    pub fn len(&self) -> usize {
        self.body.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// The rows as a stream of their own: version marker, symbol table, structs. Then there are none.
    pub fn take(&mut self) -> Vec<u8> {
        let symbols = &mut self.writer.symbols;
        let mut out = Vec::with_capacity(symbols.full_size() + self.body.len());
        symbols.put_full(&mut out, symbols.max_id());
        out.append(&mut self.body);
        symbols.reset();
        out
    }

    pub(super) fn begin(&mut self) {
        self.writer.fields.clear();
        self.start = nest::open(&mut self.body);
    }

    /// Adds a member; one without a name is a struct whose members are added. Of equal names the last counts.
    pub(super) fn value(&mut self, name: Option<&str>, cell: Cell<'_>) -> Result<()> {
        let Self { body, writer, .. } = self;
        match (name, cell) {
            (None, Cell::Json(json)) => {
                let mut reader = Reader::new(json);
                reader.expect(b'{')?;
                writer.members(&mut reader, body, 1)
            }
            (None, _) => Err(Error::argument("a row that is no struct")),
            (Some(name), cell) => {
                writer.label(name.as_bytes(), body);
                writer.cell(cell, body)
            }
        }
    }

    /// Ends the row, which stays or not.
    pub(super) fn end(&mut self, stays: bool) {
        if !stays {
            self.body.truncate(self.start);
            return;
        }
        self.writer.fields.sort(&mut self.body, self.start + 1, 0, Keep::Last);
        nest::close(&mut self.body, self.start, kind::STRUCT);
    }
}

impl Writer {
    fn label(&mut self, name: &[u8], out: &mut Vec<u8>) {
        let symbol = self.symbols.intern(name);
        self.fields.add(symbol, out.len());
        varuint::put(out, u64::from(symbol));
    }

    fn cell(&mut self, cell: Cell<'_>, out: &mut Vec<u8>) -> Result<()> {
        match cell {
            Cell::Null => out.push(NULL),
            Cell::Bool(flag) => out.push(if flag { TRUE } else { FALSE }),
            Cell::Number(Number::Int(value)) if u64::try_from(value.unsigned_abs()).is_ok() => {
                put_int(out, value);
            }
            Cell::Number(Number::Int(value)) => put_float(out, value as f64),
            Cell::Number(Number::Float(value)) => put_float(out, value),
            Cell::Time(us) => timestamp::put(out, us),
            Cell::Text(text) => put_string(out, text.as_bytes()),
            Cell::Json(json) => self.json(&mut Reader::new(json), out, 1)?,
        }
        Ok(())
    }

    fn json(&mut self, reader: &mut Reader<'_>, out: &mut Vec<u8>, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(Error::unsupported(format!("values nested deeper than {MAX_DEPTH} levels")));
        }
        match reader.peek() {
            b'{' => {
                reader.at += 1;
                let (start, begin) = (nest::open(out), self.fields.begin());
                self.members(reader, out, depth + 1)?;
                self.fields.sort(out, start + 1, begin, Keep::Last);
                nest::close(out, start, kind::STRUCT);
            }
            b'[' => {
                reader.at += 1;
                let start = nest::open(out);
                while !reader.skip(b']') {
                    self.json(reader, out, depth + 1)?;
                    reader.skip(b',');
                }
                nest::close(out, start, kind::LIST);
            }
            b'"' => {
                reader.string(&mut self.text)?;
                self.put_text(out);
            }
            _ => reader.scalar(out)?,
        }
        Ok(())
    }

    /// The members of a struct whose brace was read, and the brace at its end.
    fn members(&mut self, reader: &mut Reader<'_>, out: &mut Vec<u8>, depth: usize) -> Result<()> {
        while !reader.skip(b'}') {
            reader.string(&mut self.text)?;
            let name = std::mem::take(&mut self.text);
            self.label(&name, out);
            self.text = name;
            reader.expect(b':')?;
            self.json(reader, out, depth)?;
            reader.skip(b',');
        }
        Ok(())
    }

    /// A text, or the instant that is printed as this text: JSON has no other form for it.
    fn put_text(&mut self, out: &mut Vec<u8>) {
        if self.text.ends_with(b"Z")
            && let Some(us) = timestamp::recognise(&self.text)
        {
            self.time.truncate(0);
            digits::put_time(&mut self.time, us);
            if self.time.as_slice().strip_prefix(b"\"").and_then(|time| time.strip_suffix(b"\""))
                == Some(self.text.as_slice())
            {
                timestamp::put(out, us);
                return;
            }
        }
        put_string(out, &self.text);
    }
}

/// A text of JSON, and how much of it was read.
struct Reader<'a> {
    json: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn new(json: &'a str) -> Self {
        Self { json: json.as_bytes(), at: 0 }
    }

    #[cold]
    fn malformed(&self) -> Error {
        Error::argument(format!("malformed JSON in a lane, at byte {} of the value", self.at))
    }

    fn rest(&self) -> &'a [u8] {
        self.json.get(self.at..).unwrap_or_default()
    }

    /// The next byte that is no space, 0 at the end.
    fn peek(&mut self) -> u8 {
        while self.json.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
        self.json.get(self.at).copied().unwrap_or(0)
    }

    /// Reads this byte, if it is the next one.
    fn skip(&mut self, byte: u8) -> bool {
        let found = self.peek() == byte;
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.skip(byte) { Ok(()) } else { Err(self.malformed()) }
    }

    fn string(&mut self, out: &mut Vec<u8>) -> Result<()> {
        self.expect(b'"')?;
        let raw = self.rest();
        let mut end = 0;
        loop {
            match memchr::memchr2(b'"', b'\\', raw.get(end..).unwrap_or_default()) {
                Some(next) if raw[end + next] == b'"' => {
                    end += next;
                    break;
                }
                Some(next) => end += next + 2,
                None => return Err(self.malformed()),
            }
        }
        out.clear();
        text::unescape(&raw[..end], self.at, out)?;
        self.at += end + 1;
        Ok(())
    }

    fn scalar(&mut self, out: &mut Vec<u8>) -> Result<()> {
        for (word, value) in [("null", NULL), ("true", TRUE), ("false", FALSE)] {
            if self.rest().starts_with(word.as_bytes()) {
                self.at += word.len();
                out.push(value);
                return Ok(());
            }
        }
        for (word, value) in [("NaN", f64::NAN), ("+Inf", f64::INFINITY), ("-Inf", f64::NEG_INFINITY)] {
            if self.rest().starts_with(word.as_bytes()) {
                self.at += word.len();
                put_float(out, value);
                return Ok(());
            }
        }
        self.at += number::put(out, self.rest()).map_err(|_| self.malformed())?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ion::value::{Value, loads};

    fn row(members: Vec<(Option<&str>, Cell<'_>)>) -> Result<Value> {
        let mut rows = IonRows::default();
        rows.begin();
        for (name, cell) in members {
            rows.value(name, cell)?;
        }
        rows.end(true);
        loads(&rows.take())
    }

    fn json(text: &str) -> Result<Value> {
        match row(vec![(Some("v"), Cell::Json(text))])? {
            Value::Struct(mut fields) => Ok(fields.remove(0).1),
            other => Ok(other),
        }
    }

    #[test]
    fn values_of_json() -> Result<()> {
        assert_eq!(json("[]")?, Value::List(vec![]));
        assert_eq!(json("[1, 1e+06, 0.5]")?, json("[1,1000000,5e-1]")?);
        assert_eq!(
            json("[+Inf, -Inf]")?,
            Value::List(vec![f64::INFINITY, f64::NEG_INFINITY].into_iter().map(Value::Float).collect())
        );
        assert_eq!(json(r#""a\"\u00e9""#)?, Value::String("a\"é".into()));
        assert_eq!(json("\"1970-01-01T00:00:01.5Z\"")?, Value::Time(1_500_000));
        for text in ["1970-01-01T00:00:01.50Z", "1970-01-01 00:00:01Z", "1970-02-30T00:00:00Z"] {
            assert_eq!(json(&format!("\"{text}\""))?, Value::String(text.into()));
        }
        assert_eq!(json(r#"{"a": {"b": [null, true]}, "c": {}}"#)?, {
            let list = Value::List(vec![Value::Null, Value::Bool(true)]);
            let inner = Value::Struct(vec![("b".into(), list)]);
            Value::Struct(vec![("a".into(), inner), ("c".into(), Value::Struct(vec![]))])
        });
        Ok(())
    }

    #[test]
    fn members_of_a_row_are_members_and_the_last_counts() -> Result<()> {
        let found = row(vec![
            (Some("b"), Cell::Bool(true)),
            (None, Cell::Json(r#"{"a": 1, "c": 2}"#)),
            (Some("a"), Cell::Text("x")),
        ])?;
        let expected = [("b", Value::Bool(true)), ("a", Value::String("x".into())), ("c", Value::Int(2))];
        assert_eq!(found, Value::Struct(expected.map(|(name, value)| (name.into(), value)).into()));
        Ok(())
    }

    #[test]
    fn what_is_not_printed_is_refused() {
        for text in ["", "[1", "{\"a\"}", "\"x", "{1: 2}", "x", "\"\\\"", &"[".repeat(1000)] {
            assert!(json(text).is_err(), "{text}");
        }
        assert!(row(vec![(None, Cell::Null)]).is_err());
    }
}
