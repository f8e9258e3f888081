//! Ion streams as input: all forms of the standard, in parts of any size.

mod common;

use std::error::Error;
use std::sync::Arc;

use common::folder;
use proptest::prelude::*;
use zion::block::rows::Rows;
use zion::chunk::{BlockInfo, Chunk, Sink, Stream};
use zion::ingest::ion::IonInput;
use zion::ion::{SymbolTable, put_header, put_string};
use zion::json::print::Printer;
use zion::json::sink;
use zion::pack::OnError;
use zion::pack::{Constants, PartContext, PartParser, Rejects, Splitter};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Prints the rows of chunks.
#[derive(Default)]
struct Lines {
    table: SymbolTable,
    printer: Printer,
    text: sink::Sink,
}

impl Sink for Lines {
    fn chunk(&mut self, chunk: Chunk) -> zion::Result<()> {
        let rows = self.table.apply(chunk.data())?;
        self.printer.sync(&self.table, chunk.resets);
        for row in Rows::new(chunk.data(), rows) {
            self.printer.row(chunk.data(), row?.1, None, &mut self.text)?;
        }
        Ok(())
    }

    fn buffer(&mut self) -> Vec<u8> {
        vec![]
    }
}

/// What became of a stream.
#[derive(Debug, Default, PartialEq)]
struct Converted {
    text: String,
    blocks: Vec<BlockInfo>,
    rejected: Vec<Vec<u8>>,
    parts: usize,
}

fn convert(data: &[u8], part_bytes: usize, on_error: OnError) -> zion::Result<Converted> {
    let input = IonInput::new(1);
    let (mut splitter, mut parser) = (input.splitter(), input.parser(Arc::new(constants()), on_error));
    let (mut start, mut context, mut found) = (0, 0, Converted::default());
    loop {
        let cut = splitter.cut(&data[start..], part_bytes)?.filter(|_| data.len() - start > part_bytes);
        let end = cut.map_or(data.len(), |end| start + end);
        let place = PartContext { start: context, last: cut.is_none() };
        let mut lines = Lines::default();
        let mut stream = Stream::new(1 << 20, 50 << 20, &mut lines);
        let mut rejected = Rejects::default();
        parser.parse(&data[start..end], place, &mut stream, &mut rejected)?;
        found.rejected.extend(rejected.iter_from(0).map(|record| record.text.to_vec()));
        found.blocks.extend(stream.finish()?.blocks);
        found.text.push_str(&String::from_utf8_lossy(lines.text.as_slice()));
        found.parts += 1;
        if cut.is_none() {
            return Ok(found);
        }
        (start, context) = (end, splitter.next_part());
    }
}

fn rows(text: &str) -> serde_json::Result<Vec<serde_json::Value>> {
    text.lines().map(serde_json::from_str).collect()
}

fn constants() -> Constants {
    let mut value = vec![];
    put_string(&mut value, b"one");
    Constants { fields: vec![(b"k".as_slice().into(), value)], ..Constants::default() }
}

fn wrapped(kind: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![];
    put_header(&mut out, kind, content.len());
    out.extend_from_slice(content);
    out
}

/// A symbol table: `imports` are the bytes of that field, if there are any.
fn table(imports: &[u8], names: &[&str]) -> Vec<u8> {
    let mut list = vec![];
    for name in names {
        put_string(&mut list, name.as_bytes());
    }
    let fields = [b"\x87", &wrapped(0xB, &list)[..], imports].concat();
    wrapped(0xE, &[b"\x81\x83", &wrapped(0xD, &fields)[..]].concat())
}

fn stream(rows: &[&[u8]]) -> Vec<u8> {
    let names = table(b"", &["a", "b", "k"]);
    [b"\xE0\x01\x00\xEA", &names[..], &rows.concat()].concat()
}

fn shown(value: &[u8]) -> zion::Result<String> {
    let row = wrapped(0xD, &[b"\x8A", value].concat());
    let text = convert(&stream(&[&row]), 1 << 30, OnError::Fail)?.text;
    let value = text.trim_end().trim_start_matches("{\"k\": \"one\", \"a\": ");
    Ok(value.strip_suffix('}').unwrap_or(value).to_owned())
}

#[test]
fn every_form_of_a_value() -> Outcome {
    for (value, expected) in [
        (&b"\x0F"[..], "null"),
        (b"\xDF", "null"),
        (b"\x1F", "null"),
        (b"\x11", "true"),
        (b"\x22\x00\x05", "5"),
        (b"\x30", "0"),
        (b"\x2E\x89\x00\x00\x00\x00\x00\x00\x00\x00\x07", "7"),
        (b"\x29\x01\x00\x00\x00\x00\x00\x00\x00\x00", "1.8446744073709552e+19"),
        (b"\x40", "0"),
        (b"\x44\x3F\xC0\x00\x00", "1.5"),
        (b"\x48\x40\x00\x00\x00\x00\x00\x00\x00", "2"),
        (b"\x52\xC1\x0F", "1.5"),
        (b"\x67\x80\x0F\xD0\x81\x81\x80\x80", "\"2000-01-01T00:00:00Z\""),
        (b"\x6A\x80\x0F\xD0\x81\x81\x80\x80\x80\xC3\x07", "\"2000-01-01T00:00:00.007Z\""),
        (b"\x70", "\"$0\""),
        (b"\x71\x04", "\"name\""),
        (b"\x8E\x82hi", "\"hi\""),
        (b"\x92\xFFx", "\"\u{FFFD}x\""),
        (b"\xA3abc", "\"YWJj\""),
        (b"\xC2\x21\x01", "[1]"),
        (b"\xB5\x01\x00\x21\x01\x0F", "[1, null]"),
        (b"\xE5\x82\x84\x85\x21\x01", "1"),
        (b"\xD1\x83\x8B\x21\x01", "{\"b\": 1}"),
        (b"\xD8\x8B\x21\x01\x8A\x01\x00\x8B\x20", "{\"b\": 1}"),
        (b"\xD6\x8B\x21\x01\x84\x21\x02", "{\"name\": 2, \"b\": 1}"),
    ] {
        assert_eq!(shown(value)?, expected, "{value:02x?}");
    }
    Ok(())
}

