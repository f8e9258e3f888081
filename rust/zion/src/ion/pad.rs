//! Padding values that fill the unused end of a chunk.

use super::varuint;

/// Appends padding of exactly `count` bytes, zeros inside.
pub fn put(out: &mut Vec<u8>, mut count: usize) {
    while count > 0 {
        let rest = count - 1;
        if rest <= 13 {
            out.push(rest as u8);
            out.resize(out.len() + rest, 0);
            return;
        }
        let wide = varuint::size(rest as u64);
        let narrow = varuint::size((rest - wide) as u64);
        let length = if wide == narrow { rest - wide } else { rest - wide - 1 };
        out.push(0x0E);
        varuint::put(out, length as u64);
        out.resize(out.len() + length, 0);
        count -= 1 + varuint::size(length as u64) + length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Result, ion};

    #[test]
    fn fills_exactly_and_reads_back_as_padding() -> Result<()> {
        for count in (0..300).chain(16_380..16_390).chain(2_097_140..2_097_160) {
            let mut out = vec![];
            put(&mut out, count);
            assert_eq!(out.len(), count);
            let mut at = 0;
            while at < count {
                let header = ion::header(&out, at)?;
                assert!(header.is_pad());
                at = header.end;
            }
            assert_eq!(at, count);
        }
        Ok(())
    }
}
