//! Statistics of blocks.

use std::collections::HashSet;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use zion::codec::Algorithm;
use zion::index::ribbon::{self, MAX_PLANES, Ribbon};
use zion::index::statistics::ngrams::NgramPath;
use zion::index::statistics::{self, BlockStatistics, Choice, KnownPath, PathStatistics, StatPath, Zone};
use zion::limits::MAX_STATISTICS_DEPTH;

use crate::convert::backed;
use crate::errors::to_py;
use crate::ribbon::{AnyRibbon, ValueHashes, sets};

/// Names from the row on; None stands for the elements of a list.
pub type AnyStatPath = Vec<Option<String>>;
/// A path, and the sets that all of its texts and of its integers should be in.
type Expected = (AnyStatPath, Option<Vec<AnyRibbon>>, Option<Vec<AnyRibbon>>);
/// The zone of a path, and how many of its texts and of its integers are missing in the sets.
type Found<'py> = (Option<Bound<'py, PyTuple>>, u64, u64);

/// A path of names from the row on.
pub fn path(names: AnyStatPath) -> PyResult<StatPath> {
    if names.len() > MAX_STATISTICS_DEPTH {
        return Err(PyValueError::new_err(format!("a path has at most {MAX_STATISTICS_DEPTH} names")));
    }
    Ok(names.into_iter().map(|name| name.map(|name| name.into_bytes().into())).collect())
}

/// Paths, each once: of one that is there twice the second would be known as empty.
pub fn paths(names: Vec<AnyStatPath>) -> PyResult<Arc<[StatPath]>> {
    if names.contains(&vec![]) {
        return Err(PyValueError::new_err("a path has a name"));
    }
    names_below_row(names)
}

/// The same; that without a name is the row.
pub fn names_below_row(names: Vec<AnyStatPath>) -> PyResult<Arc<[StatPath]>> {
    let paths: Vec<StatPath> = names.into_iter().map(path).collect::<PyResult<_>>()?;
    let different: HashSet<&StatPath> = paths.iter().collect();
    if different.len() < paths.len() {
        return Err(PyValueError::new_err("a path is there twice"));
    }
    Ok(paths.into())
}

/// Which paths have statistics: these, and all that are worth it.
pub fn choice(wanted: Vec<AnyStatPath>, is_auto: bool) -> PyResult<Choice> {
    let paths = paths(wanted)?;
    Ok(match is_auto {
        true => Choice::Auto(paths),
        false if paths.is_empty() => Choice::Off,
        false => Choice::Paths(paths),
    })
}

/// For each block its place, number of rows, and for each path zone, hashes of texts and of integers; then the
/// paths of which there are words or prefixes, the kind of their section, and their sets.
pub fn listed<'py>(
    py: Python<'py>,
    blocks: &[BlockStatistics],
    ngrams: &[NgramPath],
) -> PyResult<Bound<'py, PyList>> {
    let blocks = blocks.iter().map(|block| {
        let paths = block.paths.iter().map(|KnownPath { path, zone, texts, integers }| {
            let [texts, integers] = [texts, integers].map(|found| found.as_ref().map(ValueHashes::of));
            (names(py, path)?, bounds(py, zone)?, texts, integers).into_pyobject(py)
        });
        let paths = paths.collect::<PyResult<Vec<_>>>()?;
        let ngrams = ngrams.iter().zip(&block.ngrams).filter_map(|(one, set)| Some((one, set.as_ref()?)));
        let ngrams = ngrams.map(|(one, set)| {
            (names(py, &one.path)?, one.kind.section(), PyBytes::new(py, set), MAX_PLANES).into_pyobject(py)
        });
        let ngrams = ngrams.collect::<PyResult<Vec<_>>>()?;
        (block.offset, block.rows, PyList::new(py, paths)?, PyList::new(py, ngrams)?).into_pyobject(py)
    });
    PyList::new(py, blocks.collect::<PyResult<Vec<_>>>()?)
}

pub fn names<'py>(py: Python<'py>, path: &StatPath) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, path.iter().map(|name| name.as_ref().map(|name| String::from_utf8_lossy(name))))
}

/// Types, values, nulls, truth values, NaN, and the bounds of integers, other floats, texts and times.
fn bounds<'py>(py: Python<'py>, zone: &Zone) -> PyResult<Bound<'py, PyTuple>> {
    let texts = zone.texts.as_ref().map(|texts| {
        let greatest = texts.greatest().map(|text| PyBytes::new(py, &text));
        (PyBytes::new(py, texts.least()), greatest)
    });
    let counts = (zone.types, zone.values, zone.nulls);
    (counts, (zone.booleans, zone.has_nan), zone.integers, zone.floats, texts, zone.times).into_pyobject(py)
}

/// Looks through a block for what is at some paths. For each of them its zone, None where it is not known, and
/// how many texts and integers are missing in the sets that are given.
#[pyfunction]
#[pyo3(signature = (block, algorithm, align, expected, /))]
pub fn measure_block<'py>(
    py: Python<'py>,
    block: &Bound<'py, PyAny>,
    algorithm: &str,
    align: usize,
    expected: Vec<Expected>,
) -> PyResult<Vec<Found<'py>>> {
    let data = backed(block)?;
    let algorithm = Algorithm::from_name(algorithm).map_err(to_py)?;
    let (names, given): (Vec<_>, Vec<_>) =
        expected.into_iter().map(|(names, texts, integers)| (names, [texts, integers])).unzip();
    let wanted = paths(names)?;
    let known: Vec<[Option<Vec<Ribbon<'_>>>; 2]> = given
        .iter()
        .map(|[texts, integers]| {
            let [texts, integers] = [texts, integers].map(|given| given.as_deref().map(sets).transpose());
            Ok([texts?, integers?])
        })
        .collect::<PyResult<_>>()?;
    let found = py.detach(|| {
        let found = statistics::measure(&data, algorithm, align, wanted)?;
        let missing = found.iter().zip(&known).map(|(found, [texts, integers])| {
            let hashes = |of: fn(&PathStatistics) -> Option<&Vec<u32>>| found.as_ref().and_then(of);
            let texts = missing(hashes(|one| one.texts.as_ref()), texts.as_deref());
            (texts, missing(hashes(|one| one.integers.as_ref()), integers.as_deref()))
        });
        let missing: Vec<(u64, u64)> = missing.collect();
        Ok((found, missing))
    });
    let (found, missing) = found.map_err(to_py)?;
    let told = found.into_iter().zip(missing).map(|(found, (texts, integers))| {
        let zone = found.map(|found| bounds(py, &found.zone)).transpose()?;
        Ok((zone, texts, integers))
    });
    told.collect()
}

fn missing(hashes: Option<&Vec<u32>>, sets: Option<&[Ribbon<'_>]>) -> u64 {
    hashes.zip(sets).map_or(0, |(hashes, sets)| ribbon::missing(hashes, sets))
}
