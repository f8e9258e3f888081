//! Numbers as SQL has them: integers and doubles that compare by value, and sums that lose nothing on the way.

use std::cmp::Ordering;

/// A number; whatever is whole and at most [`WHOLE_LIMIT`] away from 0 is an integer, however it is stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// An integer.
    Int(i128),
    /// Any other number.
    Float(f64),
}

/// 2^64: no integer of a packfile is further away from 0.
pub const WHOLE_LIMIT: f64 = 18_446_744_073_709_551_616.0;
/// Decimal digits that every integer of [`Number`] fits.
pub const WHOLE_DIGITS: u8 = 20;

impl From<f64> for Number {
    #[inline]
    fn from(value: f64) -> Self {
        const INT64: f64 = 9_223_372_036_854_775_808.0;
        if (-INT64..INT64).contains(&value) && value.trunc() == value {
            Self::Int(i128::from(value as i64))
        } else if value.abs() <= WHOLE_LIMIT && value.trunc() == value {
            Self::Int(value as i128)
        } else {
            Self::Float(value)
        }
    }
}

impl Number {
    /// The nearest double.
    #[inline]
    pub fn to_f64(self) -> f64 {
        match self {
            // Converting 128 bits is a call of a function; nearly all integers have 64.
            Self::Int(value) => i64::try_from(value).map_or_else(|_| value as f64, |value| value as f64),
            Self::Float(value) => value,
        }
    }
}

/// Numbers by value, exactly. NaN equals itself and is above all others, as it is for `DuckDB`.
pub fn order(a: Number, b: Number) -> Ordering {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => a.cmp(&b),
        (Number::Float(a), Number::Float(b)) => {
            a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
        }
        (Number::Int(a), Number::Float(b)) => order_mixed(a, b),
        (Number::Float(a), Number::Int(b)) => order_mixed(b, a).reverse(),
    }
}

fn order_mixed(a: i128, b: f64) -> Ordering {
    // Far beyond all integers, and far from the bounds of i128.
    const LIMIT: f64 = 1e30;
    if b.is_nan() || b >= LIMIT {
        Ordering::Less
    } else if b < -LIMIT {
        Ordering::Greater
    } else {
        a.cmp(&(b.floor() as i128)).then_with(|| 0.0f64.total_cmp(&(b - b.floor())))
    }
}

/// A sum with compensation of rounding (Neumaier's).
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    total: f64,
    lost: f64,
}

impl Sum {
    /// Adds a number.
    pub fn add(&mut self, value: f64) {
        let total = self.total + value;
        self.lost += if self.total.abs() >= value.abs() {
            (self.total - total) + value
        } else {
            (value - total) + self.total
        };
        self.total = total;
    }

    /// Adds the numbers of another sum.
    pub fn join(&mut self, other: Self) {
        self.add(other.total);
        if other.total.is_finite() {
            self.add(other.lost);
        }
    }

    /// The sum of all numbers. Infinities and NaN win over any compensation.
    pub fn value(self) -> f64 {
        if self.total.is_finite() { self.total + self.lost } else { self.total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_by_value() {
        let (int, float) = (Number::Int, Number::Float);
        for (a, b, expected) in [
            (int(1), float(1.5), Ordering::Less),
            (int(-1), float(-1.5), Ordering::Greater),
            (int(2), float(1.5), Ordering::Greater),
            (int(i64::MAX.into()), float(9.3e18), Ordering::Less),
            (int(i64::MIN.into()), float(-9.3e18), Ordering::Greater),
            (int(u64::MAX.into()), float(18_446_744_073_709_551_616.0), Ordering::Less),
            (int(u64::MAX.into()), float(18_446_744_073_709_549_568.0), Ordering::Greater),
            (int(u64::MAX.into()), int(i128::from(u64::MAX) - 1), Ordering::Greater),
            (int(1 << 63), float(9_223_372_036_854_775_808.0), Ordering::Equal),
            (int(-i128::from(u64::MAX)), float(f64::NEG_INFINITY), Ordering::Greater),
            (int(u64::MAX.into()), float(f64::INFINITY), Ordering::Less),
            (int(9_007_199_254_740_993), float(9_007_199_254_740_992.0), Ordering::Greater),
            (int(i64::MAX.into()), float(f64::NAN), Ordering::Less),
            (float(f64::NAN), float(f64::NAN), Ordering::Equal),
            (float(f64::INFINITY), float(f64::NAN), Ordering::Less),
            (float(0.5), float(0.25), Ordering::Greater),
        ] {
            assert_eq!(order(a, b), expected, "{a:?} {b:?}");
            assert_eq!(order(b, a), expected.reverse(), "{b:?} {a:?}");
        }
    }

    #[test]
    fn sums_keep_what_naive_ones_lose() {
        let sum = |values: &[f64]| {
            let mut sum = Sum::default();
            for value in values {
                sum.add(*value);
            }
            sum.value()
        };
        assert_eq!(sum(&[1.0, 1e100, 1.0, -1e100]), 2.0);
        assert_eq!(sum(&[0.1; 10]), 1.0);
        assert_eq!(sum(&[f64::INFINITY, 1.0]), f64::INFINITY);
        assert!(sum(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan());
    }
}
