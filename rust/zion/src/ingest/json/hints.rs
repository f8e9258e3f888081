//! Hints: rules by path that change how values are stored.
//!
//! The rules are put into a tree, in their order: for equal paths the first rule wins, and an explicit
//! name wins over a later wildcard, but not over an earlier one.

use std::collections::HashMap;

use super::ordered::Json;
use crate::error::{Error, Result};
use crate::times::Unit;

/// Segments that a path may have: values nested deeper are refused anyway.
const MAX_SEGMENTS: usize = 64;
/// Nodes that a tree may have: wildcards are copied to the names beside them, which can multiply.
const MAX_NODES: usize = 100_000;

/// A node of the rule tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HintId(u32);

/// One step from a value to a value inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// To the field of a struct.
    Name(&'a [u8]),
    /// To an element of a list.
    Element,
}

/// What the hints of a value ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    bits: u16,
    unix: Option<Unit>,
}

const NAMES: [&str; 16] = [
    "default",
    "string",
    "number",
    "int",
    "bool",
    "datetime",
    "unix_seconds",
    "unix_milli_seconds",
    "unix_micro_seconds",
    "unix_nano_seconds",
    "ignore",
    "no_index",
    "unix",
    "unix_ms",
    "unix_us",
    "unix_ns",
];

impl Flags {
    const STRING: u16 = 1 << 1;
    const NUMBER: u16 = 1 << 2;
    const INT: u16 = 1 << 3;
    const UNIX: u16 = 1 << 6;
    const IGNORE: u16 = 1 << 10;
    const NO_INDEX: u16 = 1 << 11;

    /// No hint at all.
    pub const NONE: Self = Self { bits: 0, unix: None };

    /// Whether nothing is asked for.
    #[inline]
    pub fn is_none(self) -> bool {
        self.bits == 0
    }

    /// The value is dropped, with all it contains.
    #[inline]
    pub fn ignore(self) -> bool {
        self.bits & Self::IGNORE != 0
    }

    /// A timestamp is not indexed.
    #[inline]
    pub fn no_index(self) -> bool {
        self.bits & Self::NO_INDEX != 0
    }

    /// Numbers and booleans become their text; goes before all other effects on them.
    #[inline]
    pub fn string(self) -> bool {
        self.bits & Self::STRING != 0
    }

    /// Strings that are a float literal become numbers; goes before [`Flags::int`].
    #[inline]
    pub fn number(self) -> bool {
        self.bits & Self::NUMBER != 0
    }

    /// Strings that are an integer become one, and booleans become 0 or 1.
    #[inline]
    pub fn int(self) -> bool {
        self.bits & Self::INT != 0
    }

    /// Numbers whose decimal exponent is 0 become timestamps; the unit that was named first.
    #[inline]
    pub fn unix(self) -> Option<Unit> {
        self.unix
    }

    fn add(&mut self, name: &str) -> Result<()> {
        let lower = name.to_ascii_lowercase();
        let Some(index) = NAMES.iter().position(|&known| known == lower) else {
            let known = NAMES.join(", ");
            return Err(Error::argument(format!("hints: {name:?} is not a hint; known are {known}")));
        };
        let unit = Unit::from_any_name(&lower);
        if index != 0 {
            self.bits |= if unit.is_some() { Self::UNIX } else { 1 << index };
        }
        self.unix = self.unix.or(unit);
        Ok(())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Name(Box<[u8]>),
    Any,
    Rest,
}

#[derive(Debug, Default)]
struct Node {
    flags: Flags,
    recursive: bool,
    children: HashMap<Box<[u8]>, HintId>,
    /// Names in the order in which they were added.
    order: Vec<HintId>,
    wildcard: Option<HintId>,
}

/// The rule tree.
#[derive(Debug)]
pub struct Hints {
    nodes: Vec<Node>,
}

impl Hints {
    /// Reads rules: `[{"path": "a.b", "hints": "int"}, ...]` or `{"a.b": "int", "c.?": ["string"]}`.
    pub fn parse(text: &[u8]) -> Result<Self> {
        let mut hints = Self { nodes: vec![Node::default()] };
        match Json::parse("hints", text)? {
            Json::Object(rules) => {
                for (path, value) in rules {
                    hints.add_rule(&path, flags(&value)?)?;
                }
            }
            Json::Array(rules) => {
                for rule in rules {
                    let (path, flags) = rule_of(rule)?;
                    hints.add_rule(&path, flags)?;
                }
            }
            other => {
                let kind = other.kind();
                return Err(Error::argument(format!(
                    "hints: {kind}, where an object or a list was expected"
                )));
            }
        }
        Ok(hints)
    }

    /// The node of a row; none when there are no rules.
    pub fn root(&self) -> Option<HintId> {
        (self.nodes.len() > 1).then_some(HintId(0))
    }

