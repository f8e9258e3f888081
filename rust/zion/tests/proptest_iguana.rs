//! Iguana round trips over inputs of many kinds.

use proptest::prelude::*;
use zion::codec::iguana::{Decoder, Encoder};

/// Pieces of random bytes, copies of what came before, and runs.
fn data() -> impl Strategy<Value = Vec<u8>> {
    let piece = (0u8..4, prop::collection::vec(any::<u8>(), 1..60), any::<usize>(), 1usize..900);
    prop::collection::vec(piece, 0..120).prop_map(|pieces| {
        let mut data: Vec<u8> = vec![];
        for (kind, bytes, place, length) in pieces {
            match kind {
                0 => data.extend_from_slice(&bytes),
                1 => data.extend(bytes.iter().cycle().take(length)),
                _ if data.is_empty() => data.push(bytes[0]),
                _ => {
                    let from = place % data.len();
                    data.extend_from_within(from..(from + length).min(data.len()));
                }
            }
        }
        data
    })
}

proptest! {
    #[test]
    fn round_trips(inputs in prop::collection::vec(data(), 1..4)) {
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
        let (mut packed, mut out) = (vec![], vec![]);
        for input in inputs {
            packed.clear();
            encoder.compress(&input, &mut packed);
            prop_assert!(packed.len() <= input.len() + 12);
            prop_assert!(decoder.decompress(&packed, &mut out, input.len()).is_ok());
            prop_assert!(out == input);
        }
    }

    #[test]
    fn damage_never_panics(input in data(), place in any::<usize>(), bits in 1u8..) {
        let (mut packed, mut out) = (vec![], vec![]);
        Encoder::default().compress(&input, &mut packed);
        if let Some(byte) = packed.len().checked_sub(1).map(|last| place % (last + 1)) {
            packed[byte] ^= bits;
        }
        let _ = Decoder::default().decompress(&packed, &mut out, 1 << 20);
        prop_assert!(out.len() <= 1 << 20);
    }
}
