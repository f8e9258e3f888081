//! `ArrowScan`: blocks of a packfile as Arrow record batches, through the Arrow `PyCapsule` interface.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::ffi::{FFI_ArrowSchema, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use zion::codec::Algorithm;
use zion::rows::TimeFilter;
use zion::runs::{Failure, Next, Runs};
use zion::scan::{Layout, Request, Seen};
use zion::{Error, Result};

use crate::errors::to_py;
use crate::unpack::{backed, names};

/// How long a wait lasts before signals are looked at.
const PATIENCE: Duration = Duration::from_millis(50);

/// Where blocks come from.
struct Source {
    /// Gives the bytes of a block: `read(number)`.
    read: Py<PyAny>,
    /// Makes an exception say where it comes from: `blame(exception, number)`.
    blame: Option<Py<PyAny>>,
    /// The number of chunks of each block.
    chunks: Vec<usize>,
}

impl Source {
    fn clone_ref(&self, py: Python<'_>) -> Self {
        Self {
            read: self.read.clone_ref(py),
            blame: self.blame.as_ref().map(|blame| blame.clone_ref(py)),
            chunks: self.chunks.clone(),
        }
    }

    fn exception(&self, py: Python<'_>, (number, error): Failure) -> PyErr {
        let exception = to_py(error);
        let Some(blame) = &self.blame else { return exception };
        match blame.call1(py, (exception, number)) {
            Ok(blamed) => PyErr::from_value(blamed.into_bound(py)),
            Err(failure) => failure,
        }
    }
}

/// Blocks on their way through the threads.
struct Feed<R> {
    source: Source,
    runs: Runs<R>,
    fed: usize,
}

impl<R: Send + 'static> Feed<R> {
    fn new(source: Source, runs: Runs<R>) -> Self {
        Self { source, runs, fed: 0 }
    }

    /// The next result. Blocks are read when all of the one before is on its way.
    fn next(&mut self, py: Python<'_>) -> PyResult<Option<R>> {
        loop {
            let wants = self.runs.queued() == 0 && !self.runs.is_done();
            let more = self.source.chunks.get(self.fed).copied().filter(|_| wants);
            let patience = if more.is_some() { Duration::ZERO } else { PATIENCE };
            match py.detach(|| self.runs.next(patience)) {
                Next::Ready(result) => return Ok(Some(result)),
                Next::Failed(failure) => return Err(self.source.exception(py, failure)),
                Next::Idle if more.is_none() => return Ok(None),
                Next::Idle | Next::Pending => {}
            }
            py.check_signals()?;
            if let Some(chunks) = more {
                let block = self.source.read.call1(py, (self.fed,))?;
                let block = Arc::new(backed(block.bind(py))?);
                let pushed = self.runs.push(block, Some(chunks));
                pushed.map_err(|error| self.source.exception(py, (self.fed, error)))?;
                self.fed += 1;
            }
        }
    }
}

fn boxed(fields: Option<Vec<String>>) -> Option<Vec<Box<str>>> {
    fields.map(|fields| fields.into_iter().map(String::into_boxed_str).collect())
}

/// Rows of blocks that are wanted as Arrow data.
#[pyclass(module = "sdb._core", frozen)]
pub struct ArrowScan {
    source: Source,
    request: Request,
}

#[pymethods]
impl ArrowScan {
    #[new]
    #[allow(clippy::too_many_arguments)] // They are keywords in Python.
    #[pyo3(signature = (read, chunks, algorithm, align, *, threads=0, fields=None, time_filter=None, limit=None, blame=None))]
    fn new(
        read: Py<PyAny>,
        chunks: Vec<usize>,
        algorithm: &str,
        align: usize,
        threads: usize,
        fields: Option<Vec<String>>,
        time_filter: Option<(Vec<String>, Option<i64>, Option<i64>)>,
        limit: Option<u64>,
        blame: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let filter = time_filter
            .map(|(path, start, stop)| TimeFilter::new(names(Some(path)).unwrap_or_default(), start, stop))
            .transpose();
        let request = Request {
            algorithm: Algorithm::from_name(algorithm).map_err(to_py)?,
            align,
            fields: boxed(fields),
            filter: filter.map_err(to_py)?,
            limit,
            threads,
        };
        Ok(Self { source: Source { read, blame, chunks }, request })
    }

    /// Goes over the rows to find out what types their values have.
    fn types(&self, py: Python<'_>) -> PyResult<ArrowTypes> {
        let runs = py.detach(|| self.request.observe()).map_err(to_py)?;
        let mut feed = Feed::new(self.source.clone_ref(py), runs);
        let fields = self.request.fields.clone();
        let mut types = ArrowTypes { rows: 0, seen: Seen::default(), fields };
        while let Some((seen, rows)) = feed.next(py)? {
            types.add(seen, rows).map_err(to_py)?;
        }
        Ok(types)
    }

