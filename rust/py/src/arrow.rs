//! `ArrowScan`: blocks of a packfile as Arrow record batches, through the Arrow `PyCapsule` interface.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::ffi::to_ffi;
use arrow_array::{Array, RecordBatch, StructArray};
use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use zion::block::rows::TimeFilter;
use zion::block::runs::{Form, Runs};
use zion::codec::Algorithm;
use zion::scan::typed::{Layout, Misfit, Request, Seen};
use zion::{Error, Result};

use crate::capsule;
use crate::convert::{boxed, names};
use crate::errors::{no_arrow, to_py};
use crate::feed::{Batches, Feed, Source};
use crate::ffi;

/// Rows of blocks that are wanted as Arrow data.
#[pyclass(module = "sdb._core", frozen)]
pub struct ArrowScan {
    source: Arc<Vec<Source>>,
    request: Request,
}

impl ArrowScan {
    fn feed<R: Send + 'static>(&self, runs: Runs<R>) -> Feed<R> {
        Feed::new(Arc::clone(&self.source), Arc::default(), runs)
    }
}

#[pymethods]
impl ArrowScan {
    #[new]
    #[allow(clippy::too_many_arguments)] // They are keywords in Python.
    #[pyo3(signature = (read, chunks, algorithm, align, *, threads=0, fields=None, time_filter=None, limit=None, blame=None,
                        verify=true))]
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
        verify: bool,
    ) -> PyResult<Self> {
        let filter = time_filter
            .map(|(path, start, stop)| TimeFilter::new(names(Some(path)).unwrap_or_default(), start, stop))
            .transpose();
        let form = Algorithm::from_name(algorithm).and_then(|algorithm| Form::new(algorithm, align));
        let form = form.map_err(to_py)?.verifying(verify);
        let source = Source { read, blame, chunks, form };
        let request = Request { fields: boxed(fields), filter: filter.map_err(to_py)?, limit, threads };
        Ok(Self { source: Arc::new(vec![source]), request })
    }

    /// Goes over the rows to find out what types their values have.
    fn types(&self, py: Python<'_>) -> PyResult<ArrowTypes> {
        let runs = py.detach(|| self.request.observe()).map_err(to_py)?;
        let mut feed = self.feed(runs);
        let fields = self.request.fields.clone();
        let mut types = ArrowTypes { rows: 0, seen: Seen::default(), fields, wanted: None };
        while let Some((seen, rows)) = feed.next(py)? {
            types.add(seen, rows).map_err(to_py)?;
        }
        Ok(types)
    }

    /// Goes over the rows again, now that their types are known, and gives them as record batches.
    fn stream(&self, py: Python<'_>, types: &ArrowTypes) -> PyResult<ArrowStream> {
        let layout = Arc::new(types.layout());
        let runs = py.detach(|| self.request.build(&layout)).map_err(to_py)?;
        let feed = self.feed(runs);
        let schema = Arc::clone(&layout.schema);
        let batches = Some(Batches::new(feed));
        Ok(ArrowStream { schema, batches, rows: 0 })
    }
}

/// What types values have, found out by [`ArrowScan::types`].
#[pyclass(module = "sdb._core")]
pub struct ArrowTypes {
    rows: u64,
    seen: Seen,
    fields: Option<Vec<Box<str>>>,
    /// The columns, when they are not made for what was seen.
    wanted: Option<Layout>,
}

impl ArrowTypes {
    fn add(&mut self, seen: Seen, rows: u64) -> Result<()> {
        self.rows += rows;
        self.seen.merge(seen);
        self.seen.shrink().map(drop)
    }

    fn layout(&self) -> Layout {
        self.wanted.clone().unwrap_or_else(|| Layout::of(&self.seen, self.fields.as_deref()))
    }
}

#[pymethods]
impl ArrowTypes {
    /// Nothing seen yet; columns for some fields, or for all.
    #[new]
    #[pyo3(signature = (fields=None))]
    fn new(fields: Option<Vec<String>>) -> Self {
        Self { rows: 0, seen: Seen::default(), fields: boxed(fields), wanted: None }
    }

    /// The columns of a schema, whatever the rows hold. A value that does not fit is an error, or null;
    /// with `casts`, columns of texts take the text of any value, and those of bytes and decimals texts that stand for them.
    #[staticmethod]
    #[pyo3(signature = (schema, *, lenient=false, casts=false))]
    fn wanted(schema: &Bound<'_, PyAny>, lenient: bool, casts: bool) -> PyResult<Self> {
        let misfit = if lenient { Misfit::Null } else { Misfit::Error };
        let layout = Layout::wanted(ffi::schema(schema)?, misfit, casts).map_err(to_py)?;
        Ok(Self { rows: 0, seen: Seen::default(), fields: None, wanted: Some(layout) })
    }

    /// How many values did not fit their column and are null, by the names of the columns, since this was asked.
    fn take_nulled(&self) -> Vec<(String, u64)> {
        let Some(layout) = &self.wanted else { return Vec::new() };
        let counts = layout.columns.iter().zip(layout.nulled.iter());
        let counts = counts.map(|((name, _), count)| (name.to_string(), count.swap(0, Ordering::Relaxed)));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    /// Adds the types of rows that come later.
    fn merge(&mut self, later: &Self) -> PyResult<()> {
        self.add(later.seen.clone(), later.rows).map_err(to_py)
    }

    /// Adds the Ion types of a top-level field, as a bit mask; false when more must be known of it.
    fn settle(&mut self, name: &str, mask: u16) -> bool {
        self.seen.settle_field(name, mask)
    }

    /// Names of the fields that columns are made of; those of columns have no zero bytes.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.layout().columns.iter().map(|(name, _)| name.to_string()).collect()
    }

    /// Sets the columns: names of fields that were seen, in their order.
    fn arrange(&mut self, names: Vec<String>) {
        self.fields = boxed(Some(names));
    }

    /// Number of rows that were looked at.
    #[getter]
    fn rows(&self) -> u64 {
        self.rows
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema(py, &self.layout().schema)
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
        capsule::schema(py, &self.schema)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &mut self,
        py: Python<'py>,
        requested_schema: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // Casting is optional for a producer; consumers do it themselves.
        drop(requested_schema);
        let mut batches = self
            .batches
            .take()
            .ok_or_else(|| to_py(Error::argument("the rows of this stream were already taken")))?;
        capsule::stream(py, Arc::clone(&self.schema), move |py| batches.next(py))
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
        capsule::schema(py, &self.batch.schema())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Py<PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        drop(requested_schema);
        let data = StructArray::from(self.batch.clone()).into_data();
        let (array, _) = to_ffi(&data).map_err(|error| no_arrow(&error))?;
        let array = PyCapsule::new_with_value(py, array, c"arrow_array")?;
        Ok((capsule::schema(py, &self.batch.schema())?, array))
    }
}
