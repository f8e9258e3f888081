//! Texts of JSON, which are taken apart where the user says so, and lists of bytes that are texts.

use super::{Descent, JsonParser, Place};
use crate::chunk::Row;
use crate::chunk::paths::NodeId;
use crate::ingest::json::repeated::last_of_each;
use crate::ingest::{Constants, Duplicates, OnError};

/// Appends what a text of another format is as JSON, an object or a list; false if it is neither.
#[cold]
pub(in crate::ingest) fn put_apart(row: &mut Row, text: &[u8], node: NodeId, depth: u32) -> bool {
    let mut parser = JsonParser::new(std::sync::Arc::<Constants>::default(), None, OnError::Fail);
    let is_put = Descent::new(&mut parser, b"", 0).put_apart(row, text, Place { node, hint: None }, depth);
    row.paths.note_dropped(parser.dropped);
    is_put
}

impl Descent<'_, '_> {
    /// Appends what a text is as JSON, an object or a list; false if it is neither, and nothing was appended.
    #[cold]
    pub(super) fn put_apart(&mut self, row: &mut Row, text: &[u8], place: Place, depth: u32) -> bool {
        let text = text.trim_ascii();
        // First without a place: what is no JSON leaves nothing behind.
        let (size, symbols) = (row.out.len(), row.symbols.max_id());
        let (replaced, dropped) = (self.parser.replaced, self.parser.dropped);
        let nowhere = Place { node: NodeId::NONE, ..place };
        let is_json = simdutf8::basic::from_utf8(text).is_ok() && self.put_inner(row, text, nowhere, depth);
        row.out.truncate(size);
        row.symbols.truncate(symbols);
        let has_twice = std::mem::replace(&mut self.parser.dropped, dropped) > dropped;
        self.parser.replaced = replaced;
        let is_put = is_json && {
            let is_last = has_twice && self.parser.duplicates == Duplicates::Last;
            let last = if is_last { last_of_each(text) } else { vec![] };
            self.put_inner(row, if is_last { &last } else { text }, place, depth)
        };
        if !is_put {
            row.out.truncate(size);
        }
        row.paths.note_apart(place.node, is_put);
        is_put
    }

    /// Appends an object or list; false if the text is no such, as a whole.
    fn put_inner(&mut self, row: &mut Row, text: &[u8], place: Place, depth: u32) -> bool {
        matches!(text.first(), Some(b'{' | b'['))
            && self.nested(text, |inner| {
                let after = inner.value(row, 0, place, depth);
                after.is_ok_and(|after| after == text.len() && inner.next() == after)
            })
    }
}

/// The bytes of a list of such; none if it is another list, or an empty one.
#[cold]
pub(super) fn bytes_of(text: &[u8]) -> Option<Vec<u8>> {
    let inner = text.strip_prefix(b"[")?;
    let end = memchr::memchr(b']', inner)?;
    let byte = |item: &[u8]| std::str::from_utf8(item.trim_ascii()).ok()?.parse::<u8>().ok();
    inner[..end].split(|&byte| byte == b',').map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_numbers_that_fit_one() {
        assert_eq!(bytes_of(b"[72, 105]").as_deref(), Some(&b"Hi"[..]));
        for other in ["[]", "[256]", "[1,[2]]", "[1.5]", "[\"a\"]", "[-1]", "[1"] {
            assert_eq!(bytes_of(other.as_bytes()), None, "{other}");
        }
    }
}
