//! 16 states in a vector.

use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_cvtsi32_si128, _mm_cvtsi128_si64, _mm_extract_epi64, _mm_insert_epi32,
    _mm_storeu_si128, _mm256_loadu_si256, _mm256_permutexvar_epi16, _mm256_set_epi16, _mm256_set_m128i,
    _mm512_add_epi32, _mm512_and_si512, _mm512_castsi256_si512, _mm512_castsi512_si128,
    _mm512_cmplt_epu32_mask, _mm512_cvtepi32_epi8, _mm512_cvtepu16_epi32, _mm512_extracti32x4_epi32,
    _mm512_inserti64x4, _mm512_loadu_si512, _mm512_mask_or_epi32, _mm512_maskz_expand_epi32,
    _mm512_mullo_epi32, _mm512_set1_epi32, _mm512_slli_epi32, _mm512_srli_epi32, _mm512_storeu_si512,
    _mm512_test_epi32_mask,
};

use super::{LANES, LOW, Lanes, ROUND, Slots};

pub fn detected() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("popcnt")
}

/// A step of 16 states.
struct Step {
    states: __m512i,
    symbols: __m128i,
    /// The number of words that were used.
    words: usize,
    /// Which states belong to a symbol.
    known: u16,
}

/// A stream while it is decoded.
struct Stream<'a> {
    data: &'a [u8],
    slots: &'a Slots,
    first: __m512i,
    second: __m512i,
    forward: usize,
    backward: usize,
    known: u16,
}

/// Decodes a round of a [`Stream`]; false when the words run out, and then there must not be another one. A
/// macro, since a function that is not inlined would have the states in memory.
///
/// Safe where the lanes were valid for the data and no round gave false.
macro_rules! decode_round {
    ($stream:ident, $round:ident) => {{
        // SAFETY: `64 <= forward <= backward <= data.len() - 64` holds, see `Lanes::valid` and the end of the
        // round, so the 32 bytes from `forward` on and the 32 bytes before `backward` are inside `data`.
        let (after, before) = unsafe {
            (
                _mm256_loadu_si256($stream.data.as_ptr().add($stream.forward).cast::<__m256i>()),
                _mm256_loadu_si256($stream.data.as_ptr().add($stream.backward - ROUND).cast::<__m256i>()),
            )
        };
        let one = step($stream.first, $stream.slots, after);
        let two = step($stream.second, $stream.slots, reversed(before));
        let (left, right) = $round.split_at_mut(LANES / 2);
        // SAFETY: each half of the round is 16 bytes, the size of the vector.
        unsafe {
            _mm_storeu_si128(left.as_mut_ptr().cast(), one.symbols);
            _mm_storeu_si128(right.as_mut_ptr().cast(), two.symbols);
        }
        ($stream.first, $stream.second) = (one.states, two.states);
        $stream.forward += 2 * one.words;
        $stream.backward -= 2 * two.words;
        $stream.known &= one.known & two.known;
        $stream.forward <= $stream.backward
    }};
}

/// The words in the opposite order.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
#[inline]
fn reversed(words: __m256i) -> __m256i {
    let reverse = _mm256_set_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    _mm256_permutexvar_epi16(reverse, words)
}

impl<'a> Stream<'a> {
    /// # Safety
    /// The lanes are valid for the data: [`decode_round!`] reads by that.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
    #[inline]
    unsafe fn new(lanes: &Lanes, data: &'a [u8], slots: &'a Slots) -> Self {
        let (near, far) = lanes.states.split_at(LANES / 2);
        // SAFETY: each half has 16 entries of 4 bytes, the size of the vector; alignment is not needed.
        let (first, second) =
            unsafe { (_mm512_loadu_si512(near.as_ptr().cast()), _mm512_loadu_si512(far.as_ptr().cast())) };
        Self { data, slots, first, second, forward: lanes.forward, backward: lanes.backward, known: u16::MAX }
    }

