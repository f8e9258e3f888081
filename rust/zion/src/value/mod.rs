//! Values in rows: read where they lie, ordered, and as the text by which values of all types are compared.

pub mod key;
pub mod number;
mod stored;

pub(crate) use stored::{Fields, Items};
pub use stored::{Value, bits};
