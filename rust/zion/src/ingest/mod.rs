//! Input in foreign forms to rows: what is packed is parsed here, part by part.

pub mod columns;
pub mod ion;
pub mod json;
mod lines;
pub mod logs;
mod parser;
mod rejected;
pub mod typing;
pub mod xsv;

pub use parser::{Constants, Fields, OnError, PartContext, PartParser, Splitter, Whole};
pub use rejected::{Rejected, Rejects};
