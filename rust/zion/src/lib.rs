//! Everything of `sdb` that touches every byte: Ion, JSON, zion buckets and codecs.
//!
//! No Python and no I/O in here: bytes go in, bytes come out. The formats are described in
//! `docs/format.md`; the modules follow its sections.
#![deny(unsafe_code)]

pub mod aggregate;
pub mod block;
pub mod bucket;
pub mod budget;
pub mod chunker;
pub mod cloudtrail;
pub mod codec;
pub mod content;
pub mod descriptors;
pub mod digest;
pub mod edit;
pub mod error;
pub mod fields;
mod frequent;
mod grouping;
pub mod inflate;
pub mod ingest;
pub mod input;
pub mod ion;
pub mod json;
pub mod key;
mod lines;
pub mod membership;
pub mod natives;
pub mod number;
pub mod pack;
pub mod paths;
pub mod pipeline;
pub mod profile;
pub mod rows;
pub mod runs;
pub mod scan;
pub mod scatter;
pub mod search;
#[allow(unsafe_code)]
mod simd;
pub mod slices;
pub mod statistics;
pub mod unpack;
pub mod value;
pub mod verify;

pub use error::{Error, Result};

#[cfg(test)]
#[path = "../tests/common/vectors.rs"]
mod vectors;
