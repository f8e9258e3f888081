//! Line numbers of places that come one after the other.

/// Counts the lines of a text, each byte once.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    at: usize,
    ends: u64,
}

impl Lines {
    /// The number of the line that `offset` is in, from 1. Offsets must not descend; what lies before the last
    /// one is in its line.
    pub(crate) fn number(&mut self, text: &[u8], offset: usize) -> u64 {
        let passed = text.get(self.at..offset).unwrap_or_default();
        self.ends += memchr::memchr_iter(b'\n', passed).count() as u64;
        self.at = self.at.max(offset);
        self.ends + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_from_one() {
        let (text, mut lines) = (b"a\nb\n\nc", Lines::default());
        for (offset, line) in [(0, 1), (1, 1), (2, 2), (2, 2), (5, 4), (1, 4), (6, 4), (9, 4)] {
            assert_eq!(lines.number(text, offset), line, "{offset}");
        }
    }
}
