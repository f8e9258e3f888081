//! Errors of `zion` as the exceptions of `sdb.errors`.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use zion::Error;

/// The exception for an error; its class comes from `sdb.errors`.
pub fn to_py(error: Error) -> PyErr {
    Python::attach(|py| build(py, &error).unwrap_or_else(|failure| failure))
}

fn build(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let attributes = PyDict::new(py);
    let class = match error {
        Error::Corrupt { offset, .. } => {
            attributes.set_item("offset", offset)?;
            "CorruptError"
        }
        Error::Syntax { offset, line, .. } | Error::TooLarge { offset, line, .. } => {
            attributes.set_item("offset", offset)?;
            if *line > 0 {
                attributes.set_item("line", line)?;
            }
            "InputError"
        }
        Error::Unsupported { .. } => "UnsupportedError",
        Error::Argument { .. } => "UsageError",
    };
    let class = py.import("sdb.errors")?.getattr(class)?;
    Ok(PyErr::from_value(class.call((error.to_string(),), Some(&attributes))?))
}
