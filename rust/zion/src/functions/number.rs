//! Shifts that never fail.

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

#[cfg(test)]
mod tests {
    use super::Shift;

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
}
