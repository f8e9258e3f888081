//! JSON text that lies in a file, compared with the same text from a pipe: the bytes, or the error.

use std::sync::Arc;

use zion::block::BlockReader;
use zion::block::rows::Rows;
use zion::codec::Algorithm;
use zion::index::statistics::ngrams::{Gathered, NgramPath};
use zion::pack::OnError;
use zion::pack::inflate::Compression;
use zion::pack::{Constants, Format, Options, Packer, Run, Stop};
use zion::{Error, Result};

const ALIGN: usize = 1 << 9;
const NEVER: fn() -> bool = || false;

/// Packs the text behind the first two bytes, which set the sizes of parts and of what is read at once.
pub fn check(data: &[u8]) -> Result<()> {
    let Some((&[part, read], text)) = data.split_first_chunk() else { return Ok(()) };
    let options = Options {
        algorithm: Algorithm::Zstd,
        level: 1,
        align: ALIGN,
        max_row: ALIGN,
        block_bytes: 2 * ALIGN,
        part_bytes: 256 * (usize::from(part) + 1),
        read_bytes: usize::from(read) + 1,
        threads: 2,
        on_error: OnError::Fail,
        time_paths: Arc::default(),
        statistics: zion::index::statistics::Choice::Auto(Arc::default()),
        ngrams: [Gathered::Pieces, Gathered::Joints]
            .map(|kind| NgramPath { path: vec![], kind })
            .into_iter()
            .collect(),
    };
    let fed = packed(text, options.clone(), false);
    assert_eq!(fed, packed(text, options, true), "a file is packed in another way than a pipe");
    let Ok((data, runs)) = fed else { return Ok(()) };
    let ends = runs.iter().skip(1).map(|run| run.offset as usize).chain([data.len()]);
    for (run, end) in runs.iter().zip(ends) {
        let mut reader = BlockReader::new(&data[run.offset as usize..end], Algorithm::Zstd, ALIGN)?;
        let mut rows = 0;
        while let Some(chunk) = reader.next_chunk()? {
            rows += Rows::new(chunk.data, chunk.rows_at).count() as u64;
        }
        assert_eq!(rows, run.rows, "rows are missing");
    }
    Ok(())
}

fn packed(text: &[u8], options: Options, stored: bool) -> Result<(Vec<u8>, Vec<Run>), Stop> {
    let mut packer = Packer::new(options, Constants::default())?;
    let mut data = vec![];
    packer.begin("input", Format::Json(None), Compression::None)?;
    if stored {
        packer.store(Arc::new(text.to_vec()), &mut { NEVER })?;
    }
    let rest = loop {
        let rest = packer.advance(&mut { NEVER })?;
        packer.take()?.iter().for_each(|frame| data.extend_from_slice(frame));
        if let Some(rest) = rest {
            break rest as usize;
        }
    };
    let rest = text.get(rest..).ok_or_else(|| Error::argument("fed from behind the end"))?;
    packer.feed(rest, &mut { NEVER })?;
    packer.end(&mut { NEVER })?;
    while !packer.is_drained() {
        packer.wait(&mut { NEVER })?;
        packer.take()?.iter().for_each(|frame| data.extend_from_slice(frame));
    }
    Ok((data, std::mem::take(&mut packer.runs)))
}
