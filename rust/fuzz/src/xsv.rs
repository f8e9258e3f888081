//! CSV and TSV, with hints (`hints NUL text`) or with a header row.

use std::sync::Arc;

use zion::Result;
use zion::ingest::xsv::{Kind, Xsv};
use zion::pack::Constants;
use zion::pack::OnError;

use super::ingest;

/// Parses the text behind two bytes: flags, and the size of parts.
pub fn check(data: &[u8]) -> Result<()> {
    let [flags, part_size, rest @ ..] = data else { return Ok(()) };
    let kind = if flags & 1 == 0 { Kind::Csv } else { Kind::Tsv };
    let (hints, text) = match rest.iter().position(|&byte| byte == 0) {
        Some(end) if flags & 2 != 0 => (Some(&rest[..end]), &rest[end + 1..]),
        _ => (None, rest),
    };
    let parse = |part_size| {
        let xsv = Xsv::new(kind, hints, "")?;
        // Types of columns come of the first part, which has all rows of the sample when it is of usual size.
        let head = xsv.learn(text)?;
        let part_size = usize::max(part_size, head + 1);
        let mut parser = xsv.parser(Arc::new(Constants::default()), OnError::Fail);
        ingest::chunks(text, part_size, &mut xsv.splitter(), &mut parser)
    };
    match (parse(usize::MAX), parse(usize::from(*part_size))) {
        (Ok(whole), Ok(parts)) => ingest::assert_same_rows(&whole, &parts),
        (whole, parts) => {
            ingest::assert_same_answer(&whole, &parts);
            Ok(())
        }
    }
}
