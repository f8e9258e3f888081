//! The iguana sections of the vectors.

mod common;

use std::path::Path;

use common::{Result, bytes, hex, items, load, number, text};
use serde_json::Value;
use zion::codec::iguana::table::{self, Frequencies, Slots};
use zion::codec::iguana::{self, Decoder, Encoder, decompress};
use zion::codec::special;

const LIMIT: usize = 1 << 24;

/// Every entry of a section, with its name in what fails.
fn each(section: &str, check: impl Fn(&Path, &Value) -> Result) -> Result {
    let (folder, vectors) = load()?;
    for entry in items(&vectors[section]) {
        check(&folder, entry).map_err(|error| format!("{section}: {}: {error}", text(&entry["name"])))?;
    }
    Ok(())
}

fn expect(good: bool, what: &str) -> Result {
    if good { Ok(()) } else { Err(what.into()) }
}

#[test]
fn buffers_of_the_original() -> Result {
    for section in ["iguana", "iguana_handmade"] {
        each(section, |folder, entry| {
            let plain = bytes(folder, entry, &entry["plain"])?;
            let packed = bytes(folder, entry, &entry["compressed"])?;
            let mut out = vec![];
            decompress(&packed, &mut out, LIMIT)?;
            expect(out == plain, "other bytes came out")?;
            // As much as is allowed is allowed, and not a byte more.
            decompress(&packed, &mut out, plain.len())?;
            expect(
                plain.is_empty() || decompress(&packed, &mut out, plain.len() - 1).is_err(),
                "over the limit",
            )
        })?;
    }
    Ok(())
}

#[test]
fn cut_buffers_are_refused() -> Result {
    each("iguana", |folder, entry| {
        let packed = bytes(folder, entry, &entry["compressed"])?;
        let mut out = vec![];
        for cut in [1, packed.len() / 2, packed.len().saturating_sub(1)] {
            let cut = packed.get(cut..).unwrap_or_default();
            expect(cut.is_empty() || *cut == [0x80] || decompress(cut, &mut out, LIMIT).is_err(), "cut off")?;
        }
        Ok(())
    })
}

#[test]
fn damaged_buffers() -> Result {
    each("corrupt", |folder, entry| {
        if text(&entry["kind"]) != "iguana" || text(&entry["expect"]) != "reject" {
            return Ok(());
        }
        let input = bytes(folder, entry, &entry["input"])?;
        expect(decompress(&input, &mut vec![], LIMIT).is_err(), "was not refused")
    })
}

#[test]
fn our_own_buffers() -> Result {
    let (folder, vectors) = load()?;
    let (mut encoder, mut decoder) = (Encoder::new(), Decoder::default());
    let (mut packed, mut out) = (vec![], vec![]);
    let (mut ours, mut theirs) = (0, 0);
    for entry in items(&vectors["iguana"]) {
        let name = text(&entry["name"]);
        let plain = bytes(&folder, entry, &entry["plain"])?;
        packed.clear();
        encoder.compress(&plain, &mut packed);
        decoder.decompress(&packed, &mut out, plain.len()).map_err(|error| format!("{name}: {error}"))?;
        assert!(out == plain, "{name}: other bytes came out");
        if text(&entry["mode"]).ends_with("(what zion uses)") {
            let original = bytes(&folder, entry, &entry["compressed"])?.len();
            assert!(
                packed.len() <= 32 + original * 105 / 100,
                "{name}: {} bytes, not {original}",
                packed.len()
            );
            ours += packed.len();
            theirs += original;
        }
    }
    // Streams that packing hardly shrinks are stored, for the sake of speed.
    assert!(ours <= theirs * 104 / 100, "{ours} bytes, the original has {theirs}");
    Ok(())
}

#[test]
fn tables() -> Result {
    each("ans_tables", |folder, entry| {
        let input = bytes(folder, entry, &entry["input"])?;
        let encoded = hex(text(&entry["table"]))?;
        if text(&entry["alphabet"]) == "nibble" {
            let nibbles = input.iter().flat_map(|byte| [byte >> 4, byte & 15]);
            return table_is(entry, &counts(nibbles), &encoded, |data| Ok(table::read_nibbles(data)?));
        }
        let encoded_table = encoded.strip_suffix(&[0]).ok_or("not the dense form")?;
        table_is(entry, &counts(input.iter().copied()), encoded_table, |_| {
            Ok(table::read_bytes(&encoded).map(|(table, rest)| (table, &rest[..0]))?)
        })
    })
}

