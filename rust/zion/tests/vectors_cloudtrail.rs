//! The recorded conversions of `CloudTrail` files, fed in pieces and cut into parts.

mod common;

use std::error::Error;
use std::sync::Arc;

use common::folder;
use serde_json::Value;
use zion::codec::Algorithm;
use zion::pack::OnError;
use zion::pack::inflate::Compression;
use zion::pack::{Constants, Format, Options, Packer, Stop};

/// Packs a text and counts its rows.
fn rows(text: &[u8], format: &str, piece: usize, part_bytes: usize) -> Result<u64, Stop> {
    let options = Options {
        algorithm: Algorithm::Zstd,
        level: 1,
        align: 1 << 20,
        max_row: 1 << 20,
        block_bytes: 50 << 20,
        part_bytes,
        read_bytes: 100,
        threads: 2,
        on_error: OnError::Fail,
        time_paths: Arc::default(),
        statistics: zion::index::statistics::Choice::Off,
        ngrams: std::sync::Arc::default(),
    };
    let never = &mut || false;
    let mut packer = Packer::new(options, Constants::default())?;
    packer.begin("input", Format::new(format, None)?, Compression::None)?;
    for data in text.chunks(piece) {
        packer.feed(data, never)?;
    }
    packer.end(never)?;
    while !packer.is_drained() {
        packer.take()?;
        packer.wait(never)?;
    }
    packer.take()?;
    Ok(packer.rows)
}

#[test]
fn recorded_conversions() -> Result<(), Box<dyn Error>> {
    let folder = folder("packfile");
    let vectors = std::fs::read_to_string(folder.join("json-ingest.jsonl"))?;
    let mut count = 0;
    for line in vectors.lines() {
        let vector: Value = serde_json::from_str(line)?;
        let Some(text) = vector["plain"].as_str().filter(|_| vector["group"] == "cloudtrail") else {
            continue;
        };
        count += 1;
        for piece in [1, 7, 1 << 20] {
            let found = rows(text.as_bytes(), "cloudtrail", piece, 4).ok();
            assert_eq!(found, vector["expect"]["rows"].as_u64(), "{} {text}", vector["id"]);
        }
    }
    assert!(count > 10);
    Ok(())
}

#[test]
fn errors_tell_the_place_in_the_file() {
    let list: String = (0..1000).map(|_| "{\"a\": 1},\n").collect();
    let text = format!("\n{{\"Records\":\n[{list}{{\"a\": x}}]}}");
    let failed = rows(text.as_bytes(), "cloudtrail", 100, 1000);
    let Err(Stop::Failed(failed)) = failed else { return assert_eq!(failed, Ok(0)) };
    let at = text.find('x').map(|at| at as u64);
    assert!(
        matches!(failed.error, zion::Error::Syntax { offset, line: 1003, .. } if Some(offset) == at),
        "{failed:?}"
    );
}
