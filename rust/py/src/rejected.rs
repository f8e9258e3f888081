//! `RejectedBatch`: records that were passed over, of which only those become Python objects that are asked for.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use zion::pack::Rejected;

/// Records of one input that were passed over, one at least.
#[pyclass(module = "sdb._core", frozen)]
pub struct RejectedBatch {
    input: String,
    records: Vec<Rejected>,
}

impl RejectedBatch {
    pub fn new(input: String, records: Vec<Rejected>) -> Self {
        Self { input, records }
    }
}

#[pymethods]
impl RejectedBatch {
    fn __len__(&self) -> usize {
        self.records.len()
    }

    /// A record: `(input, line, offset, message, text)`.
    fn __getitem__<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyTuple>> {
        let record = self.records.get(index).ok_or_else(|| PyIndexError::new_err(index))?;
        let line = record.error.line().unwrap_or(0);
        let text = PyBytes::new(py, &record.text);
        (&self.input, line, record.offset, record.error.message(), text).into_pyobject(py)
    }

    /// The last records of the batch.
    fn last(&self, count: usize) -> Self {
        let start = self.records.len().saturating_sub(count);
        Self { input: self.input.clone(), records: self.records[start..].to_vec() }
    }

    /// The texts of all records, each with a line end.
    fn lines<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let joined = py.detach(|| {
            let mut joined = vec![];
            for record in &self.records {
                joined.extend_from_slice(&record.text);
                if record.text.last() != Some(&b'\n') {
                    joined.push(b'\n');
                }
            }
            joined
        });
        PyBytes::new(py, &joined)
    }
}
