//! JSON text to chunks, against the vectors of the original.

mod common;

use std::error::Error;
use std::fs;
use std::sync::Arc;

use common::{Collect, folder, hex};
use serde_json::Value;
use zion::block::rows::Rows;
use zion::chunk::{BlockInfo, Stream};
use zion::ingest::json::hints::Hints;
use zion::ingest::json::parse::JsonParser;
use zion::ion::{self, SymbolTable, timestamp};
use zion::json::print::Printer;
use zion::json::sink::Sink as JsonSink;
use zion::pack::OnError;
use zion::pack::{Constants, PartContext, PartParser, Rejects};

type Outcome<T> = std::result::Result<T, Box<dyn Error>>;

fn ingest(
    text: &[u8],
    hints: Option<&str>,
    constants: Constants,
) -> zion::Result<(Vec<Vec<u8>>, Vec<BlockInfo>)> {
    let hints = hints.map(|hints| Hints::parse(hints.as_bytes())).transpose()?.map(Arc::new);
    let mut sink = Collect::default();
    let mut stream = Stream::new(1 << 20, 50 << 20, &mut sink);
    let mut parser = JsonParser::new(Arc::new(constants), hints, OnError::Fail);
    let context = PartContext { start: 0, last: true };
    parser.parse(text, context, &mut stream, &mut Rejects::default())?;
    let blocks = stream.finish()?.blocks;
    Ok((sink.0, blocks))
}

/// The rows of chunks, symbols resolved.
fn printed(chunks: &[Vec<u8>]) -> zion::Result<String> {
    let mut table = SymbolTable::new();
    let mut printer = Printer::default();
    let mut out = JsonSink::default();
    for chunk in chunks {
        let start = table.apply(chunk)?;
        printer.sync(&table, true);
        for row in Rows::new(chunk, start) {
            printer.row(chunk, row?.1, None, &mut out)?;
        }
    }
    Ok(String::from_utf8_lossy(out.as_slice()).into_owned())
}

fn unbase64(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|&byte| byte != b'=').map(value).collect();
    let mut out = vec![];
    for group in digits.chunks(4) {
        let word =
            group.iter().fold(0u32, |word, &digit| word << 6 | u32::from(digit)) << (6 * (4 - group.len()));
        out.extend_from_slice(&word.to_be_bytes()[1..group.len()]);
    }
    out
}

fn text(case: &Value) -> Option<Vec<u8>> {
    if let Some(text) = case["input"].as_str() {
        return Some(text.as_bytes().to_vec());
    }
    if let Some(text) = case["input_b64"].as_str() {
        return Some(unbase64(text));
    }
    let parts = case["input_gen"].as_object()?;
    let part = |name: &str| parts.get(name).and_then(Value::as_str).unwrap_or_default();
    let count = parts.get("count").and_then(Value::as_u64)? as usize;
    Some([part("prefix"), &part("repeat").repeat(count), part("suffix")].concat().into_bytes())
}

fn hints(case: &Value) -> Option<String> {
    match (&case["hints_text"], &case["hints"]) {
        (Value::String(text), _) => Some(text.clone()),
        (_, Value::Null) => None,
        (_, rules) => Some(rules.to_string()),
    }
}

fn constants(case: &Value) -> Constants {
    let mut fields: Vec<(Box<[u8]>, Vec<u8>)> = vec![];
    for constant in case["constants"].as_array().into_iter().flatten() {
        let mut out = vec![];
        if let Some(number) = constant["int"].as_i64() {
            ion::put_int(&mut out, number.into());
        } else if let Some(number) = constant["float"].as_f64() {
            ion::put_float(&mut out, number);
        } else if let Some(flag) = constant["bool"].as_bool() {
            out.push(if flag { ion::TRUE } else { ion::FALSE });
        } else if let Some(us) =
            constant["time"].as_str().and_then(|text| timestamp::recognise(text.as_bytes()))
        {
            timestamp::put(&mut out, us);
        } else if let Some(text) = constant["str"].as_str() {
            ion::put_string(&mut out, text.as_bytes());
        }
        fields.push((constant["name"].as_str().unwrap_or_default().as_bytes().into(), out));
    }
    Constants { fields, ..Constants::default() }
}

