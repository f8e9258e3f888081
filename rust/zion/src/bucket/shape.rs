//! The shape stream: for each record, from which buckets its fields come.

use crate::error::{Error, Result};

/// A sequence with this many fields is followed by another one of the same record.
pub const FULL: usize = 16;

/// The size class of a record with a body of `length` bytes: how many bytes its length takes.
#[inline]
pub fn class(length: usize) -> u8 {
    match length {
        0..=13 => 0,
        14..=127 => 1,
        128..=16_383 => 2,
        _ => 3,
    }
}

/// Collects the bucket numbers of one record and appends its sequences to a shape.
pub struct RecordShape<'a> {
    out: &'a mut Vec<u8>,
    head: u8,
    count: usize,
    nibbles: u64,
}

impl<'a> RecordShape<'a> {
    /// Starts a record with a body of `length` bytes.
    #[inline]
    pub fn new(out: &'a mut Vec<u8>, length: usize) -> Self {
        Self { out, head: class(length) << 6, count: 0, nibbles: 0 }
    }

    /// The next field comes from this bucket.
    #[inline]
    pub fn push(&mut self, bucket: u8) {
        self.nibbles |= u64::from(bucket) << (4 * self.count);
        self.count += 1;
        if self.count == FULL {
            self.flush();
        }
    }

    /// Ends the record.
    #[inline]
    pub fn finish(mut self) {
        self.flush();
    }

    #[inline]
    fn flush(&mut self) {
        let mut bytes = [0; 9];
        bytes[0] = self.head | self.count as u8;
        bytes[1..].copy_from_slice(&self.nibbles.to_le_bytes());
        self.out.extend_from_slice(&bytes[..=self.count.div_ceil(2)]);
        (self.head, self.count, self.nibbles) = (0, 0, 0);
    }
}

/// One sequence of a record.
#[derive(Debug, Clone, Copy)]
pub struct Sequence {
    /// Number of fields, 0 to 16.
    pub count: usize,
    /// Size class of the record; only that of its first sequence means something.
    pub class: u8,
    /// Bucket numbers, the first one in the lowest nibble.
    pub nibbles: u64,
    /// Offset of the next sequence.
    pub next: usize,
}

/// A one in each nibble.
const ONES: u64 = 0x1111_1111_1111_1111;

impl Sequence {
    /// The top bit of each nibble that names a wanted bucket. All nibbles are compared at once.
    #[inline]
    pub fn find(&self, mut wanted: u16) -> u64 {
        let mut found = 0;
        while wanted != 0 {
            let other = self.nibbles ^ (ONES * u64::from(wanted.trailing_zeros()));
            // Adding 7 sets the top bit of a nibble unless its low bits are 0, and carries nowhere.
            found |= !(((other & (7 * ONES)) + 7 * ONES) | other);
            wanted &= wanted - 1;
        }
        let fields = if self.count < FULL { (1 << (4 * self.count)) - 1 } else { u64::MAX };
        found & (8 * ONES) & fields
    }
}

/// Rows that a chunk may have whatever its size.
const MOST_ROWS: u64 = 1 << 20;

/// The most rows that a chunk of `align` bytes may have: a row with a field takes three bytes. Empty rows take next to
/// nothing in the file, so that their number has a bound of its own.
pub fn most_rows(align: usize) -> u64 {
    MOST_ROWS.max(align as u64 / 3)
}

/// Refuses a shape of more rows than that.
pub fn check_rows(shape: &[u8], at: usize, align: usize) -> Result<()> {
    let most = most_rows(align);
    if ((shape.len() - at) as u64) <= most {
        return Ok(());
    }
    match count(shape, at)? {
        rows if rows > most => {
            Err(Error::corrupt("zion chunk", at, format!("a shape of {rows} rows, the limit is {most}")))
        }
        _ => Ok(()),
    }
}

/// Reads the sequence at `at`.
#[inline]
pub fn sequence(shape: &[u8], at: usize) -> Result<Sequence> {
    let Some(&head) = shape.get(at) else {
        return Err(Error::corrupt("zion chunk", at, "the shape ends inside a record"));
    };
    let count = usize::from(head & 0x1F);
    if count > FULL {
        return Err(Error::corrupt(
            "zion chunk",
            at,
            format!("a sequence of {count} fields, 16 is the most"),
        ));
    }
    let next = at + 1 + count.div_ceil(2);
    let nibbles = match shape.get(at + 1..at + 9) {
        Some(word) => word.iter().rev().fold(0, |nibbles, &byte| nibbles << 8 | u64::from(byte)),
        None => match shape.get(at + 1..next) {
            Some(bytes) => bytes.iter().rev().fold(0, |nibbles, &byte| nibbles << 8 | u64::from(byte)),
            None => return Err(Error::corrupt("zion chunk", at, "the shape ends inside a sequence")),
        },
    };
    Ok(Sequence { count, class: head >> 6, nibbles, next })
}

/// Number of records in a shape whose symbol table ends at `at`.
pub fn count(shape: &[u8], mut at: usize) -> Result<u64> {
    let mut records = 0;
    let mut open = false;
    while at < shape.len() || open {
        let sequence = sequence(shape, at)?;
        open = sequence.count == FULL;
        records += u64::from(!open);
        at = sequence.next;
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape_of(fields: usize) -> Vec<u8> {
        let mut out = vec![];
        let mut record = RecordShape::new(&mut out, 200);
        for field in 0..fields {
            record.push(field as u8 & 15);
        }
        record.finish();
        out
    }

    #[test]
    fn sequences_of_the_format() -> Result<()> {
        assert_eq!(shape_of(0), [0x80]);
        assert_eq!(shape_of(3), [0x83, 0x10, 0x02]);
        assert_eq!(shape_of(16).len(), 10);
        assert_eq!(shape_of(16).last(), Some(&0));
        for fields in 0..100 {
            let shape = shape_of(fields);
            assert_eq!(count(&shape, 0)?, 1);
            assert!(count(&shape[..shape.len() - 1], 0).is_err() || fields == 0);
        }
        Ok(())
    }

    #[test]
    fn wanted_buckets_are_found() {
        for count in 0..=16 {
            for nibbles in [0, u64::MAX, 0xFEDC_BA98_7654_3210, 0x0101_1010_F0F0_7887] {
                let sequence = Sequence { count, class: 0, nibbles, next: 0 };
                for wanted in [0, 1, 0x8000, 0x8181, 0x0FF0, u16::MAX] {
                    let is_wanted = |place: &usize| wanted >> (nibbles >> (4 * place) & 15) & 1 != 0;
                    let expected =
                        (0..count).filter(is_wanted).fold(0, |found, place| found | 8 << (4 * place));
                    assert_eq!(sequence.find(wanted), expected, "{count} {nibbles:x} {wanted:x}");
                }
            }
        }
    }

    #[test]
    fn too_many_fields_are_refused() {
        assert!(sequence(&[17; 20], 0).is_err());
    }
}
