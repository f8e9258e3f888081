//! Digests of blocks: what tells that the stored bytes of a block are those that were written
//! (`docs/format.md`, section 10).
//!
//! A block's digest is made of the hashes of its frames, so that frames can be hashed by the threads that make
//! them, long before it is known where blocks end, and a block that goes on keeps those that it has.

use crate::block::{FRAME_HEADER, frame};
use crate::error::{Error, Result};

/// Bytes of the hash of a frame.
pub const HASH: usize = 32;
/// Bytes of the digest of a block.
pub const DIGEST: usize = 20;

/// The hash of a frame, its header included.
pub type Hash = [u8; HASH];
/// The digest of a block.
pub type Digest = [u8; DIGEST];

/// The hash of a frame.
pub fn of_frame(frame: &[u8]) -> Hash {
    *blake3::hash(frame).as_bytes()
}

/// The digest of a block, from the hashes of its frames one after the other.
pub fn of_hashes(hashes: &[u8]) -> Digest {
    first(&blake3::hash(hashes))
}

/// The hashes of the frames of a block, one after the other.
fn hashes(block: &[u8]) -> Result<Vec<u8>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = block.get(at..).filter(|rest| !rest.is_empty()) {
        let length = frame(rest, at, block.len())?;
        let end = at + FRAME_HEADER + length;
        found.extend_from_slice(&of_frame(block.get(at..end).unwrap_or_default()));
        at = end;
    }
    Ok(found)
}

/// The digest of a block that is in memory.
pub fn of_block(block: &[u8]) -> Result<Digest> {
    Ok(of_hashes(&hashes(block)?))
}

fn first(hash: &blake3::Hash) -> Digest {
    let mut digest = [0; DIGEST];
    digest.copy_from_slice(&hash.as_bytes()[..DIGEST]);
    digest
}

/// Makes the digest of a block whose bytes come piece by piece, of any size.
#[derive(Debug, Default)]
pub struct Digester {
    /// What was seen of the header of the frame at hand.
    header: Vec<u8>,
    /// Bytes of its payload that are still to come.
    missing: usize,
    frame: blake3::Hasher,
    block: blake3::Hasher,
    /// Bytes that were seen.
    seen: usize,
}

impl Digester {
    /// Takes the next bytes.
    pub fn update(&mut self, mut data: &[u8]) -> Result<()> {
        while !data.is_empty() {
            let wanted = if self.missing > 0 { self.missing } else { FRAME_HEADER - self.header.len() };
            let (now, later) = data.split_at(wanted.min(data.len()));
            data = later;
            self.frame.update(now);
            self.seen += now.len();
            if self.missing > 0 {
                self.missing -= now.len();
            } else {
                self.header.extend_from_slice(now);
                if self.header.len() < FRAME_HEADER {
                    return Ok(());
                }
                self.missing = frame(&self.header, self.seen - FRAME_HEADER, usize::MAX)?;
                self.header.clear();
            }
            if self.missing == 0 {
                self.block.update(self.frame.finalize().as_bytes());
                self.frame.reset();
            }
        }
        Ok(())
    }

    /// The digest, at the end of a block; what comes next is another one.
    pub fn finish(&mut self) -> Result<Digest> {
        if self.missing > 0 || !self.header.is_empty() {
            return Err(Error::corrupt("frame", self.seen, "the block ends inside a frame"));
        }
        let digest = first(&self.block.finalize());
        *self = Self::default();
        Ok(digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::frame_header;

    fn block() -> Result<Vec<u8>> {
        let mut block = vec![];
        for length in [0, 1, 300, 5] {
            block.extend(frame_header(length)?);
            block.extend((0..length).map(|at| at as u8));
        }
        Ok(block)
    }

    #[test]
    fn pieces_of_any_size_give_the_digest_of_the_whole() -> Result<()> {
        let block = block()?;
        let whole = of_block(&block)?;
        let mut digester = Digester::default();
        for size in [1, 2, 5, 7, 299, 1000] {
            for piece in block.chunks(size) {
                digester.update(piece)?;
            }
            assert_eq!(digester.finish()?, whole, "{size}");
        }
        let hashes = hashes(&block)?;
        assert_eq!((hashes.len(), of_hashes(&hashes)), (4 * HASH, whole));
        assert_eq!(hashes[..HASH], of_frame(&block[..FRAME_HEADER]));
        Ok(())
    }

    #[test]
    fn every_bit_counts_and_frames_are_whole() -> Result<()> {
        let mut block = block()?;
        let whole = of_block(&block)?;
        for at in 0..block.len() {
            block[at] ^= 1;
            let mut digester = Digester::default();
            let pieced = digester.update(&block).and_then(|()| digester.finish());
            assert!(of_block(&block).is_err() || of_block(&block)? != whole, "{at}");
            assert!(pieced.is_err() || pieced? != whole, "{at}");
            block[at] ^= 1;
        }
        assert!(of_block(&block[..block.len() - 1]).is_err());
        let mut digester = Digester::default();
        digester.update(&block[..block.len() - 1])?;
        assert!(digester.finish().is_err());
        Ok(())
    }

    #[test]
    fn the_digest_is_the_one_of_the_document() {
        // One frame without payload: AE 00 00 00 80.
        let hash = of_frame(&[0xAE, 0, 0, 0, 0x80]);
        let known = [
            0x7C, 0xB4, 0xC7, 0xC1, 0x11, 0xD8, 0xF2, 0xFA, 0xC4, 0x37, 0x62, 0x9D, 0x1F, 0x48, 0xD0, 0x4C,
            0xC5, 0x3D, 0xA8, 0x34,
        ];
        assert_eq!(of_hashes(&hash), known);
    }
}
