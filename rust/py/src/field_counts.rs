//! Fields and the number of rows that have them, for Python.

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use zion::chunk::fields::Fields;

/// A field: its path has names, and None for the elements of a list; its types are a mask.
#[pyclass(module = "sdb._core", frozen, get_all)]
pub struct FieldCount {
    path: Py<PyTuple>,
    types: u16,
    rows: u64,
}

/// Each field, in the order in which they came up.
pub fn listed(py: Python<'_>, fields: &Fields) -> PyResult<Vec<FieldCount>> {
    let mut paths: Vec<Vec<Option<Bound<'_, PyString>>>> = Vec::with_capacity(fields.list.len());
    let mut out = Vec::with_capacity(fields.list.len());
    for seen in &fields.list {
        let above = seen.parent.and_then(|parent| paths.get(parent as usize));
        let mut path = above.cloned().unwrap_or_default();
        path.push(seen.name.as_ref().map(|name| PyString::new(py, &String::from_utf8_lossy(name))));
        out.push(FieldCount { path: PyTuple::new(py, &path)?.unbind(), types: seen.types, rows: seen.rows });
        paths.push(path);
    }
    Ok(out)
}
