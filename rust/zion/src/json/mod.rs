//! JSON text: rows to lines.

pub mod number;
pub mod print;
pub mod sink;
