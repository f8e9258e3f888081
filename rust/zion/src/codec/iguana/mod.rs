//! The iguana byte compressor, version 0: LZ77 matches in six streams, each packed by rANS
//! (`docs/format.md`, "iguana").

mod ans;
mod control;
mod decode;
mod encode;
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

/// The layer of errors.
const LAYER: &str = "iguana";

/// Commands of the control sequence.
mod command {
    pub const COPY: u8 = 0;
    pub const STRUCTURAL: u8 = 1;
    pub const ANS32: u8 = 2;
    pub const ANS1: u8 = 3;
    pub const NIBBLE: u8 = 4;
    /// Marks the last command.
    pub const LAST: u8 = 0x80;
    /// The commands that do what the entropy modes of streams say.
    pub const OF_MODE: [u8; 4] = [COPY, ANS32, ANS1, NIBBLE];
}

/// The streams of a structural command.
mod stream {
    pub const TOKENS: usize = 0;
    pub const OFFSETS_16: usize = 1;
    pub const OFFSETS_24: usize = 2;
    pub const LITERAL_LENGTHS: usize = 3;
    pub const MATCH_LENGTHS: usize = 4;
    pub const LITERALS: usize = 5;
    pub const COUNT: usize = 6;
}

/// A match distance above this needs three bytes.
const FAR: usize = 0xFFFF;
/// The shortest match with a distance of three bytes.
const MIN_FAR_MATCH: usize = 16;
/// What the base-254 code of lengths cannot hold any more, in one byte and in three.
const SHORT_LENGTH: usize = 254;
const MEDIUM_LENGTH: usize = 254 * 254;
/// The longest length that the code holds.
const MAX_LENGTH: usize = 253 + 254 * 253 + MEDIUM_LENGTH * 253;
