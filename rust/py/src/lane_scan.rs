//! `LaneScan`: rows of packfiles as lanes, through the Arrow `PyCapsule` interface.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use zion::Result;
use zion::aggregate::{Groups, Summary};
use zion::block::runs::Form;
use zion::codec::Algorithm;
use zion::profile::Shaped;
use zion::scan::{First, Origins, Plan, Ranking, Request};

use crate::capsule;
use crate::convert::{self, AnyCall, AnyKey, AnyPath, AnySort, front, lane, predicate, sorts, unnest};
use crate::errors::to_py;
use crate::feed::{Batches, Feed, Source};
use crate::groups::{ArrowTable, Ask, shape};
use crate::source::Meter;
use crate::topk::{Found, Scene};

/// Reader, chunks of each block, algorithm, size of chunks, blame.
pub type AnySource = (Py<PyAny>, Vec<usize>, String, usize, Option<Py<PyAny>>);

pub fn source((read, chunks, algorithm, align, blame): AnySource) -> Result<Source> {
    let form = Form::new(Algorithm::from_name(&algorithm)?, align)?;
    Ok(Source { read, blame, chunks, form })
}

/// Name of a source, and the number of the first row of each of its blocks.
type AnyOrigin = (String, Vec<u64>);

fn origins(given: Vec<AnyOrigin>) -> Origins {
    let of = |(name, firsts): AnyOrigin| {
        let name: Arc<str> = name.into();
        firsts.into_iter().map(move |first| (Arc::clone(&name), first))
    };
    Origins::new(given.into_iter().flat_map(of).collect())
}

/// Lanes of the rows of blocks. Each consumer gets a stream of its own.
#[pyclass(module = "sdb._core", frozen)]
pub struct LaneScan {
    sources: Arc<Vec<Source>>,
    request: Request,
    meter: Arc<Meter>,
    failure: Arc<Mutex<Option<Py<PyAny>>>>,
    stopped: Arc<AtomicBool>,
}

impl LaneScan {
    fn scene(&self) -> Scene<'_> {
        Scene { sources: &self.sources, meter: &self.meter, stopped: &self.stopped }
    }
}

