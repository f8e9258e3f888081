//! Rows of texts that are no records: one field has the text.

use super::constants::{Constants, put_default};
use crate::chunk::paths::NodeId;
use crate::chunk::{Row, Stream};
use crate::error::Result;
use crate::ion::fields::{Fields, Keep};
use crate::ion::{kind, nest, varuint};

/// The field.
pub(super) const MESSAGE: &[u8] = b"message";

/// Of the largest row, a text has this share at most: bytes that are no UTF-8 become three times as long.
const SHARE: usize = 4;

/// Adds rows for a text, several where it is longer than a row should be; none for white space.
pub(super) fn put(text: &[u8], constants: &Constants, stream: &mut Stream) -> Result<()> {
    let most = (stream.row_limit() / SHARE).max(1);
    let mut rest = text.trim_ascii_end();
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(end_of_piece(rest, most));
        put_row(piece.trim_ascii_end(), constants, stream)?;
        rest = behind;
    }
    Ok(())
}

/// Where the first piece of a text ends: behind a line where one ends in time, else before a character.
fn end_of_piece(text: &[u8], most: usize) -> usize {
    if text.len() <= most {
        return text.len();
    }
    let first = &text[..most];
    if let Some(line) = memchr::memrchr(b'\n', first) {
        return line + 1;
    }
    let is_inside = |byte: &&u8| **byte & 0xC0 == 0x80;
    let inside = text[..=most].iter().rev().take_while(is_inside).count();
    if inside < 4 && inside < most { most - inside } else { most }
}

fn put_row(text: &[u8], constants: &Constants, stream: &mut Stream) -> Result<()> {
    let mut fields = Fields::default();
    stream.add_row(|row| {
        let (mut names, first, start) = (row.paths.enter(NodeId::ROOT), fields.begin(), nest::open(row.out));
        let told = constants.fields.iter().map(|(name, value)| (&**name, Some(&**value)));
        for (name, value) in told.chain([(MESSAGE, None)]) {
            let field = row.paths.field(&mut names, name, row.symbols);
            if field.repeated {
                continue;
            }
            fields.add(field.symbol, row.out.len());
            varuint::put(row.out, u64::from(field.symbol));
            match value {
                Some(value) => put_default(row, field.node, value),
                None => put_valid(row, text, field.node),
            }
        }
        constants.put_defaults(row, &mut names, |symbol, start| fields.add(symbol, start));
        fields.sort(row.out, start + 1, first, Keep::First);
        nest::close(row.out, start, kind::STRUCT);
        Ok(())
    })
}

/// Appends a text with its malformed parts replaced.
#[inline]
pub(super) fn put_valid(row: &mut Row, text: &[u8], node: NodeId) {
    if simdutf8::basic::from_utf8(text).is_ok() {
        row.put_text(text, node);
    } else {
        row.paths.note_replaced(1);
        row.put_text(String::from_utf8_lossy(text).as_bytes(), node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_behind_lines_or_before_characters() {
        for (text, most, end) in [
            ("ab\ncd\nef", 8, 8),
            ("ab\ncd\nef", 7, 6),
            ("ab\ncd\nef", 5, 3),
            ("ab", 1, 1),
            ("aé", 2, 1),
            ("aéb", 3, 3),
            ("é", 1, 1),
        ] {
            assert_eq!(end_of_piece(text.as_bytes(), most), end, "{text:?} {most}");
        }
    }
}
