//! Fields of structs that are written in any order, and stored in that of their symbols.

/// Which of several fields with one name counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The first one.
    First,
    /// The last one.
    Last,
}

/// The fields of the structs that are open.
#[derive(Debug, Default)]
pub struct Fields {
    /// Symbol and start of each, those of inner structs behind those of outer ones.
    open: Vec<(u32, usize)>,
    spans: Vec<(u32, usize, usize)>,
    scratch: Vec<u8>,
}

impl Fields {
    /// Forgets all fields, after an error inside a struct.
    pub fn clear(&mut self) {
        self.open.clear();
    }

    /// Begins a struct: gives what [`Self::sort`] wants to know.
    #[inline]
    pub fn begin(&self) -> usize {
        self.open.len()
    }

    /// Tells that a field starts at `start`, with its symbol; it ends where the next one starts.
    #[inline]
    pub fn add(&mut self, symbol: u32, start: usize) {
        self.open.push((symbol, start));
    }

    /// Whether one of the first `count` fields since `begin` has a symbol.
    #[inline]
    pub fn has(&self, begin: usize, count: usize, symbol: u32) -> bool {
        self.open.iter().skip(begin).take(count).any(|field| field.0 == symbol)
    }

    /// Puts the fields since `begin`, which are all from `body` on, into the order of their symbols; gives how many
    /// do not count.
    pub fn sort(&mut self, out: &mut Vec<u8>, body: usize, begin: usize, keep: Keep) -> usize {
        let fields = &self.open[begin..];
        let mut dropped = 0;
        if !fields.is_sorted_by(|before, after| before.0 < after.0) {
            let ends = fields.iter().skip(1).map(|field| field.1).chain([out.len()]);
            self.spans.clear();
            self.spans.extend(fields.iter().zip(ends).map(|(&(symbol, start), end)| (symbol, start, end)));
            self.spans.sort_unstable();
            self.spans.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                if same && keep == Keep::Last {
                    *kept = *next;
                }
                dropped += usize::from(same);
                same
            });
            self.scratch.clear();
            self.scratch.extend_from_slice(&out[body..]);
            out.truncate(body);
            for &(_, start, end) in &self.spans {
                out.extend_from_slice(&self.scratch[start - body..end - body]);
            }
        }
        self.open.truncate(begin);
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_sorted_and_one_of_a_name_stays() {
        for (keep, expected) in [(Keep::First, b"-bca"), (Keep::Last, b"-bda")] {
            let mut fields = Fields::default();
            fields.add(1, 0);
            let begin = fields.begin();
            let mut out = b"-".to_vec();
            for (symbol, byte) in [(7, b'a'), (3, b'b'), (5, b'c'), (5, b'd')] {
                fields.add(symbol, out.len());
                out.push(byte);
            }
            let dropped = fields.sort(&mut out, 1, begin, keep);
            assert_eq!((out.as_slice(), fields.begin(), dropped), (&expected[..], 1, 1));
        }
    }
}
