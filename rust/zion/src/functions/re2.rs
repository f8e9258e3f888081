//! Regular expressions as RE2 has them, which queries use, in the words of `regex`.

use regex::bytes::{Regex, RegexBuilder};

use regex_syntax::ParserBuilder;
use regex_syntax::hir::literal::Extractor;

use crate::error::{Error, Result};

/// Shorter texts, where there are several, are nearly everywhere.
const LEAST_LENGTH: usize = 3;

/// What texts are compared with.
#[derive(Debug, Clone)]
pub struct Pattern {
    /// Matches inside of a text.
    pub regex: Regex,
    /// Whether a text that matches also does so inside of other bytes: nothing in it asks what stands beside.
    /// And whether it is worth it to look there first, because every match begins with one of a few texts: to
    /// look for classes of letters in bytes of any kind takes longer than to find the texts among them.
    pub is_free: bool,
}

impl Pattern {
    /// Any of several regular expressions, or with `fixed` any of several texts.
    pub fn new(patterns: &[String], fixed: bool, ignore_case: bool) -> Result<Self> {
        let mut union = String::new();
        let mut is_free = true;
        for pattern in patterns {
            let (text, looks) = if fixed { (regex::escape(pattern), false) } else { translated(pattern)? };
            // Each one alone, so that an error is that of the right one, and none can end in another.
            build(&text, ignore_case).map_err(|reason| refused(pattern, &reason))?;
            if !union.is_empty() {
                union.push('|');
            }
            union.push_str("(?:");
            union.push_str(&text);
            union.push(')');
            is_free &= !looks;
        }
        if patterns.is_empty() {
            return Err(Error::argument("no pattern to look for"));
        }
        let regex = build(&union, ignore_case)
            .map_err(|reason| Error::argument(format!("the patterns cannot be used together: {reason}")))?;
        Ok(Self { regex, is_free: is_free && begins_with_text(&union, ignore_case) })
    }
}

/// Whether every match begins with one text, or with one of a few texts that are not too short.
fn begins_with_text(pattern: &str, ignore_case: bool) -> bool {
    let mut parser = ParserBuilder::new().utf8(false).octal(true).case_insensitive(ignore_case).build();
    let Ok(parsed) = parser.parse(pattern) else { return false };
    let texts = Extractor::new().extract(&parsed);
    let least = texts.min_literal_len().unwrap_or(0);
    least >= LEAST_LENGTH || (least > 0 && texts.len() == Some(1))
}

fn build(text: &str, ignore_case: bool) -> Result<Regex, String> {
    RegexBuilder::new(text).case_insensitive(ignore_case).octal(true).build().map_err(|error| {
        let text = error.to_string();
        let last = text.lines().last().unwrap_or_default();
        last.strip_prefix("error: ").unwrap_or(last).to_owned()
    })
}

#[cold]
fn refused(pattern: &str, reason: &str) -> Error {
    let shown: String = pattern.chars().take(200).collect();
    Error::argument(format!("the pattern {shown:?} cannot be used: {reason}"))
}

/// A regular expression of RE2 in the words of `regex`, and whether it asks what stands beside a match.
///
/// Both are one family. What differs: letters with a backslash stand for ASCII in RE2; `\Q` quotes; brackets and
/// operators of sets in a set, and braces that are no repetition, stand for themselves.
pub(crate) fn translated(pattern: &str) -> Result<(String, bool)> {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut looks = false;
    let mut rest = pattern;
    while let Some(unit) = rest.chars().next() {
        let behind = &rest[unit.len_utf8()..];
        rest = match unit {
            '\\' => {
                let (text, behind, looked) = escape(pattern, behind)?;
                out.push_str(&text);
                looks |= looked;
                behind
            }
            '[' => set(pattern, behind, &mut out)?,
            '{' => {
                out.push_str(if is_repetition(behind) { "{" } else { r"\{" });
                behind
            }
            _ => {
                looks |= matches!(unit, '^' | '$');
                out.push(unit);
                behind
            }
        };
    }
    Ok((out, looks))
}

/// Finds what a regular expression of RE2 matches inside of a text.
pub fn compiled(pattern: &str, ignore_case: bool) -> Result<Regex> {
    build(&translated(pattern)?.0, ignore_case).map_err(|reason| refused(pattern, &reason))
}

