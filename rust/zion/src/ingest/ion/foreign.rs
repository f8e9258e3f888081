//! Values in forms that packfiles do not use.

use base64::prelude::*;

use crate::error::{Error, Result};
use crate::ingest::json::literal::scale;
use crate::ingest::json::number::{self, Number};
use crate::ion::{FALSE, Header, TRUE, header, kind, magnitude, put_string, timestamp, varuint};

/// The header of the value at `at` without its annotations.
pub(super) fn unwrap(data: &[u8], at: usize) -> Result<Header> {
    let value = any_header(data, at)?;
    if value.kind != kind::ANNOTATION {
        return Ok(value);
    }
    let (_, inner) = annotations(data, at, value)?;
    let content = any_header(&data[..value.end], inner)?;
    if content.kind == kind::ANNOTATION || content.is_pad() || content.end != value.end {
        return Err(Error::syntax(at, "an annotation without a value of its own"));
    }
    Ok(content)
}

/// The first annotation of the value at `at`, if it has any.
pub(super) fn first_annotation(data: &[u8], at: usize) -> Result<Option<u64>> {
    let value = any_header(data, at)?;
    if value.kind == kind::ANNOTATION { Ok(Some(annotations(data, at, value)?.0)) } else { Ok(None) }
}

/// The first annotation, and where the value begins.
fn annotations(data: &[u8], at: usize, value: Header) -> Result<(u64, usize)> {
    let data = &data[..value.end];
    let (length, first) = varuint::read(data, value.body).map_err(|_| malformed(at))?;
    let inner = usize::try_from(length).ok().and_then(|length| first.checked_add(length));
    match inner {
        Some(inner) if length > 0 && inner < value.end && !value.is_null() => {
            Ok((varuint::read(&data[..inner], first).map_err(|_| malformed(at))?.0, inner))
        }
        _ => Err(malformed(at)),
    }
}

fn malformed(at: usize) -> Error {
    Error::syntax(at, "a malformed annotation")
}

/// The header of a value; also of a struct whose fields are said to be sorted, which has its length behind
/// the type byte.
fn any_header(data: &[u8], at: usize) -> Result<Header> {
    if data.get(at) != Some(&0xD1) {
        let value = header(data, at).map_err(|error| Error::syntax(at, error.message().to_owned()))?;
        return if value.kind == 0xF {
            Err(Error::syntax(at, "a value of the reserved type"))
        } else {
            Ok(value)
        };
    }
    let (length, body) =
        varuint::read(data, at + 1).map_err(|_| Error::syntax(at, "a length that is cut off"))?;
    let end = usize::try_from(length).ok().and_then(|length| body.checked_add(length));
    match end.filter(|&end| end <= data.len()) {
        Some(end) => Ok(Header { kind: kind::STRUCT, low: 14, body, end }),
        None => Err(Error::syntax(at, "a struct overruns its container")),
    }
}

/// The content of a string.
pub(super) fn text(body: &[u8], at: usize) -> Result<&[u8]> {
    match simdutf8::basic::from_utf8(body) {
        Ok(_) => Ok(body),
        Err(_) => Err(Error::syntax(at, "a string that is not UTF-8")),
    }
}

/// Appends a value that contains no others, has no symbols and is neither a string nor a timestamp.
pub(super) fn put_scalar(out: &mut Vec<u8>, value: Header, body: &[u8]) -> Result<()> {
    let at = value.body;
    match value.kind {
        kind::BOOL if value.low < 2 => out.push(if value.low == 0 { FALSE } else { TRUE }),
        kind::UINT | kind::NEGINT => integer(body, value.kind == kind::NEGINT, at)?.put(out),
        kind::FLOAT => float(body, at)?.put(out),
        kind::DECIMAL => decimal(body, at)?.put(out),
        kind::CLOB => put_string(out, String::from_utf8_lossy(body).as_bytes()),
        kind::BLOB => put_string(out, BASE64_STANDARD.encode(body).as_bytes()),
        other => return Err(Error::syntax(at, format!("a malformed value of type {other}"))),
    }
    Ok(())
}

