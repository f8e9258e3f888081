//! `DescriptorColumns`: lists of packfiles of a table.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList};
use zion::descriptors::Columns;
use zion::ion::value::Name;

use crate::errors::to_py;
use crate::ion::Builder;

/// The descriptors of a list in columns.
#[pyclass(module = "sdb._core", frozen)]
pub struct DescriptorColumns {
    inner: Columns,
}

#[pymethods]
impl DescriptorColumns {
    /// Reads the content of a list.
    #[new]
    #[pyo3(signature = (content, /))]
    #[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
    fn new(py: Python<'_>, content: PyBackedBytes) -> PyResult<Self> {
        Ok(Self { inner: py.detach(|| Columns::read(&content)).map_err(to_py)? })
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }

    /// The numbers of those that have to be read whole.
    fn others(&self) -> Vec<usize> {
        (0..self.inner.len()).filter(|&number| !self.inner.is_plain(number)).collect()
    }

    /// One as it is stored, from the same content.
    fn value<'py>(&self, py: Python<'py>, content: &[u8], number: usize) -> PyResult<Bound<'py, PyAny>> {
        let found = self.inner.value(content, number).map_err(to_py)?;
        Builder::new(py)?.build(&found)
    }

    /// The key of each; empty where it has to be read whole.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, (0..self.inner.len()).map(|number| self.inner.key(number)))
    }

    fn key(&self, number: usize) -> &str {
        self.inner.key(number)
    }

    /// Sizes of packfiles, as integers of 64 bits in the order of this machine.
    #[getter]
    fn sizes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        column(py, &self.inner.sizes)
    }

    /// Numbers of rows; -1 where they are not known.
    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        column(py, &self.inner.rows)
    }

    /// Numbers of blocks.
    #[getter]
    fn blocks<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        column(py, &self.inner.blocks)
    }

    /// Bytes of all blocks.
    #[getter]
    fn stored<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        column(py, &self.inner.stored)
    }

    /// Bytes of all chunks when they are decompressed.
    #[getter]
    fn decompressed<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        column(py, &self.inner.decompressed)
    }

    /// The structs of constants that packfiles have, each once.
    fn constants<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let mut builder = Builder::new(py)?;
        self.inner.constants.iter().map(|value| builder.build(value)).collect()
    }

    /// Those that may have a time at a path from `first` to `last`, as half-open ranges of numbers.
    #[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
    fn within(&self, path: Vec<String>, first: i64, last: i64) -> Vec<(usize, usize)> {
        let path: Vec<Name> = path.iter().map(|name| name.as_str().into()).collect();
        self.inner.within(&path, first, last)
    }

    /// Those whose constants are among some, by their numbers, or not known.
    #[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
    fn having(&self, constants: Vec<u32>) -> Vec<(usize, usize)> {
        self.inner.having(&constants)
    }
}

fn column<'py>(py: Python<'py>, numbers: &[i64]) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
    PyBytes::new(py, &bytes)
}
