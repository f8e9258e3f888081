//! Blocks from outside, to JSON and Ion, with and without a choice of fields and times.

use std::sync::Arc;

use zion::Result;
use zion::block::frame_header;
use zion::block::rows::TimeFilter;
use zion::codec::Algorithm;
use zion::unpack::{Block, Form, Format, Job, Request, Worker};

use super::zion_chunk;

const ALIGN: usize = 1 << 12;

/// Unpacks a block: raw frames, one frame around a chunk that is put together from parts, or one plain zstd frame.
pub fn check(data: &[u8]) -> Result<()> {
    let Some((block, form)) = read(data)? else { return Ok(()) };
    let all = unpack(&block, form.algorithm, Format::Json, false);
    unpack(&block, form.algorithm, Format::Ion, false);
    unpack(&block, form.algorithm, Format::Ion, true);
    let some = unpack(&block, form.algorithm, Format::Json, true);
    assert!(some.is_none_or(|some| all.is_none_or(|all| some <= all)), "a filter adds rows");
    Ok(())
}

/// The block that the data stand for, and how its chunks are stored.
pub fn read(data: &[u8]) -> Result<Option<(Block, Form)>> {
    let Some((&flags, rest)) = data.split_first() else { return Ok(None) };
    let block = match flags & 3 {
        0 => rest.to_vec(),
        1 => framed(&zion_chunk::assemble(rest))?,
        _ => framed(rest)?,
    };
    let algorithm = if flags & 3 == 2 { Algorithm::Zstd } else { Algorithm::ZionZstd };
    Ok(Some((Arc::new(block), Form::new(algorithm, ALIGN)?)))
}

fn framed(payload: &[u8]) -> Result<Vec<u8>> {
    let mut block = frame_header(payload.len())?.to_vec();
    block.extend_from_slice(payload);
    Ok(block)
}

/// The number of rows that come out, if the block is good.
fn unpack(block: &Block, algorithm: Algorithm, format: Format, choose: bool) -> Option<u64> {
    let name = || -> Box<[u8]> { b"name".as_slice().into() };
    let fields = choose.then(|| vec![name()]);
    let filter = choose.then(|| TimeFilter::new(vec![name()], Some(0), None)).transpose().ok()?;
    let request = Arc::new(Request::new(algorithm, ALIGN, format, fields, filter).ok()?);
    let job = Job::alone(Arc::clone(block), Form::new(algorithm, ALIGN).ok()?, 100);
    let output = Worker::new(request).work(&job).ok()?;
    if format == Format::Json {
        let lines = output.data.split(|&byte| byte == b'\n').count() - 1;
        assert!(lines as u64 == output.rows, "a row is a line");
    }
    Some(output.rows)
}