    /// The node of a value inside the value of `node`.
    #[inline]
    pub fn child(&self, node: Option<HintId>, step: Step<'_>) -> Option<HintId> {
        let id = node?;
        let node = self.nodes.get(id.0 as usize)?;
        let named = match step {
            Step::Name(name) => node.children.get(name).copied(),
            Step::Element => None,
        };
        named.or(node.wildcard).or(node.recursive.then_some(id))
    }

    /// The hints of a value.
    #[inline]
    pub fn flags(&self, node: Option<HintId>) -> Flags {
        node.and_then(|id| self.nodes.get(id.0 as usize)).map_or(Flags::NONE, |node| node.flags)
    }

    fn add_rule(&mut self, path: &str, flags: Flags) -> Result<()> {
        let segments = split(path)?;
        if flags.ignore() && segments.last() == Some(&Segment::Any) {
            let problem = "ignore needs a name or * at the end of the path, ? will not do";
            return Err(Error::argument(format!("hints: path {path:?}: {problem}")));
        }
        self.add(HintId(0), &segments, flags);
        if self.nodes.len() > MAX_NODES {
            return Err(Error::argument("hints: the wildcards multiply to more than 100,000 rules"));
        }
        Ok(())
    }

    fn node(&mut self, id: HintId) -> &mut Node {
        &mut self.nodes[id.0 as usize]
    }

    fn create(&mut self, flags: Flags, recursive: bool) -> HintId {
        let id = HintId(self.nodes.len() as u32);
        self.nodes.push(Node { flags, recursive, ..Node::default() });
        id
    }

    fn add(&mut self, id: HintId, segments: &[Segment], flags: Flags) {
        let Some((segment, rest)) = segments.split_first() else { return };
        let (last, everything) = (rest.is_empty(), *segment == Segment::Rest);
        let node = self.node(id);
        let decided = !node.flags.is_none() && !everything;
        let hidden = node.wildcard.is_some() && matches!(segment, Segment::Name(_));
        if decided || hidden || self.nodes.len() > MAX_NODES {
            return;
        }
        let child = self.child_for(id, segment, if last { flags } else { Flags::NONE });
        if last && !everything && flags.ignore() {
            let below = self.create(flags, true);
            self.node(child).wildcard = Some(below);
        }
        if let Segment::Name(_) = segment {
            self.add(child, rest, flags);
            return;
        }
        let named = self.node(id).order.clone();
        if !last {
            self.add(child, rest, flags);
            for name in named {
                self.add(name, rest, flags);
            }
            return;
        }
        if self.node(child).flags.is_none() {
            self.node(child).flags = flags;
        }
        if everything {
            for name in named {
                self.add(name, &[Segment::Rest], flags);
            }
            if !self.node(id).recursive {
                self.add(child, &[Segment::Rest], flags);
            }
        }
    }

