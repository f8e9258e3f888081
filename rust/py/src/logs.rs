//! Forms of lines of logs.

use pyo3::prelude::*;
use zion::ingest::logs;

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
