//! Rows as JSON text, and as tables of text.

pub mod digits;
pub mod print;
pub mod sink;
pub mod table;
