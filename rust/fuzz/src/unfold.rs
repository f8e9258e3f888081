//! OTLP and `MongoDB`'s extended JSON, whole and in pieces, and against the same text as plain JSON.

use std::sync::Arc;

use zion::codec::Algorithm;
use zion::pack::inflate::Compression;
use zion::pack::{Constants, Format, OnError, Options, Packer, Stop};
use zion::{Error, Result};

const NEVER: fn() -> bool = || false;
const ALIGN: usize = 1 << 12;

/// Packs the text behind two bytes: flags (the form, whether malformed records are passed over), the size of pieces.
#[allow(clippy::unnecessary_wraps, reason = "all targets have it")]
pub fn check(data: &[u8]) -> Result<()> {
    let [flags, piece, text @ ..] = data else { return Ok(()) };
    let form = ["otlp", "mongodb"][usize::from(flags & 1)];
    let on_error = [OnError::Fail, OnError::Skip, OnError::Keep][usize::from(flags >> 1) % 3];
    let whole = packed(form, text, usize::MAX, on_error);
    let pieces = packed(form, text, usize::from(*piece).max(1), on_error);
    match (&whole, &pieces) {
        (Ok(whole), Ok(pieces)) => assert!(whole == pieces, "pieces change the rows"),
        _ => {
            assert_eq!(
                whole.is_ok(),
                pieces.is_ok(),
                "pieces change what is accepted: {whole:?}, {pieces:?}"
            );
        }
    }
    if form == "mongodb" && on_error == OnError::Fail {
        match (whole, packed("json", text, usize::MAX, on_error)) {
            (Ok(whole), Ok(plain)) => assert_eq!(whole.0, plain.0, "rows are lost or made up"),
            // What is unfolded takes less room and is less deep.
            (Ok(_), Err(error)) => assert!(is_too_much(&error), "malformed JSON is accepted: {error:?}"),
            _ => {}
        }
    }
    Ok(())
}

fn is_too_much(stop: &Stop) -> bool {
    let Stop::Failed(error) = stop else { return false };
    matches!(error.error, Error::TooLarge { .. }) || error.error.to_string().contains("nested")
}

/// The number of rows, and the block.
fn packed(form: &str, text: &[u8], piece: usize, on_error: OnError) -> Result<(u64, Vec<u8>), Stop> {
    let options = Options {
        algorithm: Algorithm::Zstd,
        level: 1,
        align: ALIGN,
        max_row: ALIGN,
        block_bytes: 64 * ALIGN,
        part_bytes: 1 << 12,
        read_bytes: 1 << 12,
        threads: 1,
        on_error,
        time_paths: Arc::default(),
        statistics: zion::index::statistics::Choice::Auto(Arc::default()),
        ngrams: std::iter::empty().collect(),
    };
    let mut packer = Packer::new(options, Constants::default())?;
    packer.begin("input", Format::new(form, None)?, Compression::None)?;
    let mut block = vec![];
    for piece in text.chunks(piece) {
        packer.feed(piece, &mut { NEVER })?;
        packer.take()?.iter().for_each(|frame| block.extend_from_slice(frame));
    }
    packer.end(&mut { NEVER })?;
    while !packer.is_drained() {
        packer.wait(&mut { NEVER })?;
        packer.take()?.iter().for_each(|frame| block.extend_from_slice(frame));
    }
    Ok((packer.rows, block))
}
