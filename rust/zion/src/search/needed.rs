//! Texts that whatever matches a pattern holds.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::functions::re2::translated;
use crate::index::statistics::joints::joints;
use crate::index::statistics::ngrams::pieces;

/// A pattern that needs more texts is not worth the look.
const MOST_TEXTS: usize = 1000;

/// What a text has to hold to match. Upper and lower case of ASCII letters, with the long s and the Kelvin sign, are
/// the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Needed {
    /// Nothing that is known.
    Nothing,
    /// A text.
    Text(Vec<u8>),
    /// All of these.
    All(Vec<Needed>),
    /// One of these.
    Any(Vec<Needed>),
}

impl Needed {
    /// What a match of any of several patterns of RE2, or with `fixed` of any of several texts, holds.
    pub fn of(patterns: &[String], fixed: bool, ignore_case: bool) -> Self {
        let parsed = patterns.iter().map(|pattern| {
            let text = if fixed { regex::escape(pattern) } else { translated(pattern).ok()?.0 };
            let mut parser =
                ParserBuilder::new().utf8(false).octal(true).case_insensitive(ignore_case).build();
            parser.parse(&text).ok()
        });
        let each = parsed.map(|parsed| parsed.map_or(Self::Nothing, |parsed| of_hir(&parsed)));
        let found = any(each.collect());
        if found.texts() > MOST_TEXTS { Self::Nothing } else { found }
    }

    fn texts(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Text(_) => 1,
            Self::All(parts) | Self::Any(parts) => parts.iter().map(Self::texts).sum(),
        }
    }
}

fn any(mut parts: Vec<Needed>) -> Needed {
    if parts.is_empty() || parts.contains(&Needed::Nothing) {
        return Needed::Nothing;
    }
    if parts.len() == 1 { parts.remove(0) } else { Needed::Any(parts) }
}

fn of_hir(hir: &Hir) -> Needed {
    let mut found = Found::default();
    found.add(hir);
    found.end();
    match found.parts.len() {
        0 => Needed::Nothing,
        1 => found.parts.remove(0),
        _ => Needed::All(found.parts),
    }
}

/// What is found from the beginning of a pattern on.
#[derive(Default)]
struct Found {
    parts: Vec<Needed>,
    /// What any match has next to each other, up to here.
    text: Vec<u8>,
}

impl Found {
    fn add(&mut self, hir: &Hir) {
        match hir.kind() {
            // They take no bytes: what is behind them follows what is before them.
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => self.text.extend_from_slice(&literal.0),
            HirKind::Class(class) => match one_letter(class) {
                Some(letter) => self.text.push(letter),
                None => self.end(),
            },
            HirKind::Capture(capture) => self.add(&capture.sub),
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.add(part)),
            HirKind::Repetition(repetition) => {
                self.end();
                if repetition.min > 0 {
                    self.add(&repetition.sub);
                    self.end();
                }
            }
            HirKind::Alternation(parts) => {
                self.end();
                let found = any(parts.iter().map(of_hir).collect());
                if found != Needed::Nothing {
                    self.parts.push(found);
                }
            }
        }
    }

    /// Ends the text: what follows may be anywhere behind it.
    fn end(&mut self) {
        let text = std::mem::take(&mut self.text);
        let mut is_of_use = false;
        pieces(&text, |_| is_of_use = true);
        joints(&text, |_| is_of_use = true);
        if is_of_use {
            self.parts.push(Needed::Text(text));
        }
    }
}

/// The letter that all characters of a class are forms of.
fn one_letter(class: &Class) -> Option<u8> {
    let letter = |unit: char| match unit {
        'a'..='z' | 'A'..='Z' => Some(unit.to_ascii_lowercase() as u8),
        '\u{17f}' => Some(b's'),
        '\u{212a}' => Some(b'k'),
        _ => None,
    };
    // A range has all that is between its ends.
    let only = |start: char, end: char| letter(start).filter(|_| start == end);
    let mut letters: Vec<Option<u8>> = match class {
        Class::Unicode(class) => {
            class.ranges().iter().map(|range| only(range.start(), range.end())).collect()
        }
        Class::Bytes(class) => {
            class.ranges().iter().map(|range| only(range.start().into(), range.end().into())).collect()
        }
    };
    letters.dedup();
    match *letters {
        [letter] => letter,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(needed: &Needed) -> String {
        let join = |parts: &[Needed], sign| parts.iter().map(shown).collect::<Vec<_>>().join(sign);
        match needed {
            Needed::Nothing => "?".to_owned(),
            Needed::Text(text) => String::from_utf8_lossy(text).into_owned(),
            Needed::All(parts) => format!("({})", join(parts, " & ")),
            Needed::Any(parts) => format!("({})", join(parts, " | ")),
        }
    }

    #[test]
    fn what_every_match_holds() {
        for (pattern, expected) in [
            ("timeout", "timeout"),
            ("(?i)timeout risk", "timeout risk"),
            ("[tT]imeout", "timeout"),
            ("short", "?"),
            ("timeou[st]", "timeou"),
            ("timeou[A-a]s", "timeou"),
            ("timeou[T-t]s", "timeou"),
            ("time(out)s$", "timeouts"),
            (r"\btimeout\b", "timeout"),
            ("timeouts?", "timeout"),
            ("(timeouts)?", "?"),
            ("(timeouts)*", "?"),
            ("(timeouts)+", "timeouts"),
            ("timeout.*refused", "(timeout & refused)"),
            ("timeout|refused", "(timeout | refused)"),
            ("timeout|no", "?"),
            ("timeout (connection|refused)", "(timeout  & (connection | refused))"),
            ("(connection|) refused", " refused"),
            ("connec(?:tion){2}", "(connec)"),
            ("[a-z]{9}", "?"),
            ("ÉCOLEMENT(?i)ÉCOLEMENT", "(ÉCOLEMENT & colement)"),
            (r"\Qa.b.timeout\E", "a.b.timeout"),
            ("(a", "?"),
        ] {
            let found = shown(&Needed::of(&[pattern.to_owned()], false, false));
            assert_eq!(found.trim_matches(['(', ')']), expected.trim_matches(['(', ')']), "{pattern}");
        }
    }

    #[test]
    fn of_several_patterns_one_is_enough() {
        let of = |patterns: &[&str], fixed, ignore_case| {
            let patterns: Vec<String> = patterns.iter().map(|&one| one.to_owned()).collect();
            shown(&Needed::of(&patterns, fixed, ignore_case))
        };
        assert_eq!(of(&["timeout", "refused."], true, false), "(timeout | refused.)");
        assert_eq!(of(&["timeout", "x"], true, false), "?");
        assert_eq!(of(&["Timeouts Risk"], true, true), "timeouts risk");
        assert_eq!(of(&[], true, true), "?");
    }
}
