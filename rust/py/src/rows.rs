//! `rows`: the rows of a block as Python values.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyInt, PyList, PyString};
use zion::block::rows::{Rows, TimeFilter};
use zion::block::{BlockReader, Chunk, Codecs, Position};
use zion::codec::Algorithm;
use zion::ion::{self, Header, SymbolTable, kind, timestamp, varuint};
use zion::json::print::float;
use zion::limits::MAX_NESTING;
use zion::search::Search;
use zion::{Error, Result};

use crate::convert::{backed, names};
use crate::errors::to_py;
use crate::search::Matcher;

/// Goes over the rows of a block, chunk by chunk.
#[pyclass(module = "sdb._core")]
pub struct RowIterator {
    block: PyBackedBytes,
    algorithm: Algorithm,
    align: usize,
    verify: bool,
    position: Position,
    codecs: Option<Codecs>,
    /// What comes out of a row; none: all of it.
    fields: Option<Vec<Box<[u8]>>>,
    /// What is decoded: the fields, and the one that the filter needs.
    decoded: Option<Vec<Box<[u8]>>>,
    filter: Option<TimeFilter>,
    search: Option<Search>,
    /// Whether no chunk was decoded yet.
    is_new: bool,
    ready: std::vec::IntoIter<Py<PyAny>>,
}

/// The rows of a block, one after the other, as dicts.
#[pyfunction]
#[pyo3(signature = (block, algorithm, align, fields=None, time_filter=None, *, matcher=None, verify=true))]
pub fn rows(
    block: &Bound<'_, PyAny>,
    algorithm: &str,
    align: usize,
    fields: Option<Vec<String>>,
    time_filter: Option<(Vec<String>, Option<i64>, Option<i64>)>,
    matcher: Option<PyRef<'_, Matcher>>,
    verify: bool,
) -> PyResult<RowIterator> {
    let fields = names(fields);
    let filter = match time_filter {
        Some((path, start, stop)) => {
            let path = names(Some(path)).unwrap_or_default();
            Some(TimeFilter::new(path, start, stop).map_err(to_py)?)
        }
        None => None,
    };
    let matcher = matcher.map(|matcher| matcher.share());
    let searched = matcher.as_ref().map(|matcher| matcher.fields());
    let decoded = fields.clone().filter(|_| !matches!(searched, Some(None))).map(|mut names| {
        names.extend(filter.iter().map(|filter| filter.field().into()));
        names.extend(searched.flatten().into_iter().flatten().cloned());
        names
    });
    Ok(RowIterator {
        block: backed(block)?,
        algorithm: Algorithm::from_name(algorithm).map_err(to_py)?,
        align,
        verify,
        position: Position::default(),
        codecs: None,
        fields,
        decoded,
        filter,
        search: matcher.map(Search::new),
        is_new: true,
        ready: Vec::new().into_iter(),
    })
}

#[pymethods]
impl RowIterator {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        loop {
            if let Some(row) = self.ready.next() {
                return Ok(Some(row));
            }
            if !self.fill(py)? {
                return Ok(None);
            }
        }
    }
}

impl RowIterator {
    /// Decodes the next chunk and makes its rows; false at the end of the block.
    fn fill(&mut self, py: Python<'_>) -> PyResult<bool> {
        let codecs = match self.codecs.take() {
            Some(codecs) => codecs,
            None => Codecs::new().and_then(|codecs| codecs.verifying(self.verify)).map_err(to_py)?,
        };
        // After an error nothing more comes.
        let end = Position { offset: self.block.len(), ..Position::default() };
        let position = std::mem::replace(&mut self.position, end);
        let mut reader = BlockReader::resume(&self.block, self.algorithm, self.align, position, codecs)
            .project(self.decoded.as_deref());
        let Some(chunk) = py.detach(|| reader.next_chunk()).map_err(to_py)? else { return Ok(false) };
        if let Some(filter) = &mut self.filter {
            filter.sync(chunk.table);
        }
        if let Some(search) = &mut self.search {
            search.enter(&chunk, self.is_new || chunk.resets);
            self.is_new = false;
        }
        let keep = self.fields.as_deref().map(|fields| kept(fields, chunk.table));
        let builder = Builder::new(py, &chunk, keep)?;
        self.ready = builder.rows(self.filter.as_ref(), self.search.as_mut())?.into_iter();
        self.position = reader.position().clone();
        self.codecs = Some(reader.into_codecs());
        Ok(true)
    }
}

/// For each symbol, whether it is one of the fields.
fn kept(fields: &[Box<[u8]>], table: &SymbolTable) -> Vec<bool> {
    let mut keep = vec![false; table.max_id() as usize];
    for id in fields.iter().flat_map(|name| table.ids(name)) {
        keep[id as usize] = true;
    }
    keep
}

