//! The tokens of a batch, 16 at a time: what each one takes from a stream is expanded from the next bytes of it.

use std::arch::x86_64::{
    __m128i, __m256i, __m512i, __mmask16, _mm_cvtsi128_si32, _mm_loadu_si128, _mm_set_epi8,
    _mm256_loadu_si256, _mm512_add_epi32, _mm512_and_si512, _mm512_broadcast_i32x4, _mm512_castsi128_si512,
    _mm512_castsi512_si128, _mm512_cmpeq_epi32_mask, _mm512_cmpge_epu32_mask, _mm512_cmplt_epu32_mask,
    _mm512_cvtepu8_epi32, _mm512_cvtepu16_epi32, _mm512_inserti32x4, _mm512_lzcnt_epi32,
    _mm512_mask_add_epi32, _mm512_mask_cmpeq_epi32_mask, _mm512_mask_expand_epi32,
    _mm512_mask_permutexvar_epi32, _mm512_maskz_and_epi32, _mm512_maskz_expand_epi32,
    _mm512_permutexvar_epi32, _mm512_reduce_add_epi32, _mm512_set_epi32, _mm512_set1_epi32,
    _mm512_setzero_si512, _mm512_shuffle_epi8, _mm512_slli_epi32, _mm512_srli_epi32, _mm512_storeu_si512,
    _mm512_sub_epi32, _mm512_test_epi32_mask, _mm512_xor_si512,
};

use super::{
    BATCH, Cursor, FIRST_NEAR, FIRST_REPEAT, MIN_FAR_MATCH, MOST_LENGTH, MOST_LITERALS, SLACK, Steps, x86_256,
};

/// Tokens in a vector.
const GROUP: usize = 16;
/// Literals that are read beyond those of a batch.
const WIDE: usize = 32;
/// A length that does not go on beyond its first byte is below this.
const LONG: i32 = 254;

pub fn detected() -> bool {
    x86_256::detected()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("popcnt")
}

/// Follows tokens as the other kernel does. Batches in which all is ordinary are read faster.
#[target_feature(enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512cd,popcnt")]
pub fn run(cursor: &mut Cursor, tokens: &[u8], out: &mut [u8]) -> usize {
    let Some(room) = out.len().checked_sub(SLACK).filter(|&room| cursor.at <= room) else { return 0 };
    let mut steps = Steps::NONE;
    let mut done = 0;
    while done < tokens.len() {
        let batch = &tokens[done..tokens.len().min(done + BATCH)];
        let (at, literals) = (cursor.at, cursor.literals);
        let (groups, _) = batch.as_chunks::<GROUP>();
        let ordinary = read(cursor, groups, &mut steps, room);
        let batch = &batch[..if ordinary > 0 { ordinary } else { batch.len().min(GROUP) }];
        let count = match ordinary {
            0 => x86_256::read(cursor, batch, &mut steps, &out[..room]),
            count => count,
        };
        // SAFETY: both ways to read vouch for the steps.
        unsafe { x86_256::write(&steps, count, literals, out.as_mut_ptr().wrapping_add(at)) };
        done += count;
        if count < batch.len() {
            break;
        }
    }
    done
}

/// What is read of the four streams.
#[derive(Clone, Copy)]
struct Sides {
    near: *const u8,
    far: *const u8,
    literal_lengths: *const u8,
    match_lengths: *const u8,
}

impl Sides {
    fn of(cursor: &Cursor) -> Self {
        let start = |side: &super::Side| side.bytes[side.at..].as_ptr();
        Self {
            near: start(&cursor.near),
            far: start(&cursor.far),
            literal_lengths: start(&cursor.literal_lengths),
            match_lengths: start(&cursor.match_lengths),
        }
    }
}

/// What 16 tokens say.
struct Group {
    sizes: __m512i,
    offsets: __m512i,
    /// Tokens whose lengths go on beyond a byte.
    long: __mmask16,
}

