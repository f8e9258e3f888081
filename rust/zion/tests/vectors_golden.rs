//! The golden packfiles: every chunk and every row of them.

mod common;

use std::path::Path;
use std::sync::Arc;

use common::{Result, folder, items, number, sha256, text};
use serde_json::Value;
use zion::block::rows::Rows;
use zion::block::{BlockReader, FRAME_HEADER, Position};
use zion::codec::Algorithm;
use zion::ion::{self, SymbolTable};
use zion::unpack::{Form, Format, Job, Request, Worker};

struct Golden {
    name: String,
    algorithm: Algorithm,
    align: usize,
    meta: Value,
    chunks: Vec<Value>,
    pack: Vec<u8>,
    text: Option<Vec<u8>>,
}

impl Golden {
    fn load(folder: &Path) -> Result<Option<Self>> {
        let json =
            |name: &str| -> Result<Value> { Ok(serde_json::from_slice(&std::fs::read(folder.join(name))?)?) };
        let trailer = json("trailer.json")?;
        let Ok(algorithm) = Algorithm::from_name(text(&trailer["algo"])) else { return Ok(None) };
        let lines = std::fs::read_to_string(folder.join("chunks.jsonl"))?;
        let mut pack = None;
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.file_stem().is_some_and(|stem| stem == "pack" || stem == "pack.ion") {
                pack = Some(std::fs::read(path)?);
            }
        }
        Ok(Some(Self {
            name: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            algorithm,
            align: 1 << number(&trailer["blockshift"]),
            meta: json("meta.json")?,
            chunks: lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?,
            pack: pack.ok_or("no packfile")?,
            text: std::fs::read(folder.join("unpack.ndjson")).ok(),
        }))
    }

    /// The bytes of each block, with the number of its chunks.
    fn blocks(&self) -> Vec<(Vec<u8>, usize)> {
        let mut blocks: Vec<(Vec<u8>, usize)> = vec![];
        for chunk in &self.chunks {
            let block = number(&chunk["block"]);
            let start = number(&chunk["offset"]);
            let frame = &self.pack[start..start + FRAME_HEADER + number(&chunk["payload"])];
            blocks.resize(blocks.len().max(block + 1), Default::default());
            blocks[block].0.extend_from_slice(frame);
            blocks[block].1 += 1;
        }
        blocks
    }
}

/// The original prints an empty name as `$` and its number, which is the name of another field and reads back
/// as that one. Ours is `""`. These packfiles have an empty name, of this number.
const EMPTY_NAMES: [(&str, u32); 2] = [("d14-text", 13), ("s25-csv-missing-fields", 11)];

fn all() -> Result<Vec<Golden>> {
    let folder = folder("packfile");
    let mut all = vec![];
    for entry in std::fs::read_dir(folder.join("golden"))? {
        let path = entry?.path();
        if path.is_dir() {
            all.extend(Golden::load(&path)?);
        }
    }
    Ok(all)
}

/// Length of a chunk without the padding at its end.
fn data_end(data: &[u8], rows_at: usize) -> Result<(usize, usize)> {
    let (mut end, mut rows) = (rows_at, 0);
    for row in Rows::new(data, rows_at) {
        (end, rows) = (row?.1.end, rows + 1);
    }
    Ok((end, rows))
}

#[test]
fn every_chunk_decodes() -> Result {
    for golden in all()? {
        let mut expected = golden.chunks.iter();
        for (block, chunks) in golden.blocks() {
            let mut reader = BlockReader::new(&block, golden.algorithm, golden.align)?;
            let mut skipper = BlockReader::new(&block, golden.algorithm, golden.align)?;
            let mut count = 0;
            while let Some(chunk) = reader.next_chunk()? {
                let expected = expected.next().ok_or("a chunk too many")?;
                let (end, rows) = data_end(chunk.data, chunk.rows_at)?;
                assert_eq!(rows, number(&expected["rows"]), "{}", golden.name);
                assert_eq!(end, number(&expected["data_end"]), "{}", golden.name);
                assert_eq!(sha256(&chunk.data[..end]), text(&expected["data_sha256"]), "{}", golden.name);
                assert_eq!(chunk.table.max_id() as usize, number(&expected["max_id"]), "{}", golden.name);
                assert_eq!(chunk.resets, expected["starts"] == "bvm");
                assert!(skipper.skip_chunk()?);
                assert_eq!(
                    skipper.position().table.as_ref().map(|table| table.max_id()),
                    Some(chunk.table.max_id())
                );
                count += 1;
            }
            assert_eq!(count, chunks, "{}", golden.name);
        }
    }
    Ok(())
}

