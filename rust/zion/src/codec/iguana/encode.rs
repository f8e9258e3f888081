//! Compression.

use super::control::ControlWriter;
use super::table::Frequencies;
use super::{FAR, MAX_LENGTH, MEDIUM_LENGTH, MIN_FAR_MATCH, SHORT_LENGTH, command, encode_ans32, stream};

/// Shorter inputs are stored.
const MIN_INPUT: usize = 37;
/// Decoders copy in units of this size and must not write beyond the content.
const WIDE: usize = 32;
const MIN_MATCH: usize = 4;
/// A match at a new distance must beat one at the last distance by this.
const REPEAT_BONUS: usize = 2;
/// Lengths are cut to this, far below what the code of lengths holds.
const LONGEST: usize = 1 << 20;
const HASH_BITS: u32 = 15;
const WAYS: usize = 4;

/// Compresses buffers one by one; its memory is kept.
pub struct Encoder {
    /// Recent positions by the hash of what is there, counted on from buffer to buffer so that the table never
    /// has to be cleared.
    table: Box<[[u32; WAYS]]>,
    base: u32,
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

/// A match: how far back, and how long.
#[derive(Clone, Copy, Default)]
struct Match {
    distance: usize,
    length: usize,
}

impl Encoder {
    /// An encoder.
    pub fn new() -> Self {
        const { assert!(LONGEST < MAX_LENGTH) };
        Self {
            table: vec![[0; WAYS]; 1 << HASH_BITS].into_boxed_slice(),
            base: 1,
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
            self.find_matches(data);
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

    /// Packs each stream, if that makes it smaller, and writes the control bytes of the command.
    fn pack(&mut self) {
        let mut header = 0;
        for (number, (content, packed)) in self.streams.iter().zip(&mut self.packed).enumerate() {
            packed.clear();
            let mut counts = [0; 256];
            content.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
            // States, fields of the table and its length are 225 bytes.
            if content.len() > 225 {
                let frequencies = Frequencies::of_counts(&counts);
                encode_ans32(content, &frequencies, &mut self.words, packed);
                frequencies.put(packed);
                packed.push(0);
            }
            if !packed.is_empty() && packed.len() < content.len() {
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

    fn find_matches(&mut self, data: &[u8]) {
        self.streams.iter_mut().for_each(Vec::clear);
        if self.base > u32::MAX / 2 {
            self.table.fill([0; WAYS]);
            self.base = 1;
        }
        let last_start = data.len() - WIDE;
        let mut last = 0;
        let (mut at, mut literals) = (0, 0);
        while at <= last_start {
            let mut found = self.best(data, at, last);
            if found.length == 0 {
                at += 1 + ((at - literals) >> 6);
                continue;
            }
            while at < last_start {
                let next = self.best(data, at + 1, last);
                if next.length <= found.length {
                    break;
                }
                (found, at) = (next, at + 1);
            }
            let reached = at;
            // Backward into what would be literals.
            while at > literals && at > found.distance && data[at - 1] == data[at - 1 - found.distance] {
                (at, found.length) = (at - 1, found.length + 1);
            }
            found.length = held(found, at, data.len());
            if found.length < MIN_MATCH || (found.distance > FAR && found.length < MIN_FAR_MATCH) {
                at = reached + 1;
                continue;
            }
            self.emit(&data[literals..at], found, &mut last);
            let end = at + found.length;
            at += 1;
            while at < end.min(last_start) {
                self.enter(data, at);
                at += 2;
            }
            (at, literals) = (end, end);
        }
        self.streams[stream::LITERALS].extend_from_slice(&data[literals..]);
        self.base += data.len() as u32;
    }

    fn slot(data: &[u8], at: usize) -> usize {
        let word =
            data.get(at..).and_then(<[u8]>::first_chunk::<8>).map_or(0, |bytes| u64::from_le_bytes(*bytes));
        ((word << 24).wrapping_mul(0x9E37_79B1_85EB_CA87) >> (64 - HASH_BITS)) as usize
    }

    fn enter(&mut self, data: &[u8], at: usize) {
        let ways = &mut self.table[Self::slot(data, at)];
        ways.copy_within(..WAYS - 1, 1);
        ways[0] = self.base + at as u32;
    }

    /// The longest match at `at`, which is entered into the table; one at the last distance is preferred.
    fn best(&mut self, data: &[u8], at: usize, last: usize) -> Match {
        let mut best = Match::default();
        if last > 0 && last <= at {
            let length = common(data, at - last, at);
            if length >= MIN_MATCH {
                best = Match { distance: last, length: length + REPEAT_BONUS };
            }
        }
        let ways = &mut self.table[Self::slot(data, at)];
        for &entry in &*ways {
            if entry < self.base {
                continue;
            }
            // A match that was cut after it had been found leaves positions that are still ahead.
            let distance = at.saturating_sub((entry - self.base) as usize);
            if distance == 0 || distance >= 1 << 24 {
                continue;
            }
            let length = common(data, at - distance, at);
            let enough = if distance > FAR { MIN_FAR_MATCH } else { MIN_MATCH };
            if length >= enough && length > best.length {
                best = Match { distance, length };
            }
        }
        if ways[0] != self.base + at as u32 {
            ways.copy_within(..WAYS - 1, 1);
            ways[0] = self.base + at as u32;
        }
        if best.distance == last && best.length > 0 {
            best.length = common(data, at - last, at);
        }
        best
    }

    /// Writes the token of some literals and a match.
    fn emit(&mut self, literals: &[u8], found: Match, last: &mut usize) {
        let far = found.distance > FAR && found.distance != *last;
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
            if found.distance == *last {
                token |= 0x80;
            } else {
                self.streams[stream::OFFSETS_16].extend_from_slice(&found.distance.to_le_bytes()[..2]);
            }
            self.streams[stream::TOKENS].push(token);
            if found.length >= 15 {
                put_length(&mut self.streams[stream::MATCH_LENGTHS], found.length - 15);
            }
        }
        *last = found.distance;
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

/// How many bytes from `from` and `to` on are equal, `from` being the lower one.
#[inline]
fn common(data: &[u8], from: usize, to: usize) -> usize {
    let (a, b) = (&data[from..data.len() - (to - from)], &data[to..]);
    let (a_words, _) = a.as_chunks::<8>();
    let (b_words, _) = b.as_chunks::<8>();
    for (index, (a, b)) in a_words.iter().zip(b_words).enumerate() {
        let differ = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differ != 0 {
            return 8 * index + (differ.trailing_zeros() / 8) as usize;
        }
    }
    let whole = 8 * a_words.len();
    whole + a[whole..].iter().zip(&b[whole..]).take_while(|(a, b)| a == b).count()
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