fn float(body: &[u8], at: usize) -> Result<Number> {
    match *body {
        [] => Ok(Number::Int(0)),
        [a, b, c, d] => Ok(Number::from_f64(f64::from(f32::from_be_bytes([a, b, c, d])))),
        [a, b, c, d, e, f, g, h] => Ok(Number::from_f64(f64::from_be_bytes([a, b, c, d, e, f, g, h]))),
        _ => Err(Error::syntax(at, format!("a float of {} bytes", body.len()))),
    }
}

/// The integer of a magnitude, or the nearest double when 64 bits do not hold it.
fn integer(body: &[u8], negative: bool, at: usize) -> Result<Number> {
    let zeros = body.iter().take_while(|&&byte| byte == 0).count();
    let (first, rest) = body[zeros..].split_at((body.len() - zeros).min(8));
    let magnitude = first.iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
    let exact = match (i64::try_from(magnitude), negative) {
        (Ok(value), false) => Some(Number::Int(value)),
        (Ok(value), true) => Some(Number::Int(-value)),
        (Err(_), false) => Some(Number::UInt(magnitude)),
        (Err(_), true) => (magnitude == 1 << 63).then_some(Number::Int(i64::MIN)),
    };
    if let Some(number) = exact.filter(|_| rest.is_empty()) {
        return Ok(number);
    }
    let value = scale(magnitude, rest.iter().any(|&byte| byte != 0), 8 * rest.len() as i64);
    if value.is_infinite() {
        return Err(Error::syntax(at, "an integer too large for a double"));
    }
    Ok(Number::beyond(if negative { -value } else { value }))
}

/// A signed number of 7 bits a byte, whose first bit is the sign; and the rest.
fn varint(body: &[u8], at: usize) -> Result<(i64, &[u8])> {
    let cut = || Error::syntax(at, "a number that is cut off");
    let size = body.iter().position(|byte| byte & 0x80 != 0).ok_or_else(cut)? + 1;
    if size > 8 {
        return Err(Error::syntax(at, "an exponent out of range"));
    }
    let bits = body[..size].iter().fold(0i64, |value, &byte| value << 7 | i64::from(byte & 0x7F));
    let sign = 1i64 << (7 * size - 1);
    Ok((if bits & sign == 0 { bits } else { -(bits & (sign - 1)) }, &body[size..]))
}

/// A magnitude whose first bit is the sign.
fn coefficient(body: &[u8], at: usize) -> Result<(bool, u128)> {
    let zeros = body.iter().take_while(|&&byte| byte == 0).count();
    if body.len() - zeros > 16 {
        return Err(Error::syntax(at, "a decimal of more than 16 bytes"));
    }
    let negative = body.first().is_some_and(|byte| byte & 0x80 != 0);
    let mut value = body[zeros..].iter().fold(0, |value, &byte| value << 8 | u128::from(byte));
    if negative {
        value &= !(1u128 << (8 * body.len() - 1));
    }
    Ok((negative, value))
}

fn decimal(body: &[u8], at: usize) -> Result<Number> {
    if body.is_empty() {
        return Ok(Number::Int(0));
    }
    let (exponent, digits) = varint(body, at)?;
    let (negative, value) = coefficient(digits, at)?;
    let text = format!("{}{value}e{exponent}", if negative { "-" } else { "" });
    match number::parse(text.as_bytes()) {
        Ok((number, ..)) => Ok(number),
        Err(error) => Err(Error::syntax(at, error.message().to_owned())),
    }
}

/// The decimal text of a stored number; none of other values.
pub(super) fn number_text(stored: &[u8]) -> Option<String> {
    let value = header(stored, 0).ok()?;
    let body = stored.get(value.body..value.end)?;
    match value.kind {
        kind::UINT => magnitude(body, 0).ok().map(|number| number.to_string()),
        kind::NEGINT => magnitude(body, 0).ok().map(|number| format!("-{number}")),
        kind::FLOAT => Some(f64::from_be_bytes(*body.first_chunk()?).to_string()),
        _ => None,
    }
}

