//! Conditions on rows, decided before any column is made.
//!
//! They have three values: true, false, and none where a path has no value or a comparison makes no sense.

use std::cmp::Ordering;

use memchr::memmem::Finder;
use regex::bytes::Regex;

use crate::error::Result;
use crate::ion::SymbolTable;
use crate::value::number::{Number, order};
use crate::value::{Value, bits};

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// `=`
    Equal,
    /// `<>`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// What values are compared with.
#[derive(Debug, Clone, PartialEq)]
pub enum Constant {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    Text(Box<[u8]>),
    /// Microseconds since 1970.
    Time(i64),
}

/// A condition on the values at places `P`.
#[derive(Debug, Clone)]
pub enum Predicate<P> {
    /// All of them.
    And(Vec<Predicate<P>>),
    /// One of them.
    Or(Vec<Predicate<P>>),
    /// The contrary.
    Not(Box<Predicate<P>>),
    /// A comparison.
    Compare(P, Op, Constant),
    /// Equal to one of them.
    In(P, Vec<Constant>),
    /// Of one of the types of a mask, see [`bits`].
    Is(P, u8),
    /// A string that is like a pattern.
    Like(P, Pattern),
    /// A string that a regular expression matches inside.
    Matches(P, Regex),
}

impl<P> Predicate<P> {
    /// The same with other places.
    pub(crate) fn map<Q>(&self, place: &mut impl FnMut(&P) -> Q) -> Predicate<Q> {
        match self {
            Self::And(all) => Predicate::And(all.iter().map(|one| one.map(place)).collect()),
            Self::Or(all) => Predicate::Or(all.iter().map(|one| one.map(place)).collect()),
            Self::Not(one) => Predicate::Not(Box::new(one.map(place))),
            Self::Compare(at, op, constant) => Predicate::Compare(place(at), *op, constant.clone()),
            Self::In(at, constants) => Predicate::In(place(at), constants.clone()),
            Self::Is(at, mask) => Predicate::Is(place(at), *mask),
            Self::Like(at, pattern) => Predicate::Like(place(at), pattern.clone()),
            Self::Matches(at, regex) => Predicate::Matches(place(at), regex.clone()),
        }
    }

    /// Calls `visit` for each place.
    pub(crate) fn each<'a>(&'a self, visit: &mut impl FnMut(&'a P)) {
        match self {
            Self::And(all) | Self::Or(all) => all.iter().for_each(|one| one.each(visit)),
            Self::Not(one) => one.each(visit),
            Self::Compare(at, ..)
            | Self::In(at, _)
            | Self::Is(at, _)
            | Self::Like(at, _)
            | Self::Matches(at, _) => visit(at),
        }
    }
}

/// The least and the greatest of the times and of the numbers of some values.
#[derive(Debug, Default)]
pub(crate) struct Extremes {
    times: Option<(i64, i64)>,
    numbers: Option<(Number, Number)>,
}

impl Extremes {
    /// Takes in a value, which is one of them, or neither.
    pub(crate) fn add(&mut self, time: Option<i64>, number: Option<Number>) {
        if let Some(us) = time {
            let (least, most) = self.times.unwrap_or((us, us));
            self.times = Some((least.min(us), most.max(us)));
        }
        if let Some(number) = number {
            let (least, most) = self.numbers.unwrap_or((number, number));
            let below = order(number, least).is_lt();
            let above = order(number, most).is_gt();
            self.numbers = Some((if below { number } else { least }, if above { number } else { most }));
        }
    }

    /// Whether none of the values passes a comparison; false: some may.
    fn exclude(&self, op: Op, constant: &Constant) -> bool {
        let beside = match constant {
            Constant::Time(us) => self.times.map(|(least, most)| (least.cmp(us), most.cmp(us))),
            Constant::Number(number) => {
                self.numbers.map(|(least, most)| (order(least, *number), order(most, *number)))
            }
            _ => return false,
        };
        let Some((least, most)) = beside else { return op != Op::Unequal };
        match op {
            Op::Equal => least.is_gt() || most.is_lt(),
            Op::Unequal => false,
            Op::Less | Op::LessOrEqual => !holds(op, least),
            Op::Greater | Op::GreaterOrEqual => !holds(op, most),
        }
    }
}

