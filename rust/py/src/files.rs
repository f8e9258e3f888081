//! What the system knows of files, and Python cannot ask.

use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use pyo3::prelude::*;

/// When a file was made, in nanoseconds since 1970; 0 where the file system does not tell.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
pub fn file_born_ns(path: PathBuf) -> i64 {
    let born = std::fs::metadata(path).and_then(|facts| facts.created()).ok();
    let since = born.and_then(|born| born.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or(0)
}
