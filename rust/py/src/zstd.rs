//! Small things in zstd: members of the extension.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use zion::codec::zstd::{Compressor, Decompressor};

use crate::errors::to_py;

/// A level that is worth its time on some kilobytes.
const LEVEL: i32 = 12;

/// Compresses bytes to a zstd frame.
#[pyfunction]
#[pyo3(signature = (data, /))]
#[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
pub fn zstd_compress(py: Python<'_>, data: PyBackedBytes) -> PyResult<Bound<'_, PyBytes>> {
    let mut out = vec![];
    py.detach(|| Compressor::new(LEVEL)?.compress(&data, &mut out)).map_err(to_py)?;
    Ok(PyBytes::new(py, &out))
}

/// Gives the content of zstd frames: at most `limit` bytes.
#[pyfunction]
#[pyo3(signature = (data, limit, /))]
#[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
pub fn zstd_decompress(py: Python<'_>, data: PyBackedBytes, limit: usize) -> PyResult<Bound<'_, PyBytes>> {
    let mut out = vec![];
    py.detach(|| Decompressor::new(true)?.decompress(&data, &mut out, limit)).map_err(to_py)?;
    Ok(PyBytes::new(py, &out))
}
