//! Groups of rows, through the Arrow `PyCapsule` interface.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use zion::Result;
use zion::lanes::{Function, Groups, Letter, Request, Sort, Summary};

use crate::capsule;
use crate::errors::to_py;
use crate::feed::Feed;

/// Function and lane.
pub type AnyCall = (String, Option<usize>);
/// Place, whether greater values come first, whether nulls come last.
pub type AnySort = (usize, bool, bool);

/// What is asked of the groups.
pub struct Ask {
    pub keys: Vec<usize>,
    pub calls: Vec<AnyCall>,
    pub lanes: Vec<(usize, String)>,
    pub sort: Vec<AnySort>,
    pub limit: Option<usize>,
    pub offset: usize,
    pub most_bytes: usize,
}

impl Ask {
    /// No group yet.
    pub fn start(&self, request: &Request) -> Result<Groups> {
        let call = |(name, lane): &AnyCall| Ok((Function::from_name(name)?, *lane));
        let summary = Summary {
            keys: self.keys.clone(),
            calls: self.calls.iter().map(call).collect::<Result<_>>()?,
            most_bytes: self.most_bytes,
        };
        Groups::new(&request.plan, &summary)
    }

    /// The groups as a table.
    fn table(&self, groups: Groups) -> Result<Table> {
        let sort = |&(place, descending, nulls_last): &AnySort| Sort { place, descending, nulls_last };
        let lane = |(place, letter): &(usize, String)| Ok((*place, Letter::from_name(letter)?));
        let mut answer = groups.finish();
        answer.sort(&self.sort.iter().map(sort).collect::<Vec<_>>());
        answer.cut(self.offset, self.limit.unwrap_or(usize::MAX));
        let (schema, batches) = answer.batches(&self.lanes.iter().map(lane).collect::<Result<Vec<_>>>()?)?;
        Ok(Table { schema, batches })
    }

    /// Joins the groups of all runs; none when they take too much memory.
    pub fn collect(
        &self,
        py: Python<'_>,
        mut groups: Groups,
        mut feed: Feed<Option<Groups>>,
    ) -> PyResult<Option<Table>> {
        while let Some(more) = feed.next(py)? {
            py.detach(|| more.into_iter().for_each(|more| groups.join(more)));
            if groups.is_full() {
                return Ok(None);
            }
        }
        py.detach(|| self.table(groups)).map(Some).map_err(to_py)
    }
}

/// Rows that are all there.
#[pyclass(module = "sdb._core", frozen)]
pub struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

#[pymethods]
impl Table {
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
