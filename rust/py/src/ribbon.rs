//! Ribbon filters: sets of values that answer "certainly not" or "perhaps".

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use zion::index::ribbon::{self, Hashes, Probe, Ribbon};
use zion::index::slices::Slices;

use crate::errors::to_py;

/// A set as Python has it: its bytes, and the number of planes.
pub type AnyRibbon = (PyBackedBytes, usize);

/// The hash of a text as sets of values have it.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub fn hash_text(text: &[u8]) -> u32 {
    ribbon::of_text(text)
}

/// The hash of an integer, given modulo 2^64, as sets of values have it.
#[pyfunction]
#[pyo3(signature = (number, /))]
pub fn hash_integer(number: u64) -> u32 {
    ribbon::of_integer(number)
}

/// The hash that a section of statistics begins with.
#[pyfunction]
#[pyo3(signature = (data, /))]
pub fn hash_section(data: &[u8]) -> u64 {
    ribbon::checksum(data)
}

/// The hashes of values, which a set can be made of.
#[pyclass(frozen)]
pub struct ValueHashes {
    inner: Arc<Hashes>,
}

impl ValueHashes {
    pub fn of(inner: &Arc<Hashes>) -> Self {
        Self { inner: Arc::clone(inner) }
    }
}

#[pymethods]
impl ValueHashes {
    #[new]
    #[pyo3(signature = (hashes, /))]
    fn new(hashes: Vec<u32>) -> Self {
        Self { inner: Arc::new(Hashes::of(hashes)) }
    }

    /// Bytes of a plane of their set.
    #[getter]
    fn plane_bytes(&self) -> usize {
        self.inner.plane_bytes()
    }

    /// Some of them.
    fn sample(&self) -> Vec<u32> {
        self.inner.sample()
    }

    /// Whether a hash is one of them.
    #[pyo3(signature = (hash, /))]
    fn has(&self, hash: u32) -> bool {
        self.inner.has(hash)
    }

    /// Their set, of so many planes.
    #[pyo3(signature = (planes, /))]
    fn set<'py>(&self, py: Python<'py>, planes: usize) -> Bound<'py, PyBytes> {
        let set = py.detach(|| self.inner.set(planes));
        PyBytes::new(py, &set)
    }
}

/// The sets of Python.
pub fn sets(sets: &[AnyRibbon]) -> PyResult<Vec<Ribbon<'_>>> {
    sets.iter().map(|(bits, planes)| Ribbon::new(bits, *planes)).collect::<Result<_, _>>().map_err(to_py)
}

/// For each hash a byte for each block, which has some sets: 1 where one of them may hold the value, and where none
/// are known.
#[pyfunction]
#[pyo3(signature = (blocks, hashes, /))]
#[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
pub fn blocks_with(
    py: Python<'_>,
    blocks: Vec<Option<Vec<AnyRibbon>>>,
    hashes: Vec<u32>,
) -> PyResult<Vec<Bound<'_, PyBytes>>> {
    let known: Vec<Option<Vec<Ribbon<'_>>>> =
        blocks.iter().map(|found| found.as_deref().map(sets).transpose()).collect::<PyResult<_>>()?;
    let found = py.detach(|| {
        let of_each = |&hash: &u32| {
            let probe = Probe::of(hash);
            let may_hold = |sets: &Vec<Ribbon<'_>>| ribbon::is_in_any(sets, probe);
            known.iter().map(|sets| u8::from(sets.as_ref().is_none_or(may_hold))).collect()
        };
        hashes.iter().map(of_each).collect::<Vec<Vec<u8>>>()
    });
    Ok(found.iter().map(|one| PyBytes::new(py, one)).collect())
}

/// How the sets of a filter are cut into slices, so that one question reads little of them.
#[pyclass(frozen)]
pub struct RibbonSlices {
    inner: Slices,
}

#[pymethods]
impl RibbonSlices {
    /// For sets whose planes have so many bytes, and that have so many planes; with two to the power of `bits`
    /// slices, or as many as there should be.
    #[new]
    #[pyo3(signature = (plane_bytes, planes, bits = None, /))]
    fn new(plane_bytes: Vec<usize>, planes: Vec<usize>, bits: Option<u32>) -> PyResult<Self> {
        let shapes = plane_bytes.into_iter().zip(planes).collect();
        let inner = match bits {
            Some(bits) => Slices::new(shapes, bits),
            None => Slices::of(shapes),
        };
        Ok(Self { inner: inner.map_err(to_py)? })
    }

    /// The number of slices is two to the power of this.
    #[getter]
    fn bits(&self) -> u32 {
        self.inner.bits()
    }

    /// Bytes of the sets that are too short for slices.
    #[getter]
    fn short_bytes(&self) -> usize {
        self.inner.short_bytes()
    }

    /// Where a slice begins among all slices.
    #[pyo3(signature = (slice, /))]
    fn start(&self, slice: usize) -> usize {
        self.inner.start(slice)
    }

    /// The slices that a question looks at: the first one, and the one behind the last.
    #[pyo3(signature = (hash, /))]
    fn near(&self, hash: u32) -> (usize, usize) {
        let near = self.inner.near(hash);
        (near.start, near.end)
    }

    /// All slices of some sets, and the sets that are too short for them.
    #[pyo3(signature = (sets, /))]
    #[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
    fn split<'py>(
        &self,
        py: Python<'py>,
        sets: Vec<PyBackedBytes>,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let parts: Vec<&[u8]> = sets.iter().map(|set| &**set).collect();
        let (slices, short) = py.detach(|| self.inner.split(&parts)).map_err(to_py)?;
        Ok((PyBytes::new(py, &slices), PyBytes::new(py, &short)))
    }

    /// The sets that all slices and the short sets were made of.
    #[pyo3(signature = (slices, short, /))]
    fn whole<'py>(&self, py: Python<'py>, slices: &[u8], short: &[u8]) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let sets = py.detach(|| self.inner.whole(slices, short)).map_err(to_py)?;
        Ok(sets.iter().map(|set| PyBytes::new(py, set)).collect())
    }

    /// Whether each set may hold a value, by the slices that it looks at and the short sets.
    #[pyo3(signature = (near, short, hash, /))]
    fn may_hold(&self, py: Python<'_>, near: &[u8], short: &[u8], hash: u32) -> PyResult<Vec<bool>> {
        py.detach(|| self.inner.may_hold(near, short, hash)).map_err(to_py)
    }
}