    /// Goes over the rows again, now that their types are known, and gives them as record batches.
    fn stream(&self, py: Python<'_>, types: &ArrowTypes) -> PyResult<ArrowStream> {
        let layout = Arc::new(types.layout());
        let runs = py.detach(|| self.request.build(&layout)).map_err(to_py)?;
        let feed = Feed::new(self.source.clone_ref(py), runs);
        let schema = Arc::clone(&layout.schema);
        let batches = Some(Batches { feed, ready: Vec::new().into_iter() });
        Ok(ArrowStream { schema, batches, rows: 0 })
    }
}

/// What types values have, found out by [`ArrowScan::types`].
#[pyclass(module = "sdb._core")]
pub struct ArrowTypes {
    rows: u64,
    seen: Seen,
    fields: Option<Vec<Box<str>>>,
}

impl ArrowTypes {
    fn add(&mut self, seen: Seen, rows: u64) -> Result<()> {
        self.rows += rows;
        self.seen.merge(seen);
        self.seen.shrink().map(drop)
    }

    fn layout(&self) -> Layout {
        Layout::of(&self.seen, self.fields.as_deref())
    }
}

#[pymethods]
impl ArrowTypes {
    /// Nothing seen yet; columns for some fields, or for all.
    #[new]
    #[pyo3(signature = (fields=None))]
    fn new(fields: Option<Vec<String>>) -> Self {
        Self { rows: 0, seen: Seen::default(), fields: boxed(fields) }
    }

    /// Adds the types of rows that come later.
    fn merge(&mut self, later: &Self) -> PyResult<()> {
        self.add(later.seen.clone(), later.rows).map_err(to_py)
    }

    /// Adds the Ion types of a top-level field, as a bit mask; false when more must be known of it.
    fn settle(&mut self, name: &str, mask: u16) -> bool {
        self.seen.settle_field(name, mask)
    }

    /// Number of rows that were looked at.
    #[getter]
    fn rows(&self) -> u64 {
        self.rows
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.layout().schema)
    }
}

/// Record batches in the making.
struct Batches {
    feed: Feed<Vec<RecordBatch>>,
    ready: std::vec::IntoIter<RecordBatch>,
}

impl Batches {
    fn next(&mut self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.ready.next() {
                return Ok(Some(batch));
            }
            match self.feed.next(py)? {
                Some(batches) => self.ready = batches.into_iter(),
                None => return Ok(None),
            }
        }
    }
}

/// Record batches, to be taken once: one by one, or by a consumer of Arrow streams.
#[pyclass(module = "sdb._core")]
pub struct ArrowStream {
    schema: SchemaRef,
    batches: Option<Batches>,
    rows: u64,
}

#[pymethods]
impl ArrowStream {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<ArrowBatch>> {
        let Some(batches) = &mut self.batches else { return Ok(None) };
        let batch = batches.next(py)?;
        self.rows += batch.as_ref().map_or(0, |batch| batch.num_rows() as u64);
        Ok(batch.map(|batch| ArrowBatch { batch }))
    }

    /// Number of rows that were taken one batch at a time.
    #[getter]
    fn rows(&self) -> u64 {
        self.rows
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &mut self,
        py: Python<'py>,
        requested_schema: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // Casting is optional for a producer; consumers do it themselves.
        drop(requested_schema);
        let batches = self
            .batches
            .take()
            .ok_or_else(|| to_py(Error::argument("the rows of this stream were already taken")))?;
        let reader = Reader { schema: Arc::clone(&self.schema), batches };
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }
}

/// One record batch.
#[pyclass(module = "sdb._core", frozen)]
pub struct ArrowBatch {
    batch: RecordBatch,
}

#[pymethods]
impl ArrowBatch {
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.batch.schema())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Py<PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        drop(requested_schema);
        let data = StructArray::from(self.batch.clone()).into_data();
        let (array, _) = to_ffi(&data).map_err(|error| failed(&error))?;
        let array = PyCapsule::new_with_value(py, array, c"arrow_array")?;
        Ok((schema_capsule(py, &self.batch.schema())?, array))
    }
}

fn schema_capsule<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(|error| failed(&error))?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

fn failed(error: &ArrowError) -> PyErr {
    to_py(Error::argument(format!("no Arrow data: {error}")))
}

/// What a consumer of a stream pulls at, on whatever thread it likes.
struct Reader {
    schema: SchemaRef,
    batches: Batches,
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        Python::attach(|py| self.batches.next(py).map_err(|error| as_text(py, &error))).transpose()
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

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
