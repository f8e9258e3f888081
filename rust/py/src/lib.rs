//! The module `sdb._core`: bindings only, no logic.
#![deny(unsafe_code)]

use pyo3::prelude::*;

mod arrow;
mod capsule;
mod cluster;
mod columns;
mod convert;
mod descriptors;
mod digest;
mod edit;
mod errors;
mod feed;
#[allow(unsafe_code)]
mod ffi;
mod field_counts;
mod files;
mod functions;
mod groups;
mod iguana;
mod ion;
mod known;
mod lane_scan;
mod logs;
mod ngrams;
mod pack;
mod profile;
mod rejected;
mod render;
mod ribbon;
mod rows;
mod search;
mod source;
mod statistics;
mod times;
mod topk;
mod unpack;
mod verify;
mod zstd;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<arrow::ArrowBatch>()?;
    module.add_class::<arrow::ArrowScan>()?;
    module.add_class::<functions::ArrowColumn>()?;
    module.add_class::<arrow::ArrowStream>()?;
    module.add_class::<arrow::ArrowTypes>()?;
    module.add_class::<descriptors::DescriptorColumns>()?;
    module.add_class::<digest::BlockDigester>()?;
    module.add_class::<digest::ContentDigester>()?;
    module.add_class::<edit::RowEditor>()?;
    module.add_class::<groups::ArrowTable>()?;
    module.add_class::<lane_scan::LaneScan>()?;
    module.add_class::<render::RenderedRows>()?;
    module.add_class::<search::Matcher>()?;
    module.add_class::<ribbon::RibbonSlices>()?;
    module.add_class::<ribbon::ValueHashes>()?;
    module.add_class::<pack::Packer>()?;
    module.add_class::<profile::FieldProfile>()?;
    module.add_class::<rejected::RejectedBatch>()?;
    module.add_class::<rows::RowIterator>()?;
    module.add_class::<cluster::RowPartitioner>()?;
    module.add_class::<unpack::Unpacker>()?;
    module.add_class::<verify::BlockReport>()?;
    module.add_function(wrap_pyfunction!(columns::dump_batch, module)?)?;
    module.add_function(wrap_pyfunction!(digest::digest_block, module)?)?;
    module.add_function(wrap_pyfunction!(digest::join_hashes, module)?)?;
    module.add_function(wrap_pyfunction!(files::file_born_ns, module)?)?;
    module.add_function(wrap_pyfunction!(iguana::iguana_compress, module)?)?;
    module.add_function(wrap_pyfunction!(iguana::iguana_decompress, module)?)?;
    module.add_function(wrap_pyfunction!(ion::ion_decode, module)?)?;
    module.add_function(wrap_pyfunction!(ion::ion_dumps, module)?)?;
    module.add_function(wrap_pyfunction!(ion::ion_encode, module)?)?;
    module.add_function(wrap_pyfunction!(ion::ion_loads, module)?)?;
    module.add_function(wrap_pyfunction!(ion::ion_symbols, module)?)?;
    module.add_function(wrap_pyfunction!(ion::values, module)?)?;
    module.add_function(wrap_pyfunction!(known::known_rows, module)?)?;
    module.add_function(wrap_pyfunction!(logs::log_form, module)?)?;
    module.add_function(wrap_pyfunction!(logs::log_forms, module)?)?;
    module.add_function(wrap_pyfunction!(logs::log_last_record, module)?)?;
    module.add_function(wrap_pyfunction!(ribbon::blocks_with, module)?)?;
    module.add_function(wrap_pyfunction!(ribbon::hash_integer, module)?)?;
    module.add_function(wrap_pyfunction!(ribbon::hash_section, module)?)?;
    module.add_function(wrap_pyfunction!(ribbon::hash_text, module)?)?;
    module.add_function(wrap_pyfunction!(functions::call_function, module)?)?;
    module.add_function(wrap_pyfunction!(render::render_ion, module)?)?;
    module.add_function(wrap_pyfunction!(render::render_json, module)?)?;
    module.add_function(wrap_pyfunction!(render::render_text, module)?)?;
    module.add_function(wrap_pyfunction!(render::text_columns, module)?)?;
    module.add_function(wrap_pyfunction!(rows::rows, module)?)?;
    module.add_function(wrap_pyfunction!(cluster::hash_rows, module)?)?;
    module.add_function(wrap_pyfunction!(cluster::sample_keys, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::measure_block, module)?)?;
    module.add_function(wrap_pyfunction!(verify::verify_block, module)?)?;
    module.add_function(wrap_pyfunction!(ngrams::address_prefixes, module)?)?;
    module.add_function(wrap_pyfunction!(ngrams::missing_ngrams, module)?)?;
    module.add_function(wrap_pyfunction!(ngrams::needed_texts, module)?)?;
    module.add_function(wrap_pyfunction!(ngrams::text_joints, module)?)?;
    module.add_function(wrap_pyfunction!(ngrams::text_ngrams, module)?)?;
    module.add_function(wrap_pyfunction!(times::time_of_date_or_time, module)?)?;
    module.add_function(wrap_pyfunction!(times::time_of_form, module)?)?;
    module.add_function(wrap_pyfunction!(times::time_of_text, module)?)?;
    module.add_function(wrap_pyfunction!(zstd::zstd_compress, module)?)?;
    module.add_function(wrap_pyfunction!(zstd::zstd_decompress, module)?)?;
    Ok(())
}
