//! Numbers of the format: commands, streams, and the code of lengths.

/// The layer of errors.
pub(super) const LAYER: &str = "iguana";

/// Commands of the control sequence.
pub(super) mod command {
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
pub(super) mod stream {
    pub const TOKENS: usize = 0;
    pub const OFFSETS_16: usize = 1;
    pub const OFFSETS_24: usize = 2;
    pub const LITERAL_LENGTHS: usize = 3;
    pub const MATCH_LENGTHS: usize = 4;
    pub const LITERALS: usize = 5;
    pub const COUNT: usize = 6;
}

/// A match distance above this needs three bytes.
pub(super) const FAR: usize = 0xFFFF;
/// The shortest match with a distance of three bytes.
pub(super) const MIN_FAR_MATCH: usize = 16;
/// What the base-254 code of lengths cannot hold any more, in one byte and in three.
pub(super) const SHORT_LENGTH: usize = 254;
pub(super) const MEDIUM_LENGTH: usize = 254 * 254;
/// The longest length that the code holds.
pub(super) const MAX_LENGTH: usize = 253 + 254 * 253 + MEDIUM_LENGTH * 253;
