//! Patterns and letter case, by the simple mappings of Unicode: one code point for one.

use regex::bytes::{Regex, RegexBuilder};

use crate::error::{Error, Result};

/// Compiles a pattern of ILIKE: `%` is any run of code points, `_` is one, and the rest stands for
/// itself in any case. What follows `escape` stands for itself too.
pub fn ilike(pattern: &str, escape: Option<char>) -> Result<Regex> {
    let mut text = String::with_capacity(pattern.len() + 8);
    text.push('^');
    let mut rest = pattern.chars();
    while let Some(unit) = rest.next() {
        match unit {
            _ if Some(unit) == escape => literal(&mut text, rest.next().unwrap_or(unit)),
            '%' => text.push_str(".*"),
            '_' => text.push('.'),
            _ => literal(&mut text, unit),
        }
    }
    text.push('$');
    RegexBuilder::new(&text)
        .case_insensitive(true)
        .dot_matches_new_line(true)
        .build()
        .map_err(|error| Error::argument(format!("the pattern {pattern:?} cannot be used: {error}")))
}

fn literal(out: &mut String, unit: char) {
    out.push_str(&regex::escape(unit.encode_utf8(&mut [0; 4])));
}

/// Appends the text in upper case.
pub fn upper(text: &str, out: &mut String) {
    if text.is_ascii() {
        let start = out.len();
        out.push_str(text);
        out[start..].make_ascii_uppercase();
    } else {
        out.extend(text.chars().map(upper_unit));
    }
}

/// Appends the text in lower case.
pub fn lower(text: &str, out: &mut String) {
    if text.is_ascii() {
        let start = out.len();
        out.push_str(text);
        out[start..].make_ascii_lowercase();
    } else {
        out.extend(text.chars().map(lower_unit));
    }
}

fn upper_unit(unit: char) -> char {
    let mut mapped = unit.to_uppercase();
    match (mapped.next(), mapped.next()) {
        (Some(one), None) => one,
        // The library knows the full mapping. Some of these have a simple one as well: Greek
        // vowels with a iota below, whose title case is a code point.
        _ => match u32::from(unit) {
            code @ (0x1f80..=0x1f87 | 0x1f90..=0x1f97 | 0x1fa0..=0x1fa7) => {
                char::from_u32(code + 8).unwrap_or(unit)
            }
            code @ (0x1fb3 | 0x1fc3 | 0x1ff3) => char::from_u32(code + 9).unwrap_or(unit),
            _ => unit,
        },
    }
}

fn lower_unit(unit: char) -> char {
    // The one code point whose full mapping has two (U+0130) has `i` as its simple one.
    unit.to_lowercase().next().unwrap_or(unit)
}

#[cfg(test)]
mod tests {
    use super::{Result, ilike, lower, upper};

    fn upper_of(text: &str) -> String {
        let mut out = String::new();
        upper(text, &mut out);
        out
    }

    fn lower_of(text: &str) -> String {
        let mut out = String::new();
        lower(text, &mut out);
        out
    }

    #[test]
    fn case_maps_one_to_one() {
        assert_eq!(upper_of("straße"), "STRAßE");
        assert_eq!(upper_of("ŉ ᾳ ᾀ ῳ"), "ŉ ᾼ ᾈ ῼ");
        assert_eq!(lower_of("ΣΊΣΥΦΟΣ"), "σίσυφοσ");
        assert_eq!(lower_of("İI"), "ii");
        assert_eq!(upper_of("plain"), "PLAIN");
        assert_eq!(lower_of("Plain"), "plain");
    }

    #[test]
    fn patterns_fold_case() -> Result<()> {
        let matches =
            |text: &str, pattern: &str| ilike(pattern, None).map(|regex| regex.is_match(text.as_bytes()));
        assert!(matches("ſ", "S")?);
        assert!(matches("Σ", "ς")?);
        assert!(!matches("ß", "SS")?);
        assert!(matches("a\nb", "A%B")?);
        assert!(matches("é", "_")?);
        assert!(!matches("ab", "_")?);
        assert!(matches("1.5", "1.5")?);
        assert!(!matches("1x5", "1.5")?);
        assert!(matches("", "%")?);
        Ok(())
    }

    #[test]
    fn escapes() -> Result<()> {
        let regex = ilike("100!%!!", Some('!'))?;
        assert!(regex.is_match(b"100%!"));
        assert!(!regex.is_match(b"1000!"));
        Ok(())
    }
}
