//! Everything of `sdb` that touches every byte: Ion, JSON, CSV, compression, packfile blocks and scans.
//!
//! No Python and no I/O is in here: bytes go in, bytes come out. The formats are described in `docs/format.md`. Trailers,
//! tables and stores are metadata, and Python's.
//!
//! # Modules
//!
//! Each room uses only those below it; `tests/layers.rs` holds that, and that no modules use each other in a circle.
//!
//! ```text
//!            writing                               reading
//!
//!   pack      parts, threads, frames      unpack     blocks to text
//!   ingest    JSON, CSV, Ion, Arrow       aggregate  sums and counts
//!             to rows                     profile    what is in the fields of rows
//!   chunk     rows to chunks, symbols,    scan       rows to columns, predicates, first rows
//!             types and times of fields   search     grep
//!                                         verify     checks of blocks
//!
//!            index        statistics, ribbon filters, parts by values
//!            functions    functions of SQL
//!            value        values where they lie, their order, their text
//!            block        frames and chunks, their rows, runs over threads
//!            bucket       the sixteen buckets of a chunk
//!            json, codec  printing; zstd and iguana
//!            times        the one reader of times
//!            ion, simd    stored values; vector kernels
//!            input, pipeline, limits, error
//! ```
//!
//! # Example
//!
//! Rows are packed into a block, and read again:
//!
//! ```
//! use std::sync::Arc;
//!
//! use zion::block::BlockReader;
//! use zion::block::rows::Rows;
//! use zion::codec::Algorithm;
//! use zion::index::statistics::Choice;
//! use zion::pack::inflate::Compression;
//! use zion::pack::{Constants, Format, OnError, Options, Packer, Stop};
//!
//! fn main() -> Result<(), Stop> {
//!     let options = Options {
//!         algorithm: Algorithm::ZionZstd,
//!         level: 3,
//!         align: 1 << 20,
//!         max_row: 1 << 20,
//!         block_bytes: 100 << 20,
//!         part_bytes: 16 << 20,
//!         read_bytes: 1 << 20,
//!         threads: 1,
//!         on_error: OnError::Fail,
//!         time_paths: Arc::default(),
//!         statistics: Choice::Off,
//!         ngrams: Arc::default(),
//!     };
//!     let (align, never) = (options.align, &mut || false);
//!     let mut packer = Packer::new(options, Constants::default())?;
//!     packer.begin("events.json", Format::Json(None), Compression::None)?;
//!     packer.feed(br#"{"name": "a", "n": 1} {"name": "b"}"#, never)?;
//!     packer.end(never)?;
//!     let mut block = vec![];
//!     while !packer.is_drained() {
//!         packer.wait(never)?;
//!         block.extend(packer.take()?.into_iter().flatten());
//!     }
//!
//!     let mut rows = 0;
//!     let mut reader = BlockReader::new(&block, Algorithm::ZionZstd, align)?;
//!     while let Some(chunk) = reader.next_chunk()? {
//!         rows += Rows::new(chunk.data, chunk.rows_at).count();
//!     }
//!     assert_eq!((rows, packer.rows), (2, 2));
//!     Ok(())
//! }
//! ```
#![deny(unsafe_code, missing_docs)]

pub mod aggregate;
pub mod block;
pub mod bucket;
pub mod chunk;
pub mod codec;
pub mod descriptors;
pub mod error;
pub mod functions;
pub mod index;
pub mod ingest;
pub mod input;
pub mod ion;
pub mod json;
pub mod limits;
pub mod pack;
pub mod pipeline;
pub mod profile;
pub mod scan;
pub mod search;
#[allow(unsafe_code)]
mod simd;
pub mod times;
pub mod unpack;
pub mod value;
pub mod verify;

pub use error::{Error, Result};

#[cfg(test)]
#[path = "../tests/common/vectors.rs"]
mod vectors;
