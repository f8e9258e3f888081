//! Kernels for x86-64.

use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128,
    _mm_set1_epi8, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256,
    _mm256_set1_epi8, _mm512_add_epi32, _mm512_castsi512_si128, _mm512_cmpeq_epi8_mask, _mm512_cvtepu8_epi32,
    _mm512_extracti32x4_epi32, _mm512_loadu_si512, _mm512_maskz_compress_epi8, _mm512_movepi8_mask,
    _mm512_or_si512, _mm512_set1_epi8, _mm512_set1_epi32, _mm512_storeu_si512,
};

use super::{Classify, Masks};

/// AVX2. Only instantiated inside functions with `#[target_feature(enable = "avx2")]`.
pub struct Avx2;

impl Classify for Avx2 {
    #[inline(always)]
    fn classify(block: &[u8; 64]) -> Masks {
        let mut masks = Masks::default();
        for half in 0..2 {
            // SAFETY: both loads read 32 of the 64 bytes of `block`, unaligned loads have no alignment
            // rule; the only callers are compiled with AVX2 enabled and run after its detection.
            unsafe {
                let bytes = _mm256_loadu_si256(block.as_ptr().add(32 * half).cast::<__m256i>());
                let is = |byte: u8| _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte as i8));
                let folded = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
                let folded_is = |byte: u8| _mm256_cmpeq_epi8(folded, _mm256_set1_epi8(byte as i8));
                let put = |vector| u64::from(_mm256_movemask_epi8(vector) as u32) << (32 * half);
                masks.quote |= put(is(b'"'));
                masks.backslash |= put(is(b'\\'));
                masks.open |= put(folded_is(b'{'));
                masks.close |= put(folded_is(b'}'));
                masks.separator |= put(_mm256_or_si256(is(b':'), is(b',')));
                masks.high |= put(bytes);
            }
        }
        masks
    }
}

/// AVX-512 with byte compression. Only instantiated inside functions compiled for it.
pub struct Avx512;

/// The numbers 0 to 63.
const PLACES: [u8; 64] = {
    let mut places = [0; 64];
    let mut place = 0;
    while place < 64 {
        places[place] = place as u8;
        place += 1;
    }
    places
};

impl Classify for Avx512 {
    #[inline(always)]
    fn classify(block: &[u8; 64]) -> Masks {
        // SAFETY: the load reads the 64 bytes of `block`, unaligned; the only callers are compiled with
        // AVX-512BW enabled and run after its detection.
        unsafe {
            let bytes = _mm512_loadu_si512(block.as_ptr().cast::<__m512i>());
            let is = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte as i8));
            let folded = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
            let folded_is = |byte: u8| _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8(byte as i8));
            Masks {
                quote: is(b'"'),
                backslash: is(b'\\'),
                open: folded_is(b'{'),
                close: folded_is(b'}'),
                separator: is(b':') | is(b','),
                high: _mm512_movepi8_mask(bytes),
            }
        }
    }

    #[inline(always)]
    fn spread(bits: u64, base: u32, out: &mut [u32], count: &mut usize) {
        let at = *count;
        let total = bits.count_ones() as usize;
        *count += total;
        let Some(slots) = out.get_mut(at..).and_then(<[u32]>::first_chunk_mut::<64>) else { return };
        // SAFETY: the places of the set bits are gathered in a register; each of the stores writes 16 of
        // the 64 entries of `slots`. The only callers are compiled with AVX-512F and VBMI2 enabled and run
        // after their detection.
        unsafe {
            let places = _mm512_loadu_si512(PLACES.as_ptr().cast::<__m512i>());
            let found = _mm512_maskz_compress_epi8(bits, places);
            let base = _mm512_set1_epi32(base as i32);
            let mut store = |quarter: usize, part: __m128i| {
                let positions = _mm512_add_epi32(_mm512_cvtepu8_epi32(part), base);
                _mm512_storeu_si512(slots.as_mut_ptr().add(16 * quarter).cast::<__m512i>(), positions);
            };
            store(0, _mm512_castsi512_si128(found));
            if total > 16 {
                store(1, _mm512_extracti32x4_epi32::<1>(found));
                if total > 32 {
                    store(2, _mm512_extracti32x4_epi32::<2>(found));
                    store(3, _mm512_extracti32x4_epi32::<3>(found));
                }
            }
        }
    }
}

/// SSE2, which every x86-64 processor has.
pub struct Sse2;

impl Classify for Sse2 {
    #[inline(always)]
    fn classify(block: &[u8; 64]) -> Masks {
        let mut masks = Masks::default();
        for quarter in 0..4 {
            // SAFETY: each load reads 16 of the 64 bytes of `block`; SSE2 is part of x86-64.
            unsafe {
                let bytes = _mm_loadu_si128(block.as_ptr().add(16 * quarter).cast::<__m128i>());
                let is = |byte: u8| _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8));
                let folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
                let folded_is = |byte: u8| _mm_cmpeq_epi8(folded, _mm_set1_epi8(byte as i8));
                let put = |vector| u64::from(_mm_movemask_epi8(vector) as u16) << (16 * quarter);
                masks.quote |= put(is(b'"'));
                masks.backslash |= put(is(b'\\'));
                masks.open |= put(folded_is(b'{'));
                masks.close |= put(folded_is(b'}'));
                masks.separator |= put(_mm_or_si128(is(b':'), is(b',')));
                masks.high |= put(bytes);
            }
        }
        masks
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub fn index_avx2(
    text: &[u8],
    base: usize,
    carry: &mut super::Carry,
    out: &mut Vec<u32>,
    special: &mut Vec<u64>,
) {
    super::index_with::<Avx2>(text, base, carry, out, special);
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub fn skim_avx2(text: &[u8], skim: &mut super::Skim, from: usize) -> Option<usize> {
    super::skim_with::<Avx2>(text, skim, from)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi1,bmi2,popcnt,lzcnt")]
pub fn index_avx512(
    text: &[u8],
    base: usize,
    carry: &mut super::Carry,
    out: &mut Vec<u32>,
    special: &mut Vec<u64>,
) {
    super::index_with::<Avx512>(text, base, carry, out, special);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi1,bmi2,popcnt,lzcnt")]
pub fn skim_avx512(text: &[u8], skim: &mut super::Skim, from: usize) -> Option<usize> {
    super::skim_with::<Avx512>(text, skim, from)
}
