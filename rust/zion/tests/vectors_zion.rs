//! The zion sections of the vectors.

mod common;

use std::path::Path;

use common::{Result, bytes, hex, items, load, number, text};
use serde_json::Value;
use zion::bucket::{Decoder, Encoder, choose_selector, hash};
use zion::codec::{Algorithm, effort::Effort, zstd};
use zion::ion::SymbolTable;

const LIMIT: usize = 1 << 26;

fn algorithm(number: usize) -> Algorithm {
    [Algorithm::ZionZstd, Algorithm::ZionIguana, Algorithm::ZionIguanaSpecialized][number.min(2)]
}

fn names(projection: &Value) -> Vec<Box<[u8]>> {
    items(&projection["fields"]).map(|name| text(name).as_bytes().into()).collect()
}

/// Input without what a chunk does not keep: padding between rows and at its end.
fn decode_stream(chunks: &[Vec<u8>], fields: Option<&[Box<[u8]>]>) -> Result<Vec<Vec<u8>>> {
    let mut decoder = Decoder::new()?;
    let mut table = SymbolTable::new();
    let mut out = vec![];
    let mut decoded = vec![];
    for chunk in chunks {
        decoder.decode(chunk, &mut table, fields, &mut out, LIMIT)?;
        decoded.push(out.clone());
    }
    Ok(decoded)
}

fn steps(folder: &Path, stream: &Value, key: &str) -> Result<Vec<Vec<u8>>> {
    items(&stream["steps"]).map(|step| bytes(folder, step, &step[key])).collect()
}

#[test]
fn hashes() -> Result {
    let (_, vectors) = load()?;
    for entry in items(&vectors["hashes"]) {
        let id = number(&entry["symbol"]) as u32;
        assert_eq!(format!("{:016x}", hash::hash(id)), text(&entry["hash"]));
        for (selector, digit) in (0..).zip(text(&entry["buckets"]).chars()) {
            assert_eq!(Some(u32::from(hash::bucket(selector, id))), digit.to_digit(16));
        }
    }
    Ok(())
}

#[test]
fn shapes() -> Result {
    let (folder, vectors) = load()?;
    for entry in items(&vectors["shapes"]) {
        let name = text(&entry["name"]);
        let mut zion = vec![];
        let selector = number(&entry["seed"]) as u8;
        Encoder::new(Algorithm::ZionZstd, 3)?.encode_with(
            selector,
            &mut Effort::begin(3, true),
            &bytes(&folder, entry, &entry["input"])?,
            &mut zion,
        )?;
        assert_eq!(zion[4] & 15, selector, "{name}");
        let mut shape = vec![];
        Decoder::new()?.shape(&zion, &mut SymbolTable::new(), &mut shape)?;
        assert_eq!(shape, bytes(&folder, entry, &entry["shape"])?, "{name}");
    }
    Ok(())
}

#[test]
fn seeds() -> Result {
    let (folder, vectors) = load()?;
    for entry in items(&vectors["seeds"]) {
        let mut encoder = Encoder::new(Algorithm::ZionZstd, 1)?;
        for (input, seed) in items(&entry["inputs"]).zip(items(&entry["seeds"])) {
            let mut zion = vec![];
            encoder.encode(&bytes(&folder, entry, input)?, &mut zion)?;
            assert_eq!(usize::from(zion[4] & 15), number(seed), "{}", text(&entry["name"]));
        }
    }
    assert_eq!(choose_selector(&[])?, 0);
    Ok(())
}

#[test]
fn chunks_of_the_original_decode() -> Result {
    let (folder, vectors) = load()?;
    for stream in items(&vectors["chunks"]) {
        let name = text(&stream["name"]);
        let encoded = steps(&folder, stream, "encoded")?;
        let expected = steps(&folder, stream, "decoded")?;
        let decoded = decode_stream(&encoded, None).map_err(|error| format!("{name}: {error}"))?;
        assert!(decoded == expected, "{name}");
        for (chunk, count) in encoded.iter().zip(items(&stream["record_counts"])) {
            assert_eq!(Decoder::new()?.count(chunk)?, number(count) as u64, "{name}");
        }
        for projection in items(&stream["projections"]) {
            let fields = names(projection);
            let decoded = decode_stream(&encoded, Some(&fields))?;
            let expected: Vec<_> = items(&projection["minimal"])
                .map(|step| bytes(&folder, stream, step))
                .collect::<Result<_>>()?;
            assert!(decoded == expected, "{name} {}", projection["fields"]);
        }
    }
    Ok(())
}