/// Reads at most [`BATCH`] tokens, up to the first group that is not ordinary, and moves the cursor on with them;
/// gives their number.
#[target_feature(enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512cd,popcnt")]
#[inline]
fn read(cursor: &mut Cursor, groups: &[[u8; GROUP]], steps: &mut Steps, room: usize) -> usize {
    // Offsets, the last one included, are compared and kept as 32 bits.
    if cursor.at > room || cursor.last > 1 << 24 || !cursor.sides().iter().all(|side| side.has_batch()) {
        return 0;
    }
    let start = Sides::of(cursor);
    let mut sides = Sides::of(cursor);
    // What is before the batch can be reached by all of it; offsets that reach less far back may be wrong.
    let reach = _mm512_set1_epi32(cursor.at.min(1 << 24) as i32);
    let mut last = _mm512_set1_epi32(cursor.last as i32);
    let (mut total, mut count) = (_mm512_setzero_si512(), 0);
    let places =
        steps.sizes.as_chunks_mut::<GROUP>().0.iter_mut().zip(steps.offsets.as_chunks_mut::<GROUP>().0);
    for (tokens, (sizes, offsets)) in groups.iter().zip(places) {
        // SAFETY: `has_batch` found that each of the four streams is not read beyond its end, and that there are
        // SIDE_SLACK = 256 bytes behind it. Each moves by at most 48 bytes for each of fewer than 4 groups before
        // this one.
        let (group, after) = unsafe { read_group(tokens, sides, last) };
        let beyond = _mm512_cmpge_epu32_mask(_mm512_sub_epi32(group.offsets, _mm512_set1_epi32(1)), reach);
        if group.long | beyond != 0 {
            break;
        }
        sides = after;
        count += GROUP;
        total = _mm512_add_epi32(total, group.sizes);
        last = _mm512_permutexvar_epi32(_mm512_set1_epi32(GROUP as i32 - 1), group.offsets);
        // SAFETY: there are 16 entries of 4 bytes, the size of the vector.
        unsafe {
            _mm512_storeu_si512(sizes.as_mut_ptr().cast(), group.sizes);
            _mm512_storeu_si512(offsets.as_mut_ptr().cast(), group.offsets);
        }
    }
    // At most 64 times 260 literals, and 64 times 315 bytes of matches: both sums fit 16 bits.
    let total = _mm512_reduce_add_epi32(total) as u32;
    let (literals, length) = ((total & 0xFFFF) as usize, (total >> 16) as usize);
    if cursor.at + literals + length > room || literals + WIDE > cursor.literals.len() {
        return 0;
    }
    cursor.near.at += sides.near.addr() - start.near.addr();
    cursor.far.at += sides.far.addr() - start.far.addr();
    cursor.literal_lengths.at += sides.literal_lengths.addr() - start.literal_lengths.addr();
    cursor.match_lengths.at += sides.match_lengths.addr() - start.match_lengths.addr();
    cursor.literals = &cursor.literals[literals..];
    cursor.at += literals + length;
    cursor.last = _mm_cvtsi128_si32(_mm512_castsi512_si128(last)) as usize;
    count
}

