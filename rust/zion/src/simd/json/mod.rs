//! Classification of JSON text, 64 bytes a step: where strings begin and end, where brackets and
//! separators stand outside of them.
#![allow(clippy::inline_always, reason = "kernels must be inlined into the functions with target features")]
#![allow(clippy::cast_ptr_alignment, reason = "the loads are unaligned ones")]

use std::marker::PhantomData;

/// Bit `i` of each mask tells about byte `i` of a group of 64.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Masks {
    quote: u64,
    backslash: u64,
    /// `{` and `[`
    open: u64,
    /// `}` and `]`
    close: u64,
    /// `:` and `,`
    separator: u64,
    /// bytes from 80 on
    high: u64,
}

/// What is carried from one group of 64 bytes to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Carry {
    /// All ones inside a string.
    in_string: u64,
    /// 1 when the next byte is escaped.
    escaped: u64,
}

impl Carry {
    /// Whether the position reached lies inside a string.
    pub fn in_string(self) -> bool {
        self.in_string != 0
    }

    /// Masks of unescaped quotes, and of the bytes inside strings (opening quotes included).
    #[inline(always)]
    fn strings(&mut self, masks: Masks) -> (u64, u64) {
        const EVEN: u64 = 0x5555_5555_5555_5555;
        let escaped = if masks.backslash == 0 {
            std::mem::take(&mut self.escaped)
        } else {
            // A run of backslashes escapes the byte after it when its length is odd: runs that start at odd
            // and even positions are told apart by where an addition carries out of them.
            let backslash = masks.backslash & !self.escaped;
            let follows = backslash << 1 | self.escaped;
            let odd_starts = backslash & !EVEN & !follows;
            let (even_runs, overflow) = odd_starts.overflowing_add(backslash);
            self.escaped = u64::from(overflow);
            (EVEN ^ (even_runs << 1)) & follows
        };
        let quote = masks.quote & !escaped;
        let mut inside = quote;
        for shift in [1, 2, 4, 8, 16, 32] {
            inside ^= inside << shift;
        }
        inside ^= self.in_string;
        self.in_string = ((inside as i64) >> 63) as u64;
        (quote, inside)
    }
}

/// A way to classify 64 bytes.
trait Classify {
    fn classify(block: &[u8; 64]) -> Masks;

    /// Writes the positions of the set bits of a group to `out` from `count` on, and moves `count`. What is
    /// written behind them has no meaning; `out` has room for 64 more.
    #[inline(always)]
    fn spread(mut bits: u64, base: u32, out: &mut [u32], count: &mut usize) {
        let mut at = *count;
        *count += bits.count_ones() as usize;
        while at < *count {
            // In eights, without looking whether bits are left: what is written too much is overwritten.
            let Some(slot) = out.get_mut(at..).and_then(<[u32]>::first_chunk_mut::<8>) else { return };
            for entry in slot {
                *entry = base + bits.trailing_zeros();
                bits &= bits.wrapping_sub(1);
            }
            at += 8;
        }
    }
}

/// Byte by byte: the reference, and the way of processors without a kernel of their own.
#[cfg(any(test, not(target_arch = "x86_64")))]
struct Portable;

#[cfg(any(test, not(target_arch = "x86_64")))]
impl Classify for Portable {
    #[inline(always)]
    fn classify(block: &[u8; 64]) -> Masks {
        let mut masks = Masks::default();
        for (bit, &byte) in block.iter().enumerate() {
            let at = |yes: bool| u64::from(yes) << bit;
            masks.quote |= at(byte == b'"');
            masks.backslash |= at(byte == b'\\');
            masks.open |= at(matches!(byte, b'{' | b'['));
            masks.close |= at(matches!(byte, b'}' | b']'));
            masks.separator |= at(matches!(byte, b':' | b','));
            masks.high |= at(byte >= 0x80);
        }
        masks
    }
}

#[cfg(target_arch = "x86_64")]
mod x86;

/// Stands behind the last position of an index.
pub const END: u32 = u32::MAX;

