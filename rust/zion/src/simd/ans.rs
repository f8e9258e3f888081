//! The inner loop of ANS32: 32 states at a time.

/// The states of a decoder and the places of its two sequences of words.
pub struct Lanes {
    /// All states; the first 16 read forward, the others backward.
    pub states: [u32; 32],
    /// Where the next word of the forward sequence is.
    pub forward: usize,
    /// Where the words of the backward sequence that were read begin.
    pub backward: usize,
}

impl Lanes {
    /// Decodes whole rounds into `target` as long as words are far from running out; gives the number of bytes
    /// written. Every entry of `slots` must have a frequency (bits 0..12) above 0.
    pub fn run(&mut self, data: &[u8], slots: &[u32; 4096], target: &mut [u8]) -> usize {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
            // SAFETY: the features that the function is compiled for were just detected.
            return unsafe { x86::run(self, data, slots, target) };
        }
        self.run_portable(data, slots, target)
    }

    fn run_portable(&mut self, data: &[u8], slots: &[u32; 4096], target: &mut [u8]) -> usize {
        let mut done = 0;
        let (rounds, _) = target.as_chunks_mut::<32>();
        for round in rounds {
            if self.backward < self.forward + 64 {
                break;
            }
            for (state, symbol) in self.states.iter_mut().zip(round.iter_mut()) {
                let slot = slots[(*state & 0xFFF) as usize];
                *symbol = (slot >> 24) as u8;
                *state = (slot & 0xFFF) * (*state >> 12) + (slot >> 12 & 0xFFF);
            }
            let (near, far) = self.states.split_at_mut(16);
            for state in near.iter_mut().filter(|state| **state < 1 << 16) {
                let Some(word) = data.get(self.forward..).and_then(<[u8]>::first_chunk::<2>) else { break };
                *state = *state << 16 | u32::from(u16::from_le_bytes(*word));
                self.forward += 2;
            }
            for state in far.iter_mut().filter(|state| **state < 1 << 16) {
                self.backward -= 2;
                let Some(word) = data.get(self.backward..).and_then(<[u8]>::first_chunk::<2>) else { break };
                *state = *state << 16 | u32::from(u16::from_le_bytes(*word));
            }
            done += 32;
        }
        done
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m128i, __m256i, __m512i, _mm_storeu_si128, _mm256_loadu_si256, _mm256_permutexvar_epi16,
        _mm256_set_epi16, _mm512_add_epi32, _mm512_and_si512, _mm512_cmplt_epu32_mask, _mm512_cvtepi32_epi8,
        _mm512_cvtepu16_epi32, _mm512_i32gather_epi32, _mm512_loadu_si512, _mm512_mask_or_epi32,
        _mm512_maskz_expand_epi32, _mm512_mullo_epi32, _mm512_set1_epi32, _mm512_slli_epi32,
        _mm512_srli_epi32, _mm512_storeu_si512,
    };

    use super::Lanes;

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,popcnt")]
    pub fn run(lanes: &mut Lanes, data: &[u8], slots: &[u32; 4096], target: &mut [u8]) -> usize {
        let mut done = 0;
        let (rounds, _) = target.as_chunks_mut::<32>();
        // SAFETY: `states` has 32 entries, two vectors.
        let (mut near, mut far) = unsafe {
            let states = lanes.states.as_ptr();
            (
                _mm512_loadu_si512(states.cast::<__m512i>()),
                _mm512_loadu_si512(states.add(16).cast::<__m512i>()),
            )
        };
        let reverse = _mm256_set_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        let (mut forward, mut backward) = (lanes.forward, lanes.backward);
        for round in rounds {
            // A round takes at most 16 words from either side. Both vectors of words that are loaded below lie
            // inside `data`: `forward + 32 <= backward <= data.len()`, and `backward >= 32`.
            if backward < forward + 64 || backward > data.len() {
                break;
            }
            // SAFETY: the words loaded are inside `data` as just checked; the gathers have indices below 4096
            // into 4096 entries; the two stores fill the 32 bytes of `round`.
            unsafe {
                let words = _mm256_loadu_si256(data.as_ptr().add(forward).cast::<__m256i>());
                let (state, symbols, count) = advance(near, slots, words);
                near = state;
                _mm_storeu_si128(round.as_mut_ptr().cast::<__m128i>(), symbols);
                forward += 2 * count;
                let words = _mm256_loadu_si256(data.as_ptr().add(backward - 32).cast::<__m256i>());
                let (state, symbols, count) = advance(far, slots, _mm256_permutexvar_epi16(reverse, words));
                far = state;
                _mm_storeu_si128(round.as_mut_ptr().add(16).cast::<__m128i>(), symbols);
                backward -= 2 * count;
            }
            done += 32;
        }
        // SAFETY: as the loads above.
        unsafe {
            let states = lanes.states.as_mut_ptr();
            _mm512_storeu_si512(states.cast::<__m512i>(), near);
            _mm512_storeu_si512(states.add(16).cast::<__m512i>(), far);
        }
        (lanes.forward, lanes.backward) = (forward, backward);
        done
    }

    /// One step of 16 states: the states after it, the symbols, and how many of `words` were used.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,popcnt")]
    #[inline]
    fn advance(state: __m512i, slots: &[u32; 4096], words: __m256i) -> (__m512i, __m128i, usize) {
        let low = _mm512_set1_epi32(0xFFF);
        // SAFETY: each index is below 4096, the number of entries.
        let slot =
            unsafe { _mm512_i32gather_epi32::<4>(_mm512_and_si512(state, low), slots.as_ptr().cast()) };
        let symbols = _mm512_cvtepi32_epi8(_mm512_srli_epi32::<24>(slot));
        let frequency = _mm512_and_si512(slot, low);
        let place = _mm512_and_si512(_mm512_srli_epi32::<12>(slot), low);
        let state = _mm512_add_epi32(_mm512_mullo_epi32(frequency, _mm512_srli_epi32::<12>(state)), place);
        let short = _mm512_cmplt_epu32_mask(state, _mm512_set1_epi32(1 << 16));
        let words = _mm512_maskz_expand_epi32(short, _mm512_cvtepu16_epi32(words));
        let state = _mm512_mask_or_epi32(state, short, _mm512_slli_epi32::<16>(state), words);
        (state, symbols, short.count_ones() as usize)
    }
}
