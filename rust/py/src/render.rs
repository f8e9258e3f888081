//! `render_json`: lanes of any Arrow stream as lines of JSON.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use arrow_array::ffi_stream::RecordBatchStreamReader;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zion::Result;
use zion::json::sink::Sink;
use zion::lanes::{Letter, Member, Page, Renderer};

use crate::errors::to_py;
use crate::foreign;

/// Pieces of text have at least so many bytes.
const PIECE_BYTES: usize = 1 << 20;

/// Goes over the lines of a stream, many at a time.
#[pyclass(module = "sdb._core", frozen)]
pub struct JsonLines {
    state: Mutex<State>,
}

struct State {
    stream: RecordBatchStreamReader,
    renderer: Renderer,
    /// The batch at hand, and how many rows of it are printed.
    page: Option<(Page, usize)>,
    sink: Sink,
    /// Told when all before it was handed out.
    failure: Option<PyErr>,
}

/// Lines of JSON of the rows of a stream. `columns` has a name and the columns of its lanes for each member.
#[pyfunction]
pub fn render_json(
    stream: &Bound<'_, PyAny>,
    columns: Vec<(String, HashMap<String, usize>)>,
) -> PyResult<JsonLines> {
    let member = |(name, lanes): (String, HashMap<String, usize>)| {
        let lane = |(letter, column): (String, usize)| Ok((Letter::from_name(&letter)?, column));
        Ok(Member { name, lanes: lanes.into_iter().map(lane).collect::<Result<_>>()? })
    };
    let members = columns.into_iter().map(member).collect::<Result<Vec<_>>>().map_err(to_py)?;
    let renderer = Renderer::new(&members).map_err(to_py)?;
    let state = State {
        stream: foreign::stream(stream)?,
        renderer,
        page: None,
        sink: Sink::default(),
        failure: None,
    };
    Ok(JsonLines { state: Mutex::new(state) })
}

#[pymethods]
impl JsonLines {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        // A producer may need the interpreter while others wait for the lock.
        let text = py.detach(|| {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.failure.is_none() {
                state.failure = state.fill().err();
            }
            if state.sink.is_empty()
                && let Some(failure) = state.failure.take()
            {
                return Err(failure);
            }
            let text = state.sink.as_slice().to_vec();
            state.sink.truncate(0);
            Ok(text)
        })?;
        py.check_signals()?;
        Ok((!text.is_empty()).then(|| PyBytes::new(py, &text)))
    }
}

impl State {
    /// Prints rows until there is a piece, or no row is left.
    fn fill(&mut self) -> PyResult<()> {
        let Self { stream, renderer, page, sink, .. } = self;
        while sink.len() < PIECE_BYTES {
            let Some((open, next)) = page else {
                let Some(batch) = stream.next() else { return Ok(()) };
                let batch = batch.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
                *page = Some((renderer.open(&batch).map_err(to_py)?, 0));
                continue;
            };
            while *next < open.rows && sink.len() < PIECE_BYTES {
                renderer.row(open, *next, sink);
                *next += 1;
            }
            if *next == open.rows {
                *page = None;
            }
        }
        Ok(())
    }
}
