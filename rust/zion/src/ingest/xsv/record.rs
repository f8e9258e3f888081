//! A record of CSV or TSV, field by field.

/// The fields of a record: places in its text, or in a copy where the text is not the value.
#[derive(Debug, Default)]
pub(super) struct Record {
    spans: Vec<(usize, usize, bool)>,
    copies: Vec<u8>,
}

impl Record {
    pub(super) fn clear(&mut self) {
        self.spans.clear();
        self.copies.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    #[inline]
    pub(super) fn field<'a>(&'a self, text: &'a [u8], index: usize) -> Option<&'a [u8]> {
        let &(start, end, copied) = self.spans.get(index)?;
        if copied { self.copies.get(start..end) } else { text.get(start..end) }
    }

    #[inline]
    pub(super) fn push(&mut self, start: usize, end: usize) {
        self.spans.push((start, end, false));
    }

    pub(super) fn begin_copy(&mut self) -> usize {
        self.copies.len()
    }

    pub(super) fn copy(&mut self, bytes: &[u8]) {
        self.copies.extend_from_slice(bytes);
    }

    /// Copies text whose lines may end with CRLF as lines that end with LF.
    pub(super) fn copy_lines(&mut self, mut text: &[u8]) {
        while let Some(at) = memchr::memchr(b'\r', text) {
            let line_end = text.get(at + 1) == Some(&b'\n');
            self.copies.extend_from_slice(&text[..at + usize::from(!line_end)]);
            text = &text[at + 1..];
        }
        self.copies.extend_from_slice(text);
    }

    pub(super) fn end_copy(&mut self, start: usize) {
        self.spans.push((start, self.copies.len(), true));
    }
}
