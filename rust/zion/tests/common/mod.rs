//! The test vectors: where they are, and their byte strings.
#![allow(dead_code)]

mod vectors;

use std::error::Error;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;
use zion::chunker::{Chunk, Sink};

pub use vectors::folder;

pub type Result<T = (), E = Box<dyn Error>> = std::result::Result<T, E>;

/// The vectors of zion and iguana.
pub fn load() -> Result<Option<(PathBuf, Value)>> {
    let Some(folder) = folder("zion") else { return Ok(None) };
    let vectors = serde_json::from_slice(&std::fs::read(folder.join("vectors.json"))?)?;
    Ok(Some((folder, vectors)))
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
    let mut state = root_bits(8, 1.0 / 2.0).map(|word| word as u32);
    let constants: [u64; 64] = root_bits(64, 1.0 / 3.0);
    let mut message = data.to_vec();
    message.push(0x80);
    message.resize(message.len().next_multiple_of(64), 0);
    if message.len() < data.len() + 9 {
        message.resize(message.len() + 64, 0);
    }
    let end = message.len();
    message[end - 8..].copy_from_slice(&(data.len() as u64 * 8).to_be_bytes());
    for block in message.chunks_exact(64) {
        let mut words = [0u32; 64];
        for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
            *word = bytes.iter().fold(0, |word, &byte| word << 8 | u32::from(byte));
        }
        for i in 16..64 {
            let (a, b) = (words[i - 15], words[i - 2]);
            let s0 = a.rotate_right(7) ^ a.rotate_right(18) ^ a >> 3;
            let s1 = b.rotate_right(17) ^ b.rotate_right(19) ^ b >> 10;
            words[i] = words[i - 16].wrapping_add(s0).wrapping_add(words[i - 7]).wrapping_add(s1);
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
        for (constant, word) in constants.iter().zip(words) {
            let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let choice = e & f ^ !e & g;
            let t1 =
                h.wrapping_add(s1).wrapping_add(choice).wrapping_add(*constant as u32).wrapping_add(word);
            let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let t2 = s0.wrapping_add(a & b ^ a & c ^ b & c);
            (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(t1), c, b, a, t1.wrapping_add(t2));
        }
        for (old, new) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *old = old.wrapping_add(new);
        }
    }
    state.iter().fold(String::new(), |text, word| text + &format!("{word:08x}"))
}

/// The first 32 bits of the fractions of roots of the first primes.
fn root_bits<const N: usize>(count: usize, power: f64) -> [u64; N] {
    let primes = (2u64..).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0));
    let mut out = [0; N];
    for (place, prime) in out.iter_mut().zip(primes.take(count)) {
        // Exact in integers: the root of the prime shifted by as many bits as the power needs.
        let degree = (1.0 / power).round() as u32;
        let mut root = ((prime as f64).powf(power) * 4_294_967_296.0) as u128 + 2;
        let fits = |root: u128| root.pow(degree) <= u128::from(prime) << (32 * degree);
        while !fits(root) {
            root -= 1;
        }
        *place = root as u64 & 0xFFFF_FFFF;
    }
    out
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
