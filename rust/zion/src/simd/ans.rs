//! The inner loop of ANS32: 32 states at a time.
#![allow(clippy::cast_ptr_alignment, reason = "the loads and stores are unaligned ones")]

/// Number of states.
pub const LANES: usize = 32;
/// States stay at or above this between steps; it is where an encoder begins and a decoder ends.
pub const LOW: u32 = 1 << 16;
/// Bytes of the 16 states at either end of a stream.
const STATES: usize = 64;
/// Bytes of words that one round takes at most from either sequence.
const ROUND: usize = 32;

/// The slot of each value of the 12 low bits of a state: the symbol (bits 24..32), its place (bits 12..24) and
/// its frequency (bits 0..12). 0 belongs to no symbol.
pub type Slots = [u32; 4096];

/// The states of a decoder and the places of its two sequences of words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lanes {
    /// All states; the first 16 read forward, the others backward.
    pub states: [u32; LANES],
    /// Where the next word of the forward sequence is.
    pub forward: usize,
    /// Where the words of the backward sequence that were read begin.
    pub backward: usize,
}

/// The ways to run the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kernel {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Kernel {
    /// The kernels that the processor can run, the fastest one first.
    fn available() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let vector = [
            (x86_512::detected as fn() -> bool, Self::Avx512),
            (x86_256::detected as fn() -> bool, Self::Avx2),
        ]
        .into_iter()
        .filter_map(|(detected, kernel)| detected().then_some(kernel));
        #[cfg(not(target_arch = "x86_64"))]
        let vector = std::iter::empty();
        vector.chain([Self::Portable])
    }
}

impl Lanes {
    /// The start of a stream; none if it is too short.
    pub fn new(data: &[u8]) -> Option<Self> {
        let (first, _) = data.split_first_chunk::<STATES>()?;
        let (_, second) = data.get(STATES..)?.split_last_chunk::<STATES>()?;
        let mut states = [0; LANES];
        let bytes = first.as_chunks::<4>().0.iter().chain(second.as_chunks::<4>().0);
        for (state, bytes) in states.iter_mut().zip(bytes) {
            *state = u32::from_le_bytes(*bytes);
        }
        Some(Self { states, forward: STATES, backward: data.len() - STATES })
    }

    /// Decodes as many rounds of 32 bytes as `target` has room for; gives the number of bytes written. When a
    /// state belongs to no symbol or the words run out nothing is done.
    pub fn run(&mut self, data: &[u8], slots: &Slots, target: &mut [u8]) -> usize {
        Kernel::available().next().map_or(0, |kernel| self.run_with(kernel, data, slots, target))
    }

