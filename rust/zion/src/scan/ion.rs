//! Rows of lanes as a stream of Ion structs.

use crate::error::{Error, Result};
use crate::ion::fields::{Fields, Keep};
use crate::ion::{
    FALSE, NULL, SymbolTable, TRUE, kind, nest, put_float, put_int, put_string, timestamp, varuint,
};
use crate::limits::MAX_KEY_DEPTH;
use crate::value::key::{Key, Parts, parse};
use crate::value::number::Number;

/// What a member is.
#[derive(Clone, Copy)]
pub(super) enum Cell<'a> {
    Null,
    Bool(bool),
    Number(Number),
    /// Microseconds since 1970.
    Time(i64),
    Text(&'a str),
    /// A typed text: a key whose structs have their members as they stand.
    Value(&'a str),
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
            (None, Cell::Value(text)) => match parse(text) {
                Some(Key::Struct(members)) => writer.members(members, body, 1),
                _ => Err(malformed(text)),
            },
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
            Cell::Number(number) => put_number(number, out),
            Cell::Time(us) => timestamp::put(out, us),
            Cell::Text(text) => put_string(out, text.as_bytes()),
            Cell::Value(text) => self.value(text, out, 1)?,
        }
        Ok(())
    }

    /// Appends the value that a typed text stands for.
    fn value(&mut self, text: &str, out: &mut Vec<u8>, depth: usize) -> Result<()> {
        if depth > MAX_KEY_DEPTH {
            return Err(Error::unsupported(format!("values nested deeper than {MAX_KEY_DEPTH} levels")));
        }
        match parse(text).ok_or_else(|| malformed(text))? {
            Key::Null => out.push(NULL),
            Key::Bool(flag) => out.push(if flag { TRUE } else { FALSE }),
            Key::Int(value) => put_number(Number::Int(value), out),
            Key::Float(value) => put_number(Number::Float(value), out),
            Key::Time(us) => timestamp::put(out, us),
            Key::Text(text) => put_string(out, text.as_bytes()),
            Key::List(items) => {
                let start = nest::open(out);
                items.into_iter().try_for_each(|item| self.value(item, out, depth + 1))?;
                nest::close(out, start, kind::LIST);
            }
            Key::Struct(members) => {
                let (start, begin) = (nest::open(out), self.fields.begin());
                self.members(members, out, depth + 1)?;
                self.fields.sort(out, start + 1, begin, Keep::Last);
                nest::close(out, start, kind::STRUCT);
            }
        }
        Ok(())
    }

    fn members(&mut self, members: Parts<'_>, out: &mut Vec<u8>, depth: usize) -> Result<()> {
        let mut parts = members.into_iter();
        while let Some(name) = parts.next() {
            self.label(name.as_bytes(), out);
            self.value(parts.next().ok_or_else(|| malformed(name))?, out, depth)?;
        }
        Ok(())
    }
}

/// Appends a number: beyond 64 bits only doubles are known.
fn put_number(number: Number, out: &mut Vec<u8>) {
    match number {
        Number::Int(value) if u64::try_from(value.unsigned_abs()).is_ok() => put_int(out, value),
        number => put_float(out, number.to_f64()),
    }
}

#[cold]
fn malformed(text: &str) -> Error {
    let start: String = text.chars().take(20).collect();
    Error::argument(format!("a malformed typed text in a lane: {start:?}"))
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

    fn value(text: &str) -> Result<Value> {
        match row(vec![(Some("v"), Cell::Value(text))])? {
            Value::Struct(mut fields) => Ok(fields.remove(0).1),
            other => Ok(other),
        }
    }

    #[test]
    fn typed_texts_keep_types() -> Result<()> {
        assert_eq!(value("[")?, Value::List(vec![]));
        assert_eq!(
            value("[17:f7ff000000000000017:f3fe0000000000000")?,
            Value::List(vec![Value::Float(f64::INFINITY), Value::Float(0.5)])
        );
        assert_eq!(value("n18446744073709551615")?, Value::Int(u64::MAX.into()));
        assert_eq!(value("n18446744073709551616")?, Value::Float(18_446_744_073_709_551_616.0));
        assert_eq!(value("sa\"é")?, Value::String("a\"é".into()));
        let time = "1970-01-01T00:00:01.5Z";
        let both = format!("[8:t150000023:s{time}");
        assert_eq!(value(&both)?, Value::List(vec![Value::Time(1_500_000), Value::String(time.into())]));
        assert_eq!(value("{1:a14:{1:b8:[1:z2:b11:c1:{")?, {
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
            (None, Cell::Value("{1:a2:n11:c2:n2")),
            (Some("a"), Cell::Text("x")),
        ])?;
        let expected = [("b", Value::Bool(true)), ("a", Value::String("x".into())), ("c", Value::Int(2))];
        assert_eq!(found, Value::Struct(expected.map(|(name, value)| (name.into(), value)).into()));
        Ok(())
    }

    #[test]
    fn what_is_no_typed_text_is_refused() {
        let deep = (0..1000).fold(String::from("["), |inner, _| format!("[{}:{inner}", inner.len()));
        for text in ["", "x", "nx", "{1:a", "[1:q", "tz", &deep] {
            assert!(value(text).is_err(), "{text}");
        }
        assert!(row(vec![(None, Cell::Null)]).is_err());
        assert!(row(vec![(None, Cell::Value("n1"))]).is_err());
    }
}