/// The row at hand: what was found at each node.
pub(crate) struct Row<'a> {
    pub(crate) data: &'a [u8],
    pub(crate) table: &'a SymbolTable,
    pub(crate) slots: &'a [Option<Value>],
}

impl Predicate<usize> {
    /// Whether it is true of no row, by what is known of the values at places; false: it may be of some.
    pub(crate) fn excludes<'a>(&self, known: &impl Fn(usize) -> Option<&'a Extremes>) -> bool {
        match self {
            Self::And(all) => all.iter().any(|one| one.excludes(known)),
            Self::Or(all) => all.iter().all(|one| one.excludes(known)),
            Self::Compare(at, op, constant) => {
                known(*at).is_some_and(|extremes| extremes.exclude(*op, constant))
            }
            Self::In(at, constants) => known(*at).is_some_and(|extremes| {
                constants.iter().all(|constant| extremes.exclude(Op::Equal, constant))
            }),
            _ => false,
        }
    }

    /// Whether it is true of a row; none if that cannot be said.
    pub(crate) fn test(&self, row: &Row<'_>) -> Result<Option<bool>> {
        let at = match self {
            Self::And(all) => return connect(all, row, false),
            Self::Or(all) => return connect(all, row, true),
            Self::Not(one) => return Ok(one.test(row)?.map(|truth| !truth)),
            Self::Compare(at, ..)
            | Self::In(at, _)
            | Self::Is(at, _)
            | Self::Like(at, _)
            | Self::Matches(at, _) => *at,
        };
        self.decide(row.data, row.table, row.slots.get(at).and_then(Option::as_ref))
    }

    /// Whether a condition on one place is true of what was found there; none if that cannot be said.
    pub(crate) fn decide(
        &self,
        data: &[u8],
        table: &SymbolTable,
        found: Option<&Value>,
    ) -> Result<Option<bool>> {
        let compare = |value, op, constant| compare((data, table), value, op, constant);
        if let Self::Is(_, mask) = self {
            let bit = found.map_or(Ok(bits::MISSING), Value::type_bit)?;
            return Ok(Some(mask & bit != 0));
        }
        let Some(value) = found else { return Ok(None) };
        match self {
            Self::Compare(_, op, constant) => compare(value, *op, constant),
            Self::In(_, constants) => {
                for constant in constants {
                    if compare(value, Op::Equal, constant)? == Some(true) {
                        return Ok(Some(true));
                    }
                }
                Ok(Some(false))
            }
            Self::Like(_, pattern) => Ok(value.text(data, table)?.map(|text| pattern.matches(&text))),
            Self::Matches(_, regex) => Ok(value.text(data, table)?.map(|text| regex.is_match(&text))),
            _ => Ok(None),
        }
    }
}

/// And, which one false decides, or or, which one true decides.
fn connect(all: &[Predicate<usize>], row: &Row<'_>, deciding: bool) -> Result<Option<bool>> {
    let mut known = true;
    for one in all {
        match one.test(row)? {
            Some(truth) if truth == deciding => return Ok(Some(deciding)),
            Some(_) => {}
            None => known = false,
        }
    }
    Ok(known.then_some(!deciding))
}

fn compare(
    (data, table): (&[u8], &SymbolTable),
    value: &Value,
    op: Op,
    constant: &Constant,
) -> Result<Option<bool>> {
    let ordering = match constant {
        Constant::Null => value.header.is_null().then_some(Ordering::Equal),
        Constant::Bool(constant) => value.boolean().map(|value| value.cmp(constant)),
        Constant::Number(constant) => value.number(data)?.map(|value| order(value, *constant)),
        Constant::Text(constant) => value.text(data, table)?.map(|text| texts(op, &text, constant)),
        Constant::Time(constant) => value.time(data)?.map(|us| us.cmp(constant)),
    };
    let Some(ordering) = ordering else {
        // Values of different types are different, but neither is less.
        return Ok(match op {
            Op::Equal => Some(false),
            Op::Unequal => Some(true),
            _ => None,
        });
    };
    let is_strict = matches!(op, Op::Less | Op::Greater);
    if is_strict && *constant == Constant::Null {
        return Ok(None);
    }
    Ok(Some(holds(op, ordering)))
}

