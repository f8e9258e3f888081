//! JSON text to Ion rows and back.

pub mod number;
pub mod parse;
pub mod split;
pub mod text;
