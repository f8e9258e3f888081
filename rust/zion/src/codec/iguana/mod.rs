//! The iguana byte compressor, version 0: LZ77 matches in six streams, each packed by rANS
//! (`docs/format.md`, "iguana").

mod ans;
mod control;
mod decode;
mod encode;
mod layout;
mod matches;
pub mod table;
mod tokens;

pub use ans::{decode_ans1, decode_ans32, decode_nibbles, encode_ans1, encode_ans32, encode_nibbles};
pub use decode::Decoder;
pub use encode::Encoder;

use crate::error::Result;

/// Replaces `out` by the content of an iguana buffer, at most `limit` bytes. A [`Decoder`] that is kept is faster.
pub fn decompress(buffer: &[u8], out: &mut Vec<u8>, limit: usize) -> Result<()> {
    Decoder::default().decompress(buffer, out, limit)
}
