//! Rows that were printed as lines of JSON, to lines of CSV, TSV or Markdown.

use std::collections::HashMap;
use std::ops::Range;

use super::cells;
use crate::error::{Error, Result};
use crate::json::sink::Sink;

/// A table of text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// Lines of cells with this byte between them.
    Delimited(u8),
    /// Lines of cells between bars.
    Markdown,
}

/// Where the value of a member is, and whether it is a string.
type Value = (Range<usize>, bool);

/// Prints lines of JSON as rows of columns that are known beforehand.
pub struct TextRows {
    table: Table,
    /// For each column the number of its name.
    columns: Vec<usize>,
    names: Vec<Box<[u8]>>,
    numbers: HashMap<Box<[u8]>, usize>,
    /// For each name the value in the line at hand.
    found: Vec<Option<Value>>,
    text: Vec<u8>,
}

impl TextRows {
    /// Rows of columns with these names.
    pub fn new(table: Table, wanted: &[String]) -> Self {
        let mut rows = Self {
            table,
            columns: Vec::with_capacity(wanted.len()),
            names: Vec::new(),
            numbers: HashMap::new(),
            found: Vec::new(),
            text: Vec::new(),
        };
        for name in wanted {
            let number = rows.number(name.as_bytes());
            rows.columns.push(number);
        }
        rows
    }

    /// Returns the number of a name, which may be new.
    fn number(&mut self, name: &[u8]) -> usize {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len();
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        self.found.push(None);
        number
    }

    /// The names of the columns, and those that [`Self::note`] has met, in the order of their appearance.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().map(AsRef::as_ref)
    }

    /// Takes the names in lines for names of columns.
    pub fn note(&mut self, lines: &[u8]) -> Result<()> {
        for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let mut at = 1;
            let mut next = 0;
            while let Some((name, _)) = member(line, &mut at)? {
                if !self.names.get(next).is_some_and(|known| is_plain(known, &line[name.clone()])) {
                    let plain = self.plain(&line[name]);
                    next = self.number(&plain);
                    self.text = plain;
                }
                next += 1;
            }
        }
        Ok(())
    }

    /// Appends a row for each line.
    pub fn rows(&mut self, lines: &[u8], out: &mut Sink) -> Result<()> {
        for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            self.row(line, out)?;
        }
        Ok(())
    }

    fn row(&mut self, line: &[u8], out: &mut Sink) -> Result<()> {
        self.found.fill(None);
        let (mut at, mut next) = (1, 0);
        while let Some((name, value)) = member(line, &mut at)? {
            // Most lines have the same members in the same order.
            if !self.names.get(next).is_some_and(|known| is_plain(known, &line[name.clone()])) {
                let plain = self.plain(&line[name]);
                next = self.numbers.get(plain.as_slice()).copied().unwrap_or(usize::MAX - 1);
                self.text = plain;
            }
            if let Some(place) = self.found.get_mut(next) {
                *place = Some(value);
            }
            next += 1;
        }
        let start = out.len();
        if self.table == Table::Markdown {
            out.copy(b"| ", 0, 2);
        }
        for column in 0..self.columns.len() {
            match self.table {
                Table::Delimited(separator) if column > 0 => {
                    out.reserve(1);
                    out.byte(separator);
                }
                Table::Markdown if column > 0 => out.copy(b" | ", 0, 3),
                _ => {}
            }
            if let Some((range, is_string)) = self.found[self.columns[column]].clone() {
                self.cell(&line[range], is_string, out);
            }
        }
        match self.table {
            Table::Markdown => out.copy(b" |", 0, 2),
            Table::Delimited(_) if self.columns.len() <= 1 && out.len() == start => {
                out.copy(b"\"\"", 0, 2); // an empty line would be no row
            }
            Table::Delimited(_) => {}
        }
        out.reserve(1);
        out.byte(b'\n');
        Ok(())
    }

    fn cell(&mut self, printed: &[u8], is_string: bool, out: &mut Sink) {
        let plain;
        let text = if is_string && memchr::memchr(b'\\', printed).is_some() {
            plain = self.plain(printed);
            plain.as_slice()
        } else if !is_string && printed == b"null" {
            return;
        } else {
            plain = Vec::new();
            printed
        };
        match self.table {
            Table::Delimited(separator) => cells::put(text, separator, out),
            Table::Markdown => put_markdown(text, out),
        }
        if !plain.is_empty() {
            self.text = plain;
        }
    }

    /// Returns the characters of a string between its quotes, in a buffer that is used again.
    fn plain(&mut self, printed: &[u8]) -> Vec<u8> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        let mut rest = printed;
        while let Some(at) = memchr::memchr(b'\\', rest) {
            text.extend_from_slice(&rest[..at]);
            let Some(&escaped) = rest.get(at + 1) else { return text };
            rest = &rest[at + 2..];
            match escaped {
                b'n' => text.push(b'\n'),
                b'r' => text.push(b'\r'),
                b't' => text.push(b'\t'),
                b'b' => text.push(8),
                b'f' => text.push(12),
                b'u' => {
                    let mut unit = unit(&mut rest);
                    if (0xd800..0xdc00).contains(&unit) && rest.starts_with(b"\\u") {
                        let mut behind = &rest[2..];
                        let low = self::unit(&mut behind);
                        if (0xdc00..0xe000).contains(&low) {
                            unit = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                            rest = behind;
                        }
                    }
                    let character = char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER);
                    text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                other => text.push(other),
            }
        }
        text.extend_from_slice(rest);
        text
    }
}

