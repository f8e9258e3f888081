//! Groups of rows, through the Arrow `PyCapsule` interface.

use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use zion::Result;
use zion::aggregate::{Groups, Summary};
use zion::profile::Shaped;
use zion::scan::Letter;

use crate::capsule;
use crate::convert::{AnySort, sorts};
use crate::errors::to_py;
use crate::feed::Feed;

/// What is asked of the groups.
pub struct Ask {
    pub summary: Summary,
    pub lanes: Vec<(usize, String)>,
    pub sort: Vec<AnySort>,
    pub limit: Option<usize>,
    pub offset: usize,
}

impl Ask {
    /// The groups as a table.
    fn table(&self, groups: Groups) -> Result<ArrowTable> {
        let lane = |(place, letter): &(usize, String)| Ok((*place, Letter::from_name(letter)?));
        let mut answer = groups.finish();
        let most = self.limit.map_or(usize::MAX, |limit| limit.saturating_add(self.offset));
        answer.sort(&sorts(self.sort.clone()), most);
        let lanes = self.lanes.iter().map(lane).collect::<Result<Vec<_>>>()?;
        let (schema, batches) = answer.batches(&lanes, self.offset)?;
        Ok(ArrowTable { schema, batches })
    }

    /// Joins the groups of all runs; none when they take too much memory.
    pub fn collect(
        &self,
        py: Python<'_>,
        mut groups: Groups,
        mut feed: Feed<Option<Groups>>,
        stopped: &AtomicBool,
    ) -> PyResult<Option<ArrowTable>> {
        while let Some(more) = feed.next(py)? {
            if stopped.load(Ordering::Relaxed) {
                return Err(PyKeyboardInterrupt::new_err("the scan was stopped"));
            }
            if let Some(more) = more {
                py.detach(|| groups.join(more));
            }
            if groups.is_full() {
                return Ok(None);
            }
        }
        py.detach(|| self.table(groups)).map(Some).map_err(to_py)
    }
}

/// What the rows of all runs have come to, as `SNELLER_DATASHAPE` tells it.
pub fn shape(
    py: Python<'_>,
    mut feed: Feed<Option<Shaped>>,
    letters: &[String],
    stopped: &AtomicBool,
) -> PyResult<ArrowTable> {
    let mut shaped = Shaped::new();
    while let Some(more) = feed.next(py)? {
        if stopped.load(Ordering::Relaxed) {
            return Err(PyKeyboardInterrupt::new_err("the scan was stopped"));
        }
        if let Some(more) = more {
            py.detach(|| shaped.join(&more));
        }
    }
    let table = || -> Result<ArrowTable> {
        let letters = letters.iter().map(|letter| Letter::from_name(letter)).collect::<Result<Vec<_>>>()?;
        let batch = shaped.table(&letters)?;
        Ok(ArrowTable { schema: batch.schema(), batches: vec![batch] })
    };
    py.detach(table).map_err(to_py)
}

/// Rows that are all there.
#[pyclass(module = "sdb._core", frozen)]
pub struct ArrowTable {
    pub schema: SchemaRef,
    pub batches: Vec<RecordBatch>,
}

#[pymethods]
impl ArrowTable {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema(py, &self.schema)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let mut batches = self.batches.clone().into_iter();
        capsule::stream(py, SchemaRef::clone(&self.schema), move |_| Ok(batches.next()))
    }
}
