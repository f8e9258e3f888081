//! Compression.

use super::ans::encode_ans32;
use super::control::ControlWriter;
use super::layout::{FAR, MAX_LENGTH, MEDIUM_LENGTH, MIN_FAR_MATCH, SHORT_LENGTH, command, stream};
use super::matches::{Finder, MIN_MATCH, Match, Search};
use super::table::Frequencies;

/// Shorter inputs are stored.
const MIN_INPUT: usize = 37;
/// Decoders copy in units of this size and must not write beyond the content.
const WIDE: usize = 32;
/// Lengths are cut to this, far below what the code of lengths holds.
const LONGEST: usize = 1 << 20;
/// After 2^SKIP bytes without a match every second position is looked at, and so on.
const SKIP: u32 = 6;
/// Never more than this many positions, and one, are left out. Odd, so that the content has a say in the end.
const MOST_SKIPPED: usize = 7;
/// A match of this length is taken without a look at the next position.
const GOOD: usize = 48;
/// A packed stream has at least its states, the fields of its table and the final byte.
const MIN_PACKED: usize = 128 + 96 + 1;
/// A stream is only packed if that saves one byte in so many. Unpacking takes the same time for every byte, whatever
/// it saves, and what is chosen iguana for is that it decodes fast: so a stream has to earn it. Offsets usually do
/// not, the other streams do by far; the price is 2 to 3 % of the size.
const LEAST_SAVING: usize = 8;

/// Compresses buffers one by one; its memory is kept.
pub struct Encoder {
    finder: Finder,
    streams: [Vec<u8>; stream::COUNT],
    packed: [Vec<u8>; stream::COUNT],
    words: [Vec<u16>; 2],
    control: ControlWriter,
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Encoder {
    /// An encoder.
    pub fn new() -> Self {
        const { assert!(LONGEST < MAX_LENGTH) };
        Self {
            finder: Finder::new(),
            streams: Default::default(),
            packed: Default::default(),
            words: Default::default(),
            control: ControlWriter::default(),
        }
    }

    /// Appends the compressed form of `data` to `out`.
    pub fn compress(&mut self, data: &[u8], out: &mut Vec<u8>) {
        self.control.clear();
        self.control.varuint(data.len());
        let fits = u32::try_from(data.len()).is_ok_and(|length| length < u32::MAX / 2);
        if data.len() >= MIN_INPUT && fits {
            self.split(data);
            self.pack();
            let size: usize = self.packed.iter().map(Vec::len).sum();
            if size + 7 < data.len() {
                self.packed.iter().for_each(|packed| out.extend_from_slice(packed));
                self.control.finish(out);
                return;
            }
            self.control.clear();
            self.control.varuint(data.len());
        }
        if !data.is_empty() {
            self.control.byte(command::COPY | command::LAST);
            self.control.varuint(data.len());
        }
        out.extend_from_slice(data);
        self.control.finish(out);
    }

    /// Packs each stream, if that saves enough, and writes the control bytes of the command.
    fn pack(&mut self) {
        let mut header = 0;
        for (number, (content, packed)) in self.streams.iter().zip(&mut self.packed).enumerate() {
            packed.clear();
            let mut counts = [0; 256];
            for &byte in content {
                counts[usize::from(byte)] += 1;
            }
            if content.len() > MIN_PACKED {
                let frequencies = Frequencies::of_counts(&counts);
                encode_ans32(content, &frequencies, &mut self.words, packed);
                frequencies.put(packed);
                packed.push(0);
            }
            if !packed.is_empty() && packed.len() + content.len() / LEAST_SAVING < content.len() {
                header |= 1 << (4 * number);
            } else {
                packed.clear();
                packed.extend_from_slice(content);
            }
        }
        self.control.byte(command::STRUCTURAL | command::LAST);
        self.control.varuint(header);
        self.streams.iter().for_each(|content| self.control.varuint(content.len()));
        for (number, packed) in self.packed.iter().enumerate() {
            if header >> (4 * number) & 15 != 0 {
                self.control.varuint(packed.len());
            }
        }
    }

    /// Splits `data`, of at least [`MIN_INPUT`] bytes, into the six streams.
    fn split(&mut self, data: &[u8]) {
        let Self { finder, streams, .. } = self;
        let mut writer = Writer { streams, last: 0 };
        writer.streams.iter_mut().for_each(Vec::clear);
        let mut search = finder.start(data);
        let last_start = data.len() - WIDE;
        // Everything before `literals` is written.
        let (mut at, mut literals) = (0, 0);
        while at <= last_start {
            let Some((start, found)) = find(&mut search, at, literals, writer.last) else {
                // The longer nothing is found, the less is looked at. A bit of the content decides too, so that
                // places at a fixed distance do not miss each other forever.
                let skip = ((at - literals) >> SKIP).min(MOST_SKIPPED);
                at += 1 + skip + (skip & usize::from(data[at]) & 1);
                continue;
            };
            writer.put(&data[literals..start], found);
            literals = start + found.length;
            let inside = at + 2..literals.min(last_start);
            for place in inside.step_by(2) {
                search.enter(place);
            }
            at = literals;
        }
        writer.streams[stream::LITERALS].extend_from_slice(&data[literals..]);
    }
}

/// The match to take at `at` or soon after it, and where it starts: not below `floor`.
fn find(search: &mut Search, at: usize, floor: usize, last: usize) -> Option<(usize, Match)> {
    let total = search.data.len();
    let mut start = at;
    let mut found = search.best(at, last)?;
    while found.length < GOOD && start < total - WIDE {
        let Some(next) = search.best(start + 1, last).filter(|next| next.length > found.length) else {
            break;
        };
        (found, start) = (next, start + 1);
    }
    search.extend_back(&mut start, &mut found, floor);
    found.length = held(found, start, total);
    let far = found.distance > FAR && found.distance != last;
    (found.length >= if far { MIN_FAR_MATCH } else { MIN_MATCH }).then_some((start, found))
}

/// Writes the streams.
struct Writer<'a> {
    streams: &'a mut [Vec<u8>; stream::COUNT],
    last: usize,
}