/// Microseconds since 1970 of a timestamp; finer parts are cut off, the offset is only a note.
pub(super) fn time(body: &[u8], at: usize) -> Result<i64> {
    let mut whole = body.iter().position(|byte| byte & 0x80 != 0).map_or(body.len(), |at| at + 1);
    for _ in 0..6 {
        if whole < body.len() {
            whole =
                varuint::read(body, whole).map_err(|_| Error::syntax(at, "a timestamp that is cut off"))?.1;
        }
    }
    let seconds = timestamp::read(&body[..whole], at)?;
    if whole == body.len() {
        return Ok(seconds);
    }
    let (exponent, digits) = varint(&body[whole..], at)?;
    let (negative, value) = coefficient(digits, at)?;
    let micros = match u32::try_from(6 + exponent) {
        _ if value == 0 => Some(0),
        Ok(up) => 10u128.checked_pow(up).and_then(|power| value.checked_mul(power)),
        Err(_) => Some(
            u32::try_from(-(6 + exponent))
                .ok()
                .and_then(|down| 10u128.checked_pow(down))
                .map_or(0, |power| value / power),
        ),
    };
    match micros.and_then(|micros| i64::try_from(micros).ok()) {
        Some(micros) if micros < timestamp::SECOND && !negative => Ok(seconds + micros),
        _ => Err(Error::syntax(at, "a fraction of a second out of range")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_any_length() -> Result<()> {
        assert_eq!(integer(&[], true, 0)?, Number::Int(0));
        assert_eq!(integer(&[0, 0, 0, 0, 0, 0, 0, 0, 5], true, 0)?, Number::Int(-5));
        assert_eq!(integer(&[0x80, 0, 0, 0, 0, 0, 0, 0], true, 0)?, Number::Int(i64::MIN));
        assert_eq!(integer(&[0xFF; 8], false, 0)?, Number::UInt(u64::MAX));
        assert_eq!(
            integer(&[1, 0, 0, 0, 0, 0, 0, 0, 0], true, 0)?,
            Number::Float(-18_446_744_073_709_551_616.0)
        );
        assert!(integer(&[1; 200], false, 0).is_err());
        Ok(())
    }

    #[test]
    fn decimals() -> Result<()> {
        assert_eq!(decimal(&[], 0)?, Number::Int(0));
        assert_eq!(decimal(&[0xC2, 0x7B], 0)?, Number::Float(1.23));
        assert_eq!(decimal(&[0xC2, 0x80, 0x7B], 0)?, Number::Float(-1.23));
        assert_eq!(decimal(&[0x82, 0x05], 0)?, Number::Int(500));
        assert!(decimal(&[0x02], 0).is_err());
        Ok(())
    }

    #[test]
    fn fractions_of_any_precision() -> Result<()> {
        let second = [0x80, 0x0F, 0xD0, 0x81, 0x81, 0x80, 0x80, 0x80];
        let whole = time(&second, 0)?;
        for (fraction, micros) in [
            (&[0xC3, 0x05][..], 5_000),
            (&[0xC6, 0x05], 5),
            (&[0xC7, 0x13], 1),
            (&[0xC9, 0x0F, 0xA1], 4),
            (&[0x80], 0),
            (&[0xC1], 0),
        ] {
            assert_eq!(time(&[&second, fraction].concat(), 0)?, whole + micros, "{fraction:?}");
        }
        assert!(time(&[&second[..], &[0xC1, 0x0A]].concat(), 0).is_err());
        assert!(time(&[&second[..], &[0x82, 0x01]].concat(), 0).is_err());
        assert_eq!(time(&[0x80, 0x0F, 0xD0], 0)?, whole);
        Ok(())
    }
}
