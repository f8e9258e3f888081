//! N-grams of texts, and prefixes of IP addresses.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use zion::codec::Algorithm;
use zion::index::ribbon::missing;
use zion::index::statistics::ngrams::{self, Gathered, NgramPath, NgramPaths};
use zion::index::statistics::{joints, prefixes};
use zion::search::Needed;

use crate::convert::backed;
use crate::errors::to_py;
use crate::ribbon::{AnyRibbon, sets};
use crate::statistics::{self, AnyStatPath, names_below_row, path};

/// A path, the kind of the section that is wanted of it, and the sets that its values should be in.
type Expected = (AnyStatPath, u8, Vec<AnyRibbon>);

/// Paths of which words are wanted, n-grams and joints, and those of which it is prefixes; each once.
pub fn paths(ngrams: Vec<AnyStatPath>, prefixes: Vec<AnyStatPath>) -> PyResult<NgramPaths> {
    let (ngrams, prefixes) = (names_below_row(ngrams)?, statistics::paths(prefixes)?);
    let words = ngrams.iter().flat_map(|path| [(path, Gathered::Pieces), (path, Gathered::Joints)]);
    let all = words.chain(prefixes.iter().map(|path| (path, Gathered::Prefixes)));
    Ok(all.map(|(path, kind)| NgramPath { path: path.clone(), kind }).collect())
}

/// The n-grams of a text as n-gram filters have them, each once.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub fn text_ngrams(text: &[u8]) -> Vec<u64> {
    let mut found = vec![];
    ngrams::pieces(text, |piece| found.push(piece));
    found.sort_unstable();
    found.dedup();
    found
}

/// The joints of a text as filters of joints have them, each once.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub fn text_joints(text: &[u8]) -> Vec<u64> {
    let mut found = vec![];
    joints::joints(text, |joint| found.push(joint));
    found.sort_unstable();
    found.dedup();
    found
}

/// The prefixes of the address that a text is, as filters of prefixes have them: the shortest first, and none if
/// it is no address.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub fn address_prefixes(text: &[u8]) -> Vec<u64> {
    let mut found = vec![];
    prefixes::prefixes(text, |prefix| found.push(prefix));
    found
}

/// What whatever matches any of several patterns holds: a text, a list of which it is all, a tuple of which it is
/// one, or None when nothing is known. ASCII letters stand for both cases.
#[pyfunction]
#[pyo3(signature = (patterns, /, *, fixed=false, ignore_case=false))]
#[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
pub fn needed_texts(
    py: Python<'_>,
    patterns: Vec<String>,
    fixed: bool,
    ignore_case: bool,
) -> PyResult<Option<Bound<'_, PyAny>>> {
    told(py, &py.detach(|| Needed::of(&patterns, fixed, ignore_case)))
}

fn told<'py>(py: Python<'py>, needed: &Needed) -> PyResult<Option<Bound<'py, PyAny>>> {
    let each = |parts: &[Needed]| parts.iter().map(|part| told(py, part)).collect::<PyResult<Vec<_>>>();
    Ok(match needed {
        Needed::Nothing => None,
        Needed::Text(text) => Some(PyString::new(py, &String::from_utf8_lossy(text)).into_any()),
        Needed::All(parts) => Some(PyList::new(py, each(parts)?)?.into_any()),
        Needed::Any(parts) => Some(PyTuple::new(py, each(parts)?)?.into_any()),
    })
}

/// Looks through a block for the n-grams, joints or prefixes of the texts at some paths: for each of them how many are missing
/// in the sets that are given, None where there are too many.
#[pyfunction]
#[pyo3(signature = (block, algorithm, align, expected, /))]
#[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
pub fn missing_ngrams(
    py: Python<'_>,
    block: &Bound<'_, PyAny>,
    algorithm: &str,
    align: usize,
    expected: Vec<Expected>,
) -> PyResult<Vec<Option<u64>>> {
    let data = backed(block)?;
    let algorithm = Algorithm::from_name(algorithm).map_err(to_py)?;
    let mut paths = vec![];
    let mut known = vec![];
    for (names, section, found) in &expected {
        let kind = Gathered::of_section(*section)
            .ok_or_else(|| PyValueError::new_err(format!("no filter of texts has the kind {section}")))?;
        paths.push(NgramPath { path: path(names.clone())?, kind });
        known.push(sets(found)?);
    }
    let paths: NgramPaths = paths.into();
    let found = py.detach(|| ngrams::measure(&data, algorithm, align, &paths)).map_err(to_py)?;
    let each = found.into_iter().zip(&known);
    Ok(py.detach(|| each.map(|(hashes, sets)| hashes.map(|hashes| missing(&hashes, sets))).collect()))
}
