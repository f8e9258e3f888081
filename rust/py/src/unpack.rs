//! `Unpacker`: blocks of a packfile to lines of JSON, CSV or TSV, or to Ion.

use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zion::block::rows::TimeFilter;
use zion::codec::Algorithm;
use zion::json::table::Table;
use zion::unpack::{Format, Request, Unpack};
use zion::{Error, Result};

use crate::convert::{backed, names};
use crate::errors::to_py;
use crate::search::Matcher;

/// How long a wait lasts before signals are looked at.
const PATIENCE: Duration = Duration::from_millis(50);

/// Path, first and last microsecond (the last one is outside).
type Range = (Vec<String>, Option<i64>, Option<i64>);

/// Unpacks the blocks of one packfile, in order, on threads of its own.
#[pyclass(module = "sdb._core")]
pub struct Unpacker {
    unpack: Unpack,
}

fn request(
    (algorithm, align, verify): (&str, usize, bool),
    format: &str,
    fields: Option<Vec<String>>,
    range: Option<Range>,
) -> Result<Request> {
    let format = match format {
        "json" => Format::Json,
        "count" => Format::Count,
        "ion" => Format::Ion,
        "csv" | "tsv" if fields.is_none() => {
            return Err(Error::argument(format!("format {format:?} needs fields")));
        }
        "csv" | "tsv" => Format::Cells(Table::from_name(format)?),
        other => {
            return Err(Error::argument(format!("format {other:?}: json, csv, tsv, ion or count is needed")));
        }
    };
    let filter = match range {
        Some((path, start, stop)) => {
            Some(TimeFilter::new(names(Some(path)).unwrap_or_default(), start, stop)?)
        }
        None => None,
    };
    let request = Request::new(Algorithm::from_name(algorithm)?, align, format, names(fields), filter)?;
    Ok(request.verifying(verify))
}

#[pymethods]
impl Unpacker {
    #[new]
    #[allow(clippy::too_many_arguments)] // They are keywords in Python.
    #[pyo3(signature = (algorithm, align, *, threads=0, format="json", fields=None, time_filter=None, limit=None,
                        matcher=None, verify=true))]
    fn new(
        py: Python<'_>,
        algorithm: &str,
        align: usize,
        threads: usize,
        format: &str,
        fields: Option<Vec<String>>,
        time_filter: Option<Range>,
        limit: Option<u64>,
        matcher: Option<PyRef<'_, Matcher>>,
        verify: bool,
    ) -> PyResult<Self> {
        let request = request((algorithm, align, verify), format, fields, time_filter).map_err(to_py)?;
        let request = request.matching(matcher.map(|matcher| matcher.share()));
        let unpack = py.detach(|| Unpack::new(request, threads, limit)).map_err(to_py)?;
        Ok(Self { unpack })
    }

    /// Takes the bytes of a whole block. Waits while two blocks are already in the queue.
    #[pyo3(signature = (block, chunks=None))]
    fn feed(&mut self, block: &Bound<'_, PyAny>, chunks: Option<usize>) -> PyResult<()> {
        let py = block.py();
        let block = Arc::new(backed(block)?);
        self.unpack.push(block, chunks).map_err(to_py)?;
        py.detach(|| self.unpack.pump(Duration::ZERO));
        while self.unpack.queued() > 2 {
            py.detach(|| self.unpack.pump(PATIENCE));
            py.check_signals()?;
        }
        Ok(())
    }

    /// Output that is ready. With `wait` at least one piece, unless nothing is left of what was fed.
    #[pyo3(signature = (*, wait=false))]
    fn take<'py>(&mut self, py: Python<'py>, wait: bool) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let mut pieces = Vec::new();
        loop {
            py.detach(|| self.unpack.pump(if wait { PATIENCE } else { Duration::ZERO }));
            py.check_signals()?;
            self.drain(py, &mut pieces);
            if !pieces.is_empty() {
                return Ok(pieces);
            }
            self.check()?;
            if !wait || self.unpack.is_idle() {
                return Ok(pieces);
            }
        }
    }

    /// Waits for all the output of what was fed.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let mut pieces = Vec::new();
        loop {
            py.detach(|| self.unpack.pump(PATIENCE));
            py.check_signals()?;
            self.drain(py, &mut pieces);
            self.check()?;
            if self.unpack.is_idle() {
                return Ok(pieces);
            }
        }
    }

    /// Whether nothing more will come out, so that feeding can stop.
    #[getter]
    fn done(&self) -> bool {
        self.unpack.is_done()
    }

    /// The block that an exception came from: blocks are counted from 0 as they were fed.
    #[getter]
    fn failed_block(&self) -> Option<usize> {
        self.unpack.failure().map(|(number, _)| *number)
    }

    /// How many rows may still come out, if their number is limited.
    #[getter]
    fn remaining(&self) -> Option<u64> {
        self.unpack.remaining()
    }

    /// How many rows came out; with a text too long for one piece only those of its first.
    #[getter]
    fn rows(&self) -> u64 {
        self.unpack.rows()
    }

    /// Number of blocks whose chunks were not all handed to a thread.
    #[getter]
    fn queued(&self) -> usize {
        self.unpack.queued()
    }
}

impl Unpacker {
    fn drain<'py>(&mut self, py: Python<'py>, pieces: &mut Vec<Bound<'py, PyBytes>>) {
        while let Some(piece) = self.unpack.take() {
            pieces.push(PyBytes::new(py, &piece));
            self.unpack.recycle(piece);
        }
    }

    fn check(&self) -> PyResult<()> {
        self.unpack.failure().map_or(Ok(()), |(_, error)| Err(to_py(error.clone())))
    }
}
