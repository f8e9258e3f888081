//! The test vectors: where they are, and their byte strings.
#![allow(dead_code)]

mod vectors;

use std::error::Error;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};
use zion::chunk::{Chunk, Sink};

pub use vectors::folder;

pub type Result<T = (), E = Box<dyn Error>> = std::result::Result<T, E>;

/// The vectors of zion and iguana.
pub fn load() -> Result<(PathBuf, Value)> {
    let folder = folder("zion");
    let vectors = serde_json::from_slice(&std::fs::read(folder.join("vectors.json"))?)?;
    Ok((folder, vectors))
}

/// The elements of an array, none for anything else.
pub fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub fn number(value: &Value) -> usize {
    value.as_u64().unwrap_or_default() as usize
}

pub fn hex(text: &str) -> Result<Vec<u8>> {
    let digits: Vec<u32> = text.chars().map(|c| c.to_digit(16).ok_or("not hex")).collect::<Result<_, _>>()?;
    Ok(digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | *digit as u8)).collect())
}

fn splitmix64(mut state: u64, length: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(length + 8);
    while out.len() < length {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = state;
        word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        out.extend_from_slice(&(word ^ word >> 31).to_le_bytes());
    }
    out.truncate(length);
    out
}

fn file(folder: &Path, spec: &Value, name: &str) -> Result<Vec<u8>> {
    let mut data = std::fs::read(folder.join(name))?;
    if Path::new(name).extension().is_some_and(|suffix| suffix == "gz") {
        let mut plain = vec![];
        flate2::read::MultiGzDecoder::new(&data[..]).read_to_end(&mut plain)?;
        data = plain;
    }
    if let Some(offset) = spec.get("offset") {
        let start = number(offset);
        data = data.get(start..start + number(&spec["len"])).ok_or("a slice beyond its file")?.to_vec();
    }
    Ok(data)
}

/// A byte string of the vectors; `entry` is what it stands in, for references.
pub fn bytes(folder: &Path, entry: &Value, spec: &Value) -> Result<Vec<u8>> {
    if let Some(digits) = spec.as_str() {
        return if digits == "same-as-input" { bytes(folder, entry, &entry["input"]) } else { hex(digits) };
    }
    if let Some(digits) = spec["hex"].as_str().filter(|_| spec.get("gen").is_none()) {
        return hex(digits);
    }
    if let Some(name) = spec["file"].as_str() {
        return file(folder, spec, name);
    }
    if let Some(parts) = spec["parts"].as_array() {
        let parts: Vec<_> = parts.iter().map(|part| bytes(folder, entry, part)).collect::<Result<_>>()?;
        return Ok(parts.concat());
    }
    if let Some(name) = spec["ref"].as_str() {
        return bytes(folder, entry, &entry[name]);
    }
    match text(&spec["gen"]) {
        "splitmix64" => Ok(splitmix64(spec["seed"].as_u64().unwrap_or_default(), number(&spec["len"]))),
        "repeat" => {
            let pattern = hex(text(&spec["hex"]))?;
            Ok(pattern.into_iter().cycle().take(number(&spec["len"])).collect())
        }
        other => Err(format!("an unknown byte string: {other}").into()),
    }
}

/// The SHA-256 of some bytes, in hex.
pub fn sha256(data: &[u8]) -> String {
    Sha256::digest(data).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// Keeps the chunks of a stream.
#[derive(Default)]
pub struct Collect(pub Vec<Vec<u8>>);

impl Sink for Collect {
    fn chunk(&mut self, chunk: Chunk) -> zion::Result<()> {
        self.0.push(chunk.data().to_vec());
        Ok(())
    }

    fn buffer(&mut self) -> Vec<u8> {
        vec![]
    }
}