/// Finds the quotes of `text` and the brackets and separators outside of strings. Their positions, with
/// `base` added, are put to the front of `out` in order, then [`END`]. `special` gets a bit for each byte that
/// makes a string more than its bytes between quotes: a backslash, or one from 80 on. `text` is a multiple of
/// 64 bytes long, unless it is the last window.
pub fn index(text: &[u8], base: usize, carry: &mut Carry, out: &mut Vec<u32>, special: &mut Vec<u64>) {
    #[cfg(target_arch = "x86_64")]
    {
        if has_avx512() {
            // SAFETY: the features that the function is compiled for were just detected.
            return unsafe { x86::index_avx512(text, base, carry, out, special) };
        }
        if has_avx2() {
            // SAFETY: the features that the function is compiled for were just detected.
            return unsafe { x86::index_avx2(text, base, carry, out, special) };
        }
        index_with::<x86::Sse2>(text, base, carry, out, special);
    }
    #[cfg(not(target_arch = "x86_64"))]
    index_with::<Portable>(text, base, carry, out, special);
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi2")
        && has_avx2()
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("lzcnt")
}

#[inline(always)]
fn index_with<C: Classify>(
    text: &[u8],
    base: usize,
    carry: &mut Carry,
    out: &mut Vec<u32>,
    special: &mut Vec<u64>,
) {
    special.clear();
    // At most one position a byte; groups of eight may write up to seven beyond the last. The memory keeps
    // its length from window to window: clearing it would cost more than the index itself.
    if out.len() < text.len() + 64 {
        out.resize(text.len() + 64, 0);
    }
    let mut indexer = Indexer::<C> { kernel: PhantomData, carry: *carry, base, count: 0 };
    let (blocks, rest) = text.as_chunks::<64>();
    for block in blocks {
        indexer.group(block, out, special);
    }
    if !rest.is_empty() {
        let mut block = [b' '; 64];
        block[..rest.len()].copy_from_slice(rest);
        indexer.group(&block, out, special);
    }
    *carry = indexer.carry;
    out[indexer.count] = END;
}

/// The state of [`index`] within a window.
struct Indexer<C> {
    kernel: PhantomData<C>,
    carry: Carry,
    base: usize,
    count: usize,
}

impl<C: Classify> Indexer<C> {
    #[inline(always)]
    fn group(&mut self, block: &[u8; 64], out: &mut [u32], special: &mut Vec<u64>) {
        let masks = C::classify(block);
        let (quote, inside) = self.carry.strings(masks);
        let bits = ((masks.open | masks.close | masks.separator) & !inside) | quote;
        special.push(masks.backslash | masks.high);
        C::spread(bits, self.base as u32, out, &mut self.count);
        self.base += 64;
    }
}

/// Follows brackets through a text in order to find where records end.
#[derive(Debug, Clone, Default)]
pub struct Skim {
    carry: Carry,
    depth: u64,
    /// Whether the outermost bracket that is open is a top-level array.
    pub in_array: bool,
    position: usize,
}

impl Skim {
    /// Goes on with the text that follows the place which [`skim`] found.
    pub fn restart(&mut self) {
        *self = Self { in_array: self.in_array, depth: u64::from(self.in_array), ..Self::default() };
    }

    fn at_base(&self) -> bool {
        self.depth == u64::from(self.in_array) && !self.carry.in_string()
    }
}

/// The first place at or after `from` where no record is open, as far as `text` goes.
pub fn skim(text: &[u8], skim: &mut Skim, from: usize) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    {
        if has_avx512() {
            // SAFETY: the features that the function is compiled for were just detected.
            return unsafe { x86::skim_avx512(text, skim, from) };
        }
        if has_avx2() {
            // SAFETY: the features that the function is compiled for were just detected.
            return unsafe { x86::skim_avx2(text, skim, from) };
        }
        skim_with::<x86::Sse2>(text, skim, from)
    }
    #[cfg(not(target_arch = "x86_64"))]
    skim_with::<Portable>(text, skim, from)
}

#[inline(always)]
fn skim_with<C: Classify>(text: &[u8], skim: &mut Skim, from: usize) -> Option<usize> {
    while let Some(block) = text.get(skim.position..).and_then(<[u8]>::first_chunk::<64>) {
        if skim.position >= from && skim.position > 0 && skim.at_base() {
            return Some(skim.position);
        }
        let masks = C::classify(block);
        let (_, inside) = skim.carry.strings(masks);
        let (open, close) = (masks.open & !inside, masks.close & !inside);
        let (opened, closed) = (u64::from(open.count_ones()), u64::from(close.count_ones()));
        let base = u64::from(skim.in_array);
        if skim.depth > base + closed {
            skim.depth = skim.depth + opened - closed;
        } else if let Some(end) = walk(skim, block, open, close, from) {
            return Some(end);
        }
        skim.position += 64;
    }
    None
}

