//! Buckets whose every value is a list of numbers, as vectors (`docs/format.md`, "Specialized segments").

use crate::error::{Error, Result};
use crate::ion::{self, kind, varuint};

const LAYER: &str = "vector";
/// First byte of a segment: the rest is an iguana buffer.
pub const IGUANA: u8 = 0;
/// First byte of a segment: lists of small integers.
pub const SMALL: u8 = 1;
/// First byte of a segment: lists of numbers.
pub const NUMERIC: u8 = 2;

/// Scales of the decimals of classes 3 to 6.
const SCALES: [&[f64]; 4] =
    [&[1e3, 1e4], &[1e4, 1e5], &[1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e13], &[1e9, 1e13]];
/// Bits of their mantissas.
const MANTISSA_BITS: [u32; 4] = [11, 15, 21, 31];

#[cold]
fn damaged(message: &'static str) -> Error {
    Error::corrupt(LAYER, 0, message)
}

/// Bytes that are read one after the other.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.0.split_at_checked(count) else {
            return Err(damaged("a vector that is cut off"));
        };
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    fn varuint(&mut self) -> Result<usize> {
        let (value, next) = varuint::read(self.0, 0).map_err(|_| damaged("a vector that is cut off"))?;
        self.0 = &self.0[next..];
        usize::try_from(value).map_err(|_| damaged("a length that is too large"))
    }
}

/// Appends the fields of a vector segment (its first byte included) to `out`, at most `limit` bytes.
pub fn decode(segment: &[u8], out: &mut Vec<u8>, limit: usize) -> Result<()> {
    let mut input = Input(segment);
    let encoding = input.byte()?;
    let label = input.varuint()?;
    let end = out.len().saturating_add(limit);
    while !input.0.is_empty() {
        let count = if encoding == NUMERIC { input.varuint()? } else { 0 };
        let size = input.varuint()?;
        varuint::put(out, label as u64);
        ion::put_header(out, kind::LIST, size);
        if out.len() > end || size > end - out.len() {
            return Err(damaged("a list that is larger than its chunk"));
        }
        let stop = out.len() + size;
        match encoding {
            SMALL => small_items(&mut input, out, stop)?,
            NUMERIC => clusters(&mut input, out, count, stop)?,
            _ => return Err(damaged("an unknown encoding of a segment")),
        }
    }
    Ok(())
}

fn put_small(out: &mut Vec<u8>, value: i8) {
    match value {
        0 => out.push(0x20),
        1.. => out.extend_from_slice(&[0x21, value as u8]),
        _ => out.extend_from_slice(&[0x31, value.unsigned_abs()]),
    }
}

fn small_items(input: &mut Input, out: &mut Vec<u8>, stop: usize) -> Result<()> {
    while out.len() < stop {
        put_small(out, input.byte()? as i8);
    }
    if out.len() > stop { Err(damaged("items beyond the end of their list")) } else { Ok(()) }
}

fn clusters(input: &mut Input, out: &mut Vec<u8>, count: usize, stop: usize) -> Result<()> {
    let mut left = count;
    while left > 0 {
        let head = input.byte()?;
        let (class, groups) = (head >> 5, usize::from(head & 31) + 1);
        let items = match class {
            1 => 1,
            3 | 4 => 2 * groups,
            _ => groups,
        };
        left = left.checked_sub(items).ok_or_else(|| damaged("more items than a list has"))?;
        match class {
            0 => out.resize(out.len() + groups, 0x20),
            1 => {
                let width = usize::from(head & 7) + 1;
                out.push((if head & 16 != 0 { 0x30 } else { 0x20 }) | width as u8);
                out.extend(input.take(width)?.iter().rev());
            }
            2 => input.take(groups)?.iter().for_each(|&byte| put_small(out, byte as i8)),
            3 => {
                for group in input.take(3 * groups)?.as_chunks::<3>().0 {
                    let word = u32::from_le_bytes([group[0], group[1], group[2], 0]);
                    put_decimal(out, 0, word & 0xFFF);
                    put_decimal(out, 0, word >> 12);
                }
            }
            4 => {
                for group in input.take(4 * groups)?.as_chunks::<2>().0 {
                    put_decimal(out, 1, u32::from(u16::from_le_bytes(*group)));
                }
            }
            5 => {
                for group in input.take(3 * groups)?.as_chunks::<3>().0 {
                    put_decimal(out, 2, u32::from_le_bytes([group[0], group[1], group[2], 0]));
                }
            }
            6 => {
                for group in input.take(4 * groups)?.as_chunks::<4>().0 {
                    put_decimal(out, 3, u32::from_le_bytes(*group));
                }
            }
            _ => {
                for group in input.take(8 * groups)?.as_chunks::<8>().0 {
                    put_float(out, f64::from_le_bytes(*group));
                }
            }
        }
        if out.len() > stop {
            return Err(damaged("items beyond the end of their list"));
        }
    }
    if out.len() < stop { Err(damaged("a list that is shorter than it says")) } else { Ok(()) }
}

