//! `Matcher`: what rows are looked at for.

use std::sync::Arc;

use pyo3::prelude::*;

use zion::functions::re2;

use crate::convert::names;
use crate::errors::to_py;

/// Rows in which a text value matches one of several patterns, or those without one.
#[pyclass(module = "sdb._core", frozen)]
pub struct Matcher {
    inner: Arc<zion::search::Matcher>,
}

impl Matcher {
    /// The matcher itself, to be shared with threads.
    pub fn share(&self) -> Arc<zion::search::Matcher> {
        Arc::clone(&self.inner)
    }
}

#[pymethods]
impl Matcher {
    #[new]
    #[pyo3(signature = (patterns, *, fixed=false, ignore_case=false, invert=false, fields=None))]
    fn new(
        py: Python<'_>,
        patterns: Vec<String>,
        fixed: bool,
        ignore_case: bool,
        invert: bool,
        fields: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let make = move || zion::search::Matcher::new(&patterns, fixed, ignore_case, invert, names(fields));
        let inner = Arc::new(py.detach(make).map_err(to_py)?);
        Ok(Self { inner })
    }
}

/// Whether a regular expression means the same to scans as to RE2.
#[pyfunction]
#[pyo3(signature = (pattern, /, *, ignore_case=false))]
pub fn is_common_regex(pattern: &str, ignore_case: bool) -> bool {
    re2::is_common(pattern, ignore_case)
}
