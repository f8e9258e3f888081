//! Rows as JSON text.

pub mod digits;
pub mod print;
pub mod sink;
