//! How many different values there were: exactly as long as they are few, then by `HyperLogLog`.

/// Hashes that are remembered before an estimate has to do.
const FEW: usize = 1024;
/// Bits of a hash that choose a register: 2^14 registers are off by 0.8 % (standard deviation).
const BITS: u32 = 14;
/// The greatest rank: zeros in the bits that are left, and one.
const TOP: usize = 64 - BITS as usize + 1;

/// A set of hashes.
#[derive(Debug, Clone)]
pub(super) enum Distinct {
    /// All of them, in a table of which at most half is taken; 0 is free.
    Few { slots: Vec<u64>, count: usize },
    /// For each register the greatest rank of its hashes.
    Many(Box<[u8]>),
}

impl Default for Distinct {
    fn default() -> Self {
        Self::Few { slots: Vec::new(), count: 0 }
    }
}

impl Distinct {
    /// Adds a hash, which is not 0.
    #[inline]
    pub(super) fn add(&mut self, hash: u64) {
        match self {
            Self::Many(registers) => rank(registers, hash),
            Self::Few { slots, count } => {
                if 2 * *count >= slots.len() {
                    if *count >= FEW {
                        if put(slots, hash) {
                            *self = Self::many(slots);
                        }
                        return;
                    }
                    grow(slots);
                }
                *count += usize::from(put(slots, hash));
            }
        }
    }

    fn many(slots: &[u64]) -> Self {
        let mut registers = vec![0; 1 << BITS].into_boxed_slice();
        slots.iter().filter(|&&hash| hash != 0).for_each(|&hash| rank(&mut registers, hash));
        Self::Many(registers)
    }

    /// Adds the hashes of another set.
    pub(super) fn join(&mut self, other: &Self) {
        match other {
            Self::Few { slots, .. } => {
                for &hash in slots.iter().filter(|&&hash| hash != 0) {
                    self.add(hash);
                }
            }
            Self::Many(more) => {
                if let Self::Few { slots, .. } = self {
                    *self = Self::many(slots);
                }
                let Self::Many(registers) = self else { return };
                for (register, rank) in registers.iter_mut().zip(more) {
                    *register = (*register).max(*rank);
                }
            }
        }
    }

    /// How many there are, and whether that is exact.
    pub(super) fn count(&self) -> (u64, bool) {
        match self {
            Self::Few { count, .. } => (*count as u64, true),
            Self::Many(registers) => (estimate(registers).round() as u64, false),
        }
    }
}

fn grow(slots: &mut Vec<u64>) {
    let size = (2 * slots.len()).max(8);
    for hash in std::mem::replace(slots, vec![0; size]) {
        if hash != 0 {
            put(slots, hash);
        }
    }
}

/// Puts a hash into its place; false when it is there.
#[inline]
fn put(slots: &mut [u64], hash: u64) -> bool {
    let last = slots.len() - 1;
    let mut at = hash as usize & last;
    while slots[at] != 0 {
        if slots[at] == hash {
            return false;
        }
        at = (at + 1) & last;
    }
    slots[at] = hash;
    true
}

#[inline]
fn rank(registers: &mut [u8], hash: u64) {
    let rank = ((hash << BITS).leading_zeros() as usize + 1).min(TOP) as u8;
    if let Some(register) = registers.get_mut((hash >> (64 - BITS)) as usize) {
        *register = (*register).max(rank);
    }
}

/// The estimate of Ertl ("New cardinality estimation algorithms for `HyperLogLog` sketches", 2017), which has no bias to
/// be corrected, whether registers are empty or full.
fn estimate(registers: &[u8]) -> f64 {
    let size = registers.len() as f64;
    let mut counts = [0.0; TOP + 1];
    for &rank in registers {
        if let Some(count) = counts.get_mut(usize::from(rank)) {
            *count += 1.0;
        }
    }
    let mut sum = size * tau(1.0 - counts[TOP] / size);
    for count in counts[1..TOP].iter().rev() {
        sum = 0.5 * (sum + count);
    }
    sum += size * sigma(counts[0] / size);
    size * size / (2.0 * std::f64::consts::LN_2 * sum)
}

/// x + x^2 + 2 x^4 + 4 x^8 + ...
fn sigma(mut x: f64) -> f64 {
    if x >= 1.0 {
        return f64::INFINITY;
    }
    let (mut sum, mut weight) = (x, 1.0);
    loop {
        x *= x;
        let before = sum;
        sum += x * weight;
        weight += weight;
        if sum == before {
            return sum;
        }
    }
}

/// A third of 1 - x - (1 - x^(1/2))^2 / 2 - (1 - x^(1/4))^2 / 4 - ...
fn tau(mut x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return 0.0;
    }
    let (mut sum, mut weight) = (1.0 - x, 1.0);
    loop {
        x = x.sqrt();
        let before = sum;
        weight *= 0.5;
        sum -= (1.0 - x).powi(2) * weight;
        if sum == before {
            return sum / 3.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::scalar::Scalar;

    fn of(numbers: std::ops::Range<i128>) -> Distinct {
        let mut set = Distinct::default();
        for number in numbers.clone().chain(numbers) {
            set.add(Scalar::Int(number).hash());
        }
        set
    }

    #[test]
    fn few_are_counted_exactly() {
        for count in [0, 1, 7, 100, 1024] {
            assert_eq!(of(0..count).count(), (count as u64, true));
        }
    }

    #[test]
    fn many_are_estimated_within_two_percent() {
        for count in [1025, 2000, 5000, 20_000, 40_000, 70_000, 300_000, 2_000_000] {
            let (found, is_exact) = of(0..count).count();
            let error = (found as f64 / count as f64 - 1.0).abs();
            assert!(!is_exact && error < 0.02, "{count}: {found}, {error}");
        }
    }

    #[test]
    fn joined_sets_are_those_of_all() {
        for (first, second) in [(10, 20), (1000, 2000), (500, 100_000), (100_000, 5), (50_000, 60_000)] {
            let mut joined = of(0..first);
            joined.join(&of(first / 2..second));
            assert_eq!(joined.count(), of(0..first.max(second)).count(), "{first} {second}");
        }
    }
}
