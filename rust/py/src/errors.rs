//! Errors of `zion` as the exceptions of `sdb.errors`.

use arrow_schema::ArrowError;
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zion::Error;

/// The exception for an error; its class comes from `sdb.errors`.
#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
pub fn to_py(error: Error) -> PyErr {
    to_py_in(&error, "")
}

/// The same for an error in a named input or file.
pub fn to_py_in(error: &Error, path: &str) -> PyErr {
    Python::attach(|py| build(py, error, path).unwrap_or_else(|failure| failure))
}

fn build(py: Python<'_>, error: &Error, path: &str) -> PyResult<PyErr> {
    let attributes = PyDict::new(py);
    if !path.is_empty() {
        attributes.set_item("path", path)?;
    }
    let class = match error {
        Error::Read { code: Some(code), message, .. } => {
            let message = message.to_string();
            return Ok(match path {
                "" => PyOSError::new_err((*code, message)),
                _ => PyOSError::new_err((*code, message, path.to_owned())),
            });
        }
        Error::Corrupt { offset, .. } | Error::Read { offset, .. } => {
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
        Error::Bug { message } => return Ok(PyRuntimeError::new_err(message.to_string())),
    };
    let text = if path.is_empty() { error.to_string() } else { format!("{path}: {error}") };
    raised(py, class, &text, Some(&attributes))
}

/// The exception for an input without a place in it.
pub fn refused(py: Python<'_>, message: &str) -> PyErr {
    raised(py, "InputError", message, None).unwrap_or_else(|failure| failure)
}

fn raised(py: Python<'_>, class: &str, text: &str, more: Option<&Bound<'_, PyDict>>) -> PyResult<PyErr> {
    let class = py.import("sdb.errors")?.getattr(class)?;
    Ok(PyErr::from_value(class.call((text,), more)?))
}

/// The exception for data that cannot be handed over.
pub fn no_arrow(error: &ArrowError) -> PyErr {
    to_py(Error::argument(format!("no Arrow data: {error}")))
}
