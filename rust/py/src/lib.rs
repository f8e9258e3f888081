//! The module `sdb._core`: bindings only, no logic.
#![deny(unsafe_code)]

use pyo3::prelude::*;

#[pymodule]
fn _core(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
