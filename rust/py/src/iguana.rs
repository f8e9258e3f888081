//! Raw iguana buffers.

use std::cell::{Cell, RefCell};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use zion::codec::iguana::{Decoder, Encoder};

use crate::errors::to_py;

thread_local! {
    /// Tables and memory that a thread keeps: making them anew costs as much as a small buffer.
    static DECODER: RefCell<Decoder> = RefCell::default();
    static OUTPUT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

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
    let mut out = OUTPUT.take();
    let result = py.detach(|| DECODER.with_borrow_mut(|decoder| decoder.decompress(&data, &mut out, limit)));
    let content = result.map(|()| PyBytes::new(py, &out)).map_err(to_py);
    OUTPUT.set(out);
    content
}
