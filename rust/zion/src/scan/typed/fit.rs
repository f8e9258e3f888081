//! Which values fit which columns.

use arrow_schema::DataType;

use super::schema::Misfit;
use crate::error::{Error, Result};
use crate::ion::{self, Header, kind};
use crate::json::print;

/// Microseconds of a day.
pub const DAY_US: i64 = 86_400_000_000;

/// From here on every double is whole.
const WHOLE: f64 = 9_007_199_254_740_992.0;
/// Beyond every integer that a column has.
const HUGE: f64 = 1e38;

/// A number that is whole.
fn whole(data: &[u8], value: Header, at: usize) -> Result<Option<i128>> {
    let body = &data[value.body..value.end];
    Ok(match value.kind {
        kind::UINT => Some(i128::from(ion::magnitude(body, at)?)),
        kind::NEGINT => Some(-i128::from(ion::magnitude(body, at)?)),
        kind::FLOAT => {
            let number = print::float(body, at)?;
            (number.fract() == 0.0 && number.abs() < HUGE).then_some(number as i128)
        }
        _ => None,
    })
}

/// An integer that fits a type.
#[inline]
pub fn integer<T: TryFrom<i128>>(data: &[u8], value: Header, at: usize) -> Result<Option<T>> {
    Ok(whole(data, value, at)?.and_then(|number| T::try_from(number).ok()))
}

/// An integer that fits Int8, Int16 or Int32.
pub fn small(of: &DataType, data: &[u8], value: Header, at: usize) -> Result<Option<i32>> {
    Ok(integer(data, value, at)?.filter(|&number| is_small(of, number)))
}

/// Whether an integer fits Int8, Int16 or Int32.
pub fn is_small(of: &DataType, number: i32) -> bool {
    match of {
        DataType::Int8 => i8::try_from(number).is_ok(),
        DataType::Int16 => i16::try_from(number).is_ok(),
        _ => true,
    }
}

/// Any number.
#[inline]
pub fn float(data: &[u8], value: Header, at: usize) -> Result<Option<f64>> {
    let body = &data[value.body..value.end];
    Ok(match value.kind {
        kind::FLOAT => Some(print::float(body, at)?),
        kind::UINT => Some(ion::magnitude(body, at)? as f64),
        kind::NEGINT => Some(-(ion::magnitude(body, at)? as f64)),
        _ => None,
    })
}

/// A number in units of the last digit, rounded to it; none if it has too many digits before the point.
pub fn decimal(digits: u8, scale: i8, data: &[u8], value: Header, at: usize) -> Result<Option<i128>> {
    let unit = 10i128.checked_pow(u32::from(scale.unsigned_abs()));
    let limit = 10i128.checked_pow(u32::from(digits));
    let (Some(unit), Some(limit)) = (unit, limit) else { return Ok(None) };
    let number = match whole(data, value, at)? {
        Some(number) => number.checked_mul(unit),
        None => float(data, value, at)?
            .filter(|number| number.abs() < WHOLE)
            .map(|number| number * unit as f64)
            .filter(|number| number.abs() < HUGE)
            .map(|number| number.round() as i128),
    };
    Ok(number.filter(|number| number.abs() < limit))
}

/// The same of the digits of a number in a text.
pub fn decimal_of(digits: u8, scale: i8, text: &str) -> Option<i128> {
    let scale = usize::try_from(scale).ok()?;
    let (sign, plain) = text.strip_prefix('-').map_or((1, text), |plain| (-1, plain));
    let (whole, fraction) = plain.split_once('.').unwrap_or((plain, ""));
    let is_number = !whole.is_empty() && plain.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if !is_number || fraction.contains('.') {
        return None;
    }
    let kept = &fraction[..fraction.len().min(scale)];
    let mut number = format!("{whole}{kept:0<scale$}").parse::<i128>().ok()?;
    if fraction.as_bytes().get(scale).is_some_and(|&next| next >= b'5') {
        number = number.checked_add(1)?;
    }
    let limit = 10i128.checked_pow(u32::from(digits))?;
    (number < limit).then_some(sign * number)
}

/// A number of seconds in microseconds.
pub fn duration(data: &[u8], value: Header, at: usize) -> Result<Option<i64>> {
    let us = match whole(data, value, at)? {
        Some(seconds) => seconds.checked_mul(1_000_000),
        None => float(data, value, at)?.map(|seconds| (seconds * 1e6).round() as i128),
    };
    Ok(us.and_then(|us| i64::try_from(us).ok()))
}

/// The error for a value that does not fit its column.
#[cold]
pub fn unexpected(misfit: Misfit, value: Header, at: usize) -> Error {
    let what = match value.kind {
        kind::BOOL => "a boolean",
        kind::UINT | kind::NEGINT => "an integer",
        kind::FLOAT => "a number",
        kind::TIMESTAMP => "a timestamp",
        kind::SYMBOL | kind::STRING => "a text",
        kind::CLOB | kind::BLOB => "a binary value",
        kind::LIST => "a list",
        kind::STRUCT => "a struct",
        _ => "a value",
    };
    match misfit {
        Misfit::Damage => Error::corrupt("ion", at, "a value that does not fit the type of its column"),
        Misfit::Error | Misfit::Null => Error::unsupported(format!(": {what} that the column cannot hold")),
    }
}

/// The error of a value, for the struct whose field it is: the path grows from its end.
#[cold]
pub fn within(error: Error, name: &str) -> Error {
    match error {
        Error::Unsupported { message } => Error::unsupported(format!(".{name}{message}")),
        other => other,
    }
}

/// The error of a row, whose path is complete.
#[cold]
pub fn shown(error: Error) -> Error {
    match error {
        Error::Unsupported { message } => {
            Error::unsupported(message.strip_prefix('.').unwrap_or(&message).to_owned())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_of_texts_are_exact() {
        assert_eq!(decimal_of(38, 2, "-1234567890123456789.5"), Some(-123_456_789_012_345_678_950));
        assert_eq!(decimal_of(4, 2, "1.005"), Some(101));
        assert_eq!(decimal_of(4, 0, "7"), Some(7));
        for text in ["", "-", ".5", "1.2.3", "1e3", "x", "123.45"] {
            assert_eq!(decimal_of(4, 2, text), None, "{text}");
        }
    }
}
