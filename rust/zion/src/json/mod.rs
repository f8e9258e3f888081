//! JSON text to Ion rows and back.

pub mod digits;
pub mod number;
pub mod parse;
pub mod print;
pub mod sink;
pub mod split;
pub mod text;
