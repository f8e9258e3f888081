//! Blocks: chunks one after the other, their rows and digests, and rows with changes.

pub mod digest;
pub mod edit;
mod reader;
pub mod rows;
pub mod runs;

pub(crate) use reader::OpenChunk;
pub use reader::{BlockReader, Chunk, Codecs, FRAME_HEADER, Position, frame, frame_header};
