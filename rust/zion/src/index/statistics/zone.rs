//! What the values at a path are between.

use crate::ion::{self, kind};

/// A bound of texts has at most so many bytes.
pub const TEXT_BYTES: usize = 32;
/// Integers that floats may be equal to: 2^63 and 2^64 are exact.
const TWO_63: f64 = 9_223_372_036_854_775_808.0;
const TWO_64: f64 = 18_446_744_073_709_551_616.0;

/// The first bytes of a text, as a number that sorts like them.
#[inline]
fn key(text: &[u8]) -> u64 {
    match text.first_chunk::<8>() {
        Some(first) => u64::from_be_bytes(*first),
        None => short_key(text),
    }
}

#[inline]
fn short_key(text: &[u8]) -> u64 {
    let Ok(number) = ion::magnitude(text, 0) else { return 0 };
    number.checked_shl(64 - 8 * text.len() as u32).unwrap_or(0)
}

/// Bounds of texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Texts {
    least: Vec<u8>,
    greatest: Vec<u8>,
    /// Whether a text goes on behind `greatest`.
    is_cut: bool,
    keys: (u64, u64),
}

impl Texts {
    fn new(text: &[u8]) -> Self {
        let kept = cut(text);
        let keys = (key(text), key(text));
        Self { least: kept.to_vec(), greatest: kept.to_vec(), is_cut: text.len() > TEXT_BYTES, keys }
    }

    #[inline]
    fn add(&mut self, text: &[u8]) {
        let key = key(text);
        if self.keys.0 < key && key < self.keys.1 {
            return;
        }
        self.widen(text);
    }

    fn widen(&mut self, text: &[u8]) {
        let kept = cut(text);
        if *text < *self.least {
            self.least = kept.to_vec();
            self.keys.0 = key(text);
        }
        if *kept > *self.greatest {
            self.greatest = kept.to_vec();
            self.keys.1 = key(text);
            self.is_cut = text.len() > TEXT_BYTES;
        } else if *kept == *self.greatest {
            self.is_cut |= text.len() > TEXT_BYTES;
        }
    }

    /// A text, or its beginning, that none is below.
    pub fn least(&self) -> &[u8] {
        &self.least
    }

    /// A text, or what follows all that begin like it, that none is above; none if there is no such thing.
    pub fn greatest(&self) -> Option<Vec<u8>> {
        let mut greatest = self.greatest.clone();
        if self.is_cut {
            let last = greatest.last_mut()?;
            *last = last.checked_add(1)?;
        }
        Some(greatest)
    }
}

fn cut(text: &[u8]) -> &[u8] {
    text.get(..TEXT_BYTES).unwrap_or(text)
}

/// The least and the greatest of values of one type.
type Bounds<T> = Option<(T, T)>;

#[inline]
fn widen<T: Copy + PartialOrd>(bounds: &mut Bounds<T>, low: T, high: T) {
    match bounds {
        None => *bounds = Some((low, high)),
        Some((least, greatest)) => {
            if low < *least {
                *least = low;
            }
            if high > *greatest {
                *greatest = high;
            }
        }
    }
}

/// The values at a path in some rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Zone {
    /// Bit `k` is set when a value of Ion type `k` was seen; text is a string.
    pub types: u16,
    /// Number of values, nulls included.
    pub values: u64,
    /// How many of them are null.
    pub nulls: u64,
    /// Bit 0: false was seen; bit 1: true.
    pub booleans: u8,
    /// Whether NaN was seen.
    pub has_nan: bool,
    /// Bounds of the integers, and of the floats that are equal to one.
    pub integers: Bounds<i128>,
    /// Bounds of the other floats.
    pub floats: Bounds<f64>,
    /// Bounds of the texts.
    pub texts: Option<Texts>,
    /// Bounds of the times in microseconds.
    pub times: Bounds<i64>,
}

impl Zone {
    #[inline]
    pub(super) fn count(&mut self, kind: u8, counts: bool) {
        self.types |= 1 << kind;
        self.values += u64::from(counts);
    }

