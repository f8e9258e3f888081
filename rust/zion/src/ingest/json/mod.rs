//! JSON text to rows.

pub mod hints;
pub mod literal;
pub mod number;
pub(crate) mod ordered;
pub mod parse;
mod reading;
mod repeated;
pub mod split;
pub mod text;

pub use reading::Reading;
