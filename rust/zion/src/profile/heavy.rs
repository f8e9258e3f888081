//! The most frequent values, of any number of them: Misra and Gries, with many counters given up at once.

use super::scalar::Scalar;

/// How many values are counted at once.
const MOST: usize = 128;

/// Counts values. Once there are too many, all counts are lessened by the median, and those that are left with none
/// are given up: no count is too large, and none is too small by more than [`Heavy::lost`].
#[derive(Debug, Clone, Default)]
pub(super) struct Heavy {
    /// Numbers of entries, plus 1, where their hashes lead to; 0 is free. At most half is taken.
    slots: Vec<u8>,
    entries: Vec<Entry>,
    /// The values, one behind the other.
    values: Vec<u8>,
    lost: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    hash: u64,
    count: u64,
    /// Where the value starts and ends.
    start: u32,
    end: u32,
}

impl Heavy {
    /// Counts a value that is known; false when it is not.
    #[inline]
    pub(super) fn hit(&mut self, hash: u64, count: u64) -> bool {
        let Some(last) = self.slots.len().checked_sub(1) else { return false };
        let mut at = hash as usize & last;
        while let Some(number) = self.slots[at].checked_sub(1) {
            let entry = &mut self.entries[usize::from(number)];
            if entry.hash == hash {
                entry.count += count;
                return true;
            }
            at = (at + 1) & last;
        }
        false
    }

    /// Adds a value that is not known.
    pub(super) fn put(&mut self, hash: u64, value: Scalar<'_>, count: u64) {
        let start = self.begin();
        value.cut().put(&mut self.values);
        self.end(hash, start, count);
    }

    fn begin(&mut self) -> usize {
        if self.entries.len() >= MOST {
            self.lessen();
        }
        if 2 * self.entries.len() >= self.slots.len() {
            self.place((2 * self.slots.len()).max(8));
        }
        self.values.len()
    }

    fn end(&mut self, hash: u64, start: usize, count: u64) {
        let last = self.slots.len() - 1;
        let mut at = hash as usize & last;
        while self.slots[at] != 0 {
            at = (at + 1) & last;
        }
        self.entries.push(Entry { hash, count, start: start as u32, end: self.values.len() as u32 });
        self.slots[at] = self.entries.len() as u8;
    }

    /// Makes a table of `size` slots.
    fn place(&mut self, size: usize) {
        self.slots.clear();
        self.slots.resize(size, 0);
        for (entry, number) in self.entries.iter().zip(1..) {
            let mut at = entry.hash as usize & (size - 1);
            while self.slots[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = number;
        }
    }

    /// Lessens all counts, so that at least half of the values are given up.
    #[inline(never)]
    fn lessen(&mut self) {
        let mut counts = [0; MOST];
        for (count, entry) in counts.iter_mut().zip(&self.entries) {
            *count = entry.count;
        }
        let (_, &mut less, _) = counts.select_nth_unstable(MOST / 2);
        let mut length = 0;
        self.entries.retain_mut(|entry| {
            entry.count = entry.count.saturating_sub(less);
            if entry.count == 0 {
                return false;
            }
            let (start, end) = (entry.start as usize, entry.end as usize);
            self.values.copy_within(start..end, length);
            (entry.start, entry.end) = (length as u32, (length + end - start) as u32);
            length += end - start;
            true
        });
        self.values.truncate(length);
        self.lost += less;
        self.place(self.slots.len());
    }

    /// Adds the values of others.
    pub(super) fn join(&mut self, other: &Self) {
        for entry in &other.entries {
            if !self.hit(entry.hash, entry.count) {
                let start = self.begin();
                let value = other.values.get(entry.start as usize..entry.end as usize);
                self.values.extend_from_slice(value.unwrap_or_default());
                self.end(entry.hash, start, entry.count);
            }
        }
        self.lost += other.lost;
    }

    /// By how much counts may be too small.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// The most frequent values with their counts, at most `most`. Each of them is more frequent than any that was
    /// given up.
    pub(super) fn top(&self, most: usize) -> Vec<(Scalar<'_>, u64)> {
        let value = |entry: &Entry| self.values.get(entry.start as usize..entry.end as usize);
        let mut entries: Vec<&Entry> = self.entries.iter().filter(|entry| entry.count > self.lost).collect();
        entries.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| value(a).cmp(&value(b))));
        let top = entries.into_iter().take(most);
        top.filter_map(|entry| Some((Scalar::of(value(entry)?)?, entry.count))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(heavy: &mut Heavy, number: i128) {
        let value = Scalar::Int(number);
        if !heavy.hit(value.hash(), 1) {
            heavy.put(value.hash(), value, 1);
        }
    }

    #[test]
    fn few_values_are_counted_exactly() {
        let mut heavy = Heavy::default();
        for number in 0..MOST as i128 {
            (0..=number).for_each(|_| add(&mut heavy, number));
        }
        let top = heavy.top(2);
        assert_eq!(top, [(Scalar::Int(127), 128), (Scalar::Int(126), 127)]);
        assert_eq!(heavy.lost(), 0);
    }

    #[test]
    fn frequent_values_among_many_are_found() {
        let (mut all, mut part) = (Heavy::default(), Heavy::default());
        for number in 0..200_000 {
            let value = match number % 10 {
                0..3 => -1,
                3 => -2,
                _ => number,
            };
            add(&mut part, value);
            if number % 7000 == 0 {
                all.join(&std::mem::take(&mut part));
            }
        }
        all.join(&part);
        let top = all.top(9);
        assert_eq!(
            top.iter().map(|(value, _)| *value).collect::<Vec<_>>(),
            [Scalar::Int(-1), Scalar::Int(-2)]
        );
        for ((_, count), exact) in top.into_iter().zip([60_000, 20_000]) {
            assert!((exact - all.lost()..=exact).contains(&count), "{count} of {exact}, lost {}", all.lost());
        }
        assert!(all.lost() < 200_000 / 50, "{}", all.lost());
        assert!(all.entries.len() <= MOST && all.values.len() <= MOST * 10);
    }

    #[test]
    fn none_of_many_different_values_is_frequent() {
        let mut heavy = Heavy::default();
        (0..10_000).for_each(|number| add(&mut heavy, number));
        assert!(heavy.top(9).is_empty() && heavy.lost() > 0);
    }
}