#[test]
fn every_row_prints_as_it_should() -> Result {
    for golden in all()? {
        let request = Arc::new(Request::new(golden.algorithm, golden.align, Format::Json, None, None)?);
        let mut worker = Worker::new(Arc::clone(&request));
        let (mut printed, mut rows) = (vec![], 0);
        for (block, chunks) in golden.blocks() {
            let (block, form) = (Arc::new(block), Form::new(golden.algorithm, golden.align)?);
            let output = worker.work(&Job::alone(block, form, chunks))?;
            rows += output.rows;
            printed.extend_from_slice(&output.data);
            request.recycle(output.data);
        }
        assert_eq!(rows, number(&golden.meta["rows"]) as u64, "{}", golden.name);
        if let Some((_, id)) = EMPTY_NAMES.iter().find(|(name, _)| *name == golden.name) {
            let ours = String::from_utf8_lossy(&printed);
            assert!(ours.contains(r#""": "#));
            printed = ours.replace(r#""": "#, &format!(r#""${id}": "#)).into_bytes();
        }
        if let Some(text) = &golden.text {
            assert_eq!(String::from_utf8_lossy(&printed), String::from_utf8_lossy(text), "{}", golden.name);
        }
        assert_eq!(sha256(&printed), text(&golden.meta["ndjson_sha256"]), "{}", golden.name);
    }
    Ok(())
}

#[test]
fn chosen_fields_are_those_of_the_full_rows() -> Result {
    for golden in all()?.into_iter().filter(|golden| golden.algorithm != Algorithm::Zstd) {
        for (block, _) in golden.blocks().into_iter().take(2) {
            let mut full = BlockReader::new(&block, golden.algorithm, golden.align)?;
            while let Some(chunk) = full.next_chunk()? {
                let names: Vec<Box<[u8]>> = (0..chunk.table.max_id())
                    .step_by(3)
                    .filter_map(|id| chunk.table.name(id))
                    .map(Into::into)
                    .collect();
                let mut part = BlockReader::resume(
                    &block,
                    golden.algorithm,
                    golden.align,
                    before(&block, &golden, chunk.number)?,
                    zion::block::Codecs::new()?,
                )
                .project(Some(&names));
                let part = part.next_chunk()?.ok_or("a chunk is missing")?;
                assert!(
                    part.data == filtered(chunk.data, chunk.rows_at, chunk.table, &names)?,
                    "{}",
                    golden.name
                );
            }
        }
    }
    Ok(())
}

/// The position before a chunk.
fn before(block: &[u8], golden: &Golden, chunk: usize) -> Result<Position> {
    let mut reader = BlockReader::new(block, golden.algorithm, golden.align)?;
    for _ in 0..chunk {
        reader.skip_chunk()?;
    }
    Ok(reader.position().clone())
}

fn filtered(data: &[u8], rows_at: usize, table: &SymbolTable, names: &[Box<[u8]>]) -> Result<Vec<u8>> {
    let mut keep = vec![false; table.max_id() as usize];
    for id in names.iter().flat_map(|name| table.ids(name)) {
        keep[id as usize] = true;
    }
    let mut out = data[..rows_at].to_vec();
    for row in Rows::new(data, rows_at) {
        zion::block::rows::put_kept(data, row?.1, &keep, &mut vec![], &mut out)?;
    }
    Ok(out)
}

#[test]
fn ion_output_is_padded() -> Result {
    for golden in all()?.into_iter().filter(|golden| golden.pack.len() < 1 << 20) {
        let request = Arc::new(Request::new(golden.algorithm, golden.align, Format::Ion, None, None)?);
        let mut worker = Worker::new(request);
        for (block, chunks) in golden.blocks() {
            let (block, form) = (Arc::new(block), Form::new(golden.algorithm, golden.align)?);
            let output = worker.work(&Job::alone(block, form, chunks))?;
            assert_eq!(output.data.len(), chunks * golden.align);
            for chunk in output.data.chunks(golden.align) {
                let mut at = SymbolTable::new().apply(chunk)?;
                while at < chunk.len() {
                    at = ion::header(chunk, at)?.end;
                }
            }
        }
    }
    Ok(())
}

#[test]
fn digests() {
    assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!(items(&Value::Null).count(), 0);
}