/// Goes through the brackets of a block in which a record may end.
fn walk(skim: &mut Skim, block: &[u8; 64], open: u64, close: u64, from: usize) -> Option<usize> {
    let mut found = None;
    let mut bits = open | close;
    while bits != 0 {
        let bit = bits.trailing_zeros() as usize;
        bits &= bits - 1;
        if open >> bit & 1 != 0 {
            if skim.depth == 0 {
                skim.in_array = block[bit] == b'[';
            }
            skim.depth += 1;
        } else {
            skim.depth = skim.depth.saturating_sub(1);
            if skim.depth == 0 {
                skim.in_array = false;
            }
            let end = skim.position + bit + 1;
            if skim.depth == u64::from(skim.in_array) && end >= from {
                found = Some(end);
                break;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reference(text: &[u8]) -> (Vec<u32>, bool) {
        let (mut out, mut inside, mut escaped) = (vec![], false, false);
        for (at, &byte) in text.iter().enumerate() {
            if byte == b'"' && !escaped {
                inside = !inside;
                out.push(at as u32);
            } else if !inside && b"{}[]:,".contains(&byte) {
                out.push(at as u32);
            }
            escaped = byte == b'\\' && !escaped;
        }
        (out, inside)
    }

    type Skimmer = fn(&[u8], &mut Skim, usize) -> Option<usize>;

    /// The places that are found one after the other from `step` bytes on, and where following ends.
    fn skimmed(skimmer: Skimmer, text: &[u8], step: usize) -> (Vec<usize>, Skim) {
        let (mut found, mut state, mut start) = (vec![], Skim::default(), 0);
        while let Some(end) = skimmer(&text[start..], &mut state, step).filter(|&end| end > 0) {
            start += end;
            found.push(start);
            state.restart();
        }
        (found, state)
    }

    type Kernel = fn(&[u8], usize, &mut Carry, &mut Vec<u32>, &mut Vec<u64>);

    proptest! {
        #[test]
        fn every_kernel_finds_the_same_ends(
            text in proptest::collection::vec(proptest::sample::select(b"\\\"\"{{}}[], a\n".to_vec()), 0..2000),
            step in 1usize..300,
        ) {
            let mut kernels: Vec<Skimmer> = vec![skim];
            #[cfg(target_arch = "x86_64")]
            {
                kernels.push(skim_with::<super::x86::Sse2>);
                if has_avx2() {
                    // SAFETY: the features were just detected.
                    kernels.push(|text, skim, from| unsafe { super::x86::skim_avx2(text, skim, from) });
                }
            }
            let expected = skimmed(skim_with::<Portable>, &text, step);
            for kernel in kernels {
                let (found, state) = skimmed(kernel, &text, step);
                prop_assert_eq!(&found, &expected.0);
                prop_assert_eq!(format!("{state:?}"), format!("{:?}", expected.1));
            }
        }

        #[test]
        fn every_kernel_agrees_with_the_definition(
            text in proptest::collection::vec(proptest::sample::select(b"\\\"\\\"{}[]:, ax\xC3".to_vec()), 0..400),
        ) {
            let mut kernels: Vec<Kernel> = vec![index, index_with::<Portable>];
            #[cfg(target_arch = "x86_64")]
            {
                kernels.push(index_with::<super::x86::Sse2>);
                if has_avx2() {
                    // SAFETY: the features were just detected.
                    kernels.push(|text, base, carry, out, special| unsafe {
                        super::x86::index_avx2(text, base, carry, out, special);
                    });
                }
            }
            let expected = reference(&text);
            for kernel in kernels {
                let (mut carry, mut out, mut special) = (Carry::default(), vec![], vec![]);
                let mut all: Vec<u32> = vec![];
                for (number, window) in text.chunks(128).enumerate() {
                    kernel(window, number * 128, &mut carry, &mut out, &mut special);
                    let marked = |at: usize| special[at / 64] >> (at % 64) & 1 != 0;
                    let found: Vec<bool> = (0..window.len()).map(marked).collect();
                    let marks: Vec<bool> =
                        window.iter().map(|&byte| byte == b'\\' || byte >= 0x80).collect();
                    prop_assert_eq!(&found, &marks);
                    all.extend(out.iter().copied().take_while(|&position| position != END));
                }
                prop_assert_eq!(&all, &expected.0);
                prop_assert_eq!(carry.in_string(), expected.1 );
            }
        }
    }
}
