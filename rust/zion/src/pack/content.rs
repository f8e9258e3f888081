//! Digests of the content of inputs: what tells that an input was packed before (`docs/format.md`,
//! section 10).
//!
//! The digest is made of hashes of pieces, so that the threads that parse a file hash what they read while it
//! is in the cache.

use twox_hash::XxHash3_128;

use crate::error::Result;
use crate::input::Bytes;

/// Size of a piece in bytes; the last one may be shorter.
pub const PIECE: usize = 1 << 20;
/// Bytes of a digest.
pub const DIGEST: usize = 16;

/// Hashes the pieces that end in a stretch of an input.
#[derive(Default)]
pub struct Pieces {
    /// Up to where it came.
    position: u64,
    piece: XxHash3_128,
    hashes: Vec<u8>,
}

impl Pieces {
    /// Hashes from `start` on. What lies before it of its piece is read.
    pub fn from(bytes: &dyn Bytes, start: usize) -> Result<Self> {
        let before = start % PIECE;
        let mut pieces = Self { position: (start - before) as u64, ..Self::default() };
        let mut buffer = vec![0; before];
        bytes.read(start - before, &mut buffer)?;
        pieces.update(&buffer);
        Ok(pieces)
    }

    /// Takes the next bytes.
    pub fn update(&mut self, mut data: &[u8]) {
        while !data.is_empty() {
            let missing = PIECE - (self.position % PIECE as u64) as usize;
            let (now, later) = data.split_at(missing.min(data.len()));
            self.piece.write(now);
            self.position += now.len() as u64;
            data = later;
            if now.len() == missing {
                self.end_piece();
            }
        }
    }

    fn end_piece(&mut self) {
        let piece = std::mem::take(&mut self.piece);
        self.hashes.extend_from_slice(&piece.finish_128().to_be_bytes());
    }

    /// The position in the input.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The hashes of the pieces that ended so far.
    pub fn ended(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.hashes)
    }

    /// The same at the end of the input, where the last piece ends too.
    pub fn finish(&mut self) -> Vec<u8> {
        if !self.position.is_multiple_of(PIECE as u64) {
            self.end_piece();
        }
        self.ended()
    }
}

/// Makes the digest of an input out of the hashes of its pieces.
#[derive(Debug, Default)]
pub struct Digester {
    hashes: Vec<u8>,
    last: Vec<u8>,
}

impl Digester {
    /// Takes the hashes of the pieces that follow.
    pub fn add(&mut self, hashes: impl AsRef<[u8]>) {
        self.hashes.extend_from_slice(hashes.as_ref());
    }

    /// Takes the hashes of the pieces at the end, behind all that come yet.
    pub fn end(&mut self, hashes: Vec<u8>) {
        self.last = hashes;
    }

    /// The digest.
    pub fn finish(&self) -> [u8; DIGEST] {
        let mut hasher = XxHash3_128::new();
        hasher.write(&self.hashes);
        hasher.write(&self.last);
        hasher.finish_128().to_be_bytes()
    }
}