#[test]
fn chunks_round_trip_with_the_same_shape_and_buckets() -> Result {
    let (folder, vectors) = load()?;
    for stream in items(&vectors["chunks"]) {
        let name = text(&stream["name"]);
        let mut encoder = Encoder::new(algorithm(number(&stream["algo"])), 3)?;
        let mut chunks = vec![];
        for step in items(&stream["steps"]) {
            let mut zion = vec![];
            encoder
                .encode(&bytes(&folder, step, &step["input"])?, &mut zion)
                .map_err(|error| format!("{name}: {error}"))?;
            assert_eq!(usize::from(zion[4] & 15), number(&step["seed"]), "{name}");
            if let Some(shape) = step["shape"].as_str() {
                let mut ours = vec![];
                Decoder::new()?.shape(&zion, &mut SymbolTable::new(), &mut ours)?;
                assert_eq!(ours, hex(shape)?, "{name}");
            }
            chunks.push(zion);
        }
        let decoded = decode_stream(&chunks, None).map_err(|error| format!("{name}: {error}"))?;
        assert!(decoded == steps(&folder, stream, "decoded")?, "{name}");
    }
    Ok(())
}

#[test]
fn accepted_variants() -> Result {
    let (folder, vectors) = load()?;
    for entry in items(&vectors["accepted_variants"]) {
        let name = text(&entry["name"]);
        let zion = bytes(&folder, entry, &entry["encoded"])?;
        let expected = bytes(&folder, entry, &entry["decoded"])?;
        let mut out = vec![];
        // The original never compares checksums; we do, unless told not to.
        let mut decoder = Decoder::new()?;
        decoder.set_verify(false)?;
        let mut table = SymbolTable::new();
        decoder
            .decode(&zion, &mut table, None, &mut out, LIMIT)
            .map_err(|error| format!("{name}: {error}"))?;
        assert_eq!(out, expected, "{name}");
        let verified = decode_stream(&[zion], None);
        assert_eq!(verified.is_err(), name == "zstd-wrong-checksum", "{name}");
    }
    Ok(())
}

#[test]
fn plain_zstd() -> Result {
    let (folder, vectors) = load()?;
    for entry in items(&vectors["plain_zstd"]) {
        let plain = bytes(&folder, entry, &entry["plain"])?;
        let mut out = vec![];
        let frame = bytes(&folder, entry, &entry["compressed"])?;
        zstd::Decompressor::new(true)?.decompress(&frame, &mut out, plain.len())?;
        assert!(out == plain, "{}", text(&entry["name"]));
        let mut ours = vec![];
        Encoder::new(Algorithm::Zstd, 3)?.encode(&plain, &mut ours)?;
        zstd::Decompressor::new(true)?.decompress(&ours, &mut out, plain.len())?;
        assert!(out == plain, "{}", text(&entry["name"]));
    }
    Ok(())
}

#[test]
fn corrupt_chunks_are_refused() -> Result {
    let (folder, vectors) = load()?;
    for entry in items(&vectors["corrupt"]).filter(|entry| entry["kind"] == "zion") {
        let decoded = decode_stream(&[bytes(&folder, entry, &entry["input"])?], None);
        assert!(decoded.is_err() || entry["expect"] != "reject", "{}", text(&entry["name"]));
    }
    Ok(())
}

#[test]
fn encoder_rejects() -> Result {
    let (folder, vectors) = load()?;
    for entry in items(&vectors["encoder_rejects"]) {
        let input = bytes(&folder, entry, &entry["input"])?;
        for algorithm in (0..3).map(algorithm) {
            let result = Encoder::new(algorithm, 3)?.encode(&input, &mut vec![]);
            assert!(result.is_err(), "{} {algorithm:?}", text(&entry["name"]));
        }
    }
    Ok(())
}
