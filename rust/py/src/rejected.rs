//! `RejectedBatch`: records that were passed over, of which only those become Python objects that are asked for.

use std::sync::Arc;

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use zion::pack::Rejects;

/// Records of one input that were passed over, one at least.
#[pyclass(module = "sdb._core", frozen)]
pub struct RejectedBatch {
    input: String,
    records: Arc<Rejects>,
    /// The number of its first record.
    start: usize,
}

impl RejectedBatch {
    pub fn new(input: String, records: Rejects) -> Self {
        Self { input, records: Arc::new(records), start: 0 }
    }
}

#[pymethods]
impl RejectedBatch {
    fn __len__(&self) -> usize {
        self.records.len() - self.start
    }

    /// A record: `(input, line, offset, message, text)`.
    fn __getitem__<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyTuple>> {
        let record = self.start.checked_add(index).and_then(|number| self.records.get(number));
        let record = record.ok_or_else(|| PyIndexError::new_err(index))?;
        let text = PyBytes::new(py, record.text);
        (&self.input, record.line, record.offset, record.message, text).into_pyobject(py)
    }

    /// The last records of the batch.
    fn last(&self, count: usize) -> Self {
        let start = self.records.len().saturating_sub(count).max(self.start);
        Self { input: self.input.clone(), records: Arc::clone(&self.records), start }
    }

    /// Whether they became rows.
    #[getter]
    fn are_kept(&self) -> bool {
        self.records.are_kept()
    }

    /// The texts of all records, each with a line end.
    fn lines<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let joined = py.detach(|| {
            let mut joined = vec![];
            for record in self.records.iter_from(self.start) {
                joined.extend_from_slice(record.text);
                if record.text.last() != Some(&b'\n') {
                    joined.push(b'\n');
                }
            }
            joined
        });
        PyBytes::new(py, &joined)
    }
}
