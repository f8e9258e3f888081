//! JSON text to rows and back: names, strings and white space at every place of the windows in which text is
//! indexed, against the values that went in.

mod common;

use std::error::Error;
use std::fmt::Write;
use std::sync::Arc;

use common::Collect;
use proptest::prelude::*;
use serde_json::{Map, Value};
use zion::block::rows::Rows;
use zion::chunk::Stream;
use zion::ingest::json::parse::JsonParser;
use zion::ion::SymbolTable;
use zion::json::print::Printer;
use zion::json::sink::Sink as JsonSink;
use zion::pack::OnError;
use zion::pack::{PartContext, PartParser, Rejects};

/// Text that is indexed at once.
const WINDOW: usize = 32 << 10;

/// The rows of a text, packed and printed.
fn through(text: &str) -> zion::Result<String> {
    let mut sink = Collect::default();
    let mut stream = Stream::new(1 << 20, 50 << 20, &mut sink);
    let mut parser = JsonParser::new(Arc::default(), None, OnError::Fail);
    parser.parse(
        text.as_bytes(),
        PartContext { start: 0, last: true },
        &mut stream,
        &mut Rejects::default(),
    )?;
    stream.finish()?;
    let (mut table, mut printer, mut out) = (SymbolTable::new(), Printer::default(), JsonSink::default());
    for chunk in &sink.0 {
        let start = table.apply(chunk)?;
        printer.sync(&table, true);
        for row in Rows::new(chunk, start) {
            printer.row(chunk, row?.1, None, &mut out)?;
        }
    }
    Ok(String::from_utf8_lossy(out.as_slice()).into_owned())
}

/// Fields as they are written: a name may come twice, and then the first one counts.
#[derive(Debug, Clone)]
enum Node {
    Plain(Value),
    List(Vec<Node>),
    Struct(Vec<(String, Node)>),
}

impl Node {
    fn value(&self) -> Value {
        match self {
            Self::Plain(value) => value.clone(),
            Self::List(items) => items.iter().map(Self::value).collect(),
            Self::Struct(fields) => {
                let mut map = Map::new();
                for (name, node) in fields {
                    map.entry(name.clone()).or_insert_with(|| node.value());
                }
                Value::Object(map)
            }
        }
    }

    fn put(&self, space: &str, out: &mut String) {
        match self {
            Self::Plain(value) => drop(write!(out, "{value}")),
            Self::List(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    out.push_str(space);
                    item.put(space, out);
                }
                out.push(']');
            }
            Self::Struct(fields) => {
                out.push('{');
                for (at, (name, node)) in fields.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    let _ = write!(out, "{space}{}{space}:{space}", Value::from(name.as_str()));
                    node.put(space, out);
                }
                out.push('}');
            }
        }
    }
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(vec!["id", "url", "type", "actor", "payload", "a", "created_at"])
            .prop_map(str::to_owned),
        1 => "[a-z]{28,34}",
        1 => prop::sample::select(vec!["", "$0", "$10", "$ion_1_0", "name"]).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["with \"quotes\"", "back\\slash", "\\", "größe", "tab\t", "日本"])
            .prop_map(str::to_owned),
    ]
}

fn node() -> impl Strategy<Value = Node> {
    let plain = prop_oneof![
        6 => "[ -~]{0,40}".prop_map(Value::from),
        2 => "[a-z/:.]{30,140}".prop_map(Value::from),
        1 => "[ -~äß€😀\n\"\\\\]{0,70}".prop_map(Value::from),
        1 => prop::sample::select(vec!["", "$0", "$10", "$ion_1_0", "2015-01-01T00:00:00Z"]).prop_map(Value::from),
        2 => any::<i64>().prop_map(Value::from),
        1 => prop::sample::select(vec![Value::Null, Value::Bool(true), Value::Bool(false)]),
    ];
    plain.prop_map(Node::Plain).prop_recursive(3, 20, 6, |inner| {
        prop_oneof![
            3 => prop::collection::vec((name(), inner.clone()), 0..6).prop_map(Node::Struct),
            1 => prop::collection::vec(inner, 0..4).prop_map(Node::List),
        ]
    })
}

/// Rows, some of which go on below the levels at which paths are followed.
fn row() -> impl Strategy<Value = Node> {
    let fields = prop::collection::vec((name(), node()), 0..8).prop_map(Node::Struct);
    (fields, prop_oneof![4 => Just(0), 1 => 28..50])
        .prop_map(|(row, levels)| (0..levels).fold(row, |row, _| Node::Struct(vec![("deeper".into(), row)])))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn rows_come_back(rows in prop::collection::vec(row(), 1..6), fill in 0usize..600, spaced: bool) {
        let space = if spaced { " " } else { "" };
        let (mut text, mut expected) = (String::new(), vec![]);
        // The same rows again and again, so that names are expected, each time further on in a window.
        let fill = Node::Struct(vec![("fill".into(), Node::Plain("x".repeat(fill).into()))]);
        while text.len() < 4 * WINDOW {
            for row in rows.iter().chain([&fill]) {
                row.put(space, &mut text);
                text.push('\n');
                expected.push(row.value());
            }
        }
        let printed = through(&text)?;
        prop_assert_eq!(printed.lines().count(), expected.len());
        for (line, expected) in printed.lines().zip(expected) {
            prop_assert_eq!(serde_json::from_str::<Value>(line)?, expected);
        }
    }
}

#[test]
fn every_place_at_the_edge_of_a_window() -> Result<(), Box<dyn Error>> {
    let row = r#"{"id":"17","actor":{"login":"ab","größe":"ß"},"n":[1,"\"x\"",-2.5],"id":2}"#;
    let stored: Value = serde_json::from_str(&row.replace(",\"id\":2", ""))?;
    for shift in 0..=row.len() + 2 {
        let fill = WINDOW - "{\"fill\":\"\"}\n".len() - 2 * (row.len() + 1) - shift;
        let text = format!("{{\"fill\":\"{}\"}}\n{row}\n{row}\n{row}\n{row}\n", "x".repeat(fill));
        let printed = through(&text)?;
        assert_eq!(printed.lines().count(), 5, "shift {shift}");
        for line in printed.lines().skip(1) {
            assert_eq!(serde_json::from_str::<Value>(line)?, stored, "shift {shift}");
        }
    }
    Ok(())
}
