//! Blocks in files, of which only the needed bytes are read, by the threads that need them.

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::RawFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use zion::block::runs::Block;
use zion::input::{Bytes, Identified};
use zion::scan::CACHE;
use zion::{Error, Result};

use crate::convert::backed;
use crate::ffi::file;

/// What was read.
#[derive(Default)]
pub struct Meter {
    pub blocks: AtomicU64,
    pub bytes: AtomicU64,
}

/// A block in a file.
struct Place {
    file: File,
    start: u64,
    size: usize,
    meter: Arc<Meter>,
}

impl Bytes for Place {
    fn size(&self) -> usize {
        self.size
    }

    fn held(&self) -> Option<&[u8]> {
        None
    }

    fn read(&self, at: usize, out: &mut [u8]) -> Result<()> {
        self.file.read_exact_at(out, self.start + at as u64).map_err(|error| {
            let message = match error.kind() {
                ErrorKind::UnexpectedEof => "the file ends before the block does".into(),
                _ => error.to_string(),
            };
            Error::Read { offset: at as u64, code: error.raw_os_error(), message: message.into() }
        })?;
        self.meter.bytes.fetch_add(out.len() as u64, Ordering::Relaxed);
        Ok(())
    }
}

/// A file that Python has open, as far as its first `size` bytes.
pub fn whole(fd: RawFd, size: usize) -> PyResult<Arc<dyn Bytes>> {
    Ok(Arc::new(Place { file: file(fd)?, start: 0, size, meter: Arc::default() }))
}

/// A block as Python has it: its bytes, or the descriptor of a file, where the block starts in it and where
/// it ends; or either of them and its identity.
pub fn block(given: &Bound<'_, PyAny>, meter: &Arc<Meter>) -> PyResult<Block> {
    if let Ok((inner, identity)) = given.extract::<(Bound<'_, PyAny>, PyBackedBytes)>() {
        return Ok(Arc::new(Identified::new(block(&inner, meter)?, Arc::from(&*identity))));
    }
    meter.blocks.fetch_add(1, Ordering::Relaxed);
    if let Ok((fd, start, stop)) = given.extract::<(RawFd, u64, u64)>() {
        let size = usize::try_from(stop.saturating_sub(start))?;
        return Ok(Arc::new(Place { file: file(fd)?, start, size, meter: Arc::clone(meter) }));
    }
    let bytes = backed(given)?;
    meter.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    Ok(Arc::new(bytes))
}

/// Sets how many bytes the columns may take that stay decoded for later scans; 0: none stay.
#[pyfunction]
pub fn set_column_cache(py: Python<'_>, most_bytes: usize) {
    py.detach(|| CACHE.set_most_bytes(most_bytes));
}

/// How many bytes these columns may take, and how many they take.
#[pyfunction]
pub fn column_cache() -> (usize, usize) {
    (CACHE.most_bytes(), CACHE.bytes())
}