    pub(super) fn null(&mut self, counts: bool) {
        self.count(kind::NULL, counts);
        self.nulls += u64::from(counts);
    }

    #[inline]
    pub(super) fn integer(&mut self, number: i128) {
        widen(&mut self.integers, number, number);
    }

    /// Notes a float; gives the integer that it is equal to.
    pub(super) fn float(&mut self, number: f64) -> Option<i128> {
        if number.is_nan() {
            self.has_nan = true;
            return None;
        }
        if number.fract() == 0.0 && (-TWO_63..TWO_64).contains(&number) {
            let whole = number as i128;
            self.integer(whole);
            return Some(whole);
        }
        widen(&mut self.floats, number, number);
        None
    }

    #[inline]
    pub(super) fn text(&mut self, text: &[u8]) {
        match &mut self.texts {
            Some(texts) => texts.add(text),
            None => self.texts = Some(Texts::new(text)),
        }
    }

    #[inline]
    pub(super) fn time(&mut self, us: i64) {
        widen(&mut self.times, us, us);
    }

    /// Takes what is known of the rows that follow.
    pub fn join(&mut self, other: &Self) {
        self.types |= other.types;
        self.values += other.values;
        self.nulls += other.nulls;
        self.booleans |= other.booleans;
        self.has_nan |= other.has_nan;
        if let Some((low, high)) = other.integers {
            widen(&mut self.integers, low, high);
        }
        if let Some((low, high)) = other.floats {
            widen(&mut self.floats, low, high);
        }
        if let Some((low, high)) = other.times {
            widen(&mut self.times, low, high);
        }
        match (&mut self.texts, &other.texts) {
            (Some(mine), Some(texts)) => mine.join(texts),
            (mine @ None, Some(texts)) => *mine = Some(texts.clone()),
            (_, None) => {}
        }
    }
}

impl Texts {
    fn join(&mut self, other: &Self) {
        if other.least < self.least {
            self.least.clone_from(&other.least);
            self.keys.0 = other.keys.0;
        }
        if other.greatest > self.greatest {
            self.greatest.clone_from(&other.greatest);
            self.keys.1 = other.keys.1;
            self.is_cut = other.is_cut;
        } else if other.greatest == self.greatest {
            self.is_cut |= other.is_cut;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_texts_cover_them_all() {
        let long = "x".repeat(40);
        let higher = format!("{}y", "x".repeat(39));
        for texts in [vec!["b", "a", ""], vec![&long, &higher], vec![&long[..32], &long], vec!["\u{10FFFF}é"]]
        {
            let mut zone = Zone::default();
            for text in &texts {
                zone.text(text.as_bytes());
            }
            let Some(bounds) = zone.texts else { unreachable!("there are texts") };
            let Some(top) = bounds.greatest() else { unreachable!("no byte is 255") };
            for text in texts {
                assert!(bounds.least() <= text.as_bytes() && text.as_bytes() <= &*top, "{text}");
            }
            assert!(bounds.least().len() <= TEXT_BYTES && top.len() <= TEXT_BYTES);
        }
        let mut zone = Zone::default();
        zone.text(&[0xFF; 40]);
        assert_eq!(zone.texts.and_then(|texts| texts.greatest()), None);
    }

    #[test]
    fn floats_that_are_integers_count_as_those() {
        let mut zone = Zone::default();
        for (float, whole) in
            [(2.0, Some(2)), (-0.0, Some(0)), (-TWO_63, Some(-1 << 63)), (TWO_63, Some(1 << 63))]
        {
            assert_eq!(zone.float(float), whole);
        }
        for float in [1.5, TWO_64, -TWO_64, f64::INFINITY, f64::NAN] {
            assert_eq!(zone.float(float), None);
        }
        assert_eq!(zone.integers, Some((-1 << 63, 1 << 63)));
        assert_eq!(zone.floats, Some((-TWO_64, f64::INFINITY)));
        assert!(zone.has_nan);
    }
}
