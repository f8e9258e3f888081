//! Numbers: shifts that never fail, and sums that lose nothing on the way.

/// Direction of a shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shift {
    /// `<<`
    Left,
    /// `>>`, which keeps the sign.
    Right,
    /// `>>>`, which fills with zeros.
    Logical,
}

impl Shift {
    /// The shift of an operator.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "<<" => Self::Left,
            ">>" => Self::Right,
            ">>>" => Self::Logical,
            _ => return None,
        })
    }

    /// Shifts a number. Counts above 63, and negative ones, which are large when read without a sign,
    /// leave nothing but the sign that `>>` keeps.
    pub fn apply(self, value: i64, count: i64) -> i64 {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        match self {
            Self::Left => value.checked_shl(count).unwrap_or(0),
            Self::Right => value >> count.min(63),
            Self::Logical => value.cast_unsigned().checked_shr(count).map_or(0, u64::cast_signed),
        }
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
    use super::{Shift, Sum};

    #[test]
    fn shifts_never_fail() {
        assert_eq!(Shift::Left.apply(1, 63), i64::MIN);
        assert_eq!(Shift::Left.apply(1, 64), 0);
        assert_eq!(Shift::Right.apply(-16, 2), -4);
        assert_eq!(Shift::Right.apply(-16, 200), -1);
        assert_eq!(Shift::Logical.apply(-16, 60), 15);
        assert_eq!(Shift::Logical.apply(-16, 64), 0);
        assert_eq!(Shift::Logical.apply(-16, -1), 0);
        assert_eq!(Shift::from_name("<"), None);
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