#[pymethods]
impl LaneScan {
    #[new]
    #[allow(clippy::too_many_arguments)] // They are keywords in Python.
    #[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
    #[pyo3(signature = (sources, lanes, *, explode=Vec::new(), predicate=None, threads=0, limit=None, batch_rows=16384, origins=None))]
    fn new(
        sources: Vec<AnySource>,
        lanes: Vec<(usize, AnyPath, String)>,
        explode: Vec<(usize, AnyPath, String)>,
        predicate: Option<&Bound<'_, PyAny>>,
        threads: usize,
        limit: Option<u64>,
        batch_rows: usize,
        origins: Option<Vec<AnyOrigin>>,
    ) -> PyResult<Self> {
        let sources = sources.into_iter().map(source).collect::<Result<Vec<_>>>().map_err(to_py)?;
        let lanes = lanes.into_iter().map(lane).collect::<Result<Vec<_>>>().map_err(to_py)?;
        let unnests = explode.into_iter().map(unnest).collect::<Result<Vec<_>>>().map_err(to_py)?;
        let predicate = predicate.map(|tree| self::predicate(tree, 0)).transpose()?;
        let plan = Arc::new(Plan::new(&unnests, &lanes, predicate.as_ref()).map_err(to_py)?);
        let (looked, filled) = (Arc::default(), Arc::default());
        let origins = origins.map(|origins| Arc::new(self::origins(origins)));
        Ok(Self {
            sources: Arc::new(sources),
            request: Request { plan, picks: None, limit, threads, batch_rows, looked, filled, origins },
            meter: Arc::default(),
            failure: Arc::default(),
            stopped: Arc::default(),
        })
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema(py, &self.request.plan.schema)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let (sources, meter) = (Arc::clone(&self.sources), Arc::clone(&self.meter));
        let (request, failure) = (self.request.clone(), Arc::clone(&self.failure));
        // Threads start with the first batch: many a consumer opens a stream only to look at it.
        let mut batches = None;
        let stopped = Arc::clone(&self.stopped);
        let mut next = move |py: Python<'_>| {
            if stopped.load(Ordering::Relaxed) {
                return Err(PyKeyboardInterrupt::new_err("the scan was stopped"));
            }
            if batches.is_none() {
                let runs = request.batches().map_err(to_py)?;
                batches = Some(Batches::new(Feed::new(Arc::clone(&sources), Arc::clone(&meter), runs)));
            }
            batches.as_mut().map_or(Ok(None), |batches: &mut Batches| batches.next(py))
        };
        let stopped = Arc::clone(&self.stopped);
        let next = move |py: Python<'_>| {
            next(py).map_err(|error| {
                let value = error.value(py).clone().into_any().unbind();
                *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
                // A stop from another thread does not mean the main thread, as Ctrl-C does.
                if stopped.load(Ordering::Relaxed) { PyRuntimeError::new_err("stopped") } else { error }
            })
        };
        capsule::stream(py, Arc::clone(&self.request.plan.schema), next)
    }

    /// Number of rows that come out; without a predicate and unnesting only the shapes of chunks are read.
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        let runs = py.detach(|| self.request.count()).map_err(to_py)?;
        let mut feed = Feed::new(Arc::clone(&self.sources), Arc::clone(&self.meter), runs);
        let mut rows = 0;
        while let Some(more) = feed.next(py)? {
            rows += more;
        }
        Ok(rows)
    }

    /// Sums up the rows in groups that have lanes `keys` in common, in the order in which they are met or that
    /// of `sort`. `lanes` have places among keys and calls; `keeps` puts rows without a key into the group of
    /// NULL; `counted` are rows that are not read, by the time of their group. None when the groups take too
    /// much memory.
    #[allow(clippy::too_many_arguments)] // They are keywords in Python.
    #[pyo3(signature = (keys, calls, lanes, *, sort=Vec::new(), limit=None, offset=0, most_bytes=usize::MAX, keeps=false, counted=Vec::new()))]
    fn aggregate(
        &self,
        py: Python<'_>,
        keys: Vec<AnyKey>,
        calls: Vec<AnyCall<'_>>,
        lanes: Vec<(usize, String)>,
        sort: Vec<AnySort>,
        limit: Option<usize>,
        offset: usize,
        most_bytes: usize,
        keeps: bool,
        counted: Vec<(i64, u64)>,
    ) -> PyResult<Option<ArrowTable>> {
        let keys = keys.into_iter().map(convert::key).collect::<Result<_>>().map_err(to_py)?;
        let calls = calls.into_iter().map(convert::call).collect::<PyResult<_>>()?;
        let ask = Ask { summary: Summary { keys, keeps, calls, most_bytes }, lanes, sort, limit, offset };
        let mut start = Groups::new(&self.request.plan, &ask.summary).map_err(to_py)?;
        let runs = py.detach(|| self.request.gather(start.clone())).map_err(to_py)?;
        counted.into_iter().try_for_each(|(us, rows)| start.count(us, rows)).map_err(to_py)?;
        let feed = Feed::new(Arc::clone(&self.sources), Arc::clone(&self.meter), runs);
        ask.collect(py, start, feed, &self.stopped)
    }

    /// The answer of `SNELLER_DATASHAPE` as a table of one row, with a column for each letter.
    #[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
    fn shape(&self, py: Python<'_>, letters: Vec<String>) -> PyResult<ArrowTable> {
        let runs = py.detach(|| self.request.gather(Shaped::new())).map_err(to_py)?;
        let feed = Feed::new(Arc::clone(&self.sources), Arc::clone(&self.meter), runs);
        shape(py, feed, &letters, &self.stopped)
    }

    /// The numbers of the first `most` rows in an order of lanes, in that order, and the blocks that were read
    /// for it. See `Scene::first` for what `bounds` are. None when what tells their order takes too much memory.
    #[pyo3(signature = (sort, most, bounds, *, most_bytes=usize::MAX))]
    #[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
    fn first(
        &self,
        py: Python<'_>,
        sort: Vec<AnySort>,
        most: usize,
        bounds: Vec<Vec<Bound<'_, PyAny>>>,
        most_bytes: usize,
    ) -> PyResult<Option<Found>> {
        let ranking = Ranking { by: sorts(sort), most, most_bytes };
        let start = First::new(&self.request.plan, &ranking).map_err(to_py)?;
        let fronts = bounds.iter().map(|all| all.iter().map(front).collect()).collect::<PyResult<_>>()?;
        self.scene().first(py, &self.request, start, fronts)
    }

    /// The rows of some numbers, in their order; the predicate is not asked. None when they take too much memory.
    #[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
    #[pyo3(signature = (rows, *, most_bytes=usize::MAX))]
    fn pick(&self, py: Python<'_>, rows: Vec<i64>, most_bytes: usize) -> PyResult<Option<ArrowTable>> {
        self.scene().pick(py, self.request.clone(), &rows, most_bytes)
    }

    /// Makes streams and groups in the making end soon, with an interrupt; may be called from any thread.
    fn interrupt(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// The exception that ended a stream: consumers see its text only.
    #[getter]
    fn failure(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.as_ref().map(|failure| failure.clone_ref(py))
    }

    /// Blocks read, bytes read, rows looked at; over all streams and counts.
    #[getter]
    fn stats(&self) -> (u64, u64, u64) {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (read(&self.meter.blocks), read(&self.meter.bytes), read(&self.request.looked))
    }
}
