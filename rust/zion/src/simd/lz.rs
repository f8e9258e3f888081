//! The inner loop of putting literals and matches together.
#![allow(clippy::cast_ptr_alignment, reason = "the loads and stores are unaligned ones")]

/// Copies may go beyond their end by less than this.
pub const SLACK: usize = 128;
/// Bytes behind the end of each stream of offsets or lengths.
pub const SIDE_SLACK: usize = 4 * BATCH;
/// Tokens between two looks at how far the streams of offsets and lengths have come.
const BATCH: usize = 64;

/// Tokens from here on have literals, and a near offset or the last one; those below have a far offset.
const FIRST_NEAR: usize = 0x20;
/// Tokens from here on keep the last offset.
const FIRST_REPEAT: usize = 0x80;
/// Literals and lengths of matches to which the stream of lengths adds; below [`FIRST_NEAR`], the last token.
const MOST_LITERALS: u8 = 7;
const MOST_LENGTH: u8 = 15;
/// The shortest match with a far offset.
const MIN_FAR_MATCH: u8 = 16;

/// What a token says, so that it can be followed without a branch: which case it is cannot be foreseen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct Meaning {
    /// Literals, without what the stream of lengths adds.
    pub literals: u8,
    /// Length of the match, without what the stream of lengths adds.
    pub length: u8,
    /// All ones if the stream of literal lengths adds to the literals.
    pub more_literals: u8,
    /// All ones if the stream of match lengths adds to the length.
    pub more_length: u8,
    /// Bytes of a near offset: at most 2.
    pub near: u8,
    /// Bytes of a far offset: at most 3.
    pub far: u8,
}

/// What each token says: the one table, of those who follow tokens one by one as of the kernels, which believe it.
pub static MEANINGS: [Meaning; 256] = {
    let none = Meaning { literals: 0, length: 0, more_literals: 0, more_length: 0, near: 0, far: 0 };
    let mut meanings = [none; 256];
    let mut token = 0;
    while token < 256 {
        let meaning = &mut meanings[token];
        if token >= FIRST_NEAR {
            meaning.literals = token as u8 & MOST_LITERALS;
            meaning.length = token as u8 >> 3 & MOST_LENGTH;
            meaning.more_literals = if meaning.literals == MOST_LITERALS { 0xFF } else { 0 };
            meaning.more_length = if meaning.length == MOST_LENGTH { 0xFF } else { 0 };
            meaning.near = if token < FIRST_REPEAT { 2 } else { 0 };
        } else {
            meaning.length = token as u8 + MIN_FAR_MATCH;
            meaning.more_length = if token == FIRST_NEAR - 1 { 0xFF } else { 0 };
            meaning.far = 3;
        }
        token += 1;
    }
    meanings
};

/// A stream of offsets or lengths while it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side<'a> {
    /// The stream, and [`SIDE_SLACK`] bytes of anything.
    bytes: &'a [u8],
    /// The length of the stream.
    length: usize,
    /// The bytes that are read. When it is above `length` the stream was too short.
    at: usize,
}

impl<'a> Side<'a> {
    /// The stream of the first `length` bytes, which have [`SIDE_SLACK`] bytes of anything behind them: with fewer,
    /// it is read by no kernel.
    pub fn new(bytes: &'a [u8], length: usize) -> Self {
        Self { bytes, length, at: 0 }
    }

    /// The next four bytes as a number. Beyond the end anything may come out, but there is an end to it.
    #[inline]
    pub fn peek(&self) -> Option<u32> {
        let bytes = self.bytes.get(self.at..)?.first_chunk()?;
        Some(u32::from_le_bytes(*bytes))
    }

    /// Goes on by `count` bytes.
    #[inline]
    pub fn skip(&mut self, count: usize) {
        self.at += count;
    }

    /// Whether it is read to its end and no further.
    pub fn is_used_up(&self) -> bool {
        self.at == self.length
    }

