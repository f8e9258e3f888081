//! The recorded conversions of CSV and TSV, and what is expected of files without hints.

mod common;

use std::error::Error;
use std::io::Read;
use std::sync::Arc;

use common::folder;
use proptest::prelude::*;
use serde_json::Value;
use zion::chunk::{Chunk, Sink, Stream, Summary};
use zion::ingest::xsv::{Kind, Xsv};
use zion::pack::OnError;
use zion::pack::{Constants, PartContext, PartParser, Rejects, Splitter};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

#[derive(Default)]
struct Chunks(Vec<String>);

impl Sink for Chunks {
    fn chunk(&mut self, chunk: Chunk) -> zion::Result<()> {
        let hex = |text: String, byte: &u8| text + &format!("{byte:02x}");
        self.0.push(chunk.data().iter().fold(String::new(), hex));
        Ok(())
    }

    fn buffer(&mut self) -> Vec<u8> {
        vec![]
    }
}

/// Parses a text in parts of about `part_bytes`.
fn convert(
    kind: Kind,
    hints: Option<&str>,
    constants: Constants,
    text: &[u8],
    part_bytes: usize,
) -> zion::Result<Vec<(Vec<String>, Summary)>> {
    let xsv = Xsv::new(kind, hints.map(str::as_bytes), "")?;
    // The first part is usually much larger: it has the head, and the rows that propose types.
    let part_bytes = usize::max(part_bytes, xsv.learn(text)? + 1);
    let mut splitter = xsv.splitter();
    let mut parser = xsv.parser(Arc::new(constants), OnError::Fail);
    let (mut start, mut context, mut found) = (0, 0, vec![]);
    loop {
        let cut = splitter.cut(&text[start..], part_bytes)?.filter(|_| text.len() - start > part_bytes);
        let end = cut.map_or(text.len(), |end| start + end);
        let place = PartContext { start: context, last: cut.is_none() };
        let mut chunks = Chunks::default();
        let mut stream = Stream::new(1 << 20, 50 << 20, &mut chunks);
        parser.parse(&text[start..end], place, &mut stream, &mut Rejects::default())?;
        let summary = stream.finish()?;
        found.push((chunks.0, summary));
        if cut.is_none() {
            return Ok(found);
        }
        (start, context) = (end, splitter.next_part());
    }
}

fn base64(text: &str) -> Vec<u8> {
    let digit = |byte| {
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".iter().position(|&d| d == byte)
    };
    let bits: Vec<usize> = text.bytes().filter_map(digit).collect();
    let bytes = bits.chunks(4).flat_map(|group| {
        let word = group.iter().enumerate().fold(0, |word, (at, bits)| word | bits << (18 - 6 * at));
        (0..group.len() - 1).map(move |at| (word >> (16 - 8 * at)) as u8)
    });
    bytes.collect()
}

fn input(vector: &Value) -> Outcome<Vec<u8>> {
    if let Some(generated) = vector.get("input_gen") {
        let part = |name: &str| generated[name].as_str().unwrap_or_default().to_owned();
        let count = usize::try_from(generated["count"].as_u64().ok_or("no count")?)?;
        return Ok((part("prefix") + &part("repeat").repeat(count) + &part("suffix")).into_bytes());
    }
    let bytes = match (vector["input"].as_str(), vector["input_b64"].as_str()) {
        (Some(text), _) => text.as_bytes().to_vec(),
        (None, Some(text)) => base64(text),
        (None, None) => return Err("no input".into()),
    };
    if vector["format"] != ".csv.gz" {
        return Ok(bytes);
    }
    let mut text = vec![];
    flate2::read::MultiGzDecoder::new(&*bytes).read_to_end(&mut text)?;
    Ok(text)
}

fn constants(vector: &Value) -> Outcome<Constants> {
    let mut fields: Vec<(Box<[u8]>, Vec<u8>)> = vec![];
    for constant in vector["constants"].as_array().into_iter().flatten() {
        let mut value = vec![];
        match (constant["int"].as_i64(), constant["str"].as_str()) {
            (Some(number), _) => zion::ion::put_int(&mut value, i128::from(number)),
            (None, Some(text)) => zion::ion::put_string(&mut value, text.as_bytes()),
            (None, None) => return Err("an unknown constant".into()),
        }
        fields.push((constant["name"].as_str().ok_or("no name")?.as_bytes().into(), value));
    }
    fields.sort();
    Ok(Constants { fields, ..Constants::default() })
}

