//! `verify_block`: everything that is wrong with one block.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString, PyTuple};
use zion::chunk::paths::{Path, Range};
use zion::codec::Algorithm;
use zion::ion::{self, timestamp};
use zion::verify::{self, Checks, Constant, Report};

use crate::convert::backed;
use crate::errors::to_py;
use crate::field_counts::{self, FieldCount};

/// What a block holds and what is wrong with it.
#[pyclass(module = "sdb._core", frozen)]
pub struct BlockReport {
    report: Report,
}

fn path_tuple<'py>(py: Python<'py>, path: &Path) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, path.iter().map(|name| String::from_utf8_lossy(name).into_owned()))
}

fn put_range<'py>(py: Python<'py>, into: &Bound<'py, PyDict>, path: &Path, range: Range) -> PyResult<()> {
    into.set_item(path_tuple(py, path)?, (range.min, range.max, range.count))
}

#[pymethods]
impl BlockReport {
    /// Tuples of chunk, row (or None) and text. Rows are counted within the block.
    #[getter]
    fn findings(&self) -> Vec<(usize, Option<u64>, &str)> {
        self.report.findings.iter().map(|found| (found.chunk, found.row, &*found.text)).collect()
    }

    /// Number of findings that were left out.
    #[getter]
    fn dropped(&self) -> u64 {
        self.report.dropped
    }

    /// Number of chunks that could be decoded.
    #[getter]
    fn chunks(&self) -> usize {
        self.report.chunks
    }

    /// Number of rows in them.
    #[getter]
    fn rows(&self) -> u64 {
        self.report.rows
    }

    /// First and last microsecond, and number of timestamps, for each path that has any.
    #[getter]
    fn ranges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let ranges = PyDict::new(py);
        for (path, _) in self.report.ranges.iter().flatten() {
            if let Some(range) = self.report.range(path) {
                put_range(py, &ranges, path, range)?;
            }
        }
        Ok(ranges)
    }

    /// The same for each chunk.
    #[getter]
    fn chunk_ranges<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let chunk = |known: &Vec<(Path, Range)>| {
            let ranges = PyDict::new(py);
            known.iter().try_for_each(|(path, range)| put_range(py, &ranges, path, *range))?;
            Ok(ranges)
        };
        self.report.ranges.iter().map(chunk).collect()
    }

    /// For each path outside of lists the Ion types that occur, as a bit mask; symbols count as strings.
    #[getter]
    fn types<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let types = PyDict::new(py);
        for (path, mask) in &self.report.fields.types() {
            types.set_item(path_tuple(py, path)?, mask)?;
        }
        Ok(types)
    }

    /// Whether `types` tells of every path.
    #[getter]
    fn complete(&self) -> bool {
        self.report.fields.complete
    }

    /// The fields in the order in which they came up, and whether none is missing.
    #[getter]
    fn fields(&self, py: Python<'_>) -> PyResult<(Vec<FieldCount>, bool)> {
        let fields = &self.report.fields;
        Ok((field_counts::listed(py, fields)?, fields.complete && fields.lists_complete))
    }
}

/// Reads a block and reports on it; damage is a finding, not an exception.
#[pyfunction]
#[pyo3(signature = (block, algorithm, align, paths, constants=None, max_findings=1000))]
pub fn verify_block(
    block: &Bound<'_, PyAny>,
    algorithm: &str,
    align: usize,
    paths: Vec<Vec<String>>,
    constants: Option<&Bound<'_, PyDict>>,
    max_findings: usize,
) -> PyResult<BlockReport> {
    let py = block.py();
    let data = backed(block)?;
    let algorithm = Algorithm::from_name(algorithm).map_err(to_py)?;
    let as_path = |path: Vec<String>| path.into_iter().map(|name| name.into_bytes().into()).collect();
    let checks = Checks {
        paths: paths.into_iter().map(as_path).collect(),
        constants: match constants {
            Some(constants) => expected(py, constants)?,
            None => Vec::new(),
        },
        max_findings,
    };
    let report = py.detach(|| verify::verify_block(&data, algorithm, align, &checks)).map_err(to_py)?;
    Ok(BlockReport { report })
}

/// The constants whose values can be compared: structs and lists are left out.
fn expected(py: Python<'_>, constants: &Bound<'_, PyDict>) -> PyResult<Vec<(Box<[u8]>, Constant)>> {
    let to_us = py.import("sdb.ion")?.getattr("instant_to_us")?;
    let mut all = Vec::new();
    for (name, value) in constants {
        let name: String = name.extract()?;
        let mut bytes = Vec::new();
        if let Ok(text) = value.cast::<PyString>() {
            let text = text.to_cow()?.as_bytes().into();
            all.push((name.into_bytes().into(), Constant::Text(text)));
            continue;
        } else if value.is_none() {
            bytes.push(ion::NULL);
        } else if let Ok(flag) = value.cast::<PyBool>() {
            bytes.push(if flag.is_true() { ion::TRUE } else { ion::FALSE });
        } else if value.is_instance_of::<PyInt>() {
            ion::put_int(&mut bytes, value.extract()?);
        } else if let Ok(number) = value.cast::<PyFloat>() {
            ion::put_float(&mut bytes, number.value());
        } else if let Some(us) = to_us.call1((&value,))?.extract::<Option<i64>>()? {
            timestamp::put(&mut bytes, us);
        } else {
            continue;
        }
        all.push((name.into_bytes().into(), Constant::Bytes(bytes.into())));
    }
    Ok(all)
}
