//! Structs and lists that are written before their length is known.

use super::{header_size, kind, put_header};

/// Begins a container: its content follows. Gives the place to close it with.
#[inline]
pub fn open(out: &mut Vec<u8>) -> usize {
    out.push(kind::STRUCT << 4);
    out.len() - 1
}

/// Ends the container that began at `start`.
#[inline]
pub fn close(out: &mut Vec<u8>, start: usize, kind: u8) {
    let length = out.len() - start - 1;
    let size = header_size(length);
    if size == 1 {
        out[start] = kind << 4 | length as u8;
        return;
    }
    let end = out.len();
    put_header(out, kind, length);
    let mut header = [0; 10];
    header[..size].copy_from_slice(&out[end..]);
    out.truncate(end + size - 1);
    out.copy_within(start + 1..end, start + size);
    out[start..start + size].copy_from_slice(&header[..size]);
}

/// An empty list or struct inside of others, `depth` levels in all.
#[cfg(test)]
pub(crate) fn nested(kind: u8, depth: usize) -> Vec<u8> {
    let label: &[u8] = if kind == self::kind::STRUCT { &[0x84] } else { &[] };
    let (mut heads, mut length) = (vec![], 0);
    for level in 0..depth {
        let mut head = vec![];
        length += if level > 0 { label.len() } else { 0 };
        put_header(&mut head, kind, length);
        length += head.len();
        head.extend_from_slice(if level > 0 { label } else { &[] });
        heads.push(head);
    }
    heads.into_iter().rev().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_fits_the_content() {
        for length in [0, 1, 13, 14, 127, 128, 20_000] {
            let content: Vec<u8> = (0..length).map(|at| at as u8).collect();
            let mut out = vec![7];
            let start = open(&mut out);
            out.extend_from_slice(&content);
            close(&mut out, start, kind::LIST);
            let mut expected = vec![7];
            put_header(&mut expected, kind::LIST, content.len());
            expected.extend_from_slice(&content);
            assert_eq!(out, expected, "{length}");
        }
    }
}
