//! Decompression: the commands and their streams.

use super::ans::{Ans32, decode_ans1, decode_ans32, decode_nibbles};
use super::control::Control;
use super::layout::{LAYER, command, stream};
use super::table::{self, Slots};
use super::tokens;
use crate::error::{Error, Result};
use crate::simd::lz::{Cursor, MEANINGS, SIDE_SLACK, SLACK, Side};

/// Tokens without effect are allowed, so that there may be more of them than bytes. Not by more than this.
const MOST_TOKENS_PER_BYTE: usize = 2;
const MOST_BEYOND: usize = 64;

#[cold]
fn damaged(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::corrupt(LAYER, 0, message)
}

/// Decompresses buffers one by one; its memory is kept.
#[derive(Default)]
pub struct Decoder {
    /// Those of the literals, and those of any other stream.
    slots: [Slots; 2],
    streams: [Vec<u8>; stream::COUNT],
}

/// A stream of a structural command as it stands in the buffer.
#[derive(Clone, Copy, Default)]
struct Packed<'a> {
    mode: u8,
    length: usize,
    data: &'a [u8],
}

impl Decoder {
    /// Replaces `out` by the content of an iguana buffer. Content of more than `limit` bytes is an error; memory
    /// is only taken in proportion to `limit`, whatever the buffer says.
    pub fn decompress(&mut self, buffer: &[u8], out: &mut Vec<u8>, limit: usize) -> Result<()> {
        let mut control = Control::new(buffer);
        let total = control.varuint()?;
        if total > limit as u64 {
            return Err(damaged(format!("content of {total} bytes, {limit} are allowed")));
        }
        // What was in `out` stays until it is overwritten: clearing memory costs as much as filling it.
        out.resize(total as usize + SLACK, 0);
        let written = self.commands(&mut control, out);
        out.truncate(written.as_ref().map_or(0, |&count| count));
        let count = written?;
        if count as u64 != total {
            return Err(damaged(format!("content of {count} bytes where {total} were announced")));
        }
        if total > 0 && control.data != control.end {
            return Err(damaged(format!("{} bytes that no command uses", control.end - control.data)));
        }
        Ok(())
    }

    /// Executes all commands; `out` has [`SLACK`] bytes more than the content. Gives the bytes written.
    fn commands(&mut self, control: &mut Control, out: &mut [u8]) -> Result<usize> {
        let total = out.len() - SLACK;
        let mut at = 0;
        let mut structured = false;
        let mut last = total == 0;
        while !last {
            let code = control.byte()?;
            last = code & command::LAST != 0;
            match code & !command::LAST {
                command::STRUCTURAL if structured => {
                    return Err(damaged("more than one structural command"));
                }
                command::STRUCTURAL => {
                    structured = true;
                    at += self.structural(control, &mut out[at..])?;
                }
                command::COPY => {
                    let target = take(out, &mut at, control.varuint()?, total)?;
                    target.copy_from_slice(control.take(target.len() as u64)?);
                }
                coder @ (command::ANS32 | command::ANS1 | command::NIBBLE) => {
                    let target = take(out, &mut at, control.varuint()?, total)?;
                    let packed = control.varuint()?;
                    entropy(coder, control.take(packed)?, &mut self.slots[0], target)?;
                }
                other => return Err(damaged(format!("an unknown command {other:02x}"))),
            }
        }
        Ok(at)
    }

    /// The six streams of a structural command, and the tokens over them.
    fn structural(&mut self, control: &mut Control, out: &mut [u8]) -> Result<usize> {
        let packed = read_streams(control, out.len() - SLACK)?;
        self.unpack(&packed)?;
        let content = |number: usize| &self.streams[number][..packed[number].length];
        let side = |number: usize| Side::new(&self.streams[number], packed[number].length);
        let sides = [stream::OFFSETS_16, stream::OFFSETS_24, stream::LITERAL_LENGTHS, stream::MATCH_LENGTHS];
        let cursor = Cursor::new(sides.map(side), content(stream::LITERALS));
        tokens::run(content(stream::TOKENS), cursor, out)
    }

    /// Unpacks all streams. The literals, which are most of the bytes, are unpacked along with the others.
    fn unpack(&mut self, packed: &[Packed; stream::COUNT]) -> Result<()> {
        let [of_literals, of_others] = &mut self.slots;
        let [others @ .., literals] = &mut self.streams;
        let [other_packed @ .., literals_packed] = packed;
        let mut literals = literals_packed.start(literals, of_literals)?;
        let mut most = [0; stream::LITERALS];
        for (number, (stream, packed)) in others.iter_mut().zip(other_packed).enumerate() {
            if number != stream::TOKENS && packed.length > most[number] {
                let (length, most) = (packed.length, most[number]);
                return Err(damaged(format!("a stream of {length} bytes, the tokens take {most} at most")));
            }
            if let Some(mut coded) = packed.start(stream, of_others)? {
                if let Some(literals) = &mut literals {
                    literals.advance_with(&mut coded);
                }
                coded.finish()?;
            }
            if number == stream::TOKENS {
                most = most_taken(&stream[..packed.length]);
            }
        }
        literals.map_or(Ok(()), Ans32::finish)
    }
}

/// The most that tokens can take of each stream. What a buffer says of their lengths is not believed: that would
/// be memory for nothing.
fn most_taken(tokens: &[u8]) -> [usize; stream::LITERALS] {
    let mut most = [0; stream::LITERALS];
    for &token in tokens {
        let meaning = &MEANINGS[usize::from(token)];
        most[stream::OFFSETS_16] += usize::from(meaning.near);
        most[stream::OFFSETS_24] += usize::from(meaning.far);
        most[stream::LITERAL_LENGTHS] += usize::from(meaning.more_literals & 4);
        most[stream::MATCH_LENGTHS] += usize::from(meaning.more_length & 4);
    }
    most
}

