//! Fields and the number of rows that have them, for Python.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use zion::chunk::fields::Fields;

/// Each field as `(path, types, rows)`: the path has names, and None for the elements of a list.
pub fn listed<'py>(py: Python<'py>, fields: &Fields) -> PyResult<Bound<'py, PyList>> {
    let mut paths: Vec<Vec<Option<Bound<'py, PyString>>>> = Vec::with_capacity(fields.list.len());
    let out = PyList::empty(py);
    for seen in &fields.list {
        let above = seen.parent.and_then(|parent| paths.get(parent as usize));
        let mut path = above.cloned().unwrap_or_default();
        path.push(seen.name.as_ref().map(|name| PyString::new(py, &String::from_utf8_lossy(name))));
        out.append((PyTuple::new(py, &path)?, seen.types, seen.rows))?;
        paths.push(path);
    }
    Ok(out)
}
