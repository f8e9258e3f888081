//! What is known of the values of one field.

use super::distinct::Distinct;
use super::heavy::Heavy;
use super::scalar::Scalar;

/// A beginning of a text, and whether that is not all of it.
type Kept = (Box<[u8]>, bool);

/// What is known of the values of one field.
#[derive(Debug, Clone, Default)]
pub struct Stats {
    /// Bit `k` is set when a value of Ion type `k` was seen; symbols count as strings.
    pub types: u16,
    /// Number of rows that have a value, null included.
    pub rows: u64,
    /// Number of values, nulls included; more than rows where a list has several.
    pub values: u64,
    /// Number of nulls.
    pub nulls: u64,
    /// Number of booleans.
    pub bools: u64,
    /// Number of timestamps.
    pub times: u64,
    /// Number of lists.
    pub lists: u64,
    /// Number of structs.
    pub structs: u64,
    /// Number of whole numbers.
    pub ints: u64,
    /// Number of other numbers.
    pub floats: u64,
    /// Number of texts.
    pub texts: u64,
    /// Number of values that are just bytes.
    pub blobs: u64,
    /// The least and the greatest whole number.
    pub int_range: Option<(i128, i128)>,
    /// The least and the greatest of the other numbers.
    pub float_range: Option<(f64, f64)>,
    /// The first and the last timestamp.
    pub time_range: Option<(i64, i64)>,
    /// The lengths of the shortest and the longest text; bytes count as the text that JSON has for them.
    pub length_range: Option<(usize, usize)>,
    text_range: Option<(Kept, Kept)>,
    /// Bytes that the values take with their labels, decompressed, with all that is in them.
    pub bytes: u64,
    /// Their share of the compressed bytes.
    pub compressed: f64,
    known: Option<Box<Known>>,
}

/// Which values there are.
#[derive(Debug, Clone, Default)]
struct Known {
    heavy: Heavy,
    distinct: Distinct,
}

fn widen<T: PartialOrd + Copy>(range: &mut Option<(T, T)>, value: T) {
    match range {
        Some((low, high)) => {
            if value < *low {
                *low = value;
            }
            if value > *high {
                *high = value;
            }
        }
        None => *range = Some((value, value)),
    }
}

fn join<T: PartialOrd + Copy>(range: &mut Option<(T, T)>, other: Option<(T, T)>) {
    if let Some((low, high)) = other {
        widen(range, low);
        widen(range, high);
    }
}

