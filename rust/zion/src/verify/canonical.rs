//! Whether one value has the form that writers must produce.

use crate::error::Error;
use crate::ion::{self, Header, SymbolTable, kind, timestamp, varuint};
use crate::json::print::float;

/// The names of the types.
pub const NAMES: [&str; 16] = [
    "null",
    "bool",
    "uint",
    "int",
    "float",
    "decimal",
    "timestamp",
    "symbol",
    "string",
    "clob",
    "blob",
    "list",
    "sexp",
    "struct",
    "annotation",
    "reserved",
];
/// The longest value of a row.
const MAX_LENGTH: usize = (1 << 21) - 1;

/// What is wrong with the value at `at`, leaving out what lies inside it.
pub fn fault(data: &[u8], at: usize, value: Header, table: &SymbolTable) -> Option<String> {
    let body = &data[value.body..value.end];
    if value.is_null() {
        return (value.kind != kind::NULL).then(|| format!("a typed null ({})", name(value)));
    }
    let shortest = ion::header_size(body.len());
    if value.body - at != shortest && data[at] != ion::TRUE {
        return Some(format!("the length of a {} takes more bytes than it needs", name(value)));
    }
    if body.len() > MAX_LENGTH {
        return Some(format!("a {} of {} bytes, the limit is {MAX_LENGTH}", name(value), body.len()));
    }
    match value.kind {
        kind::NULL => Some("padding inside a row".to_owned()),
        kind::BOOL => (value.low > 1).then(|| "a bool that is neither true nor false".to_owned()),
        kind::UINT | kind::NEGINT => integer(body, value.kind == kind::NEGINT),
        kind::FLOAT => real(body, at),
        kind::TIMESTAMP => instant(body, at, &data[at..value.end]),
        kind::SYMBOL => symbol(body, table),
        kind::STRING => match simdutf8::compat::from_utf8(body) {
            Ok(_) => None,
            Err(error) => {
                Some(format!("a string that is not UTF-8 (from its byte {} on)", error.valid_up_to()))
            }
        },
        kind::LIST | kind::STRUCT => None,
        _ => Some(format!("a value of type {}, which rows do not have", name(value))),
    }
}

/// Whether a label takes more bytes than it needs.
pub fn is_long_label(label: u64, bytes: usize) -> bool {
    bytes != varuint::size(label)
}

fn name(value: Header) -> &'static str {
    NAMES[usize::from(value.kind & 15)]
}

fn integer(body: &[u8], negative: bool) -> Option<String> {
    let Ok(value) = ion::magnitude(body, 0) else {
        return Some(format!("an integer of {} bytes, the limit is 8", body.len()));
    };
    if body.first() == Some(&0) {
        return Some("an integer with leading zero bytes".to_owned());
    }
    match value {
        0 if negative => Some("a negative zero".to_owned()),
        _ if negative && value > 1 << 63 => Some("an integer below -2^63".to_owned()),
        _ => None,
    }
}

fn real(body: &[u8], at: usize) -> Option<String> {
    if body.len() != 8 {
        return Some(format!("a float of {} bytes instead of 8", body.len()));
    }
    let value = float(body, at).ok()?;
    let mut canonical = Vec::new();
    ion::put_float(&mut canonical, value);
    (canonical.first() != Some(&0x48)).then(|| format!("the integer {value} stored as a float"))
}

fn instant(body: &[u8], at: usize, whole: &[u8]) -> Option<String> {
    match timestamp::read(body, at) {
        Err(error) => Some(told("ion.ReadDate", &error)),
        Ok(us) => {
            let mut canonical = Vec::new();
            timestamp::put(&mut canonical, us);
            (canonical != whole).then(|| "a timestamp that is not in canonical form".to_owned())
        }
    }
}

fn symbol(body: &[u8], table: &SymbolTable) -> Option<String> {
    match ion::magnitude(body, 0) {
        Ok(id) if id >= u64::from(table.max_id()) => Some(format!("symbol {id} not in symbol table")),
        Ok(_) if body.first() == Some(&0) => Some("a symbol id with leading zero bytes".to_owned()),
        Ok(_) => None,
        Err(_) => Some(format!("a symbol id of {} bytes, the limit is 8", body.len())),
    }
}

/// The text of an error, in front of it what was being read.
pub(super) fn told(what: &str, error: &Error) -> String {
    format!("{what}: {}", error.message())
}
