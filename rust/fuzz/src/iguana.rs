//! Iguana buffers from outside, and round trips of our own.

use zion::Result;
use zion::codec::iguana::{Encoder, decompress};

const LIMIT: usize = 1 << 20;

/// Decompresses `data`, then compresses it.
pub fn check(data: &[u8]) -> Result<()> {
    let mut out = vec![];
    if decompress(data, &mut out, LIMIT).is_ok() {
        assert!(out.len() <= LIMIT);
        round_trip(&out)?;
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