/// Makes Python values out of one chunk.
struct Builder<'py, 'c> {
    py: Python<'py>,
    chunk: &'c Chunk<'c>,
    keep: Option<Vec<bool>>,
    names: HashMap<u64, Bound<'py, PyString>>,
    from_us: Bound<'py, PyAny>,
}

impl<'py, 'c> Builder<'py, 'c> {
    fn new(py: Python<'py>, chunk: &'c Chunk<'c>, keep: Option<Vec<bool>>) -> PyResult<Self> {
        let from_us = py.import("sdb.ion")?.getattr("instant_from_us")?;
        Ok(Self { py, chunk, keep, names: HashMap::new(), from_us })
    }

    /// An error at a place in the chunk.
    fn error(&self, error: &Error) -> PyErr {
        to_py(self.chunk.error(error))
    }

    fn told<T>(&self, result: Result<T>) -> PyResult<T> {
        result.map_err(|error| self.error(&error))
    }

    fn rows(
        mut self,
        filter: Option<&TimeFilter>,
        mut search: Option<&mut Search>,
    ) -> PyResult<Vec<Py<PyAny>>> {
        let mut rows = Vec::new();
        for row in Rows::new(self.chunk.data, self.chunk.rows_at) {
            let (_, row) = self.told(row)?;
            if let Some(filter) = filter
                && !self.told(filter.admits(self.chunk.data, row))?
            {
                continue;
            }
            if let Some(search) = &mut search
                && !self.told(search.admits(self.chunk.data, row))?
            {
                continue;
            }
            rows.push(self.fields(row, 0)?.into_any().unbind());
        }
        Ok(rows)
    }

    fn fields(&mut self, container: Header, depth: usize) -> PyResult<Bound<'py, PyDict>> {
        let data = &self.chunk.data[..container.end];
        let dict = PyDict::new(self.py);
        let mut at = container.body;
        while at < container.end {
            let (label, value_at) = self.told(varuint::read(data, at))?;
            let value = self.told(ion::header(data, value_at))?;
            at = value.end;
            let dropped = depth == 0
                && self.keep.as_ref().is_some_and(|keep| !keep.get(label as usize).is_some_and(|&kept| kept));
            if value.is_pad() || dropped {
                continue;
            }
            let name = self.name(label);
            if !dict.contains(&name)? {
                dict.set_item(name, self.value(value, value_at, depth + 1)?)?;
            }
        }
        Ok(dict)
    }

    fn items(&mut self, container: Header, depth: usize) -> PyResult<Bound<'py, PyList>> {
        let data = &self.chunk.data[..container.end];
        let list = PyList::empty(self.py);
        let mut at = container.body;
        while at < container.end {
            let value = self.told(ion::header(data, at))?;
            if !value.is_pad() {
                list.append(self.value(value, at, depth + 1)?)?;
            }
            at = value.end;
        }
        Ok(list)
    }

    /// The text of a symbol, `$` and its number when it has none.
    fn name(&mut self, id: u64) -> Bound<'py, PyString> {
        let (py, table) = (self.py, self.chunk.table);
        let make = || match u32::try_from(id).ok().and_then(|id| table.name(id)) {
            Some(name) => PyString::new(py, &String::from_utf8_lossy(name)),
            None => PyString::new(py, &format!("${id}")),
        };
        self.names.entry(id).or_insert_with(make).clone()
    }

    fn value(&mut self, value: Header, at: usize, depth: usize) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let body = &self.chunk.data[value.body..value.end];
        if value.is_null() {
            return Ok(py.None().into_bound(py));
        }
        if depth > MAX_NESTING {
            let message = format!("a value is nested deeper than {MAX_NESTING} levels");
            return Err(self.error(&Error::corrupt("ion", at, message)));
        }
        Ok(match value.kind {
            kind::BOOL => (value.low == 1).into_pyobject(py)?.to_owned().into_any(),
            kind::UINT => PyInt::new(py, self.told(ion::magnitude(body, at))?).into_any(),
            kind::NEGINT => PyInt::new(py, -i128::from(self.told(ion::magnitude(body, at))?)).into_any(),
            kind::FLOAT => self.told(float(body, at))?.into_pyobject(py)?.into_any(),
            kind::TIMESTAMP => self.from_us.call1((self.told(timestamp::read(body, at))?,))?,
            kind::SYMBOL => {
                let id = self.told(ion::magnitude(body, at))?;
                self.name(id).into_any()
            }
            kind::STRING => match std::str::from_utf8(body) {
                Ok(text) => PyString::new(py, text).into_any(),
                Err(_) => PyString::new(py, &String::from_utf8_lossy(body)).into_any(),
            },
            kind::BLOB | kind::CLOB => PyBytes::new(py, body).into_any(),
            kind::LIST => self.items(value, depth)?.into_any(),
            kind::STRUCT => self.fields(value, depth)?.into_any(),
            other => {
                let message = format!("a value of type {other}, which rows do not have");
                return Err(self.error(&Error::corrupt("ion", at, message)));
            }
        })
    }
}
