//! Arrow data through the `PyCapsule` interface.

use std::io;

use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::no_arrow;
use crate::ffi::attached;

/// A schema for a consumer.
pub fn schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(|error| no_arrow(&error))?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

/// A stream for a consumer, which pulls batches out of `next` on whatever thread it likes.
pub fn stream<F>(py: Python<'_>, schema: SchemaRef, next: F) -> PyResult<Bound<'_, PyCapsule>>
where
    F: FnMut(Python<'_>) -> PyResult<Option<RecordBatch>> + Send + 'static,
{
    let reader = Reader { schema, next: Some(next) };
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
}

/// What a consumer pulls at; `next` is there until the end.
struct Reader<F> {
    schema: SchemaRef,
    next: Option<F>,
}

impl<F: FnMut(Python<'_>) -> PyResult<Option<RecordBatch>>> Iterator for Reader<F> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next.as_mut()?;
        attached(|py| next(py).map_err(|error| as_text(py, &error))).transpose()
    }
}

impl<F> Drop for Reader<F> {
    fn drop(&mut self) {
        let next = self.next.take();
        attached(|_| drop(next));
    }
}

impl<F: FnMut(Python<'_>) -> PyResult<Option<RecordBatch>>> RecordBatchReader for Reader<F> {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}

/// Only text passes through the C interface. An interrupt is raised again when that has been left.
fn as_text(py: Python<'_>, error: &PyErr) -> ArrowError {
    if error.is_instance_of::<PyKeyboardInterrupt>(py)
        && let Ok(threads) = py.import("_thread")
    {
        drop(threads.call_method0("interrupt_main"));
    }
    ArrowError::from(io::Error::other(error.to_string()))
}