/// Whether a comparison is true of what is in this order.
#[inline]
pub(super) fn holds(op: Op, ordering: Ordering) -> bool {
    match op {
        Op::Equal => ordering.is_eq(),
        Op::Unequal => ordering.is_ne(),
        Op::Less => ordering.is_lt(),
        Op::LessOrEqual => ordering.is_le(),
        Op::Greater => ordering.is_gt(),
        Op::GreaterOrEqual => ordering.is_ge(),
    }
}

/// How a text compares with a constant; all that are not equal are less if that is all that matters.
#[inline]
fn texts(op: Op, text: &[u8], constant: &[u8]) -> Ordering {
    // `memcmp` is not called for an empty constant, which has no address: processors that read it with a mask
    // take hundreds of cycles then.
    if constant.is_empty() || (matches!(op, Op::Equal | Op::Unequal) && text.len() != constant.len()) {
        return text.len().cmp(&constant.len());
    }
    text.cmp(constant)
}

/// A pattern of LIKE.
#[derive(Debug, Clone)]
pub struct Pattern {
    parts: Vec<Part>,
    /// What lies between the `%`, if there is no `_`.
    pieces: Option<Pieces>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Byte(u8),
    /// One character.
    One,
    /// Any number of characters.
    Any,
}

/// Texts in a row, with anything between them: at the front, inside and at the end.
#[derive(Debug, Clone)]
struct Pieces {
    front: Vec<u8>,
    inside: Vec<Finder<'static>>,
    end: Vec<u8>,
}

impl Pieces {
    /// The pieces of a pattern; none if it has a `_`, or no `%`.
    fn of(parts: &[Part]) -> Option<Self> {
        let byte = |part: &Part| if let Part::Byte(byte) = part { Some(*byte) } else { None };
        let texts = parts.split(|part| *part == Part::Any);
        let texts = texts.map(|text| text.iter().map(byte).collect()).collect::<Option<Vec<Vec<u8>>>>()?;
        let [front, inside @ .., end] = &texts[..] else { return None };
        let inside = inside.iter().map(|text| Finder::new(text).into_owned()).collect();
        Some(Self { front: front.clone(), inside, end: end.clone() })
    }

    fn are_in(&self, text: &[u8]) -> bool {
        // What is empty is not compared, see `texts`.
        let mut rest = text;
        if !self.front.is_empty() {
            let Some(behind) = rest.strip_prefix(&self.front[..]) else { return false };
            rest = behind;
        }
        if !self.end.is_empty() {
            let Some(before) = rest.strip_suffix(&self.end[..]) else { return false };
            rest = before;
        }
        self.inside.iter().all(|piece| {
            let found = piece.find(rest);
            rest = &rest[found.map_or(0, |at| at + piece.needle().len())..];
            found.is_some()
        })
    }
}

impl Pattern {
    /// `%` stands for any text, `_` for any character; behind the escape both stand for themselves.
    pub fn new(pattern: &str, escape: Option<char>) -> Self {
        let mut parts = Vec::new();
        let mut characters = pattern.chars();
        let literal = |character: char, parts: &mut Vec<Part>| {
            let mut bytes = [0; 4];
            parts.extend(character.encode_utf8(&mut bytes).bytes().map(Part::Byte));
        };
        while let Some(character) = characters.next() {
            match character {
                _ if Some(character) == escape => {
                    literal(characters.next().unwrap_or(character), &mut parts);
                }
                '%' if parts.last() == Some(&Part::Any) => {}
                '%' => parts.push(Part::Any),
                '_' => parts.push(Part::One),
                _ => literal(character, &mut parts),
            }
        }
        Self { pieces: Pieces::of(&parts), parts }
    }

    /// Whether a whole text is like the pattern.
    pub fn matches(&self, text: &[u8]) -> bool {
        self.pieces.as_ref().map_or_else(|| self.walks(text), |pieces| pieces.are_in(text))
    }

