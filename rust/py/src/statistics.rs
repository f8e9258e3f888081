//! Statistics of blocks.

use std::collections::HashSet;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use zion::codec::Algorithm;
use zion::index::ribbon::{self, MAX_PLANES, Ribbon};
use zion::index::statistics::ngrams::NgramPath;
use zion::index::statistics::{self, Choice, KnownPath, StatPath};
use zion::limits::MAX_STATISTICS_DEPTH;

use crate::convert::backed;
use crate::errors::to_py;
use crate::ribbon::{AnyRibbon, ValueHashes, sets};

/// Names from the row on; None stands for the elements of a list.
pub type AnyStatPath = Vec<Option<String>>;
/// A path, and the sets that all of its texts and of its integers should be in.
type Expected = (AnyStatPath, Option<Vec<AnyRibbon>>, Option<Vec<AnyRibbon>>);
/// The zone of a path, and how many of its texts and of its integers are missing in the sets.
type Found = (Option<Zone>, u64, u64);

/// The values at a path in one block.
#[pyclass(module = "sdb._core", frozen, get_all)]
pub struct Zone {
    types: u16,
    values: u64,
    nulls: u64,
    booleans: u8,
    has_nan: bool,
    integers: Option<(i128, i128)>,
    floats: Option<(f64, f64)>,
    texts: Option<(Vec<u8>, Option<Vec<u8>>)>,
    times: Option<(i64, i64)>,
}

impl From<&statistics::Zone> for Zone {
    fn from(zone: &statistics::Zone) -> Self {
        let texts = zone.texts.as_ref();
        Self {
            types: zone.types,
            values: zone.values,
            nulls: zone.nulls,
            booleans: zone.booleans,
            has_nan: zone.has_nan,
            integers: zone.integers,
            floats: zone.floats,
            texts: texts.map(|texts| (texts.least().into(), texts.greatest())),
            times: zone.times,
        }
    }
}

/// What is known of the values at a path in one block, with the hashes of its texts and of its integers.
#[pyclass(module = "sdb._core", frozen, get_all)]
pub struct PathStatistics {
    path: Py<PyTuple>,
    zone: Py<Zone>,
    texts: Option<Py<ValueHashes>>,
    integers: Option<Py<ValueHashes>>,
}

/// The set of words or prefixes at a path in one block, and the kind of its section.
#[pyclass(module = "sdb._core", frozen, get_all)]
pub struct NgramSet {
    path: Py<PyTuple>,
    kind: u8,
    bits: Py<PyBytes>,
    planes: usize,
}

/// What is known of the values in one block, by its place and number of rows.
#[pyclass(module = "sdb._core", frozen, get_all)]
pub struct BlockStatistics {
    offset: u64,
    rows: u64,
    paths: Vec<Py<PathStatistics>>,
    ngrams: Vec<Py<NgramSet>>,
}

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

/// The statistics of blocks; `ngrams` are the paths of which there are words or prefixes.
pub fn listed(
    py: Python<'_>,
    blocks: &[statistics::BlockStatistics],
    ngrams: &[NgramPath],
) -> PyResult<Vec<BlockStatistics>> {
    let hashes =
        |found: &Option<_>| found.as_ref().map(|found| Py::new(py, ValueHashes::of(found))).transpose();
    let path = |KnownPath { path, zone, texts, integers }: &KnownPath| {
        let zone = Py::new(py, Zone::from(zone))?;
        let [texts, integers] = [hashes(texts)?, hashes(integers)?];
        Py::new(py, PathStatistics { path: names(py, path)?.unbind(), zone, texts, integers })
    };
    let set = |(one, set): (&NgramPath, &[u8])| {
        let (path, bits) = (names(py, &one.path)?.unbind(), PyBytes::new(py, set).unbind());
        Py::new(py, NgramSet { path, kind: one.kind.section(), bits, planes: MAX_PLANES })
    };
    let block = |block: &statistics::BlockStatistics| {
        let sets = ngrams.iter().zip(&block.ngrams).filter_map(|(one, set)| Some((one, set.as_deref()?)));
        let paths = block.paths.iter().map(path).collect::<PyResult<_>>()?;
        let ngrams = sets.map(set).collect::<PyResult<_>>()?;
        Ok(BlockStatistics { offset: block.offset, rows: block.rows, paths, ngrams })
    };
    blocks.iter().map(block).collect()
}

pub fn names<'py>(py: Python<'py>, path: &StatPath) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, path.iter().map(|name| name.as_ref().map(|name| String::from_utf8_lossy(name))))
}

/// Looks through a block for what is at some paths. For each of them its zone, None where it is not known, and
/// how many texts and integers are missing in the sets that are given.
#[pyfunction]
#[pyo3(signature = (block, algorithm, align, expected, /))]
pub fn measure_block(
    py: Python<'_>,
    block: &Bound<'_, PyAny>,
    algorithm: &str,
    align: usize,
    expected: Vec<Expected>,
) -> PyResult<Vec<Found>> {
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
            let hashes =
                |of: fn(&statistics::PathStatistics) -> Option<&Vec<u32>>| found.as_ref().and_then(of);
            let texts = missing(hashes(|one| one.texts.as_ref()), texts.as_deref());
            (texts, missing(hashes(|one| one.integers.as_ref()), integers.as_deref()))
        });
        let missing: Vec<(u64, u64)> = missing.collect();
        Ok((found, missing))
    });
    let (found, missing) = found.map_err(to_py)?;
    let told = found.iter().zip(missing);
    Ok(told
        .map(|(found, (texts, integers))| {
            (found.as_ref().map(|found| Zone::from(&found.zone)), texts, integers)
        })
        .collect())
}

fn missing(hashes: Option<&Vec<u32>>, sets: Option<&[Ribbon<'_>]>) -> u64 {
    hashes.zip(sets).map_or(0, |(hashes, sets)| ribbon::missing(hashes, sets))
}