/// The paths that the original reports: those that a third of the rows have.
fn ranges(summary: &Summary) -> Vec<Vec<(Vec<String>, i64, i64)>> {
    let blocks = summary.blocks.iter().map(|block| {
        let frequent = block.ranges.iter().filter(|(_, range)| range.count >= block.rows / 3);
        let mut found: Vec<_> = frequent
            .map(|(path, range)| {
                let names = path.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
                (names, range.min, range.max)
            })
            .collect();
        found.sort();
        found
    });
    blocks.collect()
}

#[test]
fn recorded_conversions() -> Outcome {
    let folder = folder("packfile");
    let text = std::fs::read_to_string(folder.join("xsv-ingest.jsonl"))?;
    let mut count = 0;
    for line in text.lines() {
        let vector: Value = serde_json::from_str(line)?;
        let Some(id) = vector["id"].as_str().filter(|&id| id != "hints-ct-00") else { continue };
        let kind = if vector["format"].as_str().is_some_and(|f| f.starts_with(".tsv")) {
            Kind::Tsv
        } else {
            Kind::Csv
        };
        let hints = vector["hints_text"].as_str().map_or_else(|| vector["hints"].to_string(), str::to_owned);
        let result = convert(kind, Some(&hints), constants(&vector)?, &input(&vector)?, 1 << 30);
        let expect = &vector["expect"];
        count += 1;
        let Some((chunks, summary)) = result.as_ref().ok().and_then(|parts| parts.first()) else {
            assert!(expect.get("error").is_some(), "{id}: {result:?}");
            continue;
        };
        assert!(expect.get("error").is_none(), "{id}: no error");
        let rows: u64 = summary.blocks.iter().map(|block| block.rows).sum();
        assert_eq!(Some(rows), expect["rows"].as_u64(), "{id}");
        // This one keeps malformed UTF-8; it is replaced here.
        if let (Some(ion), true) = (expect["ion"].as_array(), id != "csv-29") {
            let ion: Vec<&str> = ion.iter().filter_map(Value::as_str).collect();
            assert_eq!(*chunks, ion, "{id}");
        }
        let mut wanted = vec![];
        for block in expect["ranges"].as_array().into_iter().flatten() {
            let mut paths: Vec<(Vec<String>, i64, i64)> = vec![];
            for range in block.as_array().into_iter().flatten() {
                let us = |name: &str| range[name].as_i64().unwrap_or_default();
                paths.push((serde_json::from_value(range["path"].clone())?, us("min_us"), us("max_us")));
            }
            wanted.push(paths);
        }
        assert_eq!(ranges(summary), wanted, "{id}");
    }
    assert!(count > 150);
    Ok(())
}

fn data(kind: Kind, hints: Option<&str>, text: &str) -> Outcome<String> {
    let parts = convert(kind, hints, Constants::default(), text.as_bytes(), 1 << 30)?;
    Ok(parts.into_iter().flat_map(|(chunks, _)| chunks).collect())
}

#[test]
fn a_header_row_names_the_columns() -> Outcome {
    let hints = r#"{"skip_records": 1, "fields": [
        {"name": "id", "type": "int"}, {"name": "name"}, {"name": "at", "type": "datetime"},
        {"name": "share", "type": "number"}, {"name": "ok", "type": "bool"}]}"#;
    let text = "id,name,at,share,ok\n1,x,2021-01-02T03:04:05Z,0.5,true\n2,,,1.25,False\n";
    assert_eq!(data(Kind::Csv, None, text)?, data(Kind::Csv, Some(hints), text)?);
    for (separator, kind) in [(";", Kind::Csv), ("|", Kind::Csv), ("\t", Kind::Csv), ("\t", Kind::Tsv)] {
        let other = text.replace(',', separator);
        assert_eq!(data(kind, None, &other)?, data(Kind::Csv, None, text)?, "{separator:?}");
    }
    let marked = format!("\u{feff}\r\n{}", text.replace('\n', "\r\n"));
    assert_eq!(data(Kind::Csv, None, &marked)?, data(Kind::Csv, None, text)?);
    assert_eq!(data(Kind::Csv, None, "")?, "");
    assert_eq!(data(Kind::Csv, None, "only,a,header\n")?, "");
    Ok(())
}

