//! From text to chunks, whole and in parts.

use zion::chunk::{Chunk, Sink, Stream};
use zion::ion::value::{Value, loads};
use zion::pack::{PartContext, PartParser, Rejects, Splitter};
use zion::{Error, Result};

use super::rows;

const ALIGN: usize = 1 << 12;

#[derive(Default)]
struct Chunks(Vec<Vec<u8>>);

impl Sink for Chunks {
    fn chunk(&mut self, chunk: Chunk) -> Result<()> {
        assert!(chunk.data().len() <= ALIGN, "a chunk is too long");
        self.0.push(chunk.data().to_vec());
        Ok(())
    }

    fn buffer(&mut self) -> Vec<u8> {
        vec![]
    }
}

/// The chunks of a text that is cut into parts of about the given size.
pub fn chunks(
    mut text: &[u8],
    part_size: usize,
    splitter: &mut dyn Splitter,
    parser: &mut dyn PartParser,
) -> Result<Vec<Vec<u8>>> {
    let mut chunks = Chunks::default();
    let mut start = 0;
    loop {
        let cut = if part_size < text.len() { splitter.cut(text, part_size)? } else { None };
        let (part, rest) = text.split_at(cut.unwrap_or(text.len()));
        let mut stream = Stream::new(ALIGN, 3 * ALIGN, &mut chunks);
        let context = PartContext { start, last: cut.is_none() };
        parser.parse(part, context, &mut stream, &mut Rejects::default())?;
        stream.finish()?;
        if cut.is_none() {
            return Ok(chunks.0);
        }
        start = splitter.next_part();
        text = rest;
    }
}

/// Whether a row was too large for the small chunks here, which is no fault of the text. It may fit in another
/// part: a string takes less room where it has become a symbol.
pub fn is_too_large(result: &Result<Vec<Vec<u8>>>) -> bool {
    matches!(result, Err(Error::TooLarge { .. }))
}

/// Fails if parts change what is accepted.
pub fn assert_same_answer(whole: &Result<Vec<Vec<u8>>>, parts: &Result<Vec<Vec<u8>>>) {
    let same = is_too_large(whole) || is_too_large(parts) || whole.is_ok() == parts.is_ok();
    assert!(same, "parts change what is accepted: {whole:?}, {parts:?}");
}

/// Fails if the rows differ by more than the numbers of their symbols.
pub fn assert_same_rows(one: &[Vec<u8>], other: &[Vec<u8>]) -> Result<()> {
    let (one, other) = (values(one)?, values(other)?);
    assert!(one == other, "parts change the rows: {one:?}, {other:?}");
    Ok(())
}

fn values(chunks: &[Vec<u8>]) -> Result<Vec<String>> {
    let mut out = vec![];
    rows::each(chunks, |table, data, row| {
        let mut stream = vec![];
        table.put_full(&mut stream, table.max_id());
        zion::ion::put_header(&mut stream, row.kind, row.end - row.body);
        stream.extend_from_slice(&data[row.body..row.end]);
        let mut value = loads(&stream)?;
        sort(&mut value);
        out.push(format!("{value:?}"));
        Ok(())
    })?;
    Ok(out)
}

/// Puts fields in order of their names, and makes strings of symbols.
fn sort(value: &mut Value) {
    match value {
        Value::Symbol(name) => *value = Value::String((&**name).into()),
        Value::List(items) => items.iter_mut().for_each(sort),
        Value::Struct(fields) => {
            fields.sort_by(|one, other| one.0.cmp(&other.0));
            for (_, field) in fields {
                sort(field);
            }
        }
        _ => {}
    }
}
