//! Blocks from outside that are gone on with: their rows come out again, and then a new one.

use std::sync::Arc;

use zion::Result;
use zion::block::BlockReader;
use zion::block::rows::Rows;
use zion::index::statistics::ngrams::{Gathered, NgramPath};
use zion::pack::OnError;
use zion::pack::inflate::Compression;
use zion::pack::{Constants, Format, Options, Packer, Stop};

use super::block;

const NEVER: fn() -> bool = || false;

/// Packs one row more behind the last chunk of a block.
pub fn check(data: &[u8]) -> Result<()> {
    let Some((block, form)) = block::read(data)? else { return Ok(()) };
    let mut whole = vec![0; block.size()];
    block.read(0, &mut whole)?;
    let options = Options {
        algorithm: form.algorithm,
        level: 1,
        align: form.align,
        max_row: form.align,
        block_bytes: 64 * form.align,
        part_bytes: 1 << 12,
        read_bytes: 1 << 12,
        threads: 1,
        on_error: OnError::Fail,
        time_paths: Arc::default(),
        statistics: zion::index::statistics::Choice::Auto(Arc::default()),
        ngrams: [Gathered::Pieces, Gathered::Joints]
            .map(|kind| NgramPath { path: vec![], kind })
            .into_iter()
            .collect(),
    };
    let Ok((kept, rows, packed)) = resumed(&whole, options) else { return Ok(()) };
    whole.truncate(kept);
    whole.extend_from_slice(&packed);
    let mut reader = BlockReader::new(&whole, form.algorithm, form.align)?;
    let mut found = 0;
    while let Some(chunk) = reader.next_chunk()? {
        for row in Rows::new(chunk.data, chunk.rows_at) {
            row?;
            found += u64::from(chunk.offset >= kept);
        }
    }
    assert_eq!(found, rows + 1, "rows are missing");
    Ok(())
}

/// The bytes that are kept, the number of rows that are packed again, and what is packed.
fn resumed(whole: &[u8], options: Options) -> Result<(usize, u64, Vec<u8>), Stop> {
    let mut packer = Packer::new(options, Constants::default())?;
    let resumed = packer.resume(whole, 1, true, true)?;
    packer.begin("input", Format::Json(None), Compression::None)?;
    packer.feed(b"{\"name\": 1}", &mut { NEVER })?;
    packer.end(&mut { NEVER })?;
    let mut packed = vec![];
    while !packer.is_drained() {
        packer.wait(&mut { NEVER })?;
        packer.take()?.iter().for_each(|frame| packed.extend_from_slice(frame));
    }
    Ok((resumed.bytes, resumed.rows, packed))
}