#[test]
fn fields_beyond_the_header_get_names() -> Outcome {
    let given = data(Kind::Csv, None, "a,column_3,column_2\n1,,3,4\n2,3\n")?;
    let named = data(Kind::Csv, None, "a,column_3,column_2,column_4\n1,,3,4\n2,3\n")?;
    assert_eq!(given, named);
    Ok(())
}

#[test]
fn parts_hold_the_same_rows_as_the_whole() -> Outcome {
    let hints = r#"{"skip_records": 7, "fields": [{"name": "a.b", "type": "int"}, {"name": "c"}]}"#;
    let record = |row| format!("{row},\"x\n{}\"\n\n", "y\"\"".repeat(row));
    let text = (0..40).map(record).collect::<Vec<_>>().concat();
    for hints in [Some(hints), None] {
        let rows = |part_bytes| -> Outcome<(u64, usize)> {
            let parts = convert(Kind::Csv, hints, Constants::default(), text.as_bytes(), part_bytes)?;
            let rows = parts.iter().flat_map(|(_, summary)| &summary.blocks).map(|block| block.rows).sum();
            Ok((rows, parts.len()))
        };
        let (whole, _) = rows(1 << 30)?;
        assert_eq!(whole, if hints.is_some() { 33 } else { 40 });
        for part_bytes in [1, 10, 100, 1000] {
            let (count, parts) = rows(part_bytes)?;
            assert_eq!(count, whole, "{part_bytes}");
            assert!(parts > 1);
        }
    }
    Ok(())
}

#[test]
fn names_stay_right_when_the_symbols_are_restarted() -> Outcome {
    let record = |row| if row % 2 == 0 { format!("{row},b,c\n") } else { format!("{row}\n") };
    let text = (0..3000).map(record).collect::<Vec<_>>().concat();
    let xsv = Xsv::new(
        Kind::Csv,
        Some(br#"{"fields": [{"name": "a", "type": "int"}, {"name": "b"}, {"name": "c"}]}"#),
        "",
    )?;
    let mut chunks = Chunks::default();
    let mut stream = Stream::new(4096, 8192, &mut chunks);
    let context = PartContext { start: 0, last: true };
    xsv.parser(Arc::default(), OnError::Fail).parse(
        text.as_bytes(),
        context,
        &mut stream,
        &mut Rejects::default(),
    )?;
    assert!(stream.finish()?.blocks.len() > 2);
    // Every full table lists all names.
    let tables: Vec<&String> = chunks.0.iter().filter(|chunk| chunk.starts_with("e00100ea")).collect();
    assert!(tables.len() > 2);
    for table in tables {
        assert!(table.starts_with("e00100eaeb8183d887b681618162"), "{}", &table[..60]);
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_text_converts_in_any_parts(text in "[ab0-9.,;\"\t\\\\\r\né]{0,60}", part_bytes in 1usize..40, tabs: bool) {
        let kind = if tabs { Kind::Tsv } else { Kind::Csv };
        let hints = r#"{"skip_records": 1, "fields": [{"name": "a", "type": "number"}, {"name": "b.c"}, {"name": "b.c"}]}"#;
        for hints in [None, Some(hints)] {
            let rows = |part_bytes| -> zion::Result<u64> {
                let parts = convert(kind, hints, Constants::default(), text.as_bytes(), part_bytes)?;
                Ok(parts.iter().flat_map(|(_, summary)| &summary.blocks).map(|block| block.rows).sum())
            };
            let whole = rows(1 << 30);
            prop_assert_eq!(rows(part_bytes).ok(), whole.clone().ok());
            // Only quotes and carriage returns can be malformed.
            if kind == Kind::Tsv && !text.contains('\r') || !text.contains(['"', '\r']) {
                whole?;
            }
        }
    }
}
