//! `render_json`, `render_table` and `render_ion`: lanes of any Arrow stream as lines of JSON, as rows of a table of text,
//! or as structs of Ion. `TextTable`: lines of JSON as a table of text.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use arrow_array::ffi_stream::RecordBatchStreamReader;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zion::Result;
use zion::json::sink::Sink;
use zion::json::table::{Table, TextTable as Lines};
use zion::scan::{IonRows, Letter, Member, Page, Renderer};

use crate::errors::to_py;
use crate::ffi;

/// Pieces of text have at least so many bytes.
const PIECE_BYTES: usize = 1 << 20;

/// Goes over the rows of a stream, many at a time.
#[pyclass(module = "sdb._core", frozen)]
pub struct RenderedRows {
    state: Mutex<State>,
}

struct State {
    stream: RecordBatchStreamReader,
    renderer: Renderer,
    /// The batch at hand, and how many rows of it are printed.
    page: Option<(Page, usize)>,
    output: Output,
    /// Told when all before it was handed out.
    failure: Option<PyErr>,
}

/// The rows that wait to be handed out.
enum Output {
    Json(Sink),
    /// With the value that is printed before it is a cell.
    Table(Table, Sink, Sink),
    Ion(Box<IonRows>),
}

impl Output {
    fn len(&self) -> usize {
        match self {
            Self::Json(sink) | Self::Table(_, _, sink) => sink.len(),
            Self::Ion(rows) => rows.len(),
        }
    }

    fn row(&mut self, renderer: &Renderer, page: &Page, row: usize) -> Result<()> {
        match self {
            Self::Json(sink) => renderer.row(page, row, sink),
            Self::Table(table, scratch, sink) => renderer.table_row(*table, page, row, scratch, sink)?,
            Self::Ion(rows) => renderer.ion_row(page, row, rows)?,
        }
        Ok(())
    }

    fn take(&mut self) -> Vec<u8> {
        match self {
            Self::Json(sink) | Self::Table(_, _, sink) => {
                let text = sink.as_slice().to_vec();
                sink.truncate(0);
                text
            }
            Self::Ion(rows) if rows.is_empty() => Vec::new(),
            Self::Ion(rows) => rows.take(),
        }
    }
}

/// For each member a name and the columns of its lanes.
type Columns = Vec<(Option<String>, HashMap<String, usize>)>;

/// Lines of JSON of the rows of a stream; a member without a name is the line if it is alone, and has the empty name if not.
#[pyfunction]
pub fn render_json(stream: &Bound<'_, PyAny>, columns: Columns) -> PyResult<RenderedRows> {
    render(stream, columns, Output::Json(Sink::default()))
}

/// Ion streams of structs of the rows of a stream. Of a member without a name, a struct, the members are
/// members of the row; of several with the same name the last one counts.
#[pyfunction]
pub fn render_ion(stream: &Bound<'_, PyAny>, columns: Columns) -> PyResult<RenderedRows> {
    render(stream, columns, Output::Ion(Box::default()))
}

/// Rows of a table of text: CSV, TSV, Markdown or HTML, with a column for each member.
#[pyfunction]
pub fn render_table(stream: &Bound<'_, PyAny>, columns: Columns, format: &str) -> PyResult<RenderedRows> {
    let table = Table::from_name(format).map_err(to_py)?;
    render(stream, columns, Output::Table(table, Sink::default(), Sink::default()))
}

/// A table of text of lines of JSON, whose columns are known when all lines were read.
#[pyclass(module = "sdb._core")]
pub struct TextTable {
    lines: Lines,
    /// Memory that is used again.
    out: Sink,
}

#[pymethods]
impl TextTable {
    #[new]
    fn new(format: &str) -> PyResult<Self> {
        Ok(Self { lines: Lines::new(Table::from_name(format).map_err(to_py)?), out: Sink::default() })
    }

    /// The cells of lines, for `rows`.
    fn cells<'py>(&mut self, py: Python<'py>, lines: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let Self { lines: table, out } = self;
        out.truncate(0);
        py.detach(|| table.cells(lines, out)).map_err(to_py)?;
        Ok(PyBytes::new(py, out.as_slice()))
    }

    /// The names of members so far, in the order of their appearance.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.lines.names().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    }

    /// Rows of cells with columns of some names, in their order.
    #[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
    fn rows<'py>(
        &mut self,
        py: Python<'py>,
        cells: &[u8],
        names: Vec<String>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let Self { lines: table, out } = self;
        out.truncate(0);
        py.detach(|| table.rows(cells, &names, out)).map_err(to_py)?;
        Ok(PyBytes::new(py, out.as_slice()))
    }
}

fn render(stream: &Bound<'_, PyAny>, columns: Columns, output: Output) -> PyResult<RenderedRows> {
    let member = |(name, lanes): (Option<String>, HashMap<String, usize>)| {
        let lane = |(letter, column): (String, usize)| Ok((Letter::from_name(&letter)?, column));
        Ok(Member { name, lanes: lanes.into_iter().map(lane).collect::<Result<_>>()? })
    };
    let members = columns.into_iter().map(member).collect::<Result<Vec<_>>>().map_err(to_py)?;
    let renderer = Renderer::new(&members).map_err(to_py)?;
    let state = State { stream: ffi::stream(stream)?, renderer, page: None, output, failure: None };
    Ok(RenderedRows { state: Mutex::new(state) })
}

#[pymethods]
impl RenderedRows {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        // A producer may need the interpreter while others wait for the lock.
        let piece = py.detach(|| {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.failure.is_none() {
                state.failure = state.fill().err();
            }
            if state.output.len() == 0
                && let Some(failure) = state.failure.take()
            {
                return Err(failure);
            }
            Ok(state.output.take())
        })?;
        py.check_signals()?;
        Ok((!piece.is_empty()).then(|| PyBytes::new(py, &piece)))
    }
}

impl State {
    /// Renders rows until there is a piece, or no row is left.
    fn fill(&mut self) -> PyResult<()> {
        let Self { stream, renderer, page, output, .. } = self;
        while output.len() < PIECE_BYTES {
            let Some((open, next)) = page else {
                let Some(batch) = stream.next() else { return Ok(()) };
                let batch = batch.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
                *page = Some((renderer.open(&batch).map_err(to_py)?, 0));
                continue;
            };
            while *next < open.rows && output.len() < PIECE_BYTES {
                output.row(renderer, open, *next).map_err(to_py)?;
                *next += 1;
            }
            if *next == open.rows {
                *page = None;
            }
        }
        Ok(())
    }
}
