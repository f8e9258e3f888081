//! `FieldProfile`: what is in the fields of rows.

use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use zion::profile::{Field, Limits, Profile, Scalar, Stats, profiles, sample};

use crate::errors::to_py;
use crate::feed::Feed;
use crate::lane_scan::{self, AnySource};
use crate::source::{self, Meter};

/// What is in the fields of the rows that were added.
#[pyclass(module = "sdb._core")]
pub struct FieldProfile {
    profile: Profile,
}

#[pymethods]
impl FieldProfile {
    #[new]
    fn new() -> Self {
        Self { profile: Profile::new(Limits::STATISTICS) }
    }

    /// Adds all rows of sources, see `LaneScan`.
    #[pyo3(signature = (sources, *, threads=0))]
    fn scan(&mut self, py: Python<'_>, sources: Vec<AnySource>, threads: usize) -> PyResult<()> {
        let sources =
            sources.into_iter().map(lane_scan::source).collect::<zion::Result<Vec<_>>>().map_err(to_py)?;
        let runs = py.detach(|| profiles(Limits::STATISTICS, threads)).map_err(to_py)?;
        let mut feed = Feed::new(Arc::new(sources), Arc::default(), runs);
        while let Some(more) = feed.next(py)? {
            py.detach(|| self.profile.join(&more));
        }
        Ok(())
    }

    /// Adds how large the fields at the top of rows are in the first chunks of some blocks of a source.
    fn sample(&mut self, py: Python<'_>, source: AnySource, blocks: Vec<usize>) -> PyResult<()> {
        let source = lane_scan::source(source).map_err(to_py)?;
        let meter = Arc::new(Meter::default());
        for number in blocks {
            let block = source::block(source.read.call1(py, (number,))?.bind(py), &meter)?;
            let more = py.detach(|| sample(Limits::SIZES, block, source.form, 1));
            let more = more.map_err(|error| source.exception(py, (number, error)))?;
            py.detach(|| self.profile.join(&more));
            py.check_signals()?;
        }
        Ok(())
    }

    /// Number of rows.
    #[getter]
    fn rows(&self) -> u64 {
        self.profile.rows()
    }

    /// Number of chunks.
    #[getter]
    fn chunks(&self) -> u64 {
        self.profile.chunks()
    }

    /// Bytes of the chunks in the file.
    #[getter]
    fn compressed_bytes(&self) -> u64 {
        self.profile.compressed_bytes()
    }

    /// Whether there are more fields than are told of, and whether there are some that lie too deep.
    #[getter]
    fn left_out(&self) -> (bool, bool) {
        (self.profile.is_full(), self.profile.is_deeper())
    }

    /// The fields, each behind the one that it is in: a dict with its path, in which None stands for the elements of a
    /// list, and what is known of the values, of the most frequent ones at most `most`.
    fn fields<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Bound<'py, PyList>> {
        let mut paths: Vec<Vec<Option<Bound<'py, PyString>>>> = Vec::new();
        let out = PyList::empty(py);
        for (place, field) in self.profile.fields() {
            let path = path(py, field, &paths);
            let facts = facts(py, &field.stats, most)?;
            facts.set_item("path", PyTuple::new(py, &path)?)?;
            out.append(facts)?;
            paths.resize(place as usize, Vec::new());
            paths.push(path);
        }
        Ok(out)
    }
}

fn path<'py>(
    py: Python<'py>,
    field: &Field,
    paths: &[Vec<Option<Bound<'py, PyString>>>],
) -> Vec<Option<Bound<'py, PyString>>> {
    let above = field.parent.and_then(|parent| paths.get(parent as usize));
    let mut path = above.cloned().unwrap_or_default();
    path.push(field.name.as_ref().map(|name| PyString::new(py, name)));
    path
}

/// What is known of the values of a field.
fn facts<'py>(py: Python<'py>, stats: &Stats, most: usize) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    let (distinct, is_exact) = stats.distinct();
    let (top, lost) = stats.top(most);
    let ranges = PyList::empty(py);
    let put = |low: Scalar<'_>, high: Scalar<'_>| -> PyResult<()> {
        ranges.append((scalar(py, low)?, scalar(py, high)?))
    };
    if let Some((low, high)) = stats.int_range {
        put(Scalar::Int(low), Scalar::Int(high))?;
    }
    if let Some((low, high)) = stats.float_range {
        put(Scalar::Float(low), Scalar::Float(high))?;
    }
    if let Some((low, high)) = stats.time_range {
        put(Scalar::Time(low), Scalar::Time(high))?;
    }
    if let Some((low, high)) = stats.text_range() {
        put(low, high)?;
    }
    let frequent = PyList::empty(py);
    for (value, count) in top {
        frequent.append((scalar(py, value)?, count))?;
    }
    facts.set_item("types", stats.types)?;
    facts.set_item("rows", stats.rows)?;
    facts.set_item("values", stats.values)?;
    facts.set_item("nulls", stats.nulls)?;
    facts.set_item("distinct", (distinct, is_exact))?;
    facts.set_item("ranges", ranges)?;
    facts.set_item("frequent", frequent)?;
    facts.set_item("lost", lost)?;
    facts.set_item("decompressed_bytes", stats.bytes)?;
    facts.set_item("compressed_bytes", stats.compressed)?;
    Ok(facts)
}

/// Type, value, and whether a text or bytes go on.
fn scalar<'py>(py: Python<'py>, value: Scalar<'_>) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Scalar::Bool(value) => ("bool", value, false).into_bound_py_any(py),
        Scalar::Int(value) => ("int", value, false).into_bound_py_any(py),
        Scalar::Float(value) => ("float", value, false).into_bound_py_any(py),
        Scalar::Time(us) => ("timestamp", us, false).into_bound_py_any(py),
        Scalar::Text(text, is_cut) => ("string", beginning(text, is_cut), is_cut).into_bound_py_any(py),
        Scalar::Bytes(bytes, is_cut) => ("blob", PyBytes::new(py, bytes), is_cut).into_bound_py_any(py),
    }
}

/// A text, without the part of a character that it was cut in.
fn beginning(text: &[u8], is_cut: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chunks = text.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        out.push_str(chunk.valid());
        if !chunk.invalid().is_empty() && (!is_cut || chunks.peek().is_some()) {
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }
    out
}
