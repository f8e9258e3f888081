//! The fuzzy comparison of strings: a greedy estimate of the edit distance with three units of
//! look-ahead.

use std::iter;

/// A literal that texts are compared with.
pub struct Fuzzy {
    literal: Vec<u32>,
    limit: u64,
    contains: bool,
    unicode: bool,
}

/// Units that stand for the places past an end: each differs from all but its counterpart.
const PAST_END: u32 = 0x11_0000;

impl Fuzzy {
    /// Compares with `literal`, allowing `limit` errors. Units are bytes, or code points if `unicode`;
    /// the case of ASCII letters does not matter. With `contains` the literal may stand anywhere.
    pub fn new(literal: &str, limit: i64, contains: bool, unicode: bool) -> Self {
        let limit = limit.max(0).unsigned_abs();
        Self { literal: units(literal, unicode).collect(), limit, contains, unicode }
    }

    /// Whether the text is, or contains, something close enough. `buffer` is scratch space.
    pub fn matches(&self, text: &str, buffer: &mut Vec<u32>) -> bool {
        buffer.clear();
        buffer.extend(units(text, self.unicode));
        if self.contains {
            (0..=buffer.len()).any(|start| self.is_close(buffer.get(start..).unwrap_or_default()))
        } else {
            self.is_close(buffer)
        }
    }

    fn is_close(&self, mut data: &[u32]) -> bool {
        let mut literal = &*self.literal;
        let mut errors = 0;
        while !(literal.is_empty() && (self.contains || data.is_empty())) {
            let (cost, over, past) = step(window(data), window(literal));
            errors += cost;
            if errors > self.limit {
                return false;
            }
            data = data.get(over..).unwrap_or_default();
            literal = literal.get(past..).unwrap_or_default();
        }
        true
    }
}

fn units(text: &str, unicode: bool) -> impl Iterator<Item = u32> {
    let mut bytes = text.bytes();
    let mut chars = text.chars();
    iter::from_fn(move || {
        if unicode {
            chars.next().map(|unit| u32::from(unit.to_ascii_uppercase()))
        } else {
            bytes.next().map(|unit| u32::from(unit.to_ascii_uppercase()))
        }
    })
}

fn window(rest: &[u32]) -> [u32; 3] {
    [0, 1, 2].map(|place| rest.get(place).copied().unwrap_or(PAST_END + place as u32))
}

/// What the next step costs, and how far it goes in the data and in the literal.
fn step(d: [u32; 3], n: [u32; 3]) -> (u64, usize, usize) {
    let equal = d.iter().map(|unit| n.iter().filter(|other| unit == *other).count()).sum::<usize>();
    if d[0] == n[0] {
        (0, 1, 1)
    } else if d[0] == n[1] && d[1] == n[0] {
        (1, 2, 2)
    } else if d[0] == n[1] && d[1] == n[2] && d[1] != n[0] {
        (1, 1, 2)
    } else if d[0] == n[2] && equal == 1 {
        (2, 1, 3)
    } else if d[1] == n[0] && d[2] == n[1] && d[0] != n[1] {
        (1, 2, 1)
    } else if d[2] == n[0] && equal == 1 {
        (2, 3, 1)
    } else if d[2] == n[0] && d[0] == n[1] && equal == 2 {
        (2, 3, 2)
    } else {
        (1, 1, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::Fuzzy;

    fn close(text: &str, literal: &str, limit: i64, contains: bool) -> bool {
        Fuzzy::new(literal, limit, contains, false).matches(text, &mut Vec::new())
    }

    #[test]
    fn whole_texts() {
        assert!(close("Oslo", "oslo", 0, false));
        assert!(close("Olso", "oslo", 1, false));
        assert!(close("Osl", "oslo", 1, false));
        assert!(close("Ossslo", "oslo", 2, false));
        assert!(!close("Bergen", "oslo", 2, false));
        assert!(!close("", "oslo", 3, false));
    }

    #[test]
    fn anywhere() {
        assert!(close("in Oslo, Norway", "oslo", 0, true));
        assert!(close("in Osloo", "oslo", 0, true));
        assert!(!close("in Ola", "oslo", 1, true));
    }

    #[test]
    fn units_are_bytes_or_code_points() {
        assert!(!Fuzzy::new("zürich", 1, false, false).matches("zurich", &mut Vec::new()));
        assert!(Fuzzy::new("zürich", 1, false, true).matches("zurich", &mut Vec::new()));
    }
}
