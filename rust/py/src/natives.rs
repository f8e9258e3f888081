//! Functions of the query language over Arrow arrays, through the Arrow `PyCapsule` interface.

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::{ArrayRef, make_array};
use arrow_schema::ArrowError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use zion::Error;

use crate::errors::to_py;

fn failed(error: &ArrowError) -> PyErr {
    to_py(Error::argument(format!("no Arrow data: {error}")))
}

/// An array of any Arrow library, taken over without a copy.
pub struct Import(ArrayRef);

impl<'py> FromPyObject<'_, 'py> for Import {
    type Error = PyErr;

    #[allow(unsafe_code)]
    fn extract(any: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (schema, array): (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>) =
            any.call_method0("__arrow_c_array__")?.extract()?;
        let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
        let array = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>();
        // SAFETY: the names were checked, and by the Arrow PyCapsule interface capsules of these
        // names point to structures of the Arrow C data interface, which live as long as their
        // capsules, and these live until the end of this function. The array is moved out, and what
        // is left in its place is marked as released, as the interface asks of consumers; the
        // schema is only looked at. `FFI_ArrowArray` and `FFI_ArrowSchema` have the layout of the C
        // structures.
        let data = unsafe { from_ffi(FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
        Ok(Self(make_array(data.map_err(|error| failed(&error))?)))
    }
}

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
        let (array, schema) = to_ffi(&self.0.to_data()).map_err(|error| failed(&error))?;
        let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
        Ok((schema, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }
}

/// Calls a function by its name.
#[pyfunction]
#[pyo3(signature = (name, /, *args))]
#[allow(clippy::needless_pass_by_value)] // A signature of Python.
pub fn native_call(py: Python<'_>, name: &str, args: Vec<Import>) -> PyResult<ArrowColumn> {
    let args: Vec<ArrayRef> = args.into_iter().map(|import| import.0).collect();
    py.detach(|| zion::natives::call::call(name, &args)).map(ArrowColumn).map_err(to_py)
}
