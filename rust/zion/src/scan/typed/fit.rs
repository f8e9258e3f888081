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
    Ok(match of {
        DataType::Int8 => integer::<i8>(data, value, at)?.map(i32::from),
        DataType::Int16 => integer::<i16>(data, value, at)?.map(i32::from),
        _ => integer(data, value, at)?,
    })
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
