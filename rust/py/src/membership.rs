//! Sets of values that answer "certainly not" or "perhaps".

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zion::membership;

use crate::errors::to_py;

/// The hash of a text as sets of values have it.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub fn hash_text(text: &[u8]) -> u64 {
    membership::of_text(text)
}

/// The hash of an integer, given modulo 2^64, as sets of values have it.
#[pyfunction]
#[pyo3(signature = (number, /))]
pub fn hash_integer(number: u64) -> u64 {
    membership::of_integer(number)
}

/// The hash that a section of statistics begins with.
#[pyfunction]
#[pyo3(signature = (data, /))]
pub fn hash_section(data: &[u8]) -> u64 {
    membership::checksum(data)
}

/// The set at half its size.
#[pyfunction]
#[pyo3(signature = (set, /))]
pub fn halve_set<'py>(py: Python<'py>, set: &[u8]) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &membership::halved(set))
}

/// The set of values with these hashes.
#[pyfunction]
#[pyo3(signature = (hashes, /))]
#[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
pub fn set_of(py: Python<'_>, hashes: Vec<u64>) -> Bound<'_, PyBytes> {
    let set = py.detach(|| membership::set_of(&hashes));
    PyBytes::new(py, &set)
}

/// For each of some sets, one behind the other, whether it may hold a value with this hash. Sizes are in blocks
/// of 32 bytes.
#[pyfunction]
#[pyo3(signature = (sets, sizes, hash, /))]
#[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
pub fn sets_with(sets: &[u8], sizes: Vec<usize>, hash: u64) -> PyResult<Vec<bool>> {
    membership::held(sets, &sizes, hash).map_err(to_py)
}