    fn run_with(&mut self, kernel: Kernel, data: &[u8], slots: &Slots, target: &mut [u8]) -> usize {
        if !self.valid(data) {
            return 0;
        }
        let mut lanes = self.clone();
        let (rounds, _) = target.as_chunks_mut::<LANES>();
        let done = match kernel {
            Kernel::Portable => run_portable(&mut lanes, data, slots, rounds),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a kernel is only chosen when the processor has the features it is compiled for.
            Kernel::Avx2 => unsafe { x86_256::run(&mut lanes, data, slots, rounds) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above; and the lanes are valid.
            Kernel::Avx512 => unsafe { x86_512::run(&mut lanes, data, slots, rounds) },
        };
        if !done || !lanes.valid(data) {
            return 0;
        }
        *self = lanes;
        LANES * rounds.len()
    }

    /// Decodes as many rounds of two streams as both targets have room for, each with its own lanes, data and
    /// slots; gives the number of bytes written to each. None are when something is wrong with either, or when
    /// the processor does two streams no faster together.
    pub fn run_both(
        lanes: [&mut Self; 2],
        data: [&[u8]; 2],
        slots: [&Slots; 2],
        targets: [&mut [u8]; 2],
    ) -> usize {
        #[cfg(target_arch = "x86_64")]
        if x86_512::detected() && lanes[0].valid(data[0]) && lanes[1].valid(data[1]) {
            let [mut one, mut two] = [lanes[0].clone(), lanes[1].clone()];
            let [one_rounds, two_rounds] = targets.map(|target| target.as_chunks_mut::<LANES>().0);
            let count = one_rounds.len().min(two_rounds.len());
            let rounds = [&mut one_rounds[..count], &mut two_rounds[..count]];
            // SAFETY: the features were just detected, and the lanes found to be valid.
            let done = unsafe { x86_512::run_both([&mut one, &mut two], data, slots, rounds) };
            if done && one.valid(data[0]) && two.valid(data[1]) {
                [*lanes[0], *lanes[1]] = [one, two];
                return LANES * count;
            }
            return 0;
        }
        let _ = (lanes, data, slots, targets);
        0
    }

    /// Whether the places are inside `data`: any round may start then, and it may read [`ROUND`] bytes from
    /// `forward` on and before `backward`, because the states at either end are longer than that.
    fn valid(&self, data: &[u8]) -> bool {
        STATES <= self.forward && self.forward <= self.backward && self.backward + STATES <= data.len()
    }
}

/// Does all rounds; false when a state belongs to no symbol or the words run out.
fn run_portable(lanes: &mut Lanes, data: &[u8], slots: &Slots, rounds: &mut [[u8; LANES]]) -> bool {
    let word = |at: usize| {
        let bytes = data.get(at..).and_then(<[u8]>::first_chunk::<2>);
        bytes.map_or(0, |bytes| u32::from(u16::from_le_bytes(*bytes)))
    };
    let mut all = true;
    for round in rounds {
        for (state, symbol) in lanes.states.iter_mut().zip(round.iter_mut()) {
            let slot = slots[(*state & 0xFFF) as usize];
            all &= slot != 0;
            *symbol = (slot >> 24) as u8;
            *state = (slot & 0xFFF) * (*state >> 12) + (slot >> 12 & 0xFFF);
        }
        let (near, far) = lanes.states.split_at_mut(LANES / 2);
        for state in near {
            let short = *state < LOW;
            *state = if short { *state << 16 | word(lanes.forward) } else { *state };
            lanes.forward += 2 * usize::from(short);
        }
        for state in far {
            let short = *state < LOW;
            *state = if short { *state << 16 | word(lanes.backward - 2) } else { *state };
            lanes.backward -= 2 * usize::from(short);
        }
        if lanes.forward > lanes.backward {
            return false;
        }
    }
    all
}

/// 16 states in a vector.
#[cfg(target_arch = "x86_64")]
mod x86_512 {
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
        /// `lanes` must be valid for `data`.
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
        #[inline]
        fn new(lanes: &Lanes, data: &'a [u8], slots: &'a Slots) -> Self {
            let (near, far) = lanes.states.split_at(LANES / 2);
            // SAFETY: each half has 16 entries of 4 bytes, the size of the vector; alignment is not needed.
            let (first, second) = unsafe {
                (_mm512_loadu_si512(near.as_ptr().cast()), _mm512_loadu_si512(far.as_ptr().cast()))
            };
            Self {
                data,
                slots,
                first,
                second,
                forward: lanes.forward,
                backward: lanes.backward,
                known: u16::MAX,
            }
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
        let mut stream = Stream::new(lanes, data, slots);
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
        let mut one = Stream::new(one_lanes, data[0], slots[0]);
        let mut two = Stream::new(two_lanes, data[1], slots[1]);
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
}

/// 8 states in a vector.
#[cfg(target_arch = "x86_64")]
mod x86_256 {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_loadu_si128, _mm_set_epi8, _mm_shuffle_epi8, _mm256_add_epi32,
        _mm256_and_si256, _mm256_blendv_epi8, _mm256_castsi256_ps, _mm256_cmpeq_epi32, _mm256_cvtepu16_epi32,
        _mm256_i32gather_epi32, _mm256_loadu_si256, _mm256_movemask_ps, _mm256_mullo_epi32, _mm256_or_si256,
        _mm256_packus_epi16, _mm256_packus_epi32, _mm256_permutevar8x32_epi32, _mm256_set_epi32,
        _mm256_set1_epi32, _mm256_setzero_si256, _mm256_slli_epi32, _mm256_srli_epi32, _mm256_storeu_si256,
        _mm256_testz_si256,
    };