impl Writer<'_> {
    /// Writes the token of some literals and a match.
    fn put(&mut self, literals: &[u8], found: Match) {
        let far = found.distance > FAR && found.distance != self.last;
        let mut rest = literals;
        while rest.len() > LONGEST || (far && !rest.is_empty()) {
            let (now, later) = rest.split_at(rest.len().min(LONGEST));
            let token = 0x80 | self.put_literals(now);
            self.streams[stream::TOKENS].push(token);
            rest = later;
        }
        if far {
            let token = if found.length < 47 { found.length - 16 } else { 0x1F };
            self.streams[stream::TOKENS].push(token as u8);
            self.streams[stream::OFFSETS_24].extend_from_slice(&found.distance.to_le_bytes()[..3]);
            if found.length >= 47 {
                put_length(&mut self.streams[stream::MATCH_LENGTHS], found.length - 47);
            }
        } else {
            let mut token = self.put_literals(rest) | (found.length.min(15) as u8) << 3;
            if found.distance == self.last {
                token |= 0x80;
            } else {
                self.streams[stream::OFFSETS_16].extend_from_slice(&found.distance.to_le_bytes()[..2]);
            }
            self.streams[stream::TOKENS].push(token);
            if found.length >= 15 {
                put_length(&mut self.streams[stream::MATCH_LENGTHS], found.length - 15);
            }
        }
        self.last = found.distance;
    }

    /// Puts literals to their stream; gives their bits of the token.
    fn put_literals(&mut self, literals: &[u8]) -> u8 {
        self.streams[stream::LITERALS].extend_from_slice(literals);
        if literals.len() >= 7 {
            put_length(&mut self.streams[stream::LITERAL_LENGTHS], literals.len() - 7);
        }
        literals.len().min(7) as u8
    }
}

/// The length that a match at `at` may have so that wide copies stay inside the content.
fn held(found: Match, at: usize, total: usize) -> usize {
    let Match { distance, length } = found;
    let length = length.min(LONGEST);
    if distance >= WIDE {
        let whole = at + length.next_multiple_of(WIDE) <= total;
        if whole { length } else { length - length % WIDE }
    } else if at + (length - length % distance) + WIDE > total {
        distance * (total.saturating_sub(WIDE + at) / distance)
    } else {
        length
    }
}

/// Writes a length in base 254.
fn put_length(out: &mut Vec<u8>, length: usize) {
    if length < SHORT_LENGTH {
        out.push(length as u8);
    } else if length < MEDIUM_LENGTH {
        out.extend_from_slice(&[254, (length % 254) as u8, (length / 254) as u8]);
    } else {
        let high = length / 254;
        out.extend_from_slice(&[255, (length % 254) as u8, (high % 254) as u8, (high / 254) as u8]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tokens::next_length;
    use super::*;
    use crate::error::Result;
    use crate::simd::lz::{MEANINGS, Side};
    use proptest::prelude::*;

    /// Whether copies in units of 32 bytes stay inside the content, for every token.
    fn is_wide(encoder: &Encoder, total: usize) -> Result<bool> {
        let streams = encoder.streams.clone().map(|mut bytes| {
            bytes.resize(bytes.len() + 4, 0);
            bytes
        });
        let side = |number: usize| Side::new(&streams[number], streams[number].len() - 4);
        let (mut literals, mut lengths) = (side(stream::LITERAL_LENGTHS), side(stream::MATCH_LENGTHS));
        let mut near = encoder.streams[stream::OFFSETS_16].as_chunks::<2>().0.iter();
        let mut far = encoder.streams[stream::OFFSETS_24].as_chunks::<3>().0.iter();
        let (mut at, mut last, mut wide) = (0, 1, true);
        for &token in &encoder.streams[stream::TOKENS] {
            let meaning = MEANINGS[usize::from(token)];
            let count = usize::from(meaning.literals) + next_length(&mut literals, meaning.more_literals)?;
            let length = usize::from(meaning.length) + next_length(&mut lengths, meaning.more_length)?;
            if meaning.near > 0 {
                last = near.next().map_or(0, |bytes| usize::from(u16::from_le_bytes(*bytes)));
            } else if meaning.far > 0 {
                last = far.next().map_or(0, |[a, b, c]| u32::from_le_bytes([*a, *b, *c, 0]) as usize);
            }
            wide &= at + WIDE * count.div_ceil(WIDE).max(1) <= total;
            at += count;
            let unit = last.clamp(1, WIDE);
            wide &= at + (length.div_ceil(unit).max(1) - 1) * unit + WIDE <= total;
            at += length;
        }
        Ok(wide && at <= total)
    }

    proptest! {
        #[test]
        fn wide_copies_stay_inside(
            start in prop::collection::vec(any::<u8>(), 0..80),
            period in prop::collection::vec(any::<u8>(), 1..80),
            repeated in 1usize..400,
            end in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut data = start;
            data.extend(period.iter().cycle().take(repeated));
            data.extend(end);
            prop_assume!(data.len() >= MIN_INPUT);
            let mut encoder = Encoder::new();
            encoder.split(&data);
            prop_assert_eq!(is_wide(&encoder, data.len()), Ok(true));
        }
    }
}