    /// Puts the states back; false when one of them belonged to no symbol.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
    #[inline]
    fn finish(self, lanes: &mut Lanes) -> bool {
        let (near, far) = lanes.states.split_at_mut(LANES / 2);
        // SAFETY: as with the loads.
        unsafe {
            _mm512_storeu_si512(near.as_mut_ptr().cast(), self.first);
            _mm512_storeu_si512(far.as_mut_ptr().cast(), self.second);
        }
        (lanes.forward, lanes.backward) = (self.forward, self.backward);
        self.known == u16::MAX
    }
}

/// # Safety
/// The lanes are valid for the data.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
pub unsafe fn run(lanes: &mut Lanes, data: &[u8], slots: &Slots, rounds: &mut [[u8; LANES]]) -> bool {
    // SAFETY: the lanes are valid for the data, says the caller.
    let mut stream = unsafe { Stream::new(lanes, data, slots) };
    for round in rounds {
        // The caller says that the lanes are valid, and the first false is the end.
        if !decode_round!(stream, round) {
            return false;
        }
    }
    stream.finish(lanes)
}

/// Two streams at a time: most of the time of a round is waiting for one step after the other.
///
/// # Safety
/// The lanes of both are valid for their data.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
pub unsafe fn run_both(
    lanes: [&mut Lanes; 2],
    data: [&[u8]; 2],
    slots: [&Slots; 2],
    rounds: [&mut [[u8; LANES]]; 2],
) -> bool {
    let [one_lanes, two_lanes] = lanes;
    // SAFETY: the lanes of each are valid for its data, says the caller.
    let (mut one, mut two) =
        unsafe { (Stream::new(one_lanes, data[0], slots[0]), Stream::new(two_lanes, data[1], slots[1])) };
    let [one_rounds, two_rounds] = rounds;
    for (one_round, two_round) in one_rounds.iter_mut().zip(two_rounds) {
        // As above.
        let more = decode_round!(one, one_round) & decode_round!(two, two_round);
        if !more {
            return false;
        }
    }
    one.finish(one_lanes) & two.finish(two_lanes)
}

/// The slots of 16 indices, taken one by one: on many processors that is faster than a gather.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
#[inline]
fn lookup(indices: __m512i, slots: &Slots) -> __m512i {
    let four = |indices: __m128i| {
        let pair = _mm_cvtsi128_si64(indices) as u64;
        let other = _mm_extract_epi64::<1>(indices) as u64;
        let slot = |index: u64| slots[(index & 0xFFF) as usize] as i32;
        let one = _mm_cvtsi32_si128(slot(pair));
        let two = _mm_insert_epi32::<1>(one, slot(pair >> 32));
        let three = _mm_insert_epi32::<2>(two, slot(other));
        _mm_insert_epi32::<3>(three, slot(other >> 32))
    };
    let low = _mm256_set_m128i(
        four(_mm512_extracti32x4_epi32::<1>(indices)),
        four(_mm512_castsi512_si128(indices)),
    );
    let high = _mm256_set_m128i(
        four(_mm512_extracti32x4_epi32::<3>(indices)),
        four(_mm512_extracti32x4_epi32::<2>(indices)),
    );
    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
#[inline]
fn step(states: __m512i, slots: &Slots, words: __m256i) -> Step {
    let low = _mm512_set1_epi32(0xFFF);
    let slot = lookup(_mm512_and_si512(states, low), slots);
    let place = _mm512_and_si512(_mm512_srli_epi32::<12>(slot), low);
    let scaled = _mm512_mullo_epi32(_mm512_and_si512(slot, low), _mm512_srli_epi32::<12>(states));
    let states = _mm512_add_epi32(scaled, place);
    let short = _mm512_cmplt_epu32_mask(states, _mm512_set1_epi32(LOW as i32));
    let words = _mm512_maskz_expand_epi32(short, _mm512_cvtepu16_epi32(words));
    Step {
        states: _mm512_mask_or_epi32(states, short, _mm512_slli_epi32::<16>(states), words),
        symbols: _mm512_cvtepi32_epi8(_mm512_srli_epi32::<24>(slot)),
        words: short.count_ones() as usize,
        known: _mm512_test_epi32_mask(slot, slot),
    }
}
