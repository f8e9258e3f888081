//! `dump_batch`: rows of Arrow as Ion.

use arrow_array::cast::AsArray;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use zion::ingest::columns::{self, Dumped};

use crate::errors;
use crate::ffi;

/// Encodes rows of a batch as a stream of its own: version marker, symbol table, a list of structs.
///
/// Returns it, how many of the first rows it has, and the columns of which decimals, or times, became text.
#[pyfunction]
#[pyo3(signature = (batch, /, *, keep_nulls))]
pub fn dump_batch<'py>(batch: &Bound<'py, PyAny>, keep_nulls: bool) -> PyResult<Bound<'py, PyTuple>> {
    let py = batch.py();
    let array = ffi::array(batch)?;
    let Some(rows) = array.as_struct_opt() else {
        return Err(PyTypeError::new_err(format!(
            "a record batch was expected, this is a {}",
            array.data_type()
        )));
    };
    let data = py.detach(|| columns::dumps(rows, keep_nulls));
    match data {
        Ok(Dumped { data, rows, decimals, times }) => {
            (PyBytes::new(py, &data), rows, decimals, times).into_pyobject(py)
        }
        Err(refused) => Err(errors::refused(py, &refused.to_string())),
    }
}