#[test]
fn malformed_values_are_refused() {
    for value in [
        &b"\x12"[..],
        b"\x43\x00\x00\x00",
        b"\x71\x40",
        b"\x81\xFF",
        b"\xF0",
        b"\xE3\x81\x84\x00",
        b"\xE4\x81\x84\xE3\x81",
        b"\xD2\xBF\x20",
        b"\xB2\x82\x00",
        b"\x60",
    ] {
        assert!(shown(value).is_err(), "{value:02x?}");
    }
    let deep = (0..63).fold(vec![0xB0], |inner, _| wrapped(0xB, &inner));
    assert!(shown(&deep).is_err());
    for data in [
        &b"{\"a\": 1}"[..],
        b"\xE0\x02\x00\xEA",
        b"\xE0\x01\x00\xEA\xD3\x84\x21",
        b"\xE0\x01\x00\xEA\x21\x01",
    ] {
        assert!(convert(data, 1 << 30, OnError::Fail).is_err(), "{data:02x?}");
    }
    let shared = [&b"\xE0\x01\x00\xEA"[..], &table(b"\x86\xB4\xD3\x84\x81s", &[])].concat();
    assert!(matches!(convert(&shared, 1 << 30, OnError::Fail), Err(zion::Error::Unsupported { .. })));
}

#[test]
fn tables_come_and_go_between_the_rows() -> Outcome {
    let mut data = stream(&[b"\xD3\x8A\x21\x01", b"\x03\x00\x00\x00", b"\xD3\x8C\x21\x02"]);
    data.extend(table(b"\x86\x71\x03", &["d"]));
    data.extend_from_slice(b"\xD6\x8D\x21\x03\x8A\x71\x0D");
    data.extend(table(b"", &["e"]));
    data.extend_from_slice(b"\xE6\x81\x84\xD3\x8A\x21\x04\xE0\x01\x00\xEA\xD3\x84\x21\x05");
    let expected = "{\"k\": \"one\", \"a\": 1}\n{\"k\": \"one\"}\n{\"k\": \"one\", \"d\": 3, \"a\": \"d\"}\n\
                    {\"k\": \"one\", \"e\": 4}\n{\"name\": 5, \"k\": \"one\"}\n";
    for part_bytes in 1..=data.len() {
        let converted = convert(&data, part_bytes, OnError::Fail)?;
        assert_eq!(rows(&converted.text)?, rows(expected)?, "{part_bytes}");
        assert!(part_bytes > 20 || converted.parts > 2);
    }
    Ok(())
}

#[test]
fn bad_rows_are_passed_over() -> Outcome {
    let data = stream(&[b"\xB6\xD3\x8A\x21\x01\x21\x01", b"\xD2\xBF\x20", b"\xD3\x8A\x21\x02"]);
    let converted = convert(&data, 1 << 30, OnError::Skip)?;
    assert_eq!(converted.text.lines().count(), 2);
    assert_eq!(converted.rejected, [&b"\x21\x01"[..], b"\xD2\xBF\x20"]);
    Ok(())
}

#[test]
fn only_times_at_the_top_are_indexed() -> Outcome {
    let folder = folder("packfile");
    let data = std::fs::read(folder.join("golden/s28-ion-input/input.10n"))?;
    let converted = convert(&data, 1 << 30, OnError::Fail)?;
    assert_eq!(converted.text.lines().count(), 600);
    let paths: Vec<_> =
        converted.blocks.iter().flat_map(|block| &block.ranges).map(|(path, _)| path.len()).collect();
    assert_eq!(paths, [1]);
    for part_bytes in [1000, 10_000] {
        assert_eq!(convert(&data, part_bytes, OnError::Fail)?.text, converted.text);
    }
    Ok(())
}

proptest! {
    #[test]
    fn damaged_streams_end_in_an_error_or_in_rows(
        at in 0usize..200, byte: u8, cut in 0usize..200, part_bytes in 1usize..100,
    ) {
        let mut data = stream(&[
            b"\xD3\x8A\x21\x01", b"\xDB\x8A\xD1\x83\x8B\x21\x01\x8B\xB2\x71\x0B", b"\xB4\xD3\x8A\x52\xC1",
            b"\xDC\x8A\x6A\x80\x0F\xD0\x81\x81\x80\x80\x80\xC3\x07", b"\xE7\x81\x83\xD4\x87\xB2\x81x",
        ]);
        let place = at % data.len();
        data[place] = byte;
        data.truncate(data.len().saturating_sub(cut % 20));
        if let Ok(converted) = convert(&data, part_bytes, OnError::Fail) {
            prop_assert!(rows(&converted.text.replace("+Inf", "0").replace("-Inf", "0").replace("NaN", "0")).is_ok());
        }
        let _ = convert(&data, part_bytes, OnError::Skip);
    }
}
