//! `RowEditor`: the rows of a block with changes.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zion::block::edit::{Changes, Editor};
use zion::codec::Algorithm;

use crate::convert::{backed, names};
use crate::errors::to_py;

/// Goes over the chunks of a block and gives their rows with the changes, as streams of Ion.
#[pyclass(module = "sdb._core")]
pub struct RowEditor {
    editor: Editor,
}

#[pymethods]
impl RowEditor {
    #[new]
    #[allow(clippy::too_many_arguments, reason = "by name in Python")]
    #[pyo3(signature = (block, algorithm, align, *, dropped, values=None, paths=vec![], rows=(0, 0)))]
    fn new(
        py: Python<'_>,
        block: &Bound<'_, PyAny>,
        algorithm: &str,
        align: usize,
        dropped: Vec<u64>,
        values: Option<&Bound<'_, PyAny>>,
        paths: Vec<Vec<String>>,
        rows: (u64, u64),
    ) -> PyResult<Self> {
        let algorithm = Algorithm::from_name(algorithm).map_err(to_py)?;
        let paths: Vec<_> = paths.into_iter().filter_map(|path| names(Some(path))).collect();
        let stream = values.map(backed).transpose()?.map_or_else(Vec::new, |bytes| bytes.to_vec());
        let block = backed(block)?.to_vec();
        let made = py.detach(|| Changes::new(dropped, stream, &paths, rows.0..rows.1));
        let editor = made.and_then(|changes| Editor::new(block, algorithm, align, changes));
        Ok(Self { editor: editor.map_err(to_py)? })
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        py.check_signals()?;
        let piece = py.detach(|| self.editor.next_piece()).map_err(to_py)?;
        Ok(piece.map(|piece| PyBytes::new(py, &piece)))
    }

    /// Number of rows that came out so far.
    #[getter]
    fn kept(&self) -> u64 {
        self.editor.kept()
    }
}