    /// The same, part by part.
    fn walks(&self, text: &[u8]) -> bool {
        let (mut part, mut at) = (0, 0);
        // Where to go on when the match at hand fails: the last `%` takes one character more.
        let mut retry = None;
        loop {
            let next = match self.parts.get(part) {
                Some(Part::Any) => {
                    part += 1;
                    retry = Some((part, at));
                    continue;
                }
                None if at == text.len() => return true,
                None => None,
                Some(Part::Byte(byte)) => (text.get(at) == Some(byte)).then_some(at + 1),
                Some(Part::One) => (at < text.len()).then(|| after(text, at)),
            };
            if let Some(next) = next {
                (part, at) = (part + 1, next);
                continue;
            }
            match retry {
                Some((from, start)) if start < text.len() => {
                    let start = after(text, start);
                    retry = Some((from, start));
                    (part, at) = (from, start);
                }
                _ => return false,
            }
        }
    }
}

/// The place behind the character at `at`.
fn after(text: &[u8], at: usize) -> usize {
    let rest = text[at..].iter().skip(1);
    at + 1 + rest.take_while(|&&byte| byte & 0xC0 == 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match() {
        for (pattern, escape, text, expected) in [
            ("", None, "", true),
            ("", None, "a", false),
            ("%", None, "", true),
            ("a%", None, "abc", true),
            ("%c", None, "abc", true),
            ("%b%", None, "abc", true),
            ("a_c", None, "abc", true),
            ("a_c", None, "aéc", true),
            ("a__c", None, "aéc", false),
            ("_", None, "", false),
            ("%a%b%c", None, "xxaxbxbxc", true),
            ("%a%b%c", None, "xxaxbxbxcx", false),
            ("%aab", None, "aaaab", true),
            ("ab%ab", None, "ab", false),
            ("ab%ab", None, "abab", true),
            ("a%", None, "", false),
            ("%ab%ab%", None, "xabx", false),
            ("%ab%ab%", None, "xabab", true),
            ("a%b%a", None, "aba", true),
            ("%\u{e9}", None, "caf\u{e9}", true),
            ("%_b%", None, "b", false),
            ("100!%", Some('!'), "100%", true),
            ("100!%", Some('!'), "1000", false),
            ("a!!b", Some('!'), "a!b", true),
        ] {
            let pattern_of = Pattern::new(pattern, escape);
            assert_eq!(pattern_of.matches(text.as_bytes()), expected, "{pattern} {text}");
            assert_eq!(pattern_of.walks(text.as_bytes()), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn extremes_exclude_what_no_value_passes() {
        let ops = [Op::Equal, Op::Unequal, Op::Less, Op::LessOrEqual, Op::Greater, Op::GreaterOrEqual];
        let numbers = [Number::Int(-1), Number::Int(3), Number::from(2.5), Number::from(f64::NAN)];
        let constants = numbers.map(Constant::Number).into_iter().chain((0..4).map(Constant::Time));
        for (constant, op) in constants.flat_map(|constant| ops.map(|op| (constant.clone(), op))) {
            for (first, second) in (0..4).flat_map(|first| (0..4).map(move |second| (first, second))) {
                let of_numbers = matches!(constant, Constant::Number(_));
                let mut extremes = Extremes::default();
                let passes = [first, second].map(|at: usize| {
                    let ordering = if let Constant::Number(constant) = &constant {
                        extremes.add(None, Some(numbers[at]));
                        order(numbers[at], *constant)
                    } else {
                        let Constant::Time(us) = constant else { return false };
                        extremes.add(Some(at as i64), None);
                        (at as i64).cmp(&us)
                    };
                    holds(op, ordering)
                });
                if passes.contains(&true) {
                    assert!(!extremes.exclude(op, &constant), "{op:?} {constant:?} {first} {second}");
                }
                let other = if of_numbers { Constant::Time(0) } else { Constant::Number(Number::Int(0)) };
                assert_eq!(extremes.exclude(op, &other), op != Op::Unequal);
                assert!(!extremes.exclude(op, &Constant::Text(Box::default())));
            }
        }
    }

    #[test]
    fn texts_compare_as_bytes_do() {
        let all = ["", "a", "ab", "b", "\u{e9}", "abcdefghijklmnopqrstuvwxyz"];
        for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (a.as_bytes(), b.as_bytes()))) {
            assert_eq!(texts(Op::Less, a, b), a.cmp(b));
            assert_eq!(texts(Op::Equal, a, b).is_eq(), a == b);
        }
    }
}