/// Returns whether a printed name is this one, and has no escapes.
fn is_plain(name: &[u8], printed: &[u8]) -> bool {
    name == printed && memchr::memchr(b'\\', printed).is_none()
}

/// Reads four hexadecimal digits.
fn unit(rest: &mut &[u8]) -> u32 {
    let mut value = 0;
    for _ in 0..4 {
        let Some((&digit, behind)) = rest.split_first() else { break };
        let Some(digit) = char::from(digit).to_digit(16) else { break };
        value = (value << 4) | digit;
        *rest = behind;
    }
    value
}

/// Reads the next member of a line, if there is one: its name between the quotes, and its value.
fn member(line: &[u8], at: &mut usize) -> Result<Option<(Range<usize>, Value)>> {
    if line.get(*at) != Some(&b'"') {
        return Ok(None);
    }
    let bad = |at: usize| Error::syntax(at, "no line of JSON");
    let name = *at + 1..string_end(line, *at).ok_or_else(|| bad(*at))?;
    let start = name.end + 3; // behind a quote, a colon and a blank
    let value = if line.get(start) == Some(&b'"') {
        let end = string_end(line, start).ok_or_else(|| bad(start))?;
        *at = end + 1;
        (start + 1..end, true)
    } else {
        let end = value_end(line, start).ok_or_else(|| bad(start))?;
        *at = end;
        (start..end, false)
    };
    *at += 2; // behind a comma and a blank, or the end
    Ok(Some((name, value)))
}

/// Returns where the quote is that ends a string.
fn string_end(line: &[u8], quote: usize) -> Option<usize> {
    let mut at = quote + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', line.get(at..)?)?;
        if line[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// Returns where a value ends that is no string.
fn value_end(line: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut depth) = (start, 0_usize);
    loop {
        match *line.get(at)? {
            b'"' => at = string_end(line, at)?,
            b'[' | b'{' => depth += 1,
            b',' | b'}' | b']' if depth == 0 => return Some(at),
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
}

/// Appends a cell of Markdown: what has a meaning there is escaped, and lines become one.
fn put_markdown(text: &[u8], out: &mut Sink) {
    let mut start = 0;
    let mut at = 0;
    while at < text.len() {
        let (escaped, length): (&[u8], _) = match text[at] {
            b'\\' => (b"\\\\", 1),
            b'|' => (b"\\|", 1),
            b'\r' if text.get(at + 1) == Some(&b'\n') => (b"<br>", 2),
            b'\r' | b'\n' => (b"<br>", 1),
            _ => {
                at += 1;
                continue;
            }
        };
        out.copy(text, start, at);
        out.copy(escaped, 0, escaped.len());
        at += length;
        start = at;
    }
    out.copy(text, start, text.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(table: Table, names: &[&str], lines: &str) -> Result<String> {
        let mut out = Sink::default();
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        TextRows::new(table, &names).rows(lines.as_bytes(), &mut out)?;
        Ok(String::from_utf8_lossy(out.as_slice()).into_owned())
    }

    const LINES: &str = concat!(
        "{\"a\": \"x,\\\"y\\\"\", \"b\": null, \"c\": [1, {\"d\": \"}\\\\\", \"e\": 2.50}]}\n",
        "{\"c\": -Inf, \"a\": \"\\u00e4\\ud83d\\ude00\\ud800|\\r\\nz\", \"x\\ty\": true}\n",
        "{}\n",
    );

    #[test]
    fn csv_has_the_cells_of_the_lines() -> Result<()> {
        let expected = concat!(
            "\"x,\"\"y\"\"\",\"[1, {\"\"d\"\": \"\"}\\\\\"\", \"\"e\"\": 2.50}]\",\n",
            "\"ä😀\u{fffd}|\r\nz\",-Inf,true\n",
            ",,\n",
        );
        assert_eq!(printed(Table::Delimited(b','), &["a", "c", "x\ty"], LINES)?, expected);
        assert_eq!(printed(Table::Delimited(b','), &["b"], "{\"b\": null}\n")?, "\"\"\n");
        assert_eq!(
            printed(Table::Delimited(b'\t'), &["a", "a"], "{\"a\": \"x,\\t\"}\n")?,
            "\"x,\t\"\t\"x,\t\"\n"
        );
        Ok(())
    }

    #[test]
    fn markdown_has_a_line_for_each_row() -> Result<()> {
        let expected = "| x,\"y\" |\n| ä😀\u{fffd}\\|<br>z |\n|  |\n";
        assert_eq!(printed(Table::Markdown, &["a"], LINES)?, expected);
        Ok(())
    }

    #[test]
    fn names_come_in_the_order_of_their_appearance() -> Result<()> {
        let mut rows = TextRows::new(Table::Markdown, &[]);
        rows.note(LINES.as_bytes())?;
        assert_eq!(rows.names().collect::<Vec<_>>(), [b"a".as_slice(), b"b", b"c", b"x\ty"]);
        Ok(())
    }

    #[test]
    fn what_is_no_line_is_an_error_or_a_row() {
        for cut in 0..LINES.len() {
            if LINES.is_char_boundary(cut) {
                let mut out = Sink::default();
                let _ =
                    TextRows::new(Table::Markdown, &["c".into()]).rows(&LINES.as_bytes()[..cut], &mut out);
            }
        }
    }
}