fn put_float(out: &mut Vec<u8>, value: f64) {
    out.push(0x48);
    out.extend_from_slice(&value.to_be_bytes());
}

fn put_decimal(out: &mut Vec<u8>, class: usize, word: u32) {
    let bits = MANTISSA_BITS[class];
    let mantissa = ((word << (32 - bits)) as i32) >> (32 - bits);
    let scale = SCALES[class].get((word >> bits) as usize).copied().unwrap_or(1.0);
    put_float(out, f64::from(mantissa) / scale);
}

/// Appends the vector form of a bucket (with its first byte) if it has one that decodes to the very bucket
/// and that all readers understand; else appends nothing.
pub fn encode(bucket: &[u8], out: &mut Vec<u8>) -> bool {
    let Some(lists) = Lists::read(bucket) else { return false };
    let start = out.len();
    if !(encode_small(&lists, out) || encode_numeric(&lists, out)) {
        out.truncate(start);
        return false;
    }
    let mut check = Vec::with_capacity(bucket.len());
    let good = decode(&out[start..], &mut check, bucket.len()).is_ok() && check == bucket;
    if !good {
        out.truncate(start);
    }
    good
}

/// The lists of a bucket, which all have the same label.
struct Lists<'a> {
    label: u64,
    bodies: Vec<&'a [u8]>,
}

impl<'a> Lists<'a> {
    fn read(bucket: &'a [u8]) -> Option<Self> {
        let mut lists = Lists { label: varuint::read(bucket, 0).ok()?.0, bodies: vec![] };
        let mut at = 0;
        while at < bucket.len() {
            let (label, value_at) = varuint::read(bucket, at).ok()?;
            let value = ion::header(bucket, value_at).ok()?;
            if label != lists.label || value.kind != kind::LIST || value.is_null() {
                return None;
            }
            lists.bodies.push(&bucket[value.body..value.end]);
            at = value.end;
        }
        Some(lists)
    }
}

/// The items of a list body: type nibble and content.
fn items(body: &[u8]) -> impl Iterator<Item = Option<(u8, &[u8])>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at >= body.len() {
            return None;
        }
        let Ok(value) = ion::header(body, at) else {
            at = body.len();
            return Some(None);
        };
        at = value.end;
        Some((!value.is_null()).then_some((value.kind, &body[value.body..value.end])))
    })
}

/// Some readers take 32 items at a time, so that lists of fewer are read wrongly, unless there is not much
/// data behind them.
fn encode_small(lists: &Lists, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    out.push(SMALL);
    varuint::put(out, lists.label);
    let data = out.len();
    for body in &lists.bodies {
        varuint::put(out, body.len() as u64);
        for item in items(body) {
            let byte = match item {
                Some((kind::UINT, [])) => 0,
                Some((kind::UINT, [value @ 1..=0x7F])) => *value,
                Some((kind::NEGINT, [value @ 1..=0x80])) => value.wrapping_neg(),
                _ => {
                    out.truncate(start);
                    return false;
                }
            };
            out.push(byte);
        }
    }
    let safe = out.len() - data < 32 || lists.bodies.iter().all(|body| body.is_empty() || body.len() >= 64);
    if !safe {
        out.truncate(start);
    }
    safe
}

/// How an item is stored: its class and the bits that go with it.
#[derive(Clone, Copy, PartialEq)]
enum Item {
    Zero,
    Large { negative: bool, magnitude: u64 },
    Small(i8),
    Decimal { class: u8, word: u32 },
    Float(f64),
}

impl Item {
    fn of(kind: u8, content: &[u8]) -> Option<Self> {
        match kind {
            kind::UINT | kind::NEGINT => {
                let magnitude = ion::magnitude(content, 0).ok()?;
                let negative = kind == kind::NEGINT;
                let signed = i64::try_from(magnitude).ok()?;
                let signed = if negative { -signed } else { signed };
                match i8::try_from(signed) {
                    Ok(0) => Some(Self::Zero),
                    Ok(small) => Some(Self::Small(small)),
                    // Some readers lose the upper bytes of longer ones.
                    Err(_) => (content.len() <= 4).then_some(Self::Large { negative, magnitude }),
                }
            }
            kind::FLOAT => Some(Self::of_float(f64::from_be_bytes(content.try_into().ok()?))),
            _ => None,
        }
    }

