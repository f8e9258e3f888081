//! What types occur where in rows: the answer of `SNELLER_DATASHAPE`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::value::key::{self, Key};

/// At most so many fields are told of.
pub(crate) const MAX_FIELDS: usize = 10_000;

/// Counts the types of the values at each path.
#[derive(Default)]
pub struct Shape {
    rows: u64,
    fields: BTreeMap<String, Counts>,
    has_more: bool,
}

/// The values at a path.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) nulls: u64,
    pub(crate) bools: u64,
    pub(crate) times: u64,
    pub(crate) lists: u64,
    pub(crate) structs: u64,
    pub(crate) ints: Range<i128>,
    pub(crate) floats: Range<f64>,
    pub(crate) strings: Range<usize>,
}

/// How many values there were, and the least and the greatest.
#[derive(Default)]
pub(crate) struct Range<T> {
    pub(crate) count: u64,
    pub(crate) bounds: Option<(T, T)>,
}

impl<T: PartialOrd + Copy> Range<T> {
    fn add(&mut self, value: T) {
        self.count += 1;
        let (low, high) = self.bounds.unwrap_or((value, value));
        self.bounds = Some((if value < low { value } else { low }, if value > high { value } else { high }));
    }

    fn join(&mut self, other: &Self) {
        if let Some((low, high)) = other.bounds {
            self.add(low);
            self.add(high);
            self.count -= 2;
        }
        self.count += other.count;
    }
}

impl Shape {
    /// Takes in a row, given by its key.
    pub fn add(&mut self, row: &str) {
        self.rows += 1;
        let mut open = vec![(String::new(), row)];
        while let Some((path, value)) = open.pop() {
            let dot = if path.is_empty() { "" } else { "." };
            match key::parse(value) {
                Some(Key::Struct(_)) => {
                    let members = key::members(value).into_iter().flatten();
                    open.extend(members.map(|(name, value)| (format!("{path}{dot}{name}"), value)));
                }
                Some(Key::List(items)) => {
                    open.extend(items.into_iter().map(|value| (format!("{path}{dot}$items"), value)));
                }
                _ => {}
            }
            if !path.is_empty() {
                self.count(path, value);
            }
        }
    }

    /// Takes in what is known of a number of rows: the values at each path, and whether there are more.
    pub(crate) fn join(
        &mut self,
        rows: u64,
        fields: impl IntoIterator<Item = (String, Counts)>,
        has_more: bool,
    ) {
        self.rows += rows;
        self.has_more |= has_more;
        for (path, counts) in fields {
            if let Some(own) = self.place(path) {
                own.join(&counts);
            }
        }
    }

    fn place(&mut self, path: String) -> Option<&mut Counts> {
        if self.fields.len() >= MAX_FIELDS && !self.fields.contains_key(&path) {
            self.has_more = true;
            return None;
        }
        Some(self.fields.entry(path).or_default())
    }

    fn count(&mut self, path: String, value: &str) {
        let Some(counts) = self.place(path) else { return };
        match key::parse(value) {
            None => {}
            Some(Key::Null) => counts.nulls += 1,
            Some(Key::Bool(_)) => counts.bools += 1,
            Some(Key::Time(_)) => counts.times += 1,
            Some(Key::List(_)) => counts.lists += 1,
            Some(Key::Struct(_)) => counts.structs += 1,
            Some(Key::Int(value)) => counts.ints.add(value),
            Some(Key::Float(value)) => counts.floats.add(value),
            Some(Key::Text(text)) => counts.strings.add(text.len()),
        }
    }

    /// The answer as typed text, which nested values are in SQL.
    pub fn text(&self) -> String {
        let mut out = Vec::new();
        put(&self.json(), &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    fn json(&self) -> Value {
        let fields: Map<String, Value> =
            self.fields.iter().map(|(path, counts)| (path.clone(), counts.json())).collect();
        let mut answer = json!({ "total": self.rows, "fields": fields });
        if self.has_more {
            answer["error"] = json!(format!("more than {MAX_FIELDS} fields; the others are left out"));
        }
        answer
    }
}

/// Writes an answer, whose structs are three deep, as typed text.
fn put(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(members) => {
            out.push(b'{');
            for (name, value) in members {
                let mut text = Vec::new();
                put(value, &mut text);
                for part in [name.as_bytes(), &text] {
                    out.extend_from_slice(format!("{}:", part.len()).as_bytes());
                    out.extend_from_slice(part);
                }
            }
        }
        Value::Number(number) if number.is_f64() => {
            key::put_number(number.as_f64().unwrap_or_default().into(), out);
        }
        Value::Number(number) => out.extend_from_slice(format!("n{number}").as_bytes()),
        other => out.extend_from_slice(format!("s{}", other.as_str().unwrap_or_default()).as_bytes()),
    }
}

impl Counts {
    fn join(&mut self, other: &Self) {
        self.nulls += other.nulls;
        self.bools += other.bools;
        self.times += other.times;
        self.lists += other.lists;
        self.structs += other.structs;
        self.ints.join(&other.ints);
        self.floats.join(&other.floats);
        self.strings.join(&other.strings);
    }

    fn json(&self) -> Value {
        let mut members = Map::new();
        let counts = [
            ("null", self.nulls),
            ("bool", self.bools),
            ("timestamp", self.times),
            ("list", self.lists),
            ("struct", self.structs),
        ];
        members.extend(
            counts
                .into_iter()
                .filter(|(_, count)| *count > 0)
                .map(|(name, count)| (name.into(), json!(count))),
        );
        self.ints.put(&mut members, "int", "value", whole);
        self.floats.put(&mut members, "float", "value", |value| json!(value));
        self.strings.put(&mut members, "string", "length", |length| json!(length));
        Value::Object(members)
    }
}

/// An integer; the nearest double where JSON values have no integers.
fn whole(value: i128) -> Value {
    let narrow = i64::try_from(value).map(Value::from);
    narrow.or_else(|_| u64::try_from(value).map(Value::from)).unwrap_or_else(|_| json!(value as f64))
}

impl<T: Copy> Range<T> {
    fn put(&self, members: &mut Map<String, Value>, name: &str, what: &str, show: fn(T) -> Value) {
        let Some((low, high)) = self.bounds else { return };
        members.insert(name.into(), json!(self.count));
        members.insert(format!("{name}-min-{what}"), show(low));
        members.insert(format!("{name}-max-{what}"), show(high));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_counted_by_path() {
        let mut shape = Shape::default();
        shape.add("{1:a2:n11:b9:[2:n12:sx");
        shape.add("{1:a1:z1:c8:{1:d2:sy");
        let expected = json!({
            "total": 2,
            "fields": {
                "a": {"null": 1, "int": 1, "int-min-value": 1, "int-max-value": 1},
                "b": {"list": 1},
                "b.$items": {
                    "int": 1, "int-min-value": 1, "int-max-value": 1,
                    "string": 1, "string-min-length": 1, "string-max-length": 1,
                },
                "c": {"struct": 1},
                "c.d": {"string": 1, "string-min-length": 1, "string-max-length": 1},
            },
        });
        assert_eq!(shape.json(), expected);
    }

    #[test]
    fn fields_are_bounded() {
        let mut shape = Shape::default();
        for number in 0..=MAX_FIELDS {
            let name = format!("f{number}");
            shape.add(&format!("{{{}:{name}2:n1", name.len()));
        }
        let answer: Value = shape.json();
        assert_eq!(answer["fields"].as_object().map(Map::len), Some(MAX_FIELDS));
        assert!(answer["error"].is_string());
    }
}
