//! Rows to chunks: symbols for names and frequent texts, fields that share a bucket, and what is noted of fields.

mod chunker;
pub mod fields;
mod frequent;
pub mod grouping;
pub mod paths;
pub mod placement;

pub use chunker::{BlockInfo, Chunk, Row, Sink, Stream, Summary};
