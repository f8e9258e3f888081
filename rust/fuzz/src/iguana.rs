//! Iguana buffers from outside, and round trips of our own.

use zion::Result;
use zion::codec::iguana::{Encoder, decompress};

/// The largest chunk.
const LIMIT: usize = 64 << 20;

/// Decompresses `data`, then compresses it.
pub fn check(data: &[u8]) -> Result<()> {
    let mut out = vec![];
    if decompress(data, &mut out, LIMIT).is_ok() {
        assert!(out.len() <= LIMIT);
        // To pack the content of a bomb takes the time of a thousand others.
        round_trip(&out[..out.len().min(1 << 20)])?;
    }
    round_trip(data)
}

fn round_trip(data: &[u8]) -> Result<()> {
    let (mut packed, mut out) = (vec![], vec![]);
    Encoder::new().compress(data, &mut packed);
    decompress(&packed, &mut out, data.len())?;
    assert!(out == data, "the bytes came back different");
    Ok(())
}