    use super::{LANES, Lanes, Slots};

    /// States in a vector, and the bytes of as many words.
    const WIDTH: usize = 8;
    const WORDS: usize = 2 * WIDTH;

    /// For each set of states that need a word: which of the next words each one takes.
    static TAKES: [[u32; WIDTH]; 256] = {
        let mut takes = [[0; WIDTH]; 256];
        let mut set = 0;
        while set < 256 {
            let mut lane = 0;
            while lane < WIDTH {
                takes[set][lane] = (set & ((1 << lane) - 1)).count_ones();
                lane += 1;
            }
            set += 1;
        }
        takes
    };

    pub fn detected() -> bool {
        is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt")
    }

    #[target_feature(enable = "avx2,popcnt")]
    pub fn run(lanes: &mut Lanes, data: &[u8], slots: &Slots, rounds: &mut [[u8; LANES]]) -> bool {
        let reverse = _mm_set_epi8(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
        let (quarters, _) = lanes.states.as_chunks_mut::<WIDTH>();
        let mut states = [_mm256_setzero_si256(); LANES / WIDTH];
        for (state, quarter) in states.iter_mut().zip(&*quarters) {
            // SAFETY: a quarter has 8 entries of 4 bytes, the size of the vector.
            *state = unsafe { _mm256_loadu_si256(quarter.as_ptr().cast()) };
        }
        let (mut forward, mut backward) = (lanes.forward, lanes.backward);
        let mut unknown = _mm256_setzero_si256();
        for round in rounds {
            let mut symbols = [_mm256_setzero_si256(); LANES / WIDTH];
            for (quarter, (state, symbol)) in states.iter_mut().zip(&mut symbols).enumerate() {
                let slot = lookup(*state, slots);
                let missing = _mm256_cmpeq_epi32(slot, _mm256_setzero_si256());
                unknown = _mm256_or_si256(unknown, missing);
                *symbol = _mm256_srli_epi32::<24>(slot);
                let at = if quarter < 2 { forward } else { backward - WORDS };
                // SAFETY: `64 <= forward <= backward <= data.len() - 64` held at the start of the round, see
                // `Lanes::valid` and the end of the loop, and either side has moved by at most 16 bytes since, so
                // these 16 bytes are inside `data`.
                let words = unsafe { _mm_loadu_si128(data.as_ptr().add(at).cast::<__m128i>()) };
                let words = if quarter < 2 { words } else { _mm_shuffle_epi8(words, reverse) };
                let used = advance(state, slot, words);
                if quarter < 2 {
                    forward += 2 * used;
                } else {
                    backward -= 2 * used;
                }
            }
            // SAFETY: a round is 32 bytes, the size of the vector.
            unsafe { _mm256_storeu_si256(round.as_mut_ptr().cast(), pack(symbols)) };
            if forward > backward {
                return false;
            }
        }
        for (state, quarter) in states.iter().zip(quarters) {
            // SAFETY: as with the load.
            unsafe { _mm256_storeu_si256(quarter.as_mut_ptr().cast(), *state) };
        }
        (lanes.forward, lanes.backward) = (forward, backward);
        _mm256_testz_si256(unknown, unknown) == 1
    }

    #[target_feature(enable = "avx2,popcnt")]
    #[inline]
    fn lookup(states: __m256i, slots: &Slots) -> __m256i {
        let index = _mm256_and_si256(states, _mm256_set1_epi32(0xFFF));
        // SAFETY: each index is at most 0xFFF, and there are 4096 slots.
        unsafe { _mm256_i32gather_epi32::<4>(slots.as_ptr().cast(), index) }
    }

    /// Takes the states one step on; gives the number of words that were used.
    #[target_feature(enable = "avx2,popcnt")]
    #[inline]
    fn advance(states: &mut __m256i, slot: __m256i, words: __m128i) -> usize {
        let low = _mm256_set1_epi32(0xFFF);
        let place = _mm256_and_si256(_mm256_srli_epi32::<12>(slot), low);
        let scaled = _mm256_mullo_epi32(_mm256_and_si256(slot, low), _mm256_srli_epi32::<12>(*states));
        let next = _mm256_add_epi32(scaled, place);
        let short = _mm256_cmpeq_epi32(_mm256_srli_epi32::<16>(next), _mm256_setzero_si256());
        let set = _mm256_movemask_ps(_mm256_castsi256_ps(short)) as usize & 0xFF;
        // SAFETY: a row of the table has 8 entries of 4 bytes, the size of the vector.
        let takes = unsafe { _mm256_loadu_si256(TAKES[set].as_ptr().cast()) };
        let words = _mm256_permutevar8x32_epi32(_mm256_cvtepu16_epi32(words), takes);
        let longer = _mm256_or_si256(_mm256_slli_epi32::<16>(next), words);
        *states = _mm256_blendv_epi8(next, longer, short);
        set.count_ones() as usize
    }

    /// The low bytes of all entries, in order.
    #[target_feature(enable = "avx2,popcnt")]
    #[inline]
    fn pack([a, b, c, d]: [__m256i; 4]) -> __m256i {
        let bytes = _mm256_packus_epi16(_mm256_packus_epi32(a, b), _mm256_packus_epi32(c, d));
        _mm256_permutevar8x32_epi32(bytes, _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Slots of symbols with ranges of the given widths; `missing` ones at the end have no symbol.
    fn slots(widths: &[usize], missing: usize) -> Box<Slots> {
        let mut slots = Box::new([0; 4096]);
        let mut start = 0;
        for (symbol, &width) in (0u32..256).zip(widths.iter().cycle()) {
            let range = start..(start + width).min(4096 - missing);
            let width = range.len() as u32;
            for (place, slot) in (0..).zip(&mut slots[range.clone()]) {
                *slot = symbol << 24 | place << 12 | width;
            }
            start = range.end;
        }
        slots
    }

    proptest! {
        #[test]
        fn all_kernels_do_the_same(
            data in prop::collection::vec(any::<u8>(), 128..4000),
            widths in prop::collection::vec(16usize..600, 1..200),
            missing in prop_oneof![3 => Just(0usize), 1 => 1usize..200],
            length in 0usize..8000,
        ) {
            let slots = slots(&widths, missing);
            let start = Lanes::new(&data);
            let results: Vec<_> = Kernel::available()
                .map(|kernel| {
                    let (mut lanes, mut out) = (start.clone(), vec![0; length]);
                    let done = lanes.as_mut().map(|lanes| lanes.run_with(kernel, &data, &slots, &mut out));
                    out.truncate(done.unwrap_or(0));
                    (lanes, out)
                })
                .collect();
            prop_assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
        }

        #[test]
        fn two_streams_are_decoded_as_each_is(
            data in prop::collection::vec(prop::collection::vec(any::<u8>(), 128..3000), 2),
            widths in prop::collection::vec(16usize..600, 1..200),
            missing in prop_oneof![7 => Just(0usize), 1 => 1usize..200],
            lengths in prop::array::uniform2(0usize..3000),
        ) {
            let slots = slots(&widths, missing);
            let [Some(mut one), Some(mut two)] = [&data[0], &data[1]].map(|data| Lanes::new(data)) else {
                return Ok(());
            };
            let [mut one_alone, mut two_alone] = [one.clone(), two.clone()];
            let [mut first, mut second] = lengths.map(|length| vec![0; length]);
            let done = Lanes::run_both(
                [&mut one, &mut two],
                [&data[0], &data[1]],
                [&slots, &slots],
                [&mut first, &mut second],
            );
            for (lanes, alone, data, out) in
                [(one, &mut one_alone, &data[0], first), (two, &mut two_alone, &data[1], second)]
            {
                let mut expected = vec![0; done];
                prop_assert_eq!(alone.run(data, &slots, &mut expected), done);
                prop_assert_eq!(&lanes, &*alone);
                prop_assert_eq!(&out[..done], &expected[..]);
            }
        }
    }
}
