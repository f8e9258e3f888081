//! Tables of text: rows as lines of CSV, TSV, Markdown or HTML.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::ion::varuint;
use crate::json::sink::Sink;

/// A form of tables of text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Table {
    /// Lines of cells with this byte between them.
    Delimited(u8),
    /// Lines of cells between bars.
    Markdown,
    /// Rows of a table of HTML.
    Html,
}

impl Table {
    /// The form with a name.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "csv" => Ok(Self::Delimited(b',')),
            "tsv" => Ok(Self::Delimited(b'\t')),
            "markdown" => Ok(Self::Markdown),
            "html" => Ok(Self::Html),
            _ => Err(Error::argument(format!("no table of text: {name}"))),
        }
    }

    /// Appends a row; a function appends each cell, by its number.
    #[inline]
    pub fn row(
        self,
        cells: usize,
        out: &mut Sink,
        mut put: impl FnMut(usize, &mut Sink) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Delimited(separator) => {
                let start = out.len();
                for cell in 0..cells {
                    if cell > 0 {
                        out.reserve(1);
                        out.byte(separator);
                    }
                    put(cell, out)?;
                }
                if cells <= 1 && out.len() == start {
                    out.copy(b"\"\"", 0, 2); // an empty line would be no row
                }
                out.reserve(1);
                out.byte(b'\n');
                Ok(())
            }
            Self::Markdown => between(out, [b"| ", b" | ", b" |\n"], cells, put),
            Self::Html => between(out, [b"<tr><td>", b"</td><td>", b"</td></tr>\n"], cells, put),
        }
    }

    /// Appends the text of a cell.
    #[inline]
    pub fn text(self, text: &[u8], out: &mut Sink) {
        match self {
            Self::Delimited(separator) => {
                if memchr::memchr3(separator, b'"', b'\n', text).is_none()
                    && memchr::memchr(b'\r', text).is_none()
                {
                    out.copy(text, 0, text.len());
                    return;
                }
                out.copy(b"\"", 0, 1);
                escaped(text, out, |rest| (rest[0] == b'"').then_some((b"\"\"", 1)));
                out.copy(b"\"", 0, 1);
            }
            // Lines become one.
            Self::Markdown => escaped(text, out, |rest| match rest {
                [b'\\', ..] => Some((b"\\\\", 1)),
                [b'|', ..] => Some((b"\\|", 1)),
                [b'\r', b'\n', ..] => Some((b"<br>", 2)),
                [b'\r' | b'\n', ..] => Some((b"<br>", 1)),
                _ => None,
            }),
            Self::Html => escaped(text, out, |rest| match rest[0] {
                b'&' => Some((b"&amp;", 1)),
                b'<' => Some((b"&lt;", 1)),
                b'>' => Some((b"&gt;", 1)),
                b'"' => Some((b"&quot;", 1)),
                b'\'' => Some((b"&#x27;", 1)),
                _ => None,
            }),
        }
    }

    /// Appends the cell of a printed value: the characters of a string, nothing for null, else what was printed.
    #[inline]
    pub fn json(self, printed: &[u8], out: &mut Sink) {
        match printed {
            [b'"', string @ .., b'"'] => self.text(&plain(string), out),
            b"null" => {}
            _ => self.text(printed, out),
        }
    }

    /// Where the cell of a printed value lies in it, if it needs no escapes. Strings without escapes in JSON have
    /// neither quotes nor line ends.
    #[inline]
    fn bare(self, line: &[u8], start: usize, end: usize) -> Option<(usize, usize)> {
        let sign = match self {
            Self::Delimited(separator) => separator,
            Self::Markdown => b'|',
            Self::Html => return None,
        };
        match line.get(start)? {
            b'"' => {
                let text = line.get(start + 1..end - 1)?;
                memchr::memchr2(b'\\', sign, text).is_none().then_some((start + 1, end - 1))
            }
            b'n' => Some((end, end)), // null; NaN is printed so
            b'[' | b'{' => None,
            _ => Some((start, end)),
        }
    }
}