/// Bytes of the text that JSON has for bytes.
fn base64_length(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

impl Stats {
    /// Adds a value; with `compares` also to those that are compared.
    #[inline]
    pub(super) fn add(&mut self, value: Scalar<'_>, hash: u64, compares: bool) {
        match value {
            Scalar::Bool(_) => self.bools += 1,
            Scalar::Int(_) => self.ints += 1,
            Scalar::Float(_) => self.floats += 1,
            Scalar::Time(_) => self.times += 1,
            Scalar::Text(..) => self.texts += 1,
            Scalar::Bytes(..) => self.blobs += 1,
        }
        if compares {
            let known = self.known.get_or_insert_default();
            if known.heavy.hit(hash, 1) {
                // All else was done when it came first.
                return;
            }
            known.heavy.put(hash, value, 1);
            known.distinct.add(hash);
        }
        self.widen(value, compares);
    }

    fn widen(&mut self, value: Scalar<'_>, compares: bool) {
        match value {
            Scalar::Bool(_) => {}
            Scalar::Int(value) => widen(&mut self.int_range, value),
            // What is not a number is neither less nor greater.
            Scalar::Float(value) if value.is_nan() => {}
            Scalar::Float(value) => widen(&mut self.float_range, value),
            Scalar::Time(value) => widen(&mut self.time_range, value),
            Scalar::Bytes(bytes, _) => widen(&mut self.length_range, base64_length(bytes.len())),
            Scalar::Text(text, _) => {
                widen(&mut self.length_range, text.len());
                if compares && let Scalar::Text(text, is_cut) = value.cut() {
                    self.widen_text(text, is_cut);
                }
            }
        }
    }

    /// Of texts that begin alike a longer one is the greater.
    fn widen_text(&mut self, text: &[u8], is_cut: bool) {
        let kept = || (text.into(), is_cut);
        let Some((low, high)) = &mut self.text_range else {
            self.text_range = Some((kept(), kept()));
            return;
        };
        if (text, is_cut) < (&low.0, low.1) {
            *low = kept();
        } else if (text, is_cut) > (&high.0, high.1) {
            *high = kept();
        }
    }

    /// Adds what is known of others.
    pub(super) fn join(&mut self, other: &Self) {
        self.types |= other.types;
        for (count, more) in [
            (&mut self.rows, other.rows),
            (&mut self.values, other.values),
            (&mut self.nulls, other.nulls),
            (&mut self.bools, other.bools),
            (&mut self.times, other.times),
            (&mut self.lists, other.lists),
            (&mut self.structs, other.structs),
            (&mut self.ints, other.ints),
            (&mut self.floats, other.floats),
            (&mut self.texts, other.texts),
            (&mut self.blobs, other.blobs),
            (&mut self.bytes, other.bytes),
        ] {
            *count += more;
        }
        self.compressed += other.compressed;
        join(&mut self.int_range, other.int_range);
        join(&mut self.float_range, other.float_range);
        join(&mut self.time_range, other.time_range);
        join(&mut self.length_range, other.length_range);
        if let Some((low, high)) = &other.text_range {
            self.widen_text(&low.0, low.1);
            self.widen_text(&high.0, high.1);
        }
        if let Some(other) = &other.known {
            let known = self.known.get_or_insert_default();
            known.heavy.join(&other.heavy);
            known.distinct.join(&other.distinct);
        }
    }

    /// The first and the last text in the order of their bytes.
    pub fn text_range(&self) -> Option<(Scalar<'_>, Scalar<'_>)> {
        let ((low, is_low_cut), (high, is_high_cut)) = self.text_range.as_ref()?;
        Some((Scalar::Text(low, *is_low_cut), Scalar::Text(high, *is_high_cut)))
    }

    /// How many different values there are, lists and structs aside, and whether that is exact.
    pub fn distinct(&self) -> (u64, bool) {
        self.known.as_ref().map_or((0, true), |known| known.distinct.count())
    }

    /// The most frequent values with their counts, and by how much the counts may be too small.
    pub fn top(&self, most: usize) -> (Vec<(Scalar<'_>, u64)>, u64) {
        self.known.as_ref().map_or((Vec::new(), 0), |known| (known.heavy.top(most), known.heavy.lost()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_texts_that_are_cut() {
        let long = |last: u8| [&[b'm'; 96][..], &[last]].concat();
        let mut stats = Stats::default();
        for text in [long(b'b'), long(b'a'), vec![b'm'; 96]] {
            let value = Scalar::Text(&text, false);
            stats.add(value, value.hash(), true);
        }
        let whole = [b'm'; 96];
        assert_eq!(stats.text_range(), Some((Scalar::Text(&whole, false), Scalar::Text(&whole, true))));
        let mut joined = Stats::default();
        joined.add(Scalar::Text(b"a", false), 1, true);
        joined.join(&stats);
        assert_eq!(joined.text_range(), Some((Scalar::Text(b"a", false), Scalar::Text(&whole, true))));
        assert_eq!((joined.length_range, joined.distinct()), (Some((1, 97)), (4, true)));
    }

    #[test]
    fn what_is_no_number_has_no_place_among_them() {
        let mut stats = Stats::default();
        for value in [f64::NAN, 1.5, f64::NAN, -0.5] {
            stats.add(Scalar::Float(value), Scalar::Float(value).hash(), true);
        }
        assert_eq!((stats.floats, stats.float_range), (4, Some((-0.5, 1.5))));
        assert_eq!(stats.distinct(), (3, true));
    }
}
