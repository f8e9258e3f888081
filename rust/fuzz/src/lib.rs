//! What each fuzz target checks. Besides not panicking: what was accepted has to survive a round trip.
//!
//! A check fails with an error or a failed assertion. `rust/zion/tests/fuzz_corpus.rs` includes this file and replays
//! the corpus with every `cargo test`.

pub mod block;
pub mod file;
pub mod hints;
pub mod iguana;
mod ingest;
pub mod ion;
pub mod json;
pub mod lanes;
pub mod logs;
pub mod resume;
mod rows;
pub mod unfold;
pub mod vectors;
pub mod xsv;
pub mod zion_chunk;
