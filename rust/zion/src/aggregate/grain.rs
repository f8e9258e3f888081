//! Times rounded down.

use crate::ion::timestamp::Civil;

/// What a time is rounded down to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grain {
    /// A multiple of some microseconds from an instant on.
    Micros {
        /// Their number, at least 1.
        every: i64,
        /// The instant, in microseconds since 1970.
        from: i64,
    },
    /// The start of a month whose number in its year, from 0, is a multiple.
    Months(u32),
}

impl Grain {
    /// For how many microseconds from a rounded time on all times are rounded down to it, at least.
    pub fn least(self) -> i64 {
        match self {
            Self::Micros { every, .. } => every.max(1),
            Self::Months(_) => 28 * 86_400_000_000,
        }
    }

    /// Rounds microseconds since 1970 down.
    pub fn floor(self, us: i64) -> i64 {
        match self {
            Self::Micros { every, from } => {
                let past = (i128::from(us) - i128::from(from)).rem_euclid(i128::from(every.max(1)));
                us.saturating_sub(past as i64)
            }
            Self::Months(every) => {
                let Civil { year, month, .. } = Civil::from_micros(us);
                let month = month - (month - 1) % every.max(1);
                Civil { year, month, day: 1, hour: 0, minute: 0, second: 0, micros: 0 }.to_micros()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000_000;

    #[test]
    fn times_are_rounded_down() {
        let hours = |hours: i64, from| Grain::Micros { every: hours * DAY / 24, from };
        for (grain, us, expected) in [
            (hours(1, 0), 3_600_000_001, 3_600_000_000),
            (hours(1, 0), -1, -3_600_000_000),
            (hours(1, 0), 0, 0),
            (hours(1, 1), 0, 1 - 3_600_000_000),
            // 1970 began on a Thursday.
            (hours(7 * 24, -4 * DAY), 0, -4 * DAY),
            (hours(7 * 24, -4 * DAY), 3 * DAY, 3 * DAY),
            (Grain::Months(1), 31 * DAY, 31 * DAY),
            (Grain::Months(1), 59 * DAY - 1, 31 * DAY),
            (Grain::Months(3), 89 * DAY, 0),
            (Grain::Months(3), 90 * DAY, 90 * DAY),
            (Grain::Months(12), -1, -365 * DAY),
            (Grain::Micros { every: 0, from: 0 }, 5, 5),
            (Grain::Micros { every: 2, from: i64::MIN }, i64::MAX, i64::MAX - 1),
        ] {
            assert_eq!(grain.floor(us), expected, "{grain:?} {us}");
        }
    }
}
