//! Hints from outside, and JSON text under them: `hints NUL text`.

use std::sync::Arc;

use zion::Result;
use zion::ingest::json::hints::Hints;
use zion::ingest::json::parse::JsonParser;
use zion::ingest::json::split::JsonSplitter;
use zion::pack::Constants;
use zion::pack::OnError;

use super::ingest;

/// Parses hints, then text with them, whole and in parts.
pub fn check(data: &[u8]) -> Result<()> {
    let mut halves = data.splitn(2, |&byte| byte == 0);
    let Ok(hints) = Hints::parse(halves.next().unwrap_or_default()) else { return Ok(()) };
    let hints = Arc::new(hints);
    let text = halves.next().unwrap_or_default();
    let parse = |part_size| {
        let constants = Arc::new(Constants::default());
        let mut parser = JsonParser::new(constants, Some(Arc::clone(&hints)), OnError::Fail);
        ingest::chunks(text, part_size, &mut JsonSplitter::default(), &mut parser)
    };
    match (parse(usize::MAX), parse(20)) {
        (Ok(whole), Ok(parts)) => ingest::assert_same_rows(&whole, &parts),
        (whole, parts) => {
            assert!(whole.is_ok() == parts.is_ok(), "parts change what is accepted: {whole:?}, {parts:?}");
            Ok(())
        }
    }
}