/// Appends a row with something before it, between its cells, and behind it.
fn between(
    out: &mut Sink,
    [before, between, behind]: [&[u8]; 3],
    cells: usize,
    mut put: impl FnMut(usize, &mut Sink) -> Result<()>,
) -> Result<()> {
    out.copy(before, 0, before.len());
    for cell in 0..cells {
        if cell > 0 {
            out.copy(between, 0, between.len());
        }
        put(cell, out)?;
    }
    out.copy(behind, 0, behind.len());
    Ok(())
}

/// Appends a text, and for what has a meaning there something else, which a function knows with the length of what
/// it replaces.
#[inline]
fn escaped<'a>(text: &[u8], out: &mut Sink, replacement: impl Fn(&[u8]) -> Option<(&'a [u8], usize)>) {
    let (mut start, mut at) = (0, 0);
    while at < text.len() {
        let Some((other, length)) = replacement(&text[at..]) else {
            at += 1;
            continue;
        };
        out.copy(text, start, at);
        out.copy(other, 0, other.len());
        at += length;
        start = at;
    }
    out.copy(text, start, text.len());
}

struct Column {
    name: Box<[u8]>,
    /// The name between quotes, as it was printed first.
    label: Box<[u8]>,
}

/// Makes tables of lines of JSON whose members are known only when all lines were read: first cells, each with the
/// number of its column, and then the rows of these.
pub struct TextTable {
    table: Table,
    columns: Vec<Column>,
    numbers: HashMap<Box<[u8]>, usize>,
    cell: Sink,
}

impl TextTable {
    /// A table in which nothing is yet.
    pub fn new(table: Table) -> Self {
        Self { table, columns: Vec::new(), numbers: HashMap::new(), cell: Sink::default() }
    }

