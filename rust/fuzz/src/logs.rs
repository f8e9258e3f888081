//! Lines of text logs, in every form.

use std::sync::Arc;

use zion::ingest::logs::Logs;
use zion::pack::{Constants, OnError};
use zion::{Error, Result};

use super::ingest;

const FORMS: [&str; 12] = [
    "text",
    "logfmt",
    "combined",
    "syslog:1764000000",
    "klog:1764000000",
    "cef:1764000000",
    "leef:1764000000",
    "auditd",
    "journald",
    "vpc-flow",
    "postgres",
    r"regex:^(?P<time>\S+ \S+) (?P<level>[A-Z]+)?(?P<n>[0-9]*) (?P<rest>.*)$",
];

/// Parses the text behind three bytes: the form, the size of parts, and whether malformed lines are passed over.
pub fn check(data: &[u8]) -> Result<()> {
    let [form, part_size, skips, text @ ..] = data else { return Ok(()) };
    let name = FORMS[usize::from(*form) % FORMS.len()];
    let on_error = [OnError::Fail, OnError::Skip, OnError::Keep][usize::from(skips % 3)];
    let parse = |part_size| {
        let logs = Logs::new(name)?.ok_or_else(|| Error::argument("no such form"))?;
        let mut parser = logs.parser(Arc::new(Constants::default()), on_error);
        ingest::chunks(text, part_size, &mut logs.splitter(), &mut parser)
    };
    match (parse(usize::MAX), parse(usize::from(*part_size))) {
        (Ok(whole), Ok(parts)) if on_error == OnError::Fail => ingest::assert_same_rows(&whole, &parts),
        // A line that is too large for a chunk may fit another one.
        (Ok(_), Ok(_)) => Ok(()),
        (whole, parts) => {
            ingest::assert_same_answer(&whole, &parts);
            Ok(())
        }
    }
}
