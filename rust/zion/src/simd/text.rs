//! Which bytes of a JSON string need care, 16 at a time.

/// Bytes that are looked at together.
pub const LANE: usize = 16;

/// One bit for each byte that is a quote, a backslash, a control byte or not ASCII.
#[inline]
pub fn odd_bytes(lane: &[u8; LANE]) -> u32 {
    kernel::<false>(lane)
}

/// As [`odd_bytes`], but of the bytes that are not ASCII only `E2` counts.
#[inline]
pub fn odd_in_utf8(lane: &[u8; LANE]) -> u32 {
    kernel::<true>(lane)
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn kernel<const UTF8: bool>(lane: &[u8; LANE]) -> u32 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_cmplt_epi8, _mm_loadu_si128, _mm_max_epu8, _mm_movemask_epi8, _mm_or_si128,
        _mm_set1_epi8,
    };
    // SAFETY: SSE2 is part of every x86-64 processor, and the 16 bytes that are loaded are those of `lane`.
    unsafe {
        let bytes = _mm_loadu_si128(lane.as_ptr().cast());
        let quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'"' as i8));
        let backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\\' as i8));
        let others = if UTF8 {
            let limit = _mm_set1_epi8(0x1F);
            let control = _mm_cmpeq_epi8(_mm_max_epu8(bytes, limit), limit);
            _mm_or_si128(control, _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0xE2_u8 as i8)))
        } else {
            // As signed bytes, those that are not ASCII are below zero.
            _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20))
        };
        _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), others)) as u32
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn kernel<const UTF8: bool>(lane: &[u8; LANE]) -> u32 {
    plain::<UTF8>(lane)
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn plain<const UTF8: bool>(lane: &[u8; LANE]) -> u32 {
    lane.iter().rev().fold(0, |bits, &byte| {
        let odd = matches!(byte, b'"' | b'\\' | 0..0x20) || if UTF8 { byte == 0xE2 } else { byte >= 0x80 };
        bits << 1 | u32::from(odd)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_agree() {
        for byte in 0..=255 {
            for place in 0..LANE {
                let mut lane = [b'x'; LANE];
                lane[place] = byte;
                assert_eq!(odd_bytes(&lane), plain::<false>(&lane));
                assert_eq!(odd_in_utf8(&lane), plain::<true>(&lane));
            }
        }
    }
}