    /// The names of members so far, in the order of their appearance.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.columns.iter().map(|column| &*column.name)
    }

    /// Appends the cells of lines: for each its column from 1, its length and its text, and a 0 behind each line.
    pub fn cells(&mut self, lines: &[u8], out: &mut Sink) -> Result<()> {
        let mut start = 0;
        while start < lines.len() {
            let end = memchr::memchr(b'\n', &lines[start..]).map_or(lines.len(), |length| start + length);
            if start < end {
                self.line(&lines[start..end], out)?;
            }
            start = end + 1;
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8], out: &mut Sink) -> Result<()> {
        let bad = |at: usize| move || Error::syntax(at, "no line of JSON");
        let (mut at, mut column) = (1, 0);
        while line.get(at) == Some(&b'"') {
            // Most lines have the same members in the same order.
            match self.columns.get(column) {
                Some(Column { label, .. }) if line[at..].starts_with(label) => at += label.len(),
                _ => {
                    let end = string_end(line, at).ok_or_else(bad(at))?;
                    column = self.number(&line[at..=end]);
                    at = end + 1;
                }
            }
            at += 2; // behind a colon and a blank
            column += 1;
            let end = value_end(line, at).ok_or_else(bad(at))?;
            if let Some((start, stop)) = self.table.bare(line, at, end) {
                put_cell(column, line, start, stop, out);
            } else {
                self.cell.truncate(0);
                self.table.json(&line[at..end], &mut self.cell);
                put_cell(column, self.cell.padded(), 0, self.cell.len(), out);
            }
            at = end + 2; // behind a comma and a blank, or the end
        }
        out.reserve(1);
        out.byte(0x80);
        Ok(())
    }

    /// Returns the number of a column by its printed name, which may be new.
    fn number(&mut self, label: &[u8]) -> usize {
        let name = plain(&label[1..label.len() - 1]);
        if let Some(&number) = self.numbers.get(&*name) {
            return number;
        }
        let number = self.columns.len();
        self.columns.push(Column { name: name.clone().into(), label: label.into() });
        self.numbers.insert(name.into(), number);
        number
    }

    /// Appends rows of cells with columns of some names, in their order. Of cells of one column the last one counts.
    pub fn rows(&self, cells: &[u8], names: &[String], out: &mut Sink) -> Result<()> {
        let nowhere = self.columns.len();
        let order: Vec<_> =
            names.iter().map(|name| self.numbers.get(name.as_bytes()).copied().unwrap_or(nowhere)).collect();
        let mut texts = vec![(0, 0); nowhere + 1];
        let mut at = 0;
        while at < cells.len() {
            texts.fill((0, 0));
            loop {
                let (column, start) = varuint::read(cells, at)?;
                at = start;
                let Some(column) = (column as usize).checked_sub(1) else { break };
                let (length, start) = varuint::read(cells, at)?;
                at = start.saturating_add(length as usize);
                let text = texts.get_mut(column).filter(|_| at <= cells.len());
                *text.ok_or_else(|| Error::argument("no cells of this table"))? = (start, at);
            }
            self.table.row(order.len(), out, |cell, out| {
                let (start, end) = texts[order[cell]];
                out.copy(cells, start, end);
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Appends the number of a column, the length of a text, and the text.
#[inline]
fn put_cell(column: usize, from: &[u8], start: usize, end: usize, out: &mut Sink) {
    let length = end - start;
    if column < 0x80 && length < 0x80 {
        out.reserve(2);
        out.piece(&[column as u8 | 0x80, length as u8 | 0x80], 2);
    } else {
        let mut head = Vec::new();
        varuint::put(&mut head, column as u64);
        varuint::put(&mut head, length as u64);
        out.copy(&head, 0, head.len());
    }
    out.copy(from, start, end);
}

/// Returns the characters of a string that is printed between quotes.
fn plain(printed: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\\', printed).is_none() {
        return Cow::Borrowed(printed);
    }
    let mut text = Vec::with_capacity(printed.len());
    let mut rest = printed;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        text.extend_from_slice(&rest[..at]);
        let Some(&escaped) = rest.get(at + 1) else { return text.into() };
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
    text.into()
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

/// Returns where a value ends.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(table: Table, names: &[&str], lines: &str) -> Result<String> {
        let (mut cells, mut out) = (Sink::default(), Sink::default());
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut made = TextTable::new(table);
        made.cells(lines.as_bytes(), &mut cells)?;
        made.rows(cells.as_slice(), &names, &mut out)?;
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
    fn cells_are_quoted_where_they_must_be() {
        for (text, expected) in [
            ("", ""),
            ("a b", "a b"),
            ("a,b", "\"a,b\""),
            ("a\tb", "a\tb"),
            ("\"", "\"\"\"\""),
            ("a\"b\"c", "\"a\"\"b\"\"c\""),
            ("a\r", "\"a\r\""),
            ("a\nb", "\"a\nb\""),
        ] {
            let mut out = Sink::default();
            Table::Delimited(b',').text(text.as_bytes(), &mut out);
            assert_eq!(out.as_slice(), expected.as_bytes());
        }
    }

    #[test]
    fn markdown_and_html_escape_what_has_a_meaning() -> Result<()> {
        let expected = "| x,\"y\" |\n| ä😀\u{fffd}\\|<br>z |\n|  |\n";
        assert_eq!(printed(Table::Markdown, &["a"], LINES)?, expected);
        let line = "{\"a\": \"<b>&'|\\n\"}";
        let expected = "<tr><td>&lt;b&gt;&amp;&#x27;|\n</td><td></td></tr>\n";
        assert_eq!(printed(Table::Html, &["a", "b"], line)?, expected);
        Ok(())
    }

    #[test]
    fn names_come_in_the_order_of_their_appearance() -> Result<()> {
        let mut table = TextTable::new(Table::Markdown);
        table.cells(LINES.as_bytes(), &mut Sink::default())?;
        assert_eq!(table.names().collect::<Vec<_>>(), [b"a".as_slice(), b"b", b"c", b"x\ty"]);
        Ok(())
    }

    #[test]
    fn what_is_cut_off_is_an_error_or_a_row() {
        for cut in 0..LINES.len() {
            if LINES.is_char_boundary(cut) {
                let _ = printed(Table::Markdown, &["c"], &LINES[..cut]);
            }
        }
        let mut table = TextTable::new(Table::Markdown);
        let mut cells = Sink::default();
        let _ = table.cells(LINES.as_bytes(), &mut cells);
        for cut in 0..cells.len() {
            let _ = table.rows(&cells.as_slice()[..cut], &["c".into()], &mut Sink::default());
        }
    }
}
