//! The module `sdb._core`: bindings only, no logic.
#![deny(unsafe_code)]

use pyo3::prelude::*;

mod arrow;
mod asked;
mod capsule;
mod census;
mod columns;
mod descriptors;
mod digest;
mod edit;
mod errors;
mod feed;
#[allow(unsafe_code)]
mod foreign;
mod groups;
mod iguana;
mod ion;
mod lanes;
mod late;
mod membership;
mod natives;
mod pack;
mod place;
mod profile;
mod rejected;
mod render;
mod rows;
mod scatter;
mod search;
mod statistics;
mod unpack;
mod verify;
mod words;
mod zstd;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<arrow::ArrowBatch>()?;
    module.add_class::<arrow::ArrowScan>()?;
    module.add_class::<natives::ArrowColumn>()?;
    module.add_class::<arrow::ArrowStream>()?;
    module.add_class::<arrow::ArrowTypes>()?;
    module.add_class::<descriptors::DescriptorColumns>()?;
    module.add_class::<digest::BlockDigester>()?;
    module.add_class::<digest::ContentDigester>()?;
    module.add_class::<edit::RowEditor>()?;
    module.add_class::<groups::Table>()?;
    module.add_class::<lanes::LaneScan>()?;
    module.add_class::<render::RenderedRows>()?;
    module.add_class::<search::Matcher>()?;
    module.add_class::<membership::SetSlices>()?;
    module.add_class::<membership::ValueHashes>()?;
    module.add_class::<pack::Packer>()?;
    module.add_class::<profile::FieldProfile>()?;
    module.add_class::<rejected::RejectedBatch>()?;
    module.add_class::<rows::RowIterator>()?;
    module.add_class::<scatter::RowScatter>()?;
    module.add_class::<unpack::Unpacker>()?;
    module.add_class::<verify::BlockReport>()?;
    module.add_function(wrap_pyfunction!(columns::dump_batch, module)?)?;
    module.add_function(wrap_pyfunction!(digest::digest_block, module)?)?;
    module.add_function(wrap_pyfunction!(digest::join_hashes, module)?)?;
    module.add_function(wrap_pyfunction!(iguana::iguana_compress, module)?)?;
    module.add_function(wrap_pyfunction!(iguana::iguana_decompress, module)?)?;
    module.add_function(wrap_pyfunction!(ion::ion_decode, module)?)?;
    module.add_function(wrap_pyfunction!(ion::ion_dumps, module)?)?;
    module.add_function(wrap_pyfunction!(ion::ion_encode, module)?)?;
    module.add_function(wrap_pyfunction!(ion::ion_loads, module)?)?;
    module.add_function(wrap_pyfunction!(ion::ion_symbols, module)?)?;
    module.add_function(wrap_pyfunction!(ion::values, module)?)?;
    module.add_function(wrap_pyfunction!(membership::blocks_with, module)?)?;
    module.add_function(wrap_pyfunction!(membership::hash_integer, module)?)?;
    module.add_function(wrap_pyfunction!(membership::hash_section, module)?)?;
    module.add_function(wrap_pyfunction!(membership::hash_text, module)?)?;
    module.add_function(wrap_pyfunction!(natives::native_call, module)?)?;
    module.add_function(wrap_pyfunction!(render::render_ion, module)?)?;
    module.add_function(wrap_pyfunction!(render::render_json, module)?)?;
    module.add_function(wrap_pyfunction!(rows::rows, module)?)?;
    module.add_function(wrap_pyfunction!(scatter::hash_rows, module)?)?;
    module.add_function(wrap_pyfunction!(scatter::sample_keys, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::measure_block, module)?)?;
    module.add_function(wrap_pyfunction!(verify::verify_block, module)?)?;
    module.add_function(wrap_pyfunction!(words::address_prefixes, module)?)?;
    module.add_function(wrap_pyfunction!(words::missing_pieces, module)?)?;
    module.add_function(wrap_pyfunction!(words::needed_texts, module)?)?;
    module.add_function(wrap_pyfunction!(words::text_pieces, module)?)?;
    module.add_function(wrap_pyfunction!(zstd::zstd_compress, module)?)?;
    module.add_function(wrap_pyfunction!(zstd::zstd_decompress, module)?)?;
    Ok(())
}
