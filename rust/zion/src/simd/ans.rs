//! The inner loop of ANS32: 32 states at a time.
#![allow(clippy::cast_ptr_alignment, reason = "the loads and stores are unaligned ones")]

/// Number of states.
pub const LANES: usize = 32;
/// States stay at or above this between steps; it is where an encoder begins and a decoder ends.
pub const LOW: u32 = 1 << 16;
/// Bytes of the 16 states at either end of a stream.
const STATES: usize = 64;
/// Bytes of words that one round takes at most from either sequence.
#[cfg(target_arch = "x86_64")]
const ROUND: usize = 32;

/// The slot of each value of the 12 low bits of a state: the symbol (bits 24..32), its place (bits 12..24) and
/// its frequency (bits 0..12). 0 belongs to no symbol.
pub type Slots = [u32; 4096];

/// The states of a decoder and the places of its two sequences of words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lanes {
    /// All states; the first 16 read forward, the others backward.
    states: [u32; LANES],
    /// Where the next word of the forward sequence is.
    forward: usize,
    /// Where the words of the backward sequence that were read begin.
    backward: usize,
}

/// Why a round cannot be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A state belongs to no symbol.
    NoSymbol,
    /// The words run out.
    NoWord,
}

/// The symbol of a state by its slot, and the state after it, before it takes a word. Neither product nor sum goes
/// beyond 32 bits: a slot's frequency and place are below 2^12, the rest of a state is below 2^20.
#[inline]
pub fn step(slots: &Slots, state: u32) -> Option<(u8, u32)> {
    let slot = slots[(state & 0xFFF) as usize];
    (slot != 0).then(|| ((slot >> 24) as u8, (slot & 0xFFF) * (state >> 12) + (slot >> 12 & 0xFFF)))
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
            // SAFETY: a kernel is only chosen when the processor has the features it is compiled for; and the lanes
            // were just found to be valid for the data.
            Kernel::Avx2 => unsafe { x86_256::run(&mut lanes, data, slots, rounds) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
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

    /// Whether the places are inside `data`: any round may start then, and it may read 32 bytes from
    /// `forward` on and before `backward`, because the states at either end are longer than that.
    fn valid(&self, data: &[u8]) -> bool {
        let end = data.len().checked_sub(STATES);
        STATES <= self.forward && self.forward <= self.backward && end.is_some_and(|end| self.backward <= end)
    }

    /// Decodes one round of at most 32 bytes, looking at every place; a shorter one is the last and takes no words.
    pub fn round(&mut self, data: &[u8], slots: &Slots, round: &mut [u8]) -> Result<(), Fault> {
        for (state, byte) in self.states.iter_mut().zip(round.iter_mut()) {
            (*byte, *state) = step(slots, *state).ok_or(Fault::NoSymbol)?;
        }
        if round.len() < LANES {
            return Ok(());
        }
        for (lane, state) in self.states.iter_mut().enumerate().filter(|(_, state)| **state < LOW) {
            // Both sequences share what is between them.
            let words = data.get(self.forward..self.backward).unwrap_or_default();
            let word = if lane < LANES / 2 {
                self.forward += 2;
                words.first_chunk::<2>()
            } else {
                self.backward = self.backward.saturating_sub(2);
                words.last_chunk::<2>()
            };
            *state = *state << 16 | u32::from(u16::from_le_bytes(*word.ok_or(Fault::NoWord)?));
        }
        Ok(())
    }

    /// Whether all words are used and every state is where an encoder begins.
    pub fn are_finished(&self) -> bool {
        self.forward == self.backward && self.states == [LOW; LANES]
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
            let next = step(slots, *state);
            all &= next.is_some();
            (*symbol, *state) = next.unwrap_or_default();
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

#[cfg(target_arch = "x86_64")]
mod x86_512;

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

    /// # Safety
    /// The lanes are valid for the data.
    #[target_feature(enable = "avx2,popcnt")]
    pub unsafe fn run(lanes: &mut Lanes, data: &[u8], slots: &Slots, rounds: &mut [[u8; LANES]]) -> bool {
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
                // SAFETY: `64 <= forward <= backward <= data.len() - 64` held at the start of the round: the caller
                // says that the lanes are valid (`Lanes::valid`), and see the end of the loop; and either side has moved by at most 16 bytes since, so
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

    /// What is decoded round by round, up to the first that cannot be.
    fn round_by_round(
        lanes: &mut Lanes,
        data: &[u8],
        slots: &Slots,
        length: usize,
    ) -> (Vec<u8>, Option<Fault>) {
        let mut out = vec![0; length];
        let done = out.chunks_exact_mut(LANES).try_for_each(|round| lanes.round(data, slots, round));
        (out, done.err())
    }

    #[test]
    fn lanes_of_other_data_are_not_run() {
        let slots = slots(&[16], 0);
        let (data, other) = (vec![7; 400], vec![7; 200]);
        let start = Lanes::new(&data);
        assert!(start.is_some());
        for kernel in Kernel::available() {
            for shorter in [&other[..], &other[..127], &other[..63], &[]] {
                let (mut lanes, mut out) = (start.clone(), vec![0; 64]);
                let done = lanes.as_mut().map(|lanes| lanes.run_with(kernel, shorter, &slots, &mut out));
                assert_eq!((done, &lanes), (Some(0), &start));
            }
        }
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
            let (mut lanes, Some((kernel, out))) = (start, results.into_iter().next()) else { return Ok(()) };
            let whole = length - length % LANES;
            if let (Some(lanes), Some(kernel)) = (&mut lanes, kernel) {
                let (expected, fault) = round_by_round(lanes, &data, &slots, whole);
                prop_assert_eq!(out.is_empty(), whole == 0 || fault.is_some());
                if fault.is_none() {
                    prop_assert_eq!((kernel, out), (lanes.clone(), expected));
                }
            }
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