/// A longer pattern, or one whose repetitions come to more, may be too large for one of the two.
const MOST_COMMON: usize = 500;

/// Whether RE2 surely takes a pattern and matches the same texts as [`compiled`] does: only what is plain in both.
pub fn is_common(pattern: &str, ignore_case: bool) -> bool {
    let flagged = [("(?i)", true), ("(?s)", false), ("(?is)", true)];
    let flag = flagged.iter().find(|(flag, _)| pattern.starts_with(flag));
    let (rest, ignores) = flag.map_or((pattern, false), |(flag, ignores)| (&pattern[flag.len()..], *ignores));
    let is_short = pattern.len() <= MOST_COMMON;
    is_short && ((!ignore_case && !ignores) || rest.is_ascii()) && common(rest).is_some()
}

fn common(mut rest: &str) -> Option<()> {
    // Whether there is something to repeat; whether there is nothing yet, of which the engine has shortcuts of its
    // own; how many groups are open; what repetitions come to at most.
    let (mut is_part, mut is_empty, mut depth, mut times) = (false, true, 0_usize, 1_usize);
    while let Some(unit) = rest.chars().next() {
        rest = &rest[unit.len_utf8()..];
        let before = std::mem::replace(&mut is_part, true);
        if std::mem::replace(&mut is_empty, matches!(unit, '(' | '|')) && matches!(unit, ')' | '|') {
            return None;
        }
        match unit {
            '\\' => (rest, is_part) = common_escape(rest)?,
            '[' => rest = common_set(rest)?,
            '(' => {
                let is_plain = !rest.starts_with('?');
                let opened = rest.strip_prefix("?:").or_else(|| rest.strip_prefix("?s:"));
                (rest, depth, is_part) = (if is_plain { rest } else { opened? }, depth + 1, false);
            }
            ')' => depth = depth.checked_sub(1)?,
            '|' | '^' | '$' => is_part = false,
            '*' | '+' | '?' | '{' if before => {
                if unit == '{' {
                    let (inside, behind) = rest.split_once('}').filter(|_| is_repetition(rest))?;
                    let (least, most) = inside.split_once(',').unwrap_or((inside, inside));
                    let most = if most.is_empty() { least } else { most };
                    let (least, most): (usize, usize) = (least.parse().ok()?, most.parse().ok()?);
                    times = times.checked_mul(most).filter(|_| least <= most && most > 0)?;
                    rest = behind;
                }
                (rest, is_part) = (rest.strip_prefix('?').unwrap_or(rest), false);
            }
            '*' | '+' | '?' | '{' | '}' | ']' | '\0' => return None,
            _ => {}
        }
    }
    (depth == 0 && times <= MOST_COMMON && !is_empty).then_some(())
}

/// What is behind an escape that is plain in both, and whether it can be repeated.
fn common_escape(behind: &str) -> Option<(&str, bool)> {
    let letter = behind.chars().next()?;
    let is_part =
        perl_class(letter).is_some() || letter.is_ascii_punctuation() || "tnrfv \t\n".contains(letter);
    (letter != '_' && (is_part || "bAz".contains(letter))).then(|| (&behind[1..], is_part))
}

/// What is behind a set of plain characters, ranges of letters and digits, and classes of Perl.
fn common_set(behind: &str) -> Option<&str> {
    let mut rest = behind.strip_prefix('^').unwrap_or(behind);
    let mut is_first = true;
    loop {
        let unit = rest.chars().next()?;
        rest = &rest[unit.len_utf8()..];
        match unit {
            ']' => return (!is_first).then_some(rest),
            '\\' => {
                let letter = rest.chars().next()?;
                let is_plain = letter.is_ascii_punctuation() && letter != '_';
                rest = (is_plain || "dswtnrfv".contains(letter)).then(|| &rest[1..])?;
            }
            '-' if !is_first && !rest.starts_with(']') => return None,
            '[' | '^' | '&' | '~' | '\0' => return None,
            _ if rest.starts_with('-') && !rest.starts_with("-]") => {
                let last = rest[1..].chars().next()?;
                let are_alike = [char::is_ascii_digit, char::is_ascii_lowercase, char::is_ascii_uppercase];
                let is_range = are_alike.iter().any(|alike| alike(&unit) && alike(&last));
                rest = (is_range && unit <= last).then(|| &rest[2..])?;
            }
            _ => {}
        }
        is_first = false;
    }
}