impl Packed<'_> {
    /// Unpacks to `stream`, unless it is by ANS32: then all is made ready for it.
    fn start<'a>(&'a self, stream: &'a mut Vec<u8>, slots: &'a mut Slots) -> Result<Option<Ans32<'a>>> {
        if stream.len() < self.length + SIDE_SLACK {
            stream.resize(self.length + SIDE_SLACK, 0);
        }
        let target = &mut stream[..self.length];
        match command::OF_MODE[usize::from(self.mode)] {
            command::COPY => target.copy_from_slice(self.data),
            command::ANS32 => {
                let (frequencies, data) = table::read_bytes(self.data)?;
                slots.fill(&frequencies);
                let coded = Ans32::new(data, slots, target)?;
                return Ok((self.length > 0).then_some(coded));
            }
            coder => entropy(coder, self.data, slots, target)?,
        }
        Ok(None)
    }
}

/// Reads the parameters of a structural command that yields at most `room` bytes, and takes its data.
fn read_streams<'a>(control: &mut Control<'a>, room: usize) -> Result<[Packed<'a>; stream::COUNT]> {
    let most_tokens = MOST_TOKENS_PER_BYTE * room + MOST_BEYOND;
    let header = control.varuint()?;
    if header >> (4 * stream::COUNT) != 0 {
        return Err(damaged("an entropy mode for a seventh stream"));
    }
    let mut streams = [Packed::default(); stream::COUNT];
    for (number, stream) in streams.iter_mut().enumerate() {
        stream.mode = (header >> (4 * number) & 15) as u8;
        if usize::from(stream.mode) >= command::OF_MODE.len() {
            return Err(damaged(format!("an unknown entropy mode {}", stream.mode)));
        }
        let length = control.varuint()?;
        let most = match number {
            stream::TOKENS => most_tokens,
            stream::LITERALS => room,
            // What the tokens take is not known yet: no length takes more than four bytes.
            _ => 4 * most_tokens,
        };
        if length > most as u64 {
            return Err(damaged(format!("a stream of {length} bytes, {most} would be a lot")));
        }
        stream.length = length as usize;
    }
    let mut sizes = [0; stream::COUNT];
    for (size, stream) in sizes.iter_mut().zip(&streams) {
        *size = if stream.mode == 0 { stream.length as u64 } else { control.varuint()? };
    }
    for (size, stream) in sizes.into_iter().zip(&mut streams) {
        stream.data = control.take(size)?;
    }
    Ok(streams)
}

/// The next `length` bytes of the content, which has `total`.
fn take<'a>(out: &'a mut [u8], at: &mut usize, length: u64, total: usize) -> Result<&'a mut [u8]> {
    let left = total - *at;
    if length > left as u64 {
        return Err(damaged(format!("a command that yields {length} bytes, {left} are left")));
    }
    let start = *at;
    *at += length as usize;
    Ok(&mut out[start..*at])
}

/// Fills `target` with the content of a coded stream.
fn entropy(coder: u8, data: &[u8], slots: &mut Slots, target: &mut [u8]) -> Result<()> {
    if coder == command::NIBBLE {
        let (frequencies, data) = table::read_nibbles(data)?;
        slots.fill(&frequencies);
        return decode_nibbles(data, slots, target);
    }
    let (frequencies, data) = table::read_bytes(data)?;
    slots.fill(&frequencies);
    if coder == command::ANS1 { decode_ans1(data, slots, target) } else { decode_ans32(data, slots, target) }
}

#[cfg(test)]
mod tests {
    use super::super::control::ControlWriter;
    use super::*;

    /// A buffer of a structural command that announces streams of these lengths, all but the tokens coded, and
    /// has `tokens` only.
    fn announcing(total: usize, lengths: [usize; stream::COUNT], tokens: &[u8]) -> Vec<u8> {
        let mut control = ControlWriter::default();
        control.varuint(total);
        control.byte(command::STRUCTURAL | command::LAST);
        control.varuint(0x22_2220);
        for &length in &lengths {
            control.varuint(length);
        }
        (1..stream::COUNT).for_each(|_| control.varuint(0));
        let mut out = tokens.to_vec();
        control.finish(&mut out);
        out
    }

    #[test]
    fn lengths_of_streams_are_not_believed() {
        const LIMIT: usize = 64 << 20;
        for number in 1..stream::LITERALS {
            let mut lengths = [1, 0, 0, 0, 0, 0];
            lengths[number] = LIMIT;
            let mut decoder = Decoder::default();
            let buffer = announcing(1000, lengths, &[0xFF]);
            assert!(decoder.decompress(&buffer, &mut vec![], LIMIT).is_err(), "{number}");
            let buffer = announcing(LIMIT, lengths, &[0xFF]);
            assert!(decoder.decompress(&buffer, &mut vec![], LIMIT).is_err(), "{number}");
            assert!(decoder.streams.iter().all(|stream| stream.len() < 4096), "{number}");
        }
        let lengths = [1, 0, 0, 0, 0, 1001];
        assert!(
            Decoder::default().decompress(&announcing(1000, lengths, &[0xFF]), &mut vec![], LIMIT).is_err()
        );
    }

    #[test]
    fn what_each_token_may_take() {
        assert_eq!(most_taken(&[0x00]), [0, 0, 3, 0, 0]);
        assert_eq!(most_taken(&[0x1F]), [0, 0, 3, 0, 4]);
        assert_eq!(most_taken(&[0x20, 0x7F]), [0, 4, 0, 4, 4]);
        assert_eq!(most_taken(&[0x80, 0xFF]), [0, 0, 0, 4, 4]);
    }
}