    /// Whether a kernel may read what a batch of tokens takes.
    #[cfg(target_arch = "x86_64")]
    fn has_batch(&self) -> bool {
        self.at <= self.length
            && self.bytes.len().checked_sub(SIDE_SLACK).is_some_and(|end| self.length <= end)
    }

    /// The same stream from its start, up to where it was read.
    #[cfg(test)]
    pub fn as_used(&self) -> Self {
        Self { bytes: self.bytes, length: self.at.min(self.length), at: 0 }
    }
}

/// How far everything is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor<'a> {
    /// Offsets of 16 bits.
    pub near: Side<'a>,
    /// Offsets of 24 bits.
    pub far: Side<'a>,
    /// What is added to literals.
    pub literal_lengths: Side<'a>,
    /// What is added to matches.
    pub match_lengths: Side<'a>,
    /// The literals that are not written.
    literals: &'a [u8],
    /// The bytes that are written.
    at: usize,
    /// The last offset, 0 for none.
    last: usize,
}

/// The ways to follow tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// None: all tokens are out of the ordinary.
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Kernel {
    /// The kernels that the processor can run, the fastest one first.
    pub fn available() -> impl Iterator<Item = Self> {
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

impl<'a> Cursor<'a> {
    /// The start of four streams, in the order of the fields, and the literals.
    pub fn new(sides: [Side<'a>; 4], literals: &'a [u8]) -> Self {
        let [near, far, literal_lengths, match_lengths] = sides;
        Self { near, far, literal_lengths, match_lengths, literals, at: 0, last: 0 }
    }

    /// The literals that are not written.
    pub fn literals(&self) -> &'a [u8] {
        self.literals
    }

    /// The bytes that are written.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The last offset, 0 for none.
    pub fn last(&self) -> usize {
        self.last
    }

    /// The four streams.
    pub fn sides(&self) -> [&Side<'a>; 4] {
        [&self.near, &self.far, &self.literal_lengths, &self.match_lengths]
    }

    /// Goes on by literals that were written, of which there are so many, and a match at an offset.
    #[inline]
    pub fn advance(&mut self, literals: usize, offset: usize, length: usize) {
        self.literals = self.literals.get(literals..).unwrap_or_default();
        self.at += literals + length;
        self.last = offset;
    }

    /// Follows tokens until one is out of the ordinary; gives the number of those that were. `out` has [`SLACK`]
    /// bytes more than may be filled.
    pub fn run(&mut self, kernel: Kernel, tokens: &[u8], out: &mut [u8]) -> usize {
        match kernel {
            Kernel::Portable => {
                // What other kernels, if the processor has any, work with.
                let _ = (self, tokens, out);
                0
            }
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the features that the kernel is compiled for are looked for, once more, right here.
            Kernel::Avx2 if x86_256::detected() => unsafe { x86_256::run(self, tokens, out) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Kernel::Avx512 if x86_512::detected() => unsafe { x86_512::run(self, tokens, out) },
            #[cfg(target_arch = "x86_64")]
            _ => 0,
        }
    }
}

/// What the tokens of a batch do.
#[cfg(target_arch = "x86_64")]
struct Steps {
    /// Literals in the low half, the length of the match in the high half.
    sizes: [u32; BATCH],
    offsets: [u32; BATCH],
}

#[cfg(target_arch = "x86_64")]
impl Steps {
    const NONE: Self = Self { sizes: [0; BATCH], offsets: [0; BATCH] };
}

#[cfg(target_arch = "x86_64")]
mod x86_512;

#[cfg(target_arch = "x86_64")]
mod x86_256 {
    use std::arch::x86_64::{
        __m128i, __m256i, _MM_HINT_T0, _mm_loadu_si128, _mm_prefetch, _mm_shuffle_epi8, _mm_storeu_si128,
        _mm256_loadu_si256, _mm256_storeu_si256,
    };

    use super::{BATCH, Cursor, MEANINGS, SLACK, Steps};

    /// Bytes of a vector, and of half of one.
    const WIDE: usize = 32;
    const HALF: usize = 16;
    /// A length that does not go on beyond its first byte is below this.
    const LONG: u8 = 254;

    /// For each distance below 32: which of the 16 bytes that far back come next, and how many of them may be
    /// written at a time so that the next ones are the same again.
    struct Repeat {
        order: [u8; HALF],
        step: usize,
    }

    static REPEATS: [Repeat; WIDE] = {
        let mut repeats = [const { Repeat { order: [0; HALF], step: HALF } }; WIDE];
        let mut distance = 1;
        while distance < WIDE {
            let mut place = 0;
            while place < HALF {
                repeats[distance].order[place] = (place % distance) as u8;
                place += 1;
            }
            if distance < HALF {
                repeats[distance].step = HALF - HALF % distance;
            }
            distance += 1;
        }
        repeats
    };

    pub fn detected() -> bool {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
    }

    /// Follows tokens in two turns for each batch: first all that they say is read and checked, and what they
    /// copy is brought near; then it is copied.
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    pub fn run(cursor: &mut Cursor, tokens: &[u8], out: &mut [u8]) -> usize {
        let Some(room) = out.len().checked_sub(SLACK).filter(|&room| cursor.at <= room) else { return 0 };
        let mut steps = Steps::NONE;
        let mut done = 0;
        for batch in tokens.chunks(BATCH) {
            let (at, literals) = (cursor.at, cursor.literals);
            let count = read(cursor, batch, &mut steps, &out[..room]);
            // SAFETY: `read` vouches for the steps.
            unsafe { write(&steps, count, literals, out.as_mut_ptr().wrapping_add(at)) };
            done += count;
            if count < batch.len() {
                break;
            }
        }
        done
    }

    /// Copies what the first `count` steps say.
    ///
    /// # Safety
    /// All steps together stay inside `out` without its last [`SLACK`] bytes. There are at least 32 more literals
    /// than those of the steps. The offsets are neither 0 nor more than the bytes before the match, those before
    /// `out`, which are of the same object, included.
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    #[inline]
    pub unsafe fn write(steps: &Steps, count: usize, literals: &[u8], out: *mut u8) {
        let (mut source, mut target) = (literals.as_ptr(), out);
        for (&sizes, &offset) in steps.sizes.iter().zip(&steps.offsets).take(count) {
            let (literals, length) = ((sizes & 0xFFFF) as usize, (sizes >> 16) as usize);
            // SAFETY: the caller says that the step stays inside `out`, behind which there are SLACK = 128 bytes,
            // and inside the literals, behind which there are 32. Copies in units of 32 bytes go beyond their end
            // by less than 32 bytes, except that two units are copied for a short match.
            unsafe {
                copy::<1>(source, target, literals);
                (source, target) = (source.add(literals), target.add(literals));
                copy_match(target, offset as usize, length);
                target = target.add(length);
            }
        }
    }

    /// Reads what the tokens of a batch say, up to the first one that is out of the ordinary; gives the number of
    /// those before it, with which the cursor moves on.
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    #[inline]
    pub fn read(cursor: &mut Cursor, batch: &[u8], steps: &mut Steps, out: &[u8]) -> usize {
        let sides = cursor.sides();
        if cursor.at > out.len() || !sides.iter().all(|side| side.has_batch()) {
            return 0;
        }
        let [mut near, mut far, mut more_literals, mut more_length] =
            sides.map(|side| side.bytes[side.at..].as_ptr());
        let starts = [near, far, more_literals, more_length];
        let (mut at, mut last, mut literal, mut done) = (cursor.at, cursor.last, 0, 0);
        let steps = steps.sizes.iter_mut().zip(&mut steps.offsets);
        for ((sizes, to_offset), &token) in steps.zip(batch) {
            let meaning = MEANINGS[usize::from(token)];
            // SAFETY: `has_batch` found that each of the four streams is not read beyond its end, and that there
            // are SIDE_SLACK = 4 * BATCH bytes behind it. By `MEANINGS` each moves by at most 3 bytes for each of fewer than
            // BATCH tokens before this one, so the 4 bytes from there on are among those.
            let (first, second, fresh, distant) = unsafe {
                (
                    *more_literals & meaning.more_literals,
                    *more_length & meaning.more_length,
                    usize::from(near.cast::<u16>().read_unaligned()),
                    far.cast::<u32>().read_unaligned() as usize & 0xFF_FFFF,
                )
            };
            let count = usize::from(meaning.literals) + usize::from(first);
            let length = usize::from(meaning.length) + usize::from(second);
            let offset = if meaning.near > 0 { fresh } else { last };
            let offset = if meaning.far > 0 { distant } else { offset };
            let start = at + count;
            if (first.max(second) >= LONG)
                | (start + length > out.len())
                | (literal + count + WIDE > cursor.literals.len())
                | (offset.wrapping_sub(1) >= start)
            {
                break;
            }
            _mm_prefetch::<_MM_HINT_T0>(out.as_ptr().wrapping_add(start - offset).cast());
            (*sizes, *to_offset) = ((count | length << 16) as u32, offset as u32);
            // SAFETY: as above.
            unsafe {
                near = near.add(usize::from(meaning.near));
                far = far.add(usize::from(meaning.far));
                more_literals = more_literals.add(usize::from(meaning.more_literals & 1));
                more_length = more_length.add(usize::from(meaning.more_length & 1));
            }
            literal += count;
            (at, last) = (start + length, offset);
            done += 1;
        }
        cursor.near.at += near.addr() - starts[0].addr();
        cursor.far.at += far.addr() - starts[1].addr();
        cursor.literal_lengths.at += more_literals.addr() - starts[2].addr();
        cursor.match_lengths.at += more_length.addr() - starts[3].addr();
        cursor.literals = &cursor.literals[literal..];
        (cursor.at, cursor.last) = (at, last);
        done
    }

    /// Copies `length` bytes, and beyond them to the end of a unit of 32 bytes, `N` units at least.
    ///
    /// # Safety
    /// Both sides have so many bytes. They may overlap if `to` is at least 32 bytes behind `from`.
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    #[inline]
    unsafe fn copy<const N: usize>(from: *const u8, to: *mut u8, length: usize) {
        let mut done = 0;
        for _ in 0..N {
            // SAFETY: that many bytes are there, says the caller.
            unsafe { unit(from.add(done), to.add(done)) };
            done += WIDE;
        }
        while done < length {
            // SAFETY: as above.
            unsafe { unit(from.add(done), to.add(done)) };
            done += WIDE;
        }
    }

    /// # Safety
    /// 32 bytes can be read and written.
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    #[inline]
    unsafe fn unit(from: *const u8, to: *mut u8) {
        // SAFETY: says the caller.
        unsafe { _mm256_storeu_si256(to.cast::<__m256i>(), _mm256_loadu_si256(from.cast::<__m256i>())) }
    }

    /// Copies `length` bytes from `offset` bytes before `to` to `to`.
    ///
    /// # Safety
    /// `offset` is not 0, there are so many bytes before `to`, and `length + 64` bytes from `to` on.
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    #[inline]
    unsafe fn copy_match(to: *mut u8, offset: usize, length: usize) {
        if let Some(repeat) = REPEATS.get(offset) {
            // SAFETY: 16 bytes from `offset` before `to` on are there: at least 1 before it and 64 from it on.
            // Each store is of 16 bytes and starts less than `length` bytes after `to`.
            unsafe {
                let bytes = _mm_loadu_si128(to.sub(offset).cast::<__m128i>());
                let order = _mm_loadu_si128(repeat.order.as_ptr().cast::<__m128i>());
                let mut pattern = _mm_shuffle_epi8(bytes, order);
                let mut done = 0;
                while done < length {
                    _mm_storeu_si128(to.add(done).cast::<__m128i>(), pattern);
                    done += repeat.step;
                    if offset > HALF {
                        pattern = _mm_loadu_si128(to.add(done).sub(offset).cast::<__m128i>());
                    }
                }
            }
            return;
        }
        // SAFETY: the distance is at least 32, and there are 64 bytes or `length` and 32 to write to.
        unsafe { copy::<2>(to.sub(offset), to, length) };
    }
}
