//! Functions of the query language over Arrow arrays, through the Arrow `PyCapsule` interface.

use arrow_array::ffi::to_ffi;
use arrow_array::{Array, ArrayRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::errors::{no_arrow, to_py};
use crate::ffi;

/// A column for any Arrow library.
#[pyclass(module = "sdb._core", frozen)]
pub struct ArrowColumn(ArrayRef);

#[pymethods]
impl ArrowColumn {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Py<PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        drop(requested_schema);
        let (array, schema) = to_ffi(&self.0.to_data()).map_err(|error| no_arrow(&error))?;
        let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
        Ok((schema, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }
}

/// Calls a function by its name.
#[pyfunction]
#[pyo3(signature = (name, /, *args))]
pub fn call_function(py: Python<'_>, name: &str, args: &Bound<'_, PyTuple>) -> PyResult<ArrowColumn> {
    let args = args.iter().map(|arg| ffi::array(&arg)).collect::<PyResult<Vec<_>>>()?;
    py.detach(|| zion::functions::call::call(name, &args)).map(ArrowColumn).map_err(to_py)
}
