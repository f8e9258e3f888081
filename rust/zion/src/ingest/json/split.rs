//! Where a long JSON text may be cut: between records, also inside a top-level array.

use crate::error::Result;
use crate::ingest::Splitter;
use crate::simd::json::{Skim, skim};

/// Where the text of a part begins, as the parser has to know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// Between top-level values.
    #[default]
    Top,
    /// In a top-level array, after `[`.
    ArrayOpen,
    /// In a top-level array, after an element.
    AfterElement,
    /// In a top-level array, after a comma.
    AfterComma,
    /// Where malformed text is passed over: somewhere between records, perhaps in an array.
    Anywhere,
}

impl Start {
    /// The start that [`Splitter::next_part`] gave as a number.
    pub fn from_context(context: u64) -> Self {
        match context {
            1 => Self::ArrayOpen,
            2 => Self::AfterElement,
            3 => Self::AfterComma,
            4 => Self::Anywhere,
            _ => Self::Top,
        }
    }
}

/// Cuts between records.
#[derive(Debug, Default)]
pub struct JsonSplitter {
    skim: Skim,
    start: Start,
    next: Start,
}

impl Splitter for JsonSplitter {
    fn cut(&mut self, text: &[u8], min: usize) -> Result<Option<usize>> {
        let Some(end) = skim(text, &mut self.skim, min.max(1)) else { return Ok(None) };
        self.next = match (self.skim.in_array, text[..end].trim_ascii_end().last()) {
            (false, _) => Start::Top,
            (true, Some(b',')) => Start::AfterComma,
            (true, Some(b'[')) => Start::ArrayOpen,
            (true, Some(_)) => Start::AfterElement,
            (true, None) => self.start,
        };
        Ok(Some(end))
    }

    fn next_part(&mut self) -> u64 {
        self.skim.restart();
        self.start = self.next;
        self.start as u64
    }
}

/// How the lines begin that begin a record: no longer than this.
const LEAD_BYTES: usize = 256;
/// So much text is looked at for the first record.
const LOOK_BYTES: usize = 64 << 10;
/// So far behind where a part should end such a line is looked for.
const SLACK_BYTES: usize = 4 << 20;

/// Cuts at the ends of lines, for inputs whose bad lines are passed over: where the next line begins as the first
/// record does, so that records over several lines stay whole, and else at any.
#[derive(Debug, Default)]
pub struct LineSplitter {
    position: usize,
    /// What stands before the first record on its line, with its bracket.
    lead: Option<Vec<u8>>,
    /// The end of the first line behind the place that was asked for.
    any: Option<usize>,
}

/// The white space before the first record that begins a line, and its bracket; nothing where there is too much.
fn lead_of(text: &[u8]) -> Option<Vec<u8>> {
    let lines = text.split(|&byte| byte == b'\n');
    let mut records = lines.map(|line| (line, line.trim_ascii_start()));
    let (line, record) = records.find(|(_, record)| record.starts_with(b"{"))?;
    let lead = line.get(..=line.len() - record.len()).unwrap_or_default();
    Some(if lead.len() <= LEAD_BYTES { lead.to_vec() } else { vec![] })
}

impl Splitter for LineSplitter {
    fn cut(&mut self, text: &[u8], min: usize) -> Result<Option<usize>> {
        if self.lead.is_none() {
            self.lead = match lead_of(text) {
                None if text.len() < LOOK_BYTES => return Ok(None),
                found => Some(found.unwrap_or_default()),
            };
        }
        let lead = self.lead.as_deref().unwrap_or_default();
        let from = self.position.max(min.saturating_sub(1)).min(text.len());
        for at in memchr::memchr_iter(b'\n', &text[from..]) {
            let end = from + at + 1;
            let any = *self.any.get_or_insert(end);
            let next = &text[end..];
            if next.starts_with(lead) {
                return Ok(Some(end));
            }
            if end - any > SLACK_BYTES {
                return Ok(Some(any));
            }
            if next.len() < lead.len() {
                self.position = end - 1;
                return Ok(None);
            }
        }
        self.position = text.len();
        Ok(None)
    }

    fn next_part(&mut self) -> u64 {
        (self.position, self.any) = (0, None);
        Start::Anywhere as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of a text, of which more comes in steps.
    fn parts(text: &str, min: usize, step: usize) -> Result<Vec<String>> {
        let (mut splitter, mut start, mut parts) = (LineSplitter::default(), 0, vec![]);
        let mut known = 0;
        while known < text.len() {
            known = (known + step).min(text.len());
            while let Some(end) = splitter.cut(&text.as_bytes()[start..known], min)? {
                parts.push(text[start..start + end].to_owned());
                start += end;
                splitter.next_part();
            }
        }
        parts.push(text[start..].to_owned());
        Ok(parts)
    }

    #[test]
    fn records_over_several_lines_stay_whole() -> Result<()> {
        let record = "  {\n    \"a\": [\n      {\n        \"b\": 1\n      }\n    ]\n  },\n";
        let text = format!("[\n{}]", record.repeat(20));
        for min in [1, 30, 100] {
            for step in [1, 7, 1000] {
                let found = parts(&text, min, step)?;
                assert!(
                    found.len() > 4 && found[1..].iter().all(|part| part.starts_with("  {\n")),
                    "{found:?}"
                );
                assert_eq!(found, parts(&text, min, text.len())?);
            }
        }
        assert_eq!(parts(&"x\n".repeat(LOOK_BYTES), LOOK_BYTES, 1 << 20)?.len(), 3);
        Ok(())
    }

    #[test]
    fn a_text_without_such_lines_is_cut_all_the_same() -> Result<()> {
        let text = format!("   {{}}\n{}", "{}\n".repeat(3 << 20));
        let found = parts(&text, 1 << 20, text.len())?;
        assert!(found.len() > 1 && found.iter().all(|part| part.len() < 7 << 20));
        Ok(())
    }
}