fn check(case: &Value) -> Outcome<Option<String>> {
    let Some(text) = text(case) else { return Ok(Some("no input".to_owned())) };
    let expect = &case["expect"];
    let (chunks, blocks) = match ingest(&text, hints(case).as_deref(), constants(case)) {
        Ok(result) => result,
        Err(error) if expect["error"].is_null() => return Ok(Some(format!("refused: {error}"))),
        Err(_) => return Ok(None),
    };
    if !expect["error"].is_null() {
        return Ok(Some(format!("accepted, expected {}", expect["error"])));
    }
    let rows: u64 = blocks.iter().map(|block| block.rows).sum();
    if expect["rows"].as_u64() != Some(rows) {
        return Ok(Some(format!("{rows} rows")));
    }
    if let Some(expected) = expect["ion"].as_array() {
        let expected = expected.iter().filter_map(Value::as_str).map(hex).collect::<Outcome<Vec<_>>>()?;
        // Which frequent strings become symbols is the writer's choice: then the rows must agree.
        let (found, expected) = if chunks == expected {
            (String::new(), String::new())
        } else {
            (printed(&chunks)?, printed(&expected)?)
        };
        if found != expected {
            return Ok(Some(format!("\n  found    {found}\n  expected {expected}")));
        }
    }
    if let Some(expected) = expect["ranges"].as_array() {
        return Ok(check_ranges(expected, &blocks));
    }
    Ok(None)
}

/// Every range that the original reports must be found; it leaves some out (the one-third rule).
fn check_ranges(expected: &[Value], blocks: &[BlockInfo]) -> Option<String> {
    for (block, ranges) in blocks.iter().zip(expected) {
        for range in ranges.as_array()? {
            let path: Vec<&str> = range["path"].as_array()?.iter().filter_map(Value::as_str).collect();
            let known = block.ranges.iter().find(|(known, _)| {
                known.iter().map(|name| String::from_utf8_lossy(name)).eq(path.iter().copied())
            });
            let found = known.map(|(_, range)| (range.min, range.max));
            if found != range["min_us"].as_i64().zip(range["max_us"].as_i64()) {
                return Some(format!("range of {path:?}: {found:?}, expected {range}"));
            }
        }
    }
    None
}

/// What the original refuses and people have all the same: marks of UTF-8, and numbers that are none.
const TAKEN: [&str; 5] =
    ["framing-bad-06", "framing-bad-07", "syntax-bad-19", "syntax-bad-20", "syntax-bad-21"];

/// Bytes that are no UTF-8: they are replaced here, and counted.
const REPLACED: &str = "utf8-bad-";

#[test]
fn json_ingest() -> Outcome<()> {
    let root = folder("packfile");
    let mut failures = vec![];
    let mut count = 0;
    for line in fs::read_to_string(root.join("json-ingest.jsonl"))?.lines() {
        let case: Value = serde_json::from_str(line)?;
        if case["format"] != ".json" {
            continue;
        }
        count += 1;
        // A negative integer beyond 64 bits becomes another one there; here it is the double beside that.
        if case["id"] == "int-big-10" {
            continue;
        }
        let id = case["id"].as_str().unwrap_or_default();
        if TAKEN.contains(&id) || id.starts_with(REPLACED) {
            let accepted = check(&case)?.is_some_and(|failure| failure.starts_with("accepted"));
            assert!(accepted, "{id} is read here");
            continue;
        }
        if let Some(failure) = check(&case)? {
            failures.push(format!("{} ({}): {failure}", case["id"], case["class"]));
        }
    }
    assert!(count > 300, "only {count} vectors");
    assert!(failures.is_empty(), "{} of {count} failed:\n{}", failures.len(), failures.join("\n"));
    Ok(())
}

/// Texts whose offset leads out of the stored years: the original moves them by a year, which is another
/// instant. They stay text here.
const BEFORE_THE_YEARS: [&str; 2] = ["0000-01-01T00:00:00+00:01", "0000-01-01T00:30:00+01:00"];

#[test]
fn timestamps() -> Outcome<()> {
    let root = folder("packfile");
    let mut count = 0;
    for line in fs::read_to_string(root.join("timestamps.jsonl"))?.lines() {
        let case: Value = serde_json::from_str(line)?;
        let text = case["s"].as_str().unwrap_or_default();
        let is_defect = case["class"] == "defect" || BEFORE_THE_YEARS.contains(&text);
        let us = case["unix_us"].as_i64().filter(|_| !is_defect && case["timestamp"] == true);
        let found = timestamp::recognise(text.as_bytes());
        if case["class"] != "defect" {
            assert_eq!(found, us, "{text:?}");
        }
        if let Some(us) = us {
            let mut out = vec![];
            timestamp::put(&mut out, us);
            assert_eq!(out, hex(case["ion"].as_str().unwrap_or_default())?, "{text:?}");
        }
        count += 1;
    }
    assert!(count > 100, "only {count} vectors");
    Ok(())
}
