//! Raw iguana buffers.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use zion::codec::iguana::{self, Encoder};

use crate::errors::to_py;

/// Compresses bytes to an iguana buffer.
#[pyfunction]
#[pyo3(signature = (data, /))]
#[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
pub fn iguana_compress(py: Python<'_>, data: PyBackedBytes) -> Bound<'_, PyBytes> {
    let mut out = vec![];
    py.detach(|| Encoder::new().compress(&data, &mut out));
    PyBytes::new(py, &out)
}

/// Gives the content of an iguana buffer: at most `limit` bytes.
#[pyfunction]
#[pyo3(signature = (data, limit, /))]
#[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
pub fn iguana_decompress(py: Python<'_>, data: PyBackedBytes, limit: usize) -> PyResult<Bound<'_, PyBytes>> {
    let mut out = vec![];
    py.detach(|| iguana::decompress(&data, &mut out, limit)).map_err(to_py)?;
    Ok(PyBytes::new(py, &out))
}
