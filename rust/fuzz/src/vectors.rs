//! Vectors of numbers from outside, and buckets that may become such.

use zion::Result;
use zion::codec::special::{decode, encode};

/// The largest chunk.
const LIMIT: usize = 64 << 20;

/// Decodes `data` as a vector, then tries to make one of it.
pub fn check(data: &[u8]) -> Result<()> {
    let mut bucket = vec![];
    if decode(data, &mut bucket, LIMIT).is_ok() {
        assert!(bucket.len() <= LIMIT);
        if bucket.len() <= 1 << 20 {
            round_trip(&bucket)?;
        }
    }
    round_trip(data)
}

fn round_trip(bucket: &[u8]) -> Result<()> {
    let (mut packed, mut out) = (vec![], vec![]);
    if encode(bucket, &mut packed) {
        decode(&packed, &mut out, bucket.len())?;
        assert!(out == bucket, "the bytes came back different");
    }
    Ok(())
}