/// Reads 16 tokens; gives what they say and the sides after them. `last` has the offset before them in all places.
///
/// # Safety
/// There are 64 bytes of each side.
#[target_feature(enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512cd,popcnt")]
#[inline]
unsafe fn read_group(tokens: &[u8; GROUP], mut sides: Sides, last: __m512i) -> (Group, Sides) {
    let all = |value: i32| _mm512_set1_epi32(value);
    // SAFETY: the first are 16 bytes, the size of the vector; of the others there are 64 bytes, says the caller.
    let (tokens, more_literals, more_length, near, far) = unsafe {
        (
            _mm_loadu_si128(tokens.as_ptr().cast::<__m128i>()),
            _mm_loadu_si128(sides.literal_lengths.cast::<__m128i>()),
            _mm_loadu_si128(sides.match_lengths.cast::<__m128i>()),
            _mm256_loadu_si256(sides.near.cast::<__m256i>()),
            triples(sides.far),
        )
    };
    let tokens = _mm512_cvtepu8_epi32(tokens);
    // The tokens with literals, those with an offset of their own, and then what all of them say: what `MEANINGS` does.
    let plain = _mm512_cmpge_epu32_mask(tokens, all(FIRST_NEAR as i32));
    let is_far = !plain;
    let is_near = plain & _mm512_cmplt_epu32_mask(tokens, all(FIRST_REPEAT as i32));
    let literals = _mm512_maskz_and_epi32(plain, tokens, all(MOST_LITERALS.into()));
    let length = _mm512_and_si512(_mm512_srli_epi32::<3>(tokens), all(MOST_LENGTH.into()));
    let on_literals = _mm512_cmpeq_epi32_mask(literals, all(MOST_LITERALS.into()));
    let on_length = _mm512_mask_cmpeq_epi32_mask(plain, length, all(MOST_LENGTH.into()))
        | _mm512_cmpeq_epi32_mask(tokens, all(FIRST_NEAR as i32 - 1));
    let length = _mm512_mask_add_epi32(length, is_far, tokens, all(MIN_FAR_MATCH.into()));

    let more_literals = _mm512_maskz_expand_epi32(on_literals, _mm512_cvtepu8_epi32(more_literals));
    let more_length = _mm512_maskz_expand_epi32(on_length, _mm512_cvtepu8_epi32(more_length));
    let fresh = _mm512_maskz_expand_epi32(is_near, _mm512_cvtepu16_epi32(near));
    let fresh = _mm512_mask_expand_epi32(fresh, is_far, far);

    // SAFETY: at most 16 times 3 bytes of the 64.
    unsafe {
        sides.literal_lengths = sides.literal_lengths.add(on_literals.count_ones() as usize);
        sides.match_lengths = sides.match_lengths.add(on_length.count_ones() as usize);
        sides.near = sides.near.add(2 * is_near.count_ones() as usize);
        sides.far = sides.far.add(3 * is_far.count_ones() as usize);
    }
    let sizes = _mm512_add_epi32(
        _mm512_add_epi32(literals, more_literals),
        _mm512_slli_epi32::<16>(_mm512_add_epi32(length, more_length)),
    );
    let long =
        _mm512_cmpge_epu32_mask(more_literals, all(LONG)) | _mm512_cmpge_epu32_mask(more_length, all(LONG));
    (Group { sizes, offsets: carried(fresh, is_near | is_far, last), long }, sides)
}

/// The offset of each token: its own if it is fresh, else that of the nearest fresh one before it.
#[target_feature(enable = "avx512f,avx512cd")]
#[inline]
fn carried(offsets: __m512i, fresh: __mmask16, last: __m512i) -> __m512i {
    let up_to = _mm512_set_epi32(
        0xFFFF, 0x7FFF, 0x3FFF, 0x1FFF, 0xFFF, 0x7FF, 0x3FF, 0x1FF, 0xFF, 0x7F, 0x3F, 0x1F, 0xF, 7, 3, 1,
    );
    let before = _mm512_and_si512(_mm512_set1_epi32(i32::from(fresh)), up_to);
    let some = _mm512_test_epi32_mask(before, before);
    let nearest = _mm512_xor_si512(_mm512_lzcnt_epi32(before), _mm512_set1_epi32(31));
    _mm512_mask_permutexvar_epi32(last, some, nearest, offsets)
}

/// 16 numbers of three bytes.
///
/// # Safety
/// There are 52 bytes.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
unsafe fn triples(from: *const u8) -> __m512i {
    let spread = _mm_set_epi8(-1, 11, 10, 9, -1, 8, 7, 6, -1, 5, 4, 3, -1, 2, 1, 0);
    // SAFETY: the last of them begins at byte 36 and has 16 bytes.
    let [a, b, c, d] = unsafe { [0, 12, 24, 36].map(|at| _mm_loadu_si128(from.add(at).cast::<__m128i>())) };
    let joined = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(a), b);
    let joined = _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(joined, c), d);
    _mm512_shuffle_epi8(joined, _mm512_broadcast_i32x4(spread))
}