fn counts<const N: usize>(symbols: impl Iterator<Item = u8>) -> [u32; N] {
    symbols.fold([0; N], |mut counts, symbol| {
        counts[usize::from(symbol)] += 1;
        counts
    })
}

fn table_is<'a, const N: usize>(
    entry: &Value,
    counts: &[u32; N],
    encoded: &'a [u8],
    read: impl Fn(&'a [u8]) -> Result<(Frequencies<N>, &'a [u8])>,
) -> Result {
    let mut expected = [0; N];
    for (symbol, frequency) in entry["frequencies"].as_object().into_iter().flatten() {
        expected[symbol.parse::<usize>()?] = number(frequency) as u16;
    }
    let table = Frequencies::of_counts(counts);
    expect(table.0 == expected, "other frequencies")?;
    let mut out = vec![];
    table.put(&mut out);
    expect(out == encoded, "another table")?;
    let (table, rest) = read(encoded)?;
    expect(table.0 == expected && rest.is_empty(), "read as other frequencies")
}

#[test]
fn streams() -> Result {
    each("ans_streams", |folder, entry| {
        let input = bytes(folder, entry, &entry["input"])?;
        let data = bytes(folder, entry, &entry["data"])?;
        let encoded = hex(text(&entry["table"]))?;
        let (mut slots, mut packed, mut out) = (Slots::default(), vec![], vec![0; input.len()]);
        if text(&entry["coder"]) == "nibble" {
            let (frequencies, _) = table::read_nibbles(&encoded)?;
            slots.fill(&frequencies);
            iguana::encode_nibbles(&input, &frequencies, &mut packed);
            iguana::decode_nibbles(&data, &slots, &mut out)?;
        } else {
            let (frequencies, _) = table::read_bytes(&encoded)?;
            slots.fill(&frequencies);
            if text(&entry["coder"]) == "ans1" {
                iguana::encode_ans1(&input, &frequencies, &mut packed);
                iguana::decode_ans1(&data, &slots, &mut out)?;
            } else {
                iguana::encode_ans32(&input, &frequencies, &mut Default::default(), &mut packed);
                iguana::decode_ans32(&data, &slots, &mut out)?;
            }
        }
        expect(packed == data, "another stream was written")?;
        expect(out == input, "other bytes came out")
    })
}

/// The segments of a chunk.
fn segments(chunk: &[u8]) -> Result<Vec<&[u8]>> {
    let mut rest = chunk.get(8..).ok_or("no head")?;
    let mut segments = vec![];
    for _ in 0..17 {
        let (length, after) = rest.split_first_chunk::<3>().ok_or("no length")?;
        let length = u32::from_le_bytes([length[0], length[1], length[2], 0]) as usize;
        let (segment, after) = after.split_at_checked(length).ok_or("a cut segment")?;
        segments.push(segment);
        rest = after;
    }
    Ok(segments)
}

#[test]
fn vector_segments() -> Result {
    each("chunks", |folder, entry| {
        if number(&entry["algo"]) != 2 {
            return Ok(());
        }
        for step in items(&entry["steps"]) {
            let chunk = bytes(folder, step, &step["encoded"])?;
            let buckets: Vec<&Value> = items(&step["buckets"]).collect();
            for (index, segment) in segments(&chunk)?.into_iter().enumerate().skip(1) {
                let mut bucket = vec![];
                match segment.first() {
                    None => continue,
                    Some(&special::IGUANA) => decompress(&segment[1..], &mut bucket, LIMIT)?,
                    Some(_) => special::decode(segment, &mut bucket, LIMIT)?,
                }
                if let Some(expected) = buckets.get(index - 1) {
                    expect(bucket == bytes(folder, step, expected)?, "another bucket came out")?;
                }
                let (mut packed, mut out) = (vec![], vec![]);
                if special::encode(&bucket, &mut packed) {
                    special::decode(&packed, &mut out, bucket.len())?;
                    expect(out == bucket, "a bucket did not come back")?;
                }
            }
        }
        Ok(())
    })
}
