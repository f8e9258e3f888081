//! What comes from outside by number or pointer: Arrow data across the C interface, files by descriptor.

use std::fs::File;
use std::os::fd::{BorrowedFd, RawFd};
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{ArrayRef, make_array};
use arrow_schema::{Schema, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::no_arrow;

/// The batches of an object that has `__arrow_c_stream__`.
pub fn stream(object: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    let capsule = object.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let pointer: NonNull<FFI_ArrowArrayStream> = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast();
    // SAFETY: a capsule of this name holds a stream by the rules of the Arrow PyCapsule interface, and is
    // alive here. The stream is moved out: what stays behind is marked as released.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
    RecordBatchStreamReader::try_new(stream).map_err(|error| no_arrow(&error))
}

/// The schema of an object that has `__arrow_c_schema__`.
pub fn schema(object: &Bound<'_, PyAny>) -> PyResult<SchemaRef> {
    let capsule = object.call_method0("__arrow_c_schema__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let schema: NonNull<FFI_ArrowSchema> = capsule.pointer_checked(Some(c"arrow_schema"))?.cast();
    // SAFETY: as above; the schema is only looked at while the capsule is alive.
    let schema = Schema::try_from(unsafe { schema.as_ref() });
    Ok(Arc::new(schema.map_err(|error| no_arrow(&error))?))
}

/// The array of an object that has `__arrow_c_array__`, without a copy.
pub fn array(object: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let capsules = object.call_method0("__arrow_c_array__")?;
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = capsules.extract()?;
    let schema: NonNull<FFI_ArrowSchema> = schema.pointer_checked(Some(c"arrow_schema"))?.cast();
    let array: NonNull<FFI_ArrowArray> = array.pointer_checked(Some(c"arrow_array"))?.cast();
    // SAFETY: as above; `capsules` keeps both structures alive until the end of the function. The array
    // is moved out, the schema only looked at.
    let data = unsafe { from_ffi(FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
    Ok(make_array(data.map_err(|error| no_arrow(&error))?))
}

/// A file that Python has open, under a descriptor of our own.
pub fn file(fd: RawFd) -> PyResult<File> {
    if fd < 0 {
        return Err(PyValueError::new_err("the file is closed"));
    }
    // SAFETY: the number is not -1. It is borrowed for this call only, in which no Python code runs, so
    // nobody closes it; if nothing is open under it, duplicating fails.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    Ok(File::from(borrowed.try_clone_to_owned()?))
}

/// Runs code of a callback with the interpreter.
///
/// The caller may have released the interpreter without telling `PyO3`, which then takes a thread that
/// came from Python for one that still has it.
pub fn attached<R>(run: impl FnOnce(Python<'_>) -> R) -> R {
    struct Held(ffi::PyGILState_STATE);

    impl Drop for Held {
        fn drop(&mut self) {
            // SAFETY: the state comes from the call below, on this thread, and is given back once.
            unsafe { ffi::PyGILState_Release(self.0) }
        }
    }

    // SAFETY: callbacks live in modules that were loaded by an interpreter that runs.
    let held = Held(unsafe { ffi::PyGILState_Ensure() });
    let result = Python::attach(run);
    drop(held);
    result
}
