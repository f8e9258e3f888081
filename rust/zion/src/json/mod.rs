//! JSON text to Ion rows and back.

pub mod digits;
pub mod hints;
pub mod literal;
pub mod number;
pub(crate) mod ordered;
pub mod parse;
pub mod print;
pub mod sink;
pub mod split;
pub mod text;