/// Whether what follows a brace makes it a repetition: `2}`, `2,}` or `2,3}`.
fn is_repetition(behind: &str) -> bool {
    let Some((inside, _)) = behind.split_once('}') else { return false };
    let (least, most) = inside.split_once(',').unwrap_or((inside, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    !least.is_empty() && is_number(least) && is_number(most)
}

/// The set that a letter with a backslash stands for.
fn perl_class(letter: char) -> Option<&'static str> {
    Some(match letter {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        's' => r"[\t\n\f\r ]",
        'S' => r"[^\t\n\f\r ]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        _ => return None,
    })
}

/// What stands behind a backslash outside of sets; gives the text, what is left, and whether it asks what is beside.
fn escape<'a>(pattern: &str, behind: &'a str) -> Result<(String, &'a str, bool)> {
    let Some(letter) = behind.chars().next() else {
        return Err(refused(pattern, "it ends with a backslash"));
    };
    let rest = &behind[letter.len_utf8()..];
    if let Some(class) = perl_class(letter) {
        return Ok((class.to_owned(), rest, false));
    }
    Ok(match letter {
        'Q' => {
            let (quoted, rest) = rest.split_once(r"\E").unwrap_or((rest, ""));
            (quoted.chars().map(|unit| regex::escape(unit.encode_utf8(&mut [0; 4]))).collect(), rest, false)
        }
        'b' | 'B' => (format!(r"(?-u:\{letter})"), rest, true),
        'A' | 'z' => (format!(r"\{letter}"), rest, true),
        _ => (character(pattern, letter, rest)?, rest, false),
    })
}

/// An escape that stands for a character, or begins the name of a class: inside of sets and outside.
fn character(pattern: &str, letter: char, rest: &str) -> Result<String> {
    let is_octal = rest.starts_with(|next: char| next.is_digit(8));
    match letter {
        '1'..='7' if !is_octal => Err(refused(pattern, "it refers back to a group, which RE2 does not")),
        '0'..='7' | 'a' | 'f' | 'n' | 'r' | 't' | 'v' | 'p' | 'P' | 'x' => Ok(format!(r"\{letter}")),
        _ if letter == '_' || letter.is_ascii_alphanumeric() => {
            Err(refused(pattern, &format!("RE2 has no escape \\{letter}")))
        }
        _ => Ok(regex::escape(letter.encode_utf8(&mut [0; 4]))),
    }
}

/// Translates a set behind its opening bracket; gives what is left behind it.
fn set<'a>(pattern: &str, behind: &'a str, out: &mut String) -> Result<&'a str> {
    out.push('[');
    let mut rest = behind;
    if let Some(negated) = rest.strip_prefix('^') {
        out.push('^');
        rest = negated;
    }
    let (mut is_first, mut is_range) = (true, false);
    while let Some(unit) = rest.chars().next() {
        let behind = &rest[unit.len_utf8()..];
        match unit {
            ']' if !is_first => {
                out.push(']');
                return Ok(behind);
            }
            '[' if behind.starts_with(':') && behind[1..].contains(":]") => {
                let end = behind[1..].find(":]").map_or(0, |end| end + 3);
                out.push('[');
                out.push_str(&behind[..end]);
                rest = &behind[end..];
                is_first = false;
                continue;
            }
            '\\' => {
                let Some(letter) = behind.chars().next() else {
                    return Err(refused(pattern, "it ends with a backslash"));
                };
                rest = &behind[letter.len_utf8()..];
                match perl_class(letter) {
                    Some(class) => out.push_str(class),
                    None => out.push_str(&character(pattern, letter, rest)?),
                }
                (is_first, is_range) = (false, false);
                continue;
            }
            // A dash between two others makes a range; first, last, or as the end of a range it is itself.
            '-' if !is_first && !is_range && !behind.starts_with(']') => {
                out.push('-');
                (rest, is_range) = (behind, true);
                continue;
            }
            '-' | '[' | ']' | '&' | '~' | '^' => {
                out.push('\\');
                out.push(unit);
            }
            _ => out.push(unit),
        }
        rest = behind;
        (is_first, is_range) = (false, false);
    }
    Err(refused(pattern, "a [ is not closed"))
}

