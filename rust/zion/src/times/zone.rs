//! The zone of times that name none.

use crate::error::{Error, Result};
use crate::ion::timestamp::SECOND;

/// When which offset from UTC begins, both in seconds; without any it is UTC.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Zone {
    changes: Vec<(i64, i64)>,
}

impl Zone {
    /// A zone whose offsets begin at these seconds since 1970, in order; the first one holds also before.
    pub fn new(changes: Vec<(i64, i64)>) -> Result<Self> {
        let is_sorted = changes.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if !is_sorted || changes.iter().any(|&(_, offset)| offset.abs() > 2 * 86_400) {
            return Err(Error::argument("times: a zone needs offsets of up to two days, in order"));
        }
        Ok(Self { changes })
    }

    /// Whether nothing is to be added.
    pub fn is_utc(&self) -> bool {
        self.changes.is_empty()
    }

    /// The instant at which clocks of the zone show what clocks in UTC show at `local`.
    ///
    /// Of two the first one; where clocks are put forward, as if they had not been.
    pub fn to_utc(&self, local: i64) -> i64 {
        let [first, later @ ..] = self.changes.as_slice() else { return local };
        let second = local.div_euclid(SECOND);
        let offset_before = |at: usize| if at == 0 { first.1 } else { later[at - 1].1 };
        // An offset ends when clocks that follow it show the time of the change.
        let (mut low, mut high) = (0, later.len());
        while low < high {
            let middle = low.midpoint(high);
            if second >= later[middle].0 + offset_before(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let mut offset = offset_before(low);
        if low > 0 && second - offset < later[low - 1].0 {
            offset = offset_before(low - 1);
        }
        local - offset * SECOND
    }

    /// What the original reads, in this zone if the text has none of its own.
    pub fn of_rfc3339(&self, text: &[u8], us: i64) -> i64 {
        if self.is_utc() {
            return us;
        }
        let text = text.trim_ascii();
        let tail = text.get(19..).unwrap_or_default();
        if tail.iter().any(|byte| matches!(byte, b'Z' | b'+' | b'-')) { us } else { self.to_utc(us) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ion::timestamp;

    fn at(text: &str) -> i64 {
        timestamp::recognise(text.as_bytes()).unwrap_or_default()
    }

    #[test]
    fn clocks_that_are_changed() -> Result<()> {
        let spring = at("2024-03-31T01:00:00Z") / SECOND;
        let autumn = at("2024-10-27T01:00:00Z") / SECOND;
        let zone = Zone::new(vec![(0, 3600), (spring, 7200), (autumn, 3600)])?;
        for (local, utc) in [
            ("1960-01-01T00:00:00", "1959-12-31T23:00:00Z"),
            ("2024-03-31T01:59:59.5", "2024-03-31T00:59:59.5Z"),
            ("2024-03-31T02:30:00", "2024-03-31T01:30:00Z"),
            ("2024-03-31T03:00:00", "2024-03-31T01:00:00Z"),
            ("2024-07-01T12:00:00", "2024-07-01T10:00:00Z"),
            ("2024-10-27T02:30:00", "2024-10-27T00:30:00Z"),
            ("2024-10-27T03:00:00", "2024-10-27T02:00:00Z"),
            ("2030-01-01T00:00:00", "2029-12-31T23:00:00Z"),
        ] {
            assert_eq!(zone.to_utc(at(local)), at(utc), "{local}");
        }
        assert_eq!(Zone::default().to_utc(5), 5);
        assert!(Zone::new(vec![(5, 0), (5, 1)]).is_err());
        Ok(())
    }
}
