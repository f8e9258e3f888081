//! Small things in zstd: members of the extension.

use std::cell::Cell;

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
    py.detach(|| compress(&data, &mut out)).map_err(to_py)?;
    Ok(PyBytes::new(py, &out))
}

/// Appends a frame, made by the compressor that the thread keeps: to make one takes as long as short content.
fn compress(data: &[u8], out: &mut Vec<u8>) -> zion::Result<()> {
    thread_local! {
        static KEPT: Cell<Option<Compressor>> = const { Cell::new(None) };
    }
    let mut compressor = KEPT.take().map_or_else(|| Compressor::new(LEVEL), Ok)?;
    compressor.compress(data, out)?;
    KEPT.set(Some(compressor));
    Ok(())
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
