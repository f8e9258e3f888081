//! Arrow streams of others: the one place where pointers come from outside.

use std::ptr::NonNull;

use arrow_array::ffi_stream::{RecordBatchStreamReader, FFI_ArrowArrayStream};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::capsule::failed;

/// The batches of an object that has `__arrow_c_stream__`.
pub fn stream(object: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    let capsule = object.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let pointer: NonNull<FFI_ArrowArrayStream> = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast();
    // SAFETY: a capsule of this name holds a stream by the rules of the Arrow PyCapsule interface, and is
    // alive here. The stream is moved out: what stays behind is marked as released.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
    RecordBatchStreamReader::try_new(stream).map_err(|error| failed(&error))
}
