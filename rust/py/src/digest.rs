//! Digests of blocks.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use zion::block::digest;
use zion::pack::content;

use crate::convert::backed;
use crate::errors::to_py;

/// The digest of a block, from the hashes of its frames.
#[pyfunction]
pub fn join_hashes<'py>(py: Python<'py>, hashes: &[u8]) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &digest::of_hashes(hashes))
}

/// The digest of a block.
#[pyfunction]
pub fn digest_block<'py>(block: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let py = block.py();
    let data = backed(block)?;
    let digest = py.detach(|| digest::of_block(&data)).map_err(to_py)?;
    Ok(PyBytes::new(py, &digest))
}

/// Makes the digest of a block that comes piece by piece.
#[pyclass(module = "sdb._core")]
#[derive(Default)]
pub struct BlockDigester {
    inner: digest::Digester,
}

#[pymethods]
impl BlockDigester {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes.
    #[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
    fn update(&mut self, py: Python<'_>, data: PyBackedBytes) -> PyResult<()> {
        py.detach(|| self.inner.update(&data)).map_err(to_py)
    }

    /// The digest, at the end of the block; what comes next is another one.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.inner.finish().map_err(to_py)?))
    }
}

/// Makes the digest of an input's content, which comes piece by piece.
#[pyclass(module = "sdb._core")]
#[derive(Default)]
pub struct ContentDigester {
    pieces: content::Pieces,
}

#[pymethods]
impl ContentDigester {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes.
    #[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
    fn update(&mut self, py: Python<'_>, data: PyBackedBytes) {
        py.detach(|| self.pieces.update(&data));
    }

    /// The digest of all of them, once.
    fn finish<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let mut digester = content::Digester::default();
        digester.end(self.pieces.finish());
        PyBytes::new(py, &digester.finish())
    }
}