#[cfg(test)]
mod tests {
    use super::{Pattern, Result};

    #[test]
    fn bytes_are_looked_at_first_where_matches_begin_with_a_text() -> Result<()> {
        for (pattern, ignore_case, expected) in [
            ("no such text", false, true),
            ("x", false, true),
            ("refs/heads/release-1[0-9]", false, true),
            ("(foo|bar)baz*", false, true),
            ("no such text", true, true),
            ("[q-z]{4}#[0-9]{9}", false, false),
            ("[0-9]+ms", false, false),
            (".*error", false, false),
            ("a|b", false, false),
            ("a|", false, false),
            ("^error", false, false),
        ] {
            let made = Pattern::new(&[pattern.to_owned()], false, ignore_case)?;
            assert_eq!(made.is_free, expected, "{pattern}");
        }
        Ok(())
    }

    fn matches(pattern: &str, text: &str) -> Result<bool> {
        let pattern = Pattern::new(&[pattern.to_owned()], false, false)?;
        Ok(pattern.regex.is_match(text.as_bytes()))
    }

    #[test]
    fn speaks_as_re2() -> Result<()> {
        for (pattern, text, expected) in [
            (r"^\d$", "5", true),
            (r"^\d$", "٣", false),
            (r"^\w$", "é", false),
            (r"^\W$", "é", true),
            (r"^(?i)\w$", "\u{212a}", true),
            (r"\bcafé", "le café", true),
            (r"caf\b", "café", true),
            (r"\Qa.b[\E+", "a.b[[", true),
            (r"\Qa.b", "axb", false),
            (r"^[[a]$", "[", true),
            (r"^[a&&b]$", "&", true),
            (r"^[--/]$", ".", true),
            (r"^[a-c-e]$", "-", true),
            (r"^[a-c-e]$", "d", false),
            (r"^[\d-z]$", "-", true),
            (r"^[+--]$", ",", true),
            (r"^[]a]$", "]", true),
            (r"^[^]a]$", "]", false),
            (r"^[[:alpha:]\d_-]+$", "a5_-", true),
            (r"^[\W]$", "é", true),
            (r#"{"a""#, r#"{"a""#, true),
            (r"^a{2}$", "aa", true),
            (r"^a{,2}$", "a{,2}", true),
            (r"^.$", "\n", false),
            (r"^(?s).$", "\n", true),
            (r"\<a\>", "<a>", true),
            (r"^\x41\101$", "AA", true),
            (r"a$", "a\n", false),
            (r"\pN", "5", true),
        ] {
            assert_eq!(matches(pattern, text)?, expected, "{pattern} {text:?}");
        }
        Ok(())
    }

    #[test]
    fn refuses_what_re2_refuses() {
        for pattern in
            [r"(a)\1", "a(?=b)", "a(", "a)", "*", "[a", r"a\", r"\y", "[b-a]", r"\Z", r"[\", "[a--]"]
        {
            let error = matches(pattern, "").err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.starts_with("the pattern ") && !error.contains('\n'), "{pattern} {error}");
        }
        assert!(Pattern::new(&[], false, false).is_err());
    }

    #[test]
    fn several_and_fixed() -> Result<()> {
        let any = Pattern::new(&["(?i)Ada".to_owned(), "Bob".to_owned()], false, false)?;
        assert!(any.is_free);
        assert!(any.regex.is_match(b"ada") && any.regex.is_match(b"Bob") && !any.regex.is_match(b"bob"));
        let fixed = Pattern::new(&["ab.".to_owned(), "^^^".to_owned()], true, true)?;
        assert!(fixed.is_free);
        assert!(
            fixed.regex.is_match(b"AB.") && fixed.regex.is_match(b"^^^") && !fixed.regex.is_match(b"abc")
        );
        assert!(!Pattern::new(&["ada".to_owned(), r"\bbob".to_owned()], false, false)?.is_free);
        Ok(())
    }
}