    fn of_float(value: f64) -> Self {
        for class in 0..SCALES.len() {
            let bits = MANTISSA_BITS[class];
            let limit = f64::from(1u32 << (bits - 1));
            for (index, scale) in (0u32..).zip(SCALES[class]) {
                let mantissa = (value * scale).round_ties_even();
                if (-limit..limit).contains(&mantissa) && mantissa / scale == value {
                    let word = (mantissa as i32 as u32) & (u32::MAX >> (32 - bits)) | index << bits;
                    return Self::Decimal { class: class as u8 + 3, word };
                }
            }
        }
        Self::Float(value)
    }

    fn class(self) -> u8 {
        match self {
            Self::Zero => 0,
            Self::Large { .. } => 1,
            Self::Small(_) => 2,
            Self::Decimal { class, .. } => class,
            Self::Float(_) => 7,
        }
    }

    /// The same number as an item of a wider class, for an odd one at the end of a run of pairs.
    fn as_float(self, content: f64) -> Self {
        match self {
            Self::Decimal { .. } => Self::Float(content),
            other => other,
        }
    }
}

fn encode_numeric(lists: &Lists, out: &mut Vec<u8>) -> bool {
    out.push(NUMERIC);
    varuint::put(out, lists.label);
    let mut run: Vec<(Item, f64)> = vec![];
    for body in &lists.bodies {
        run.clear();
        for item in items(body) {
            let Some((item, content)) =
                item.and_then(|(kind, content)| Some((Item::of(kind, content)?, content)))
            else {
                return false;
            };
            run.push((item, content.try_into().map_or(0.0, f64::from_be_bytes)));
        }
        varuint::put(out, run.len() as u64);
        varuint::put(out, body.len() as u64);
        let mut rest = &run[..];
        while let Some(&(first, content)) = rest.first() {
            let class = first.class();
            let most = match class {
                1 => 1,
                3 | 4 => 64,
                _ => 32,
            };
            let mut count = rest.iter().take(most).take_while(|(item, _)| item.class() == class).count();
            if matches!(class, 3 | 4) {
                count -= count % 2;
                if count == 0 {
                    put_cluster(out, 7, &[(first.as_float(content), content)]);
                    rest = &rest[1..];
                    continue;
                }
            }
            put_cluster(out, class, &rest[..count]);
            rest = &rest[count..];
        }
    }
    true
}

fn put_cluster(out: &mut Vec<u8>, class: u8, items: &[(Item, f64)]) {
    let groups = if matches!(class, 3 | 4) { items.len() / 2 } else { items.len() };
    out.push(class << 5 | (groups - 1) as u8);
    let head = out.len() - 1;
    let mut half = None;
    for &(item, _) in items {
        match item {
            Item::Zero => {}
            Item::Large { negative, magnitude } => {
                let width = (8 - magnitude.leading_zeros() / 8) as usize;
                out[head] = class << 5 | u8::from(negative) << 4 | (width - 1) as u8;
                out.extend_from_slice(&magnitude.to_le_bytes()[..width]);
            }
            Item::Small(value) => out.push(value as u8),
            Item::Decimal { class: 3, word } => match half.take() {
                None => half = Some(word),
                Some(low) => out.extend_from_slice(&(low | word << 12).to_le_bytes()[..3]),
            },
            Item::Decimal { class, word } => {
                let width = [2, 3, 4][usize::from(class) - 4];
                out.extend_from_slice(&word.to_le_bytes()[..width]);
            }
            Item::Float(value) => out.extend_from_slice(&value.to_le_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_lists_count_too() {
        for encoding in [SMALL, NUMERIC] {
            let mut segment = vec![encoding, 0x8A];
            let one: &[u8] = if encoding == SMALL { &[0x80] } else { &[0x80, 0x80] };
            (0..1000).for_each(|_| segment.extend_from_slice(one));
            let mut out = vec![];
            assert!(decode(&segment, &mut out, 2000).is_ok());
            assert_eq!(out.len(), 2000);
            out.clear();
            assert!(decode(&segment, &mut out, 1999).is_err());
            assert!(out.len() <= 2000);
        }
    }
}
