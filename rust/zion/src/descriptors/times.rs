//! Time indexes and block lists as they are stored: sums of sums.

use crate::ion::value::Value;

/// Numbers of a list, which are integers of 64 bits with a sign.
pub fn integers(value: &Value) -> Option<Vec<i64>> {
    let Value::List(items) = value else { return None };
    items
        .iter()
        .map(|item| match item {
            Value::Int(number) => i64::try_from(*number).ok(),
            _ => None,
        })
        .collect()
}

/// The two numbers of a list of two: all that there is of most packfiles, which have one block.
pub fn pair(value: &Value) -> Option<(i64, i64)> {
    match value {
        Value::List(items) => match items[..] {
            [Value::Int(one), Value::Int(other)] => {
                Some((i64::try_from(one).ok()?, i64::try_from(other).ok()?))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Every second number from `from` on, summed up `times` times.
pub fn summed(numbers: &[i64], from: usize, times: usize) -> Option<Vec<i64>> {
    let mut sums = [0i128; 2];
    numbers
        .iter()
        .skip(from)
        .step_by(2)
        .map(|&number| {
            let mut value = i128::from(number);
            for sum in &mut sums[..times] {
                *sum += value;
                value = *sum;
            }
            i64::try_from(value).ok()
        })
        .collect()
}

fn ascends(values: &[i64]) -> bool {
    values.windows(2).all(|pair| pair[0] < pair[1])
}

/// What an index tells of the times of a packfile.
pub enum Told {
    /// The first and the last.
    Span(i64, i64),
    /// Nothing, or nothing to be trusted.
    Nothing,
    /// What cannot be.
    Nonsense,
}

/// What an index of so many blocks tells.
pub fn told(max: &[i64], min: &[i64], blocks: i64) -> Told {
    let columns = || Some([summed(max, 0, 2)?, summed(max, 1, 2)?, summed(min, 0, 2)?, summed(min, 1, 2)?]);
    let Some([upper, ends, lower, starts]) = columns() else { return Told::Nonsense };
    if !max.len().is_multiple_of(2) || !min.len().is_multiple_of(2) {
        return Told::Nonsense;
    }
    let (&[first, ..], &[.., last], &[start, ..], &[.., end]) =
        (&lower[..], &upper[..], &starts[..], &ends[..])
    else {
        return Told::Nothing;
    };
    if !ascends(&upper) || !ascends(&lower) || !ascends(&ends) || ends[0] < 0 || start < 0 {
        return Told::Nonsense;
    }
    let is_of_old_writer = end < blocks && starts.last().is_some_and(|&from| from >= end);
    if end != blocks && ascends(&starts) && !is_of_old_writer {
        return Told::Nonsense;
    }
    // What is in front of the first entry, nobody tells.
    let is_sure = end == blocks && ascends(&starts) && lower.len() as i64 <= blocks + 1 && start == 0;
    if is_sure && first <= last { Told::Span(first, last) } else { Told::Nothing }
}
