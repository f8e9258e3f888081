//! Forms of lines of logs.

use pyo3::prelude::*;
use zion::ingest::logs;

use crate::errors::to_py;

/// The form that the lines at the start of a text have; None: no known one.
#[pyfunction]
pub fn log_form(head: &[u8]) -> Option<&'static str> {
    logs::detect(head)
}

/// The names of all ready forms, whether records of each have several lines, and the names of its fields.
#[pyfunction]
pub fn log_forms() -> Vec<(&'static str, bool, Vec<String>)> {
    logs::all()
}

/// Where the last record of a text begins, which may go on behind it; None: each line of the form is one.
#[pyfunction]
pub fn log_last_record(form: &str, text: &[u8]) -> PyResult<Option<usize>> {
    let logs = logs::Logs::new(form).map_err(to_py)?;
    Ok(logs.and_then(|logs| logs.last_record(text)))
}