    /// The child for a segment, made when it is missing.
    fn child_for(&mut self, id: HintId, segment: &Segment, flags: Flags) -> HintId {
        let node = self.node(id);
        let known = match segment {
            Segment::Name(name) => node.children.get(name).copied(),
            Segment::Any | Segment::Rest => node.wildcard,
        };
        if let Some(child) = known {
            return child;
        }
        let child = self.create(flags, *segment == Segment::Rest);
        let node = self.node(id);
        match segment {
            Segment::Name(name) => {
                node.children.insert(name.clone(), child);
                node.order.push(child);
            }
            Segment::Any | Segment::Rest => node.wildcard = Some(child),
        }
        child
    }
}

fn split(path: &str) -> Result<Vec<Segment>> {
    let problem = |text: &str| Error::argument(format!("hints: path {path:?}: {text}"));
    let mut segments = vec![];
    for part in path.split('.') {
        if segments.last() == Some(&Segment::Rest) {
            return Err(problem("* must be the last part"));
        }
        segments.push(match part {
            "" => return Err(problem("a part is empty")),
            "?" | "[?]" => Segment::Any,
            "*" | "[*]" => Segment::Rest,
            _ if part.starts_with('[') && part.ends_with(']') => {
                return Err(problem("brackets may hold ? or * only"));
            }
            name => Segment::Name(name.as_bytes().into()),
        });
    }
    if segments.len() > MAX_SEGMENTS {
        return Err(problem("more than 64 parts"));
    }
    Ok(segments)
}

fn rule_of(rule: Json) -> Result<(String, Flags)> {
    let Json::Object(entries) = rule else {
        return Err(Error::argument(format!("hints: a rule is {}, an object was expected", rule.kind())));
    };
    let (mut path, mut hints) = (String::new(), Flags::NONE);
    for (key, value) in entries {
        if key.eq_ignore_ascii_case("path") {
            let Json::String(text) = value else {
                return Err(Error::argument(format!(
                    "hints: a path is {}, a string was expected",
                    value.kind()
                )));
            };
            path = text;
        } else if key.eq_ignore_ascii_case("hints") {
            hints = flags(&value)?;
        }
    }
    Ok((path, hints))
}

fn flags(value: &Json) -> Result<Flags> {
    let mut flags = Flags::NONE;
    let names = match value {
        Json::Array(names) => names.as_slice(),
        name => std::slice::from_ref(name),
    };
    for name in names {
        let Json::String(name) = name else {
            let kind = name.kind();
            return Err(Error::argument(format!(
                "hints: a hint is {kind}, a string or a list of them was expected"
            )));
        };
        flags.add(name)?;
    }
    Ok(flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The flags at a path whose elements are written `[]`.
    fn at(hints: &Hints, path: &str) -> Flags {
        let node = path.split('.').fold(hints.root(), |node, part| {
            hints.child(node, if part == "[]" { Step::Element } else { Step::Name(part.as_bytes()) })
        });
        hints.flags(node)
    }

    #[test]
    fn earlier_rules_win() -> Result<()> {
        let hints = Hints::parse(br#"{"a.?.?.d": "int", "a.b.?.d": "string"}"#)?;
        assert!(at(&hints, "a.b.x.d").int());
        let hints = Hints::parse(br#"{"a.b.?.d": "string", "a.?.?.d": "int"}"#)?;
        assert!(at(&hints, "a.b.x.d").string() && !at(&hints, "a.b.x.d").int());
        assert!(at(&hints, "a.x.x.d").int());
        let hints = Hints::parse(br#"{"a": "int", "a": "string"}"#)?;
        assert!(at(&hints, "a").int() && !at(&hints, "a").string());
        Ok(())
    }

    #[test]
    fn everything_below() -> Result<()> {
        let hints = Hints::parse(br#"{"a": "string", "b.[*]": "int", "*": "ignore"}"#)?;
        assert!(at(&hints, "a").string() && !at(&hints, "a").ignore());
        assert!(at(&hints, "a.x").ignore());
        assert!(at(&hints, "b.[].c.d").int());
        assert!(!at(&hints, "b.[].c.d").ignore());
        assert!(!at(&hints, "b").ignore());
        assert!(at(&hints, "c.[].d").ignore());
        Ok(())
    }

    #[test]
    fn order_of_units() -> Result<()> {
        let hints = Hints::parse(br#"{"a": ["no_index", "Unix_Milli_Seconds", "unix_seconds"]}"#)?;
        assert_eq!(at(&hints, "a").unix(), Some(Unit::Milliseconds));
        assert!(at(&hints, "a").no_index());
        assert_eq!(at(&hints, "a.b"), Flags::NONE);
        Ok(())
    }

    #[test]
    fn malformed_rules_are_refused() {
        for text in [
            "5",
            "null",
            "",
            "{",
            r#"{"a":5}"#,
            r#"{"a":"foo"}"#,
            r#"{"a":[5]}"#,
            r#"{"":"int"}"#,
            r#"{"a..b":"int"}"#,
            r#"{"*.a":"int"}"#,
            r#"{"x.?":"ignore"}"#,
            r#"{"a.[0]":"int"}"#,
            "[5]",
            r#"[{"path":5,"hints":"int"}]"#,
            r#"[{"hints":"int"}]"#,
        ] {
            assert!(Hints::parse(text.as_bytes()).is_err(), "{text}");
        }
        let deep = format!("{{\"{}\": \"int\"}}", vec!["a"; 65].join("."));
        assert!(Hints::parse(deep.as_bytes()).is_err());
        let level = |depth: usize| ["a", "b"].map(|name| format!("\"{}{name}\": []", "?.".repeat(depth)));
        let doubling = format!("{{{}}}", (0..60).flat_map(level).collect::<Vec<_>>().join(","));
        assert!(Hints::parse(doubling.as_bytes()).is_err());
    }

    #[test]
    fn vectors() -> Result<(), Box<dyn std::error::Error>> {
        let folder = crate::vectors::folder("packfile");
        let text = std::fs::read_to_string(folder.join("json-ingest.jsonl"))?;
        for line in text.lines() {
            let vector: serde_json::Value = serde_json::from_str(line)?;
            let hints = match (vector["hints_text"].as_str(), vector.get("hints")) {
                (Some(text), _) => text.to_owned(),
                (None, Some(hints)) => hints.to_string(),
                (None, None) => continue,
            };
            let wanted = vector["expect"]["stage"] != "hints" || vector["format"] == ".cloudtrail.json.gz";
            assert_eq!(Hints::parse(hints.as_bytes()).is_ok(), wanted, "{}", vector["id"]);
        }
        Ok(())
    }
}
