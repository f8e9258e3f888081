//! Packs texts and reads the rows back; texts to pack.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::Value;
use zion::block::BlockReader;
use zion::block::rows::Rows;
use zion::codec::Algorithm;
use zion::index::statistics::ngrams::{Gathered, NgramPath};
use zion::json::print::Printer;
use zion::json::sink::Sink;
use zion::pack::inflate::Compression;
use zion::pack::{Constants, Format, OnError, Options, Packer, Run, Stop};

pub const ALIGN: usize = 4096;

pub struct Packed {
    pub data: Vec<u8>,
    pub runs: Vec<Run>,
    pub rejected: Vec<(u64, u64, Vec<u8>)>,
}

pub fn options(algorithm: Algorithm, threads: usize, part_bytes: usize) -> Options {
    Options {
        algorithm,
        level: 3,
        align: ALIGN,
        max_row: ALIGN,
        block_bytes: 4 * ALIGN,
        part_bytes,
        read_bytes: 100,
        threads,
        on_error: OnError::Fail,
        time_paths: Arc::default(),
        statistics: zion::index::statistics::Choice::Auto(Arc::default()),
        ngrams: [Gathered::Pieces, Gathered::Joints]
            .map(|kind| NgramPath { path: vec![], kind })
            .into_iter()
            .collect(),
    }
}

pub fn pack(text: &[u8], options: Options, pieces: usize, compression: Compression) -> Result<Packed, Stop> {
    pack_with(Packer::new(options, Constants::default())?, text, pieces, compression)
}

pub fn pack_with(
    mut packer: Packer,
    text: &[u8],
    pieces: usize,
    compression: Compression,
) -> Result<Packed, Stop> {
    let mut data = vec![];
    let mut never = || false;
    packer.begin("input", Format::Json(None), compression)?;
    for piece in text.chunks(pieces.max(1)) {
        packer.feed(piece, &mut never)?;
        packer.take()?.iter().for_each(|frame| data.extend_from_slice(frame));
    }
    finished(packer, data)
}

/// Ends the input and takes what is left.
pub fn finished(packer: Packer, data: Vec<u8>) -> Result<Packed, Stop> {
    finished_with(packer, data, |_| ())
}

/// The same, and looks at the packer in the end.
pub fn finished_with(
    mut packer: Packer,
    mut data: Vec<u8>,
    look: impl FnOnce(&Packer),
) -> Result<Packed, Stop> {
    let mut never = || false;
    packer.end(&mut never)?;
    while !packer.is_drained() {
        packer.wait(&mut never)?;
        packer.take()?.iter().for_each(|frame| data.extend_from_slice(frame));
    }
    look(&packer);
    let rejected = std::mem::take(&mut packer.rejected);
    let rejected = rejected.iter().flat_map(|(_, records)| records.iter_from(0));
    let rejected = rejected.map(|bad| (bad.line, bad.offset, bad.text.to_vec())).collect();
    Ok(Packed { data, rejected, runs: std::mem::take(&mut packer.runs) })
}

/// Packs a text that lies in a file; tells too whether the threads read all of it by themselves.
pub fn pack_stored(text: &[u8], options: Options) -> Result<(Packed, bool), Stop> {
    let mut packer = Packer::new(options, Constants::default())?;
    let mut data = vec![];
    let mut never = || false;
    packer.begin("input", Format::Json(None), Compression::None)?;
    packer.store(Arc::new(text.to_vec()), &mut never)?;
    let rest = loop {
        let rest = packer.advance(&mut never)?;
        packer.take()?.iter().for_each(|frame| data.extend_from_slice(frame));
        if let Some(rest) = rest {
            break rest as usize;
        }
    };
    packer.feed(&text[rest..], &mut never)?;
    Ok((finished(packer, data)?, rest == text.len()))
}

pub fn rows(packed: &Packed, algorithm: Algorithm) -> zion::Result<Vec<String>> {
    rows_of(packed, algorithm, ALIGN)
}

pub fn rows_of(packed: &Packed, algorithm: Algorithm, align: usize) -> zion::Result<Vec<String>> {
    let mut printer = Printer::default();
    let mut all = vec![];
    let ends = packed.runs.iter().skip(1).map(|run| run.offset).chain([packed.data.len() as u64]);
    for (run, end) in packed.runs.iter().zip(ends) {
        let block = &packed.data[run.offset as usize..end as usize];
        let mut reader = BlockReader::new(block, algorithm, align)?;
        let before = all.len();
        while let Some(chunk) = reader.next_chunk()? {
            printer.sync(chunk.table, true);
            for row in Rows::new(chunk.data, chunk.rows_at) {
                let mut line = Sink::default();
                printer.row(chunk.data, row?.1, None, &mut line)?;
                all.push(String::from_utf8_lossy(line.as_slice()).trim_end().to_owned());
            }
        }
        assert_eq!((all.len() - before) as u64, run.rows);
    }
    Ok(all)
}

/// A record as it is printed again: names in the order of first use, which `i` and `s` keep.
pub fn record() -> impl Strategy<Value = String> {
    let texts = prop_oneof![
        "[a-z]{0,12}",
        Just(r#"\"}{,][:"#.to_owned()),
        Just("\u{e9}\u{20ac}\\\\".to_owned()),
        Just("x".repeat(500)),
    ];
    (any::<i32>(), texts, prop::collection::vec(any::<bool>(), 0..4)).prop_map(|(number, text, flags)| {
        let flags: Vec<String> = flags.iter().map(ToString::to_string).collect();
        format!(r#"{{"i": {number}, "s": "{text}", "n": {{"l": [{}]}}}}"#, flags.join(", "))
    })
}

/// Texts of records in all the ways in which they may follow each other.
pub fn document() -> impl Strategy<Value = (Vec<String>, String)> {
    let groups = prop::collection::vec((prop::collection::vec(record(), 1..12), any::<bool>()), 0..8);
    (groups, prop::sample::select(vec!["\n", "", " \n\n ", "\r\n\t"])).prop_map(|(groups, space)| {
        let text: Vec<String> = groups
            .iter()
            .map(|(records, is_array)| {
                if *is_array {
                    format!("[{space}{}{space}]", records.join(&format!("{space},{space}")))
                } else {
                    records.join(space)
                }
            })
            .collect();
        let records = groups.into_iter().flat_map(|(records, _)| records).collect();
        (records, format!("{space}{}{space}", text.join(space)))
    })
}

pub fn values(records: &[String]) -> Result<Vec<Value>, TestCaseError> {
    let parse = |record: &String| serde_json::from_str(record);
    records
        .iter()
        .map(parse)
        .collect::<Result<_, _>>()
        .map_err(|error| TestCaseError::fail(error.to_string()))
}

/// Records with strings that come again and again, some of them in escapes, long enough for symbols.
pub fn logs() -> impl Strategy<Value = Vec<String>> {
    let text = prop_oneof!["[a-z]{0,3}", "[a-z]{4,20}", "[a-z\u{e9}]{21,90}", Just("s".to_owned())];
    let picks = prop::collection::vec(any::<prop::sample::Index>(), 3 * 500);
    (prop::collection::vec(text, 1..40), picks).prop_map(|(texts, picks)| {
        let text = |at: usize| &texts[picks[at % picks.len()].index(texts.len())];
        let record = |i: usize| {
            let [s, d, l] = [text(3 * i), text(3 * i + 1), text(3 * i + 2)];
            format!(r#"{{"i": {i}, "s": "{s}", "n": {{"d": "{d}", "l": ["{l}", "{i} {s}"]}}}}"#)
        };
        (0..3000).map(record).collect()
    })
}
