//! Rows of blocks by the values that they have at some paths.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zion::codec::Algorithm;
use zion::index::partition::{self, Cut, Partitioner, Path, Side};

use crate::convert::{backed, names};
use crate::errors::to_py;

/// The keys of some rows, and numbers and bytes of all that were looked at.
type Sampled<'py> = (Vec<Bound<'py, PyBytes>>, u64, u64);
/// For each part its number, a stream in zstd and the size of that; the part of each row; the sum of hashes.
type Partitioned<'py> = (Vec<(usize, Bound<'py, PyBytes>, usize)>, Bound<'py, PyBytes>, u128);

fn paths(given: Vec<Vec<String>>) -> Vec<Path> {
    given.into_iter().filter_map(|path| names(Some(path))).collect()
}

/// The keys of some rows of a block at paths, one after the other.
#[pyfunction]
#[pyo3(signature = (block, algorithm, align, paths, chunk_step, row_step, /))]
pub fn sample_keys<'py>(
    block: &Bound<'py, PyAny>,
    algorithm: &str,
    align: usize,
    paths: Vec<Vec<String>>,
    chunk_step: usize,
    row_step: u64,
) -> PyResult<Sampled<'py>> {
    let py = block.py();
    let algorithm = Algorithm::from_name(algorithm).map_err(to_py)?;
    let (data, paths) = (backed(block)?, self::paths(paths));
    let steps = (chunk_step, row_step);
    let found = py.detach(|| partition::sample(&data, algorithm, align, &paths, steps)).map_err(to_py)?;
    let keys = found.keys.iter().map(|key| PyBytes::new(py, key)).collect();
    Ok((keys, found.rows, found.bytes))
}

/// Number of rows of a block, and the sum of their hashes.
#[pyfunction]
#[pyo3(signature = (block, algorithm, align, /))]
pub fn hash_rows(block: &Bound<'_, PyAny>, algorithm: &str, align: usize) -> PyResult<(u64, u128)> {
    let algorithm = Algorithm::from_name(algorithm).map_err(to_py)?;
    let data = backed(block)?;
    block.py().detach(|| partition::hash_rows(&data, algorithm, align)).map_err(to_py)
}

/// Partitions the rows of blocks by their values at some paths.
#[pyclass(module = "sdb._core")]
pub struct RowPartitioner {
    partitioner: Partitioner,
}

/// What follows a cut: another one, or from -1 downward a part.
fn side(number: i64) -> Side {
    usize::try_from(number).map_or_else(|_| Side::Part(!number as usize), Side::Cut)
}

#[pymethods]
impl RowPartitioner {
    #[new]
    #[pyo3(signature = (paths, cuts, parts, /))]
    fn new(paths: Vec<Vec<String>>, cuts: Vec<(usize, Vec<u8>, i64, i64)>, parts: usize) -> PyResult<Self> {
        let cuts = cuts.into_iter().map(|(path, key, below, above)| Cut {
            path,
            key,
            below: side(below),
            above: side(above),
        });
        let partitioner = Partitioner::new(self::paths(paths), cuts.collect(), parts).map_err(to_py)?;
        Ok(Self { partitioner })
    }

    /// The rows of a block by parts.
    #[pyo3(signature = (block, algorithm, align, /))]
    fn partition<'py>(
        &self,
        block: &Bound<'py, PyAny>,
        algorithm: &str,
        align: usize,
    ) -> PyResult<Partitioned<'py>> {
        let py = block.py();
        let algorithm = Algorithm::from_name(algorithm).map_err(to_py)?;
        let data = backed(block)?;
        let found = py.detach(|| self.partitioner.partition(&data, algorithm, align)).map_err(to_py)?;
        let pieces = found.pieces.iter();
        let pieces = pieces.map(|one| (one.part, PyBytes::new(py, &one.data), one.size)).collect();
        let parts: Vec<u8> = found.parts.iter().flat_map(|part| part.to_ne_bytes()).collect();
        Ok((pieces, PyBytes::new(py, &parts), found.hash))
    }
}
