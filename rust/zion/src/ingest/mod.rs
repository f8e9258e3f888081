//! Input in foreign forms to rows: what is packed is parsed here, part by part.

pub mod columns;
mod constants;
mod duplicates;
pub mod ion;
pub mod json;
mod lines;
pub mod logs;
mod message;
mod parser;
mod rejected;
pub mod typing;
pub mod xsv;

pub use constants::{Constants, Fields};
pub use duplicates::Duplicates;
pub use parser::{OnError, PartContext, PartParser, Splitter, Whole};
pub use rejected::{Rejected, Rejects};
